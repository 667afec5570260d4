// Policies and rules, in a real browser against the real binary: a change that waits for its confirmation, the events
// of rules, and the filters for them.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, it } from "node:test";
import { desk, launch, look, openPage, phone, screenshot } from "./browser.mjs";
import { startPlatform } from "./server.mjs";

const square = (id, name, west) => ({
  type: "Feature",
  id,
  properties: { name, maxspeed: 5 },
  geometry: { type: "Polygon", coordinates: [[[west, 0], [west + 0.01, 0], [west + 0.01, 0.01], [west, 0.01], [west, 0]]] },
});
const gate = { type: "Feature", id: "gate", properties: { name: "North gate" }, geometry: { type: "LineString", coordinates: [[0.02, 0.02], [0.03, 0.02]] } };
const depots = { type: "FeatureCollection", features: [square("d-3", "Depot 3", 0), square("d-4", "Depot 4", 0.02), gate] };

const rules = {
  overstay: { set: "depots", detect: ["enter", "exit", "cross", "dwell"], dwell: { after: "60s" } },
  "over-the-limit": { set: "depots", detect: ["condition"], when: "speed > fence.maxspeed" },
  "out-of-bounds": { set: "depots", detect: ["outside"], outside: { every: "30s" } },
};

let directory;
let server;
let browser;

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "paddock-e2e-"));
  await writeFile(path.join(directory, "depots.geojson"), JSON.stringify(depots));
  server = await startPlatform(directory);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (directory) await rm(directory, { recursive: true });
});

async function send(method, address, body) {
  const answer = await fetch(new URL(address, server.url), { method, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${address}: ${answer.status} ${await answer.text()}`);
}

const start = Date.now() - 600_000;

/** Reports a position so many seconds after the start. */
function report(seconds, lon, lat, speed = 2, id = "bus-7") {
  return send("POST", "v1/positions", { id, lon, lat, speed, t: start + seconds * 1000 });
}

it("shows a change that waits, its event, and the events of rules", async () => {
  await send("PUT", "v1/sets/depots/policy", { fixes: 3, ttl: "15m", initial: "none" });
  for (const [id, rule] of Object.entries(rules)) await send("PUT", `v1/rules/${id}`, rule);
  await report(0, -0.01, 0.005);
  const { page, seen, close } = await openPage(browser, `${server.url}?object=default/bus-7`, desk);
  const details = page.locator(".details-card");
  const feed = page.locator(".feed-card");
  const row = (text) => feed.locator(".row", { hasText: text }).first();
  const kind = (name) => feed.getByRole("button", { name, exact: true });

  await row("bus-7 is outside of all fences of depots").waitFor();
  await report(10, 0.005, 0.005);
  await details.getByText("Not confirmed yet").waitFor();
  await details.getByText("entering Depot 3").waitFor();
  await details.getByText("1 position so far").waitFor();
  const link = details.locator(".pending .link");
  await link.focus();
  await report(11, 0.005, 0.006);
  await details.getByText("2 positions so far").waitFor();
  assert.ok(await link.evaluate((element) => element === document.activeElement), "the link of the pending change was replaced");
  await look(page, "rules-pending");
  await report(12, 0.005, 0.007);
  await row("bus-7 enters Depot 3").waitFor();
  await details.getByText("Not confirmed yet").waitFor({ state: "hidden" });

  await report(80, 0.005, 0.006, 9);
  await row("bus-7 dwells in Depot 3").getByText("depots · for 1 min · overstay").waitFor();
  await row("bus-7 meets over-the-limit").getByText("in Depot 3 · depots").waitFor();
  await report(90, 0.005, 0.006);
  await row("bus-7 no longer meets over-the-limit").getByText("in Depot 3 · depots · after 10 s").waitFor();
  for (const seconds of [100, 101, 102]) await report(seconds, 0.025, 0.015 + (seconds - 100) * 0.01);
  await row("bus-7 exits Depot 3").waitFor();
  await row("bus-7 crosses North gate").getByText("to the left").waitFor();

  await kind("dwell").click();
  await row("dwells in").waitFor();
  assert.deepEqual(await feed.locator(".verb").allTextContents(), ["dwells in"]);
  await kind("more").click();
  await kind("condition").click();
  await row("no longer meets").waitFor();
  assert.deepEqual(await feed.locator(".verb").allTextContents(), ["no longer meets", "meets", "dwells in"]);
  await page.waitForURL(/event=dwell,condition_begin,condition_end/);
  await look(page, "rules-kinds");

  await row("dwells in").locator("button").click();
  await details.getByRole("button", { name: "overstay" }).click();
  await page.waitForURL(/rule=overstay/);
  await feed.getByRole("button", { name: "Rule overstay" }).waitFor();
  assert.deepEqual(await feed.locator(".verb").allTextContents(), ["dwells in"]);
  await look(page, "rules-event");
  await feed.getByRole("button", { name: "Rule overstay" }).click();
  await row("bus-7 enters Depot 3").waitFor();

  const { host } = new URL(server.url);
  assert.deepEqual(seen.requests.filter((url) => !/^(data|blob):/.test(url) && new URL(url).host !== host), []);
  assert.deepEqual(seen.errors, []);
  await close();
});

it("says in words how much it takes, beside the set and in a fence's details", async () => {
  const { page, close } = await openPage(browser, server.url, phone);
  await page.locator(".tabs").getByRole("button", { name: "Sets" }).click();
  await page.getByRole("button", { name: "When depots counts a change" }).click();
  await page.getByText("3 positions in a row confirm a change.").waitFor();
  await page.getByText("Set over HTTP.").waitFor();
  await look(page, "rules-policy");
  await page.locator(".tabs").getByRole("button", { name: "Events" }).click();
  await page.locator(".feed-card").getByRole("button", { name: "more", exact: true }).click();
  await page.locator(".feed-card .row").first().waitFor();
  await look(page, "rules-phone");
  await page.goto(`${server.url}?fence=depots/d-4`);
  await page.locator(".details-card").getByText("3 positions in a row confirm a change.").waitFor();

  await send("PUT", "v1/sets/depots/policy", { enter_after: "1h" });
  await report(0, 0.04, 0.005, 2, "bus-8");
  await report(10, 0.025, 0.005, 2, "bus-8");
  await page.goto(`${server.url}?object=default/bus-8`);
  await page.locator(".details-card .pending", { hasText: "entering Depot 4" }).getByText("confirmed at").waitFor();
  await screenshot(page, "rules-due");
  await close();
});
