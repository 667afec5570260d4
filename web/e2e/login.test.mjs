// A server that asks for keys, in a real browser against the real binary: the page that asks for one, and the dashboard behind it.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { launch, screenshot } from "./browser.mjs";
import { startWith } from "./server.mjs";

const secret = "pdk_of-a-test";

let directory;
let server;
let browser;

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "paddock-e2e-"));
  const file = path.join(directory, "paddock.yaml");
  const sha256 = createHash("sha256").update(secret).digest("hex");
  await writeFile(file, `access: {required: true, keys: [{name: viewer, verbs: [events:read, objects:read, lookup], sha256: ${sha256}}]}\n`);
  server = await startWith(file);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (directory) await rm(directory, { recursive: true });
});

describe("a server that asks for keys", () => {
  it("shows the dashboard for a key, and keeps it from scripts", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByLabel("Key").fill("wrong");
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByRole("alert").filter({ hasText: "not a key of this server" }).waitFor();
    await screenshot(page, "login");
    await page.getByLabel("Key").fill(secret);
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    assert.equal(await page.evaluate(() => document.cookie), "");
    assert.equal(await page.evaluate(async () => (await fetch("v1/sets")).status), 200);
    assert.equal(await page.evaluate(async () => (await fetch("v1/keys")).status), 403);
    await page.goto(`${server.url}sets`);
    await page.getByText("No sets yet.").waitFor();
    assert.equal(await page.evaluate(async () => (await fetch("v1/session", { method: "DELETE" })).status), 204);
    const banner = page.getByRole("alert");
    await banner.getByText("The session has ended.").waitFor();
    assert.equal(await banner.getByRole("button", { name: "Try now" }).isVisible(), false);
    await banner.getByRole("button", { name: "Reload" }).click();
    await page.getByLabel("Key").waitFor();
    await context.close();
  });
});
