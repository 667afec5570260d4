// The page of the lab's runs, with runs that the real binary makes against its own responder.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { launch, lookInAllWidths, openPage, patience, phone, tooWide } from "./browser.mjs";
import { binary, startWith } from "./server.mjs";

let browser, directory, runs, server;

/** Runs a command of the lab, which has to hold its objectives. */
async function bench(...args) {
  const child = spawn(binary, ["bench", ...args], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "exit");
  assert.equal(code, 0, args.join(" "));
}

/** Does something with the address of a responder. */
async function withResponder(use) {
  const responder = spawn(binary, ["bench", "responder", "delay", "1ms", "--addr", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(responder, "exit");
  try {
    const [address] = await once(createInterface(responder.stdout), "line");
    await use(`http://${address}/`);
  } finally {
    responder.kill("SIGTERM");
    await exited;
  }
}

async function withFile(text, use) {
  const file = path.join(directory, "paddock.yaml");
  await writeFile(file, text);
  const started = await startWith(file);
  try {
    await use(started);
  } finally {
    await started.stop();
  }
}

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "paddock-runs-"));
  runs = path.join(directory, "runs");
  await mkdir(runs);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  await rm(directory, { recursive: true, force: true });
});

const rowNames = (page) => page.getByRole("region", { name: "Runs", exact: true }).locator("tbody th").allTextContents();
const difference = (page, name) => page.locator(".compared").locator("tbody tr").filter({ has: page.getByRole("rowheader", { name, exact: true }) }).locator("td").last();
const clean = (seen, host) => {
  assert.deepEqual(seen.errors, []);
  assert.deepEqual(seen.requests.filter((url) => new URL(url).host !== new URL(host).host), []);
};

describe("the page of runs", () => {
  it("tells how a run is made, and is not there without a directory", async () => {
    await withFile("log: {level: info}\n", async ({ url }) => {
      assert.equal((await fetch(new URL("runs", url))).status, 404);
      const { page, close } = await openPage(browser, new URL("sets", url).href);
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Documents" }).waitFor();
      assert.equal(await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Runs" }).count(), 0);
      await close();
    });
    const file = path.join(directory, "runs.yaml");
    await writeFile(file, `dashboard: {runs: ${JSON.stringify(runs)}}\n`);
    server = await startWith(file);
    const { page, seen, close } = await openPage(browser, new URL("sets", server.url).href);
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Runs" }).press("Enter");
    await page.getByText(`paddock bench http URL --out ${runs}/NAME`).waitFor();
    await lookInAllWidths(page, "runs-empty");
    clean(seen, server.url);
    await close();
  });

  it("lists them, orders them, and puts two beside each other", { timeout: 4 * patience }, async () => {
    await withResponder(async (url) => {
      await bench("http", url, "-n", "300", "-c", "1", "-q", "--allow-red", "--slo", "err<1%", "--out", path.join(runs, "one connection"));
      await bench("http", url, "-n", "600", "-c", "8", "-q", "--out", path.join(runs, "eight"));
      await bench("http", url, "-n", "100", "--rate", "poisson 200/s", "-c", "4", "-q", "--repeat", "2", "--out", path.join(runs, "open"));
    });
    await mkdir(path.join(runs, "broken"));
    await writeFile(path.join(runs, "broken", "run.json"), "{");
    const { page, seen, close } = await openPage(browser, new URL("runs", server.url).href);
    await page.getByText("run.json: byte 1: unexpected end of JSON input").waitFor();
    assert.deepEqual(await rowNames(page), ["broken", "open/2", "open/1", "eight", "one connection"]);

    await page.getByRole("button", { name: "Run", exact: true }).press("Enter");
    assert.deepEqual(await rowNames(page), ["broken", "eight", "one connection", "open/1", "open/2"]);
    await page.getByRole("button", { name: "Good/s" }).click();
    await page.getByRole("button", { name: "Good/s" }).click();
    assert.equal((await rowNames(page)).at(-1), "broken"); // what is unknown is last
    assert.equal(new URL(page.url()).search, "?sort=-good%2Fs");
    await page.getByRole("columnheader", { name: "Good/s" }).and(page.locator('[aria-sort="descending"]')).waitFor();

    const compared = page.getByRole("region", { name: "Compare", exact: true });
    await page.getByRole("checkbox", { name: "one connection", exact: true }).press("Space");
    await compared.getByText("select a second run").waitFor();
    await page.getByRole("checkbox", { name: "eight", exact: true }).check();
    await compared.getByText("paddock bench diff A B").waitFor();
    assert.match(await difference(page, "Good answers a second").textContent(), /^[+−][\d.,]+ %$/);
    assert.match(await difference(page, "Generator's CPU per answer").textContent(), / %$/);
    assert.equal(await difference(page, "Load").textContent(), "differs");
    assert.equal(await difference(page, "Machine").textContent(), "");
    await lookInAllWidths(page, "runs");
    clean(seen, server.url);

    // The address holds the selection and the order.
    const again = await openPage(browser, page.url(), phone);
    await again.page.getByRole("region", { name: "Compare", exact: true }).getByText("B is eight.").waitFor();
    assert.deepEqual([await again.page.getByRole("checkbox", { name: "eight", exact: true }).isChecked(), await again.page.getByRole("checkbox", { name: "open/1", exact: true }).isChecked()], [true, false]);
    assert.deepEqual(await rowNames(again.page), await rowNames(page));
    assert.equal(await tooWide(again.page), 0);
    await again.page.getByRole("button", { name: "Clear" }).click();
    assert.equal(await again.page.getByRole("checkbox", { name: "eight", exact: true }).isChecked(), false);
    await again.close();
    await close();
  });

  it("opens a report, which draws itself in a sandbox", async () => {
    const { page, seen, close } = await openPage(browser, new URL("runs", server.url).href);
    const opened = page.context().waitForEvent("page");
    await page.getByRole("link", { name: "Report of open/2" }).click();
    const report = await opened;
    await report.locator("svg").first().waitFor();
    assert.equal(await report.evaluate(() => origin), "null");
    assert.match(await report.evaluate(() => {
      try {
        return document.cookie;
      } catch (error) {
        return error.name;
      }
    }), /SecurityError/);
    assert.equal(await report.evaluate((url) => fetch(url).then(() => "answered", () => "refused"), new URL("v1/runs", server.url).href), "refused");
    clean(seen, server.url);
    await close();
  });
});
