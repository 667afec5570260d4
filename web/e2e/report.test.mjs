// The report of a benchmark in a real browser, from disk, where nothing serves it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { accessibilityFindings, desk, launch, openPage, phone, screenshot } from "./browser.mjs";
import { binary } from "./server.mjs";

/** What would be markup if it were not text. */
const hostile = `</script><img src=x onerror="document.title='taken over'">`;

const closed = { name: "closed", plots: ["percentiles", "heat", "rate", "flight", "failed", "machine", "memory"] };
const open = { name: "open", plots: ["percentiles", "heat", "rate", "flight", "failed", "lag", "machine", "memory"] };
const several = { name: "several", plots: ["percentiles", "levels", "rates"] };
const reports = [closed, open, several];

let directory;
let service;
let browser;

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "paddock-e2e-"));
  let asked = 0;
  service = createServer((_, response) => {
    asked++;
    response.writeHead(asked % 20 === 0 ? 503 : 200, { "content-length": 5 }).end("hello");
  });
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const url = `http://127.0.0.1:${service.address().port}/`;
  await bench("ab", "-n", "2000", "-kc", "4", "-q", "-H", `X-Hostile: ${hostile}`, "--out", path.join(directory, closed.name), url);
  await bench("http", url, "-c", "4", "-q", "--rate", "poisson 400/s", "-d", "3s", "--slo", "p99<1m", "--out", path.join(directory, open.name));
  await bench("sweep", url, "-c", "1,2,4", "-n", "400", "-q", "-H", `X-Hostile: ${hostile}`, "--out", path.join(directory, several.name));
  browser = await launch();
});

after(async () => {
  await browser?.close();
  service?.closeAllConnections();
  service?.close();
  if (directory) await rm(directory, { recursive: true });
});

/** Makes a run, whatever the lamp says of this machine. */
async function bench(...args) {
  const child = spawn(binary, ["bench", ...args, "--allow-red"], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "exit");
  assert.equal(code, 0, `paddock bench ${args.join(" ")}`);
}

/** Opens a report, and checks in the end that it asked for nothing but itself. */
async function withReport(report, options, run) {
  const url = pathToFileURL(path.join(directory, report.name, "report.html")).href;
  const opened = await openPage(browser, url, options);
  try {
    await run(opened.page);
    assert.deepEqual(opened.seen, { requests: [url], errors: [] });
  } finally {
    await opened.close();
  }
}

/** Where the drawings are, in pixels of the page, with the shapes that they are made of. */
function drawings(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("figure")].map((figure) => {
      const svg = figure.querySelector("svg");
      const box = svg?.getBoundingClientRect();
      const data = [...(svg?.querySelectorAll("path, rect") ?? [])].filter((e) => e.getBoundingClientRect().width > 0);
      return { id: figure.id, left: box?.left, right: box?.right, height: box?.height, shapes: data.length, broken: /NaN|Infinity|undefined/.test(svg?.innerHTML) };
    }),
  );
}

/** Every plot is there, has a size and something in it, and lies within the page. */
async function assertDrawn(page, report) {
  const width = page.viewportSize().width;
  const found = await drawings(page);
  assert.deepEqual(found.map(({ id }) => id), report.plots);
  for (const plot of found) {
    const fits = plot.left >= 0 && plot.right <= width && plot.right - plot.left > width / 2;
    const filled = plot.shapes > 0 || plot.id === "lag"; // nothing has to have been late
    assert.ok(fits && filled && plot.height >= 100 && !plot.broken, JSON.stringify(plot));
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(overflow <= 0, `the page is ${overflow} pixels wider than the window`);
}

/** The brightness of the page behind the text, from 0 to 255. */
function brightness(page) {
  return page.evaluate(() => Math.max(...getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).map(Number)));
}

for (const report of reports) {
  describe(`the report of ${report === several ? "several runs" : `a run with ${report.name} load`}`, () => {
    it("shows its plots and tables", () =>
      withReport(report, desk, async (page) => {
        await assertDrawn(page, report);
        assert.match(await page.locator("main").innerText(), /p99/);
        assert.deepEqual(await accessibilityFindings(page), []);
        await screenshot(page, `report-${report.name}`);
      }));

    it("fits a phone, and is drawn anew when that is turned", () =>
      withReport(report, phone, async (page) => {
        await assertDrawn(page, report);
        assert.deepEqual(await accessibilityFindings(page), []);
        await screenshot(page, `report-${report.name}-phone`);
        await page.setViewportSize({ width: phone.viewport.height, height: phone.viewport.width });
        await page.waitForFunction(() => document.querySelector("svg").viewBox.baseVal.width === document.querySelector("figure").clientWidth);
        await assertDrawn(page, report);
      }));

    it("is dark where the reader wants that, and readable so", () =>
      withReport(report, { ...desk, colorScheme: "dark" }, async (page) => {
        await assertDrawn(page, report);
        assert.ok((await brightness(page)) < 64);
        assert.deepEqual(await accessibilityFindings(page), []);
        await screenshot(page, `report-${report.name}-dark`);
        await page.emulateMedia({ media: "print" });
        assert.equal(await brightness(page), 255, "paper is white");
      }));
  });
}

describe("the report of several runs", () => {
  it("has a line and a row for each", () =>
    withReport(several, desk, async (page) => {
      for (const [figure, lines] of [["percentiles", 3], ["levels", 2], ["rates", 3]]) {
        assert.equal(await page.locator(`#${figure} svg path`).count(), lines, figure);
      }
      for (const name of ["c-1", "c-2", "c-4"]) {
        assert.ok(await page.getByRole("rowheader", { name, exact: true }).isVisible());
      }
      assert.equal(await page.locator("#levels circle").count(), 6);
    }));

  it("has its table without scripts", () =>
    withReport(several, { ...desk, javaScriptEnabled: false }, async (page) => {
      assert.ok(await page.getByRole("rowheader", { name: "c-4", exact: true }).isVisible());
    }));

  it("is readable on a phone in the dark", () =>
    withReport(several, { ...phone, colorScheme: "dark" }, async (page) => {
      await assertDrawn(page, several);
      assert.deepEqual(await accessibilityFindings(page), []);
      await screenshot(page, "report-several-phone-dark");
    }));
});

describe("a report", () => {
  it("has its tables without scripts", () =>
    withReport(open, { ...desk, javaScriptEnabled: false }, async (page) => {
      assert.ok(await page.getByRole("rowheader", { name: "p99", exact: true }).isVisible());
    }));

  it("shows what was sent as text", () =>
    withReport(closed, desk, async (page) => {
      assert.match(await page.title(), /^GET http:/);
      assert.equal(await page.locator("img").count(), 0);
      assert.ok((await page.locator("dd code").innerText()).includes(hostile));
    }));
});
