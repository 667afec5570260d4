// Fences that are drawn, edited, copied and deleted on the map, in a real browser against the real binary.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { desk, launch, look, openPage, phone, screenshot } from "./browser.mjs";
import { startPlatform, startWith } from "./server.mjs";

const square = (west, south, size) => [[west, south], [west + size, south], [west + size, south + size], [west, south + size], [west, south]];
const feature = (id, name, ring) => ({ type: "Feature", id, properties: { name }, geometry: { type: "Polygon", coordinates: [ring] } });
const yards = {
  type: "FeatureCollection",
  features: [feature("north", "North yard", square(13.4, 52.51, 0.02)), feature("south", "South yard", square(13.4, 52.48, 0.02))],
};
const view = "at=13.43,52.5,12.5";

let directory;
let server;
let browser;

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "paddock-e2e-"));
  await writeFile(path.join(directory, "yards.geojson"), JSON.stringify(yards));
  server = await startPlatform(directory);
  browser = await launch();
  await send("PUT", "v1/sets/sites", { type: "FeatureCollection", features: [feature("gate", "Gate", square(13.45, 52.5, 0.004))] });
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (directory) await rm(directory, { recursive: true });
});

async function send(method, address, body) {
  const answer = await fetch(new URL(address, server.url), { method, body: body === undefined ? undefined : JSON.stringify(body) });
  assert.ok(answer.ok, `${address}: ${answer.status} ${await answer.clone().text()}`);
  return answer.status === 204 ? null : answer.json();
}

const stored = (set, id) => send("GET", `v1/sets/${set}/fences/${id}`);

/** Opens a page for one test, closes it, and expects that it asked nothing of other machines and had no error. */
async function withPage(query, run, options = desk, allowed = /^$/) {
  const { page, seen, close } = await openPage(browser, `${server.url}?${query}`, options);
  try {
    await page.waitForFunction(() => {
      const now = window.paddock?.state();
      return now?.map?.complete && now.sets.length >= 2 && now.loadedSets.length === now.sets.length;
    });
    await run(page);
    const { host } = new URL(server.url);
    assert.deepEqual(seen.requests.filter((url) => !/^(data|blob):/.test(url) && new URL(url).host !== host), []);
    assert.deepEqual(seen.errors.filter((text) => !allowed.test(text)), []);
  } finally {
    await close();
  }
}

/** A refused request is an error in the console of the browser, whatever the page makes of it. */
const refusedRequest = /status of 4(00|12)/;

const panel = (page) => page.locator(".draw-card");
const action = (page, name) => panel(page).getByRole("button", { name, exact: true });

async function spot(page, [lon, lat]) {
  return page.evaluate(([a, b]) => window.paddock.project(a, b), [lon, lat]);
}

async function click(page, at) {
  const { x, y } = await spot(page, at);
  await page.mouse.move(x, y);
  await page.mouse.click(x, y);
}

async function drag(page, from, to) {
  const [a, b] = [await spot(page, from), await spot(page, to)];
  await page.mouse.move(a.x, a.y);
  await page.mouse.down();
  await page.mouse.move((a.x + b.x) / 2, (a.y + b.y) / 2);
  await page.mouse.move(b.x, b.y);
  await page.mouse.up();
}

/** Begins a fence of a kind by the button in the sets' card. */
async function begin(page, kind) {
  await page.getByRole("button", { name: "Draw", exact: true }).click();
  await panel(page).waitFor();
  await action(page, kind).click();
}

/** Names what is drawn, stores it in a set, and waits until that is done. */
async function save(page, name, set = "sites") {
  await panel(page).getByLabel("Name", { exact: true }).fill(name);
  await panel(page).getByLabel("Set", { exact: true }).selectOption(set);
  await action(page, "Save").click();
  await panel(page).waitFor({ state: "hidden" });
}

let vehicles = 0;

/** Drives a new vehicle from one place to another, and waits for its row of the feed. */
async function drive(page, from, to, sentence) {
  const id = `van-${++vehicles}`;
  await send("POST", "v1/positions", [{ id, lon: from[0], lat: from[1] }]);
  await send("POST", "v1/positions", [{ id, lon: to[0], lat: to[1] }]);
  await page.locator(".feed-card .row", { hasText: `${id} ${sentence}` }).first().waitFor({ timeout: 10_000 });
}

/** Pictures of the map and what is beside it. */
async function pictures(page, name) {
  await look(page, `draw-${name}`, { settled: () => page.waitForFunction(() => window.paddock.state().map.complete) });
  await page.emulateMedia({ colorScheme: "light" });
}

const near = (a, b, metres) => Math.hypot((a[0] - b[0]) * 67_000, (a[1] - b[1]) * 111_000) <= metres;

describe("drawing with the mouse", () => {
  it("makes a polygon that vehicles enter", () =>
    withPage(view, async (page) => {
      await begin(page, "Polygon");
      const corners = [[13.43, 52.49], [13.445, 52.49], [13.445, 52.497], [13.43, 52.497]];
      for (const corner of corners) await click(page, corner);
      await page.mouse.move(700, 300);
      await pictures(page, "polygon");
      await click(page, corners[0]);
      await panel(page).getByText("Area", { exact: true }).waitFor();
      await save(page, "Loading bay");
      const { geometry } = await stored("sites", "loading-bay");
      assert.equal(geometry.type, "Polygon");
      const [ring] = geometry.coordinates;
      assert.equal(ring.length, 5);
      for (const [i, corner] of corners.entries()) assert.ok(near(ring[i], corner, 30), `${ring[i]} is not ${corner}`);
      await page.getByRole("heading", { name: /^Inside now/ }).waitFor();
      await drive(page, [13.5, 52.6], [13.437, 52.493], "enters Loading bay");
    }));

  it("makes a circle of two clicks, and a radius that is typed", () =>
    withPage(view, async (page) => {
      await begin(page, "Circle");
      await click(page, [13.46, 52.52]);
      await click(page, [13.465, 52.52]);
      const radius = panel(page).getByLabel("Radius in m");
      assert.ok(Math.abs(Number(await radius.inputValue()) - 338) < 15, await radius.inputValue());
      await radius.fill("400");
      await pictures(page, "circle");
      await save(page, "Quiet zone");
      const { geometry } = await stored("sites", "quiet-zone");
      const [ring] = geometry.coordinates;
      assert.ok(ring.length > 16);
      for (const vertex of ring) assert.ok(near(vertex, [13.46, 52.52], 430) && !near(vertex, [13.46, 52.52], 370), `${vertex}`);
      await drive(page, [13.5, 52.6], [13.46, 52.523], "enters Quiet zone");

      // It is a circle again when it is edited.
      await page.getByRole("button", { name: "Edit this fence" }).click();
      await radius.waitFor();
      assert.ok(Math.abs(Number(await radius.inputValue()) - 400) < 3, await radius.inputValue());
    }));

  it("makes a corridor, which stays a line with its buffer", () =>
    withPage(view, async (page) => {
      await begin(page, "Corridor");
      const route = [[13.45, 52.51], [13.46, 52.505], [13.47, 52.508]];
      for (const at of route) await click(page, at);
      await click(page, route[2]);
      await panel(page).getByLabel("Distance to each side in m").fill("80");
      await pictures(page, "corridor");
      await save(page, "Route 7");
      const { geometry, properties } = await stored("sites", "route-7");
      assert.equal(geometry.type, "LineString");
      assert.equal(geometry.coordinates.length, 3);
      assert.equal(properties["paddock:buffer"], 80);
      await drive(page, [13.5, 52.6], [13.455, 52.5075], "enters Route 7");
    }));

  it("makes a line that vehicles cross, in a set of its own", () =>
    withPage(view, async (page) => {
      await begin(page, "Line");
      await click(page, [13.43, 52.475]);
      await click(page, [13.45, 52.475]);
      await action(page, "Finish").click();
      await panel(page).getByLabel("Name", { exact: true }).fill("Toll");
      await panel(page).getByLabel("Set", { exact: true }).selectOption({ label: "New set…" });
      await action(page, "Save").click();
      await panel(page).getByText("Choose a set, or name a new one.").waitFor();
      await panel(page).getByLabel("Name of the new set").fill("Tolls of 2026");
      await panel(page).getByLabel("Name", { exact: true }).focus();
      await action(page, "Save").click();
      await panel(page).waitFor({ state: "hidden" });
      const { geometry, properties } = await stored("tolls-of-2026", "toll");
      assert.equal(geometry.type, "LineString");
      assert.equal(properties["paddock:buffer"], undefined);
      await send("PUT", "v1/rules/tolls", { set: "tolls-of-2026", detect: ["cross"] });
      await drive(page, [13.44, 52.474], [13.44, 52.476], "crosses Toll");
    }));
});

describe("editing", () => {
  it("moves, inserts and deletes points by keyboard alone, and takes steps back and forth", () =>
    withPage(`${view}&fence=sites/gate`, async (page) => {
      const before = await stored("sites", "gate");
      const press = async (...keys) => {
        for (const key of keys) await page.keyboard.press(key);
      };
      const focused = () => page.evaluate(() => document.activeElement.textContent);
      const tabTo = async (text) => {
        for (let i = 0; i < 60; i++) {
          await page.keyboard.press("Tab");
          const name = await page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);
          if (name.startsWith(text)) return;
        }
        assert.fail(`${text} is not reached by Tab`);
      };
      await page.getByRole("button", { name: "Edit this fence" }).focus();
      await press("Enter");
      await panel(page).waitFor();
      await page.waitForFunction(() => document.activeElement.id === "draw-title");
      await tabTo("Points");
      await press("Enter");
      await tabTo("All of it");
      await press("Tab");
      assert.match(await focused(), /^1/);
      await press("ArrowRight", "ArrowRight", "Shift+ArrowUp");
      await press("Insert", "PageDown");
      assert.match(await focused(), /^3/);
      await press("Delete");
      await press("Control+z", "Control+z", "Control+z");
      assert.ok(await page.evaluate(() => document.querySelector('[aria-label^="Undo"]').disabled), "there is more to undo");
      await press("Control+Shift+z", "Control+Shift+z", "Control+Shift+z");
      await pictures(page, "points");
      await press("Control+s");
      await panel(page).waitFor({ state: "hidden" });
      const { geometry } = await stored("sites", "gate");
      const [was, is] = [before.geometry.coordinates[0], geometry.coordinates[0]];
      assert.equal(is.length, was.length);
      assert.ok(is[0][0] > was[0][0] && is[0][1] > was[0][1], `${is[0]} is not north-east of ${was[0]}`);
      assert.deepEqual(is.slice(2, 4), was.slice(2, 4), "points that were not touched");
    }));

  it("moves a point, adds one and moves all of it with the mouse", () =>
    withPage("at=13.41,52.52,13&edit=yards/north", async (page) => {
      await panel(page).getByText("yards is read from the file yards.geojson.", { exact: false }).waitFor();
      await page.waitForFunction(() => window.paddock.state().map.complete);
      await page.waitForTimeout(600); // the map glides to the fence
      await drag(page, [13.42, 52.53], [13.425, 52.533]);
      await drag(page, [13.41, 52.51], [13.41, 52.507]);
      await pictures(page, "edit");
      await drag(page, [13.4125, 52.52], [13.4145, 52.521]);
      await action(page, "Save").click();
      await panel(page).waitFor({ state: "hidden" });
      const [ring] = (await stored("yards", "north")).geometry.coordinates;
      assert.equal(ring.length, 6);
      const expected = [[13.402, 52.511], [13.412, 52.508], [13.422, 52.511], [13.427, 52.534], [13.402, 52.531]];
      for (const [i, corner] of expected.entries()) assert.ok(near(ring[i], corner, 150), `${ring[i]} is not ${corner}`);
    }));

  it("draws by keyboard, under a cross in the middle of the map", () =>
    withPage(view, async (page) => {
      await begin(page, "Polygon");
      await action(page, "Draw by keyboard").focus();
      await page.keyboard.press("Enter");
      for (const key of ["Enter", "Shift+ArrowRight", "Enter", "Shift+ArrowDown", "Enter"]) await page.keyboard.press(key);
      await page.keyboard.press("ArrowDown");
      await screenshot(page, "draw-crosshair");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => document.activeElement.id === "draw-title");
      await save(page, "By keys");
      const [ring] = (await stored("sites", "by-keys")).geometry.coordinates;
      assert.equal(ring.length, 4);
      assert.ok(ring[1][0] > ring[0][0] && ring[2][1] < ring[1][1], JSON.stringify(ring));
    }));

  it("cuts a hole", () =>
    withPage("at=13.41,52.49,13.5&edit=yards/south", async (page) => {
      await page.waitForTimeout(600);
      await action(page, "Cut a hole").click();
      for (const corner of [[13.404, 52.484], [13.408, 52.484], [13.408, 52.488]]) await click(page, corner);
      await action(page, "Finish").click();
      await pictures(page, "hole");
      await action(page, "Save").click();
      await panel(page).waitFor({ state: "hidden" });
      const { geometry } = await stored("yards", "south");
      assert.equal(geometry.coordinates.length, 2);
      const { fences } = await send("GET", "v1/search?lon=13.407&lat=52.485&set=yards");
      assert.deepEqual(fences, []);
    }));

  it("edits a fence of a set that is drawn from tiles as exactly as it is", async () => {
    const precise = (id, west) => feature(id, `No. ${id}`, square(west, 52.60000000001, 0.0000123456789));
    const features = [precise("7", 13.43000000003), ...Array.from({ length: 2600 }, (_, i) => feature(`s${i}`, `S${i}`, square(13.4 + (i % 50) / 1000, 52.6 + Math.floor(i / 50) / 1000, 0.0005)))];
    await send("PUT", "v1/sets/many", { type: "FeatureCollection", features });
    try {
      await withPage("at=13.43,52.6,13&edit=many/7", async (page) => {
        await panel(page).locator("summary", { hasText: "Points" }).click();
        await panel(page).locator(".draw-vertices button").nth(1).click();
        await panel(page).getByLabel("Latitude").fill("52.59");
        await action(page, "Save").click();
        await panel(page).waitFor({ state: "hidden" });
        const [was, is] = [features[0].geometry.coordinates[0], (await stored("many", "7")).geometry.coordinates[0]];
        assert.equal(is[1][1], 52.59);
        for (const i of [0, 2, 3, 4]) assert.deepEqual(is[i], was[i]);
      });
    } finally {
      await send("DELETE", "v1/sets/many");
    }
  });

  it("copies a fence to another set", () =>
    withPage(`${view}&fence=yards/south`, async (page) => {
      await page.getByRole("button", { name: "Copy this fence" }).click();
      await panel(page).getByLabel("Id", { exact: true }).fill("south-twin");
      await save(page, "South twin");
      const twin = await stored("sites", "south-twin");
      assert.deepEqual(twin.geometry, (await stored("yards", "south")).geometry);
      assert.equal(twin.properties.name, "South twin");
    }));

  it("keeps properties, and stores settings", () =>
    withPage(`${view}&edit=sites/gate`, async (page) => {
      await action(page, "Add a property").click();
      await panel(page).getByLabel("Name of property 1").fill("lanes");
      await panel(page).getByLabel("Value of property 1").fill("3");
      await panel(page).getByText("Height", { exact: true }).click();
      await panel(page).getByLabel("From height in m").fill("20");
      await panel(page).getByLabel("Below height in m").fill("10");
      await action(page, "Save").click();
      await panel(page).getByText("The ceiling is above the floor.").waitFor();
      await panel(page).getByLabel("Below height in m").fill("60");
      await pictures(page, "properties");
      await action(page, "Save").click();
      await panel(page).waitFor({ state: "hidden" });
      const { properties } = await stored("sites", "gate");
      assert.deepEqual(properties, { name: "Gate", lanes: 3, "paddock:floor": 20, "paddock:ceiling": 60 });
    }));
});

describe("what is in the way", () => {
  it("shows a boundary that crosses itself, and saves it only when told again", () =>
    withPage(view, async (page) => {
      await begin(page, "Polygon");
      for (const corner of [[13.43, 52.51], [13.45, 52.52], [13.45, 52.51], [13.43, 52.52]]) await click(page, corner);
      await action(page, "Finish").click();
      await panel(page).getByText("Its boundary crosses itself.", { exact: false }).waitFor();
      await pictures(page, "finding");
      await panel(page).getByLabel("Name", { exact: true }).fill("Bow tie");
      await action(page, "Save anyway").click();
      await panel(page).waitFor({ state: "hidden" });
      assert.equal((await stored("sites", "bow-tie")).geometry.type, "Polygon");
    }));

  it("tells of another writer, and keeps both", () =>
    withPage(`${view}&edit=sites/gate`, async (page) => {
      await panel(page).getByLabel("Name", { exact: true }).fill("My gate");
      // Another fence of the set is no conflict; this one is.
      await send("PUT", "v1/sets/sites/fences/other", feature("other", "Other", square(13.5, 52.5, 0.001)));
      await send("PUT", "v1/sets/sites/fences/gate", feature("gate", "Their gate", square(13.455, 52.502, 0.004)));
      await action(page, "Save").click();
      await panel(page).getByText("Meanwhile this fence has been changed.", { exact: false }).waitFor();
      await pictures(page, "conflict");
      await action(page, "Keep mine as a copy").click();
      await action(page, "Save").click();
      await panel(page).waitFor({ state: "hidden" });
      assert.equal((await stored("sites", "gate")).properties.name, "Their gate");
      assert.equal((await stored("sites", "gate-copy")).properties.name, "My gate");
    }, desk, refusedRequest));

  it("does not mind changes of other fences of the set, and takes none of its own while it saves", () =>
    withPage(`${view}&edit=sites/gate-copy`, async (page) => {
      const name = panel(page).getByLabel("Name", { exact: true });
      await name.fill("My own gate");
      await send("PUT", "v1/sets/sites/fences/other", feature("other", "Other", square(13.5, 52.5, 0.002)));
      let release;
      const held = new Promise((resolve) => (release = resolve));
      await page.route(/fences\/gate-copy$/, async (route) => {
        await held;
        await route.continue();
      });
      await page.keyboard.press("Control+s");
      await panel(page).getByText("Saving…").waitFor();
      assert.ok(await name.evaluate((element) => element.closest("[inert]") !== null), "the name can be changed");
      for (const key of ["x", "Control+z", "Escape"]) await page.keyboard.press(key);
      assert.deepEqual([await name.inputValue(), await page.getByRole("dialog").count()], ["My own gate", 0]);
      release();
      await panel(page).waitFor({ state: "hidden" });
      assert.equal((await stored("sites", "gate-copy")).properties.name, "My own gate");
    }, desk, refusedRequest));

  it("asks before changes are lost, and before a fence is deleted", () =>
    withPage(`${view}&edit=sites/gate-copy`, async (page) => {
      const dialog = page.getByRole("dialog");
      await panel(page).getByLabel("Name", { exact: true }).fill("Never saved");
      await page.keyboard.press("Escape");
      await dialog.getByText("Discard the changes?").waitFor();
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await action(page, "Cancel").click();
      await dialog.getByRole("button", { name: "Discard" }).click();
      await panel(page).waitFor({ state: "hidden" });
      await page.getByRole("heading", { name: "My own gate" }).waitFor();

      await page.getByRole("button", { name: "Delete this fence" }).click();
      await dialog.getByText("Delete My own gate from sites?").waitFor();
      await pictures(page, "delete");
      await dialog.getByRole("button", { name: "Delete" }).click();
      await panel(page).waitFor({ state: "hidden" });
      const answer = await fetch(new URL("v1/sets/sites/fences/gate-copy", server.url));
      assert.equal(answer.status, 404);
      await page.waitForFunction(() => !window.paddock.state().view.selection);

      await begin(page, "Line");
      await page.mouse.click(700, 450);
      await panel(page).locator(".draw-stage").getByText("Place the next point.").waitFor();
      const asked = page.waitForEvent("dialog");
      await page.close({ runBeforeUnload: true });
      const question = await asked;
      assert.equal(question.type(), "beforeunload");
      await question.accept();
    }));
});

describe("a phone", () => {
  it("draws with a finger, with the panel as a sheet", () =>
    withPage(`at=13.43,52.5,13`, async (page) => {
      await page.locator(".tabs").getByRole("button", { name: "Sets" }).click();
      await begin(page, "Polygon");
      const sheet = await panel(page).boundingBox();
      assert.ok(sheet.y > 300, `the sheet begins at ${sheet.y}`);
      for (const [x, y] of [[80, 250], [300, 250], [300, 380], [80, 380]]) await page.touchscreen.tap(x, y);
      await pictures(page, "phone-drawing");
      await page.touchscreen.tap(80, 250);
      await panel(page).getByLabel("Name", { exact: true }).waitFor();
      await pictures(page, "phone-editing");
      await save(page, "By finger");
      const [ring] = (await stored("sites", "by-finger")).geometry.coordinates;
      assert.equal(ring.length, 5);
    }, phone));
});

describe("a key that may not write", () => {
  const secret = "pdk_of-a-drawing-test";
  it("sees no buttons, and a plain refusal", async () => {
    const file = path.join(directory, "paddock.yaml");
    const sha256 = createHash("sha256").update(secret).digest("hex");
    await writeFile(file, `access: {required: true, keys: [{name: viewer, verbs: [events:read, objects:read, lookup], sha256: ${sha256}}]}\nsets: {dir: ${directory}}\n`);
    const guarded = await startWith(file);
    try {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(guarded.url);
      await page.getByLabel("Key").fill(secret);
      await page.getByRole("button", { name: "Open" }).click();
      await page.getByText("Live", { exact: true }).waitFor();
      await page.goto(`${guarded.url}?edit=yards/north`);
      await page.getByText("The key viewer may not change fences of yards.").waitFor();
      assert.equal(await page.getByRole("button", { name: "Draw", exact: true }).count(), 0);
      await page.goto(`${guarded.url}?fence=yards/north`);
      await page.getByRole("heading", { name: "North yard" }).waitFor();
      assert.equal(await page.getByRole("button", { name: "Edit this fence" }).count(), 0);
      await context.close();
    } finally {
      await guarded.stop();
    }
  });
});
