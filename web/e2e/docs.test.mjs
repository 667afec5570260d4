// The documents in a real browser, from `paddock docs` and below a running platform.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { desk, launch, look, openPage, phone, tooWide } from "./browser.mjs";
import { binary } from "./server.mjs";

let child;
let exited;
let browser;
let root;

before(async () => {
  child = spawn(binary, ["docs", "--log-format", "json"], { stdio: ["ignore", "ignore", "pipe"] });
  exited = once(child, "exit");
  for await (const line of createInterface(child.stderr)) {
    const { msg, url } = JSON.parse(line);
    if (msg === "listening") root = `${url}/`;
    if (msg === "ready") break;
  }
  child.stderr.resume();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  child?.kill("SIGTERM");
  await exited;
});

async function withPage(path, options, run) {
  const opened = await openPage(browser, root + path, options);
  try {
    await run(opened.page);
    const { host } = new URL(root);
    assert.deepEqual(opened.seen.requests.filter((url) => new URL(url).host !== host), []);
    assert.deepEqual(opened.seen.errors, []);
  } finally {
    await opened.close();
  }
}

for (const [name, options] of [["desk", desk], ["phone", phone]]) {
  describe(`the documents, ${name}`, () => {
    for (const [what, path] of [["first", ""], ["http", "reference/http.md#events"], ["alerts", "guides/alerts.md"], ["search", "search?q=webhook+retry"]]) {
      it(`${what} is readable`, () => withPage(path, options, async (page) => {
        await look(page, `docs-${what}-${name}`);
        assert.ok((await tooWide(page)) <= 0, `${what}-${name} is wider than the screen`);
      }));
    }
  });
}

describe("the documents", () => {
  it("are found by words and by links, with the keyboard", () =>
    withPage("", desk, async (page) => {
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the text");
      await page.getByRole("searchbox").fill("disk nearly full");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Search" }).waitFor();
      assert.equal(await page.getByRole("searchbox").inputValue(), "disk nearly full");
      assert.ok(await page.locator("mark").count() > 2);
      await page.locator(".results a").first().click();
      await page.waitForURL(/\.md#/);
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Webhooks" }).click();
      await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();
    }));

  it("have code that is copied", async () => {
    const opened = await openPage(browser, `${root}guides/alerts.md`, { ...desk, permissions: ["clipboard-read", "clipboard-write"] });
    try {
      const block = opened.page.locator(".code").first();
      await block.getByRole("button").click();
      await block.getByRole("button", { name: "Copied" }).waitFor();
      assert.match(await opened.page.evaluate(() => navigator.clipboard.readText()), /^paddock keys add prometheus --verbs admin .*\n.*\npromtool check config prometheus.yaml$/);
    } finally {
      await opened.close();
    }
  });
});
