// The live map beyond watching, in a real browser against the real binary: filters, labels, foot, base map, and 50,000 objects.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { accessibilityFindings, desk, launch, openPage, phone, screenshot, state } from "./browser.mjs";
import { positions, post, squares, squareSet } from "./fleet.mjs";
import { archive, png, vectorTile } from "./pmtiles.mjs";
import { startWith } from "./server.mjs";

const { west, south, step, columns, rows } = squares;
const middle = [west + (columns / 2) * step, south + (rows / 2) * step];

let browser;
const directories = [];

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
  for (const directory of directories) await rm(directory, { recursive: true });
});

/** Runs a platform with the set of squares and what else a file of settings says. */
async function withServer(settings, files, run) {
  const directory = await mkdtemp(path.join(tmpdir(), "paddock-e2e-"));
  directories.push(directory);
  await writeFile(path.join(directory, "squares.geojson"), squareSet());
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(directory, name), content);
  const file = path.join(directory, "paddock.yaml");
  const lines = ["track: {initial: enter, policy: raw}", `sets: {dir: ${JSON.stringify(directory)}}`, settings.replaceAll("DIR", directory)];
  await writeFile(file, `${lines.join("\n")}\n`);
  const server = await startWith(file);
  try {
    await run(server);
  } finally {
    await server.stop();
  }
}

async function withPage(url, run, options = desk) {
  const opened = await openPage(browser, url, options);
  try {
    await run(opened.page, opened.seen);
    // The browser itself reports each 404, as of a server without history.
    assert.deepEqual(opened.seen.errors.filter((error) => !/status of 404/.test(error)), []);
  } finally {
    await opened.close();
  }
}

async function report(server, ...reported) {
  const answer = await fetch(new URL("v1/positions", server.url), { method: "POST", body: JSON.stringify(reported) });
  assert.equal(answer.status, 200, await answer.clone().text());
}

/** The middle of a square. */
function square(x, y) {
  return { lon: west + (x + 0.5) * step, lat: south + (y + 0.5) * step };
}

/** Has all objects report again and again while something runs. */
async function whileDriving(server, count, run) {
  let on = true;
  const drive = (async () => {
    while (on) await post(server.url, positions(count, Date.now()));
  })();
  try {
    await run();
  } finally {
    on = false;
    await drive;
  }
}

/** Until the map is there and shows as many objects. */
function objectsShown(page, count) {
  return page.waitForFunction((n) => {
    const now = window.paddock?.state();
    return now?.map?.complete && now.objects.length === n;
  }, count);
}

async function look(page, name) {
  for (const colorScheme of ["dark", "light"]) {
    const { mapDrawings } = (await state(page)).map;
    await page.emulateMedia({ colorScheme });
    await page.waitForFunction((drawn) => window.paddock.state().map.mapDrawings > drawn, mapDrawings);
    await screenshot(page, `map-${name}-${colorScheme}`);
    assert.deepEqual(await accessibilityFindings(page), [], `${name} ${colorScheme}`);
  }
}

describe("a few fleets", () => {
  it("are filtered on map and feed alike, labelled, and told by the foot", () =>
    withServer("", {}, async (server) => {
      const t = Date.now() - 60_000;
      const [a, b, c] = [square(5, 4), square(6, 4), square(6, 3)];
      await report(
        server,
        { id: "bus-1", fleet: "buses", ...a, t, speed: 9, heading: 40 },
        { id: "bus-2", fleet: "buses", ...b, t, speed: 0 },
        { id: "van-1", fleet: "vans", ...c, t, speed: 9, heading: 200 },
      );
      await withPage(`${server.url}?at=${middle},13`, async (page, seen) => {
        await objectsShown(page, 3);
        const card = page.locator(".feed-card");
        await card.locator(".row", { hasText: "van-1 enters Square 6/3" }).waitFor();

        // Labels.
        const { labels } = (await state(page)).map;
        for (const wanted of ["bus-1", "bus-2", "van-1", "Square 4/4"]) {
          await page.waitForFunction((text) => window.paddock.state().map.labels.includes(text), wanted).catch(() => assert.fail(`${wanted} is not among ${labels}`));
        }

        // An event that arrives late is at its place.
        await report(server, { id: "van-2", fleet: "vans", ...square(4, 3), t: t - 30_000, speed: 9 });
        await card.locator(".row", { hasText: "van-2" }).waitFor();
        assert.match(await card.locator(".row").last().textContent(), /van-2/);

        // The fleet.
        await page.getByLabel("Events and objects of fleet").selectOption("buses");
        await objectsShown(page, 2);
        assert.deepEqual((await card.locator(".row").allTextContents()).filter((text) => !text.includes("bus-")), []);
        await page.waitForURL(/fleet=buses/);
        // And of those what stands.
        await page.getByRole("list", { name: "States of objects" }).getByRole("button", { name: /dwelling/ }).click();
        await objectsShown(page, 1);
        assert.equal((await state(page)).objects[0].id, "bus-2");
        await page.waitForURL(/fleet=buses&state=dwelling/);
        await report(server, { id: "bus-1", fleet: "buses", ...square(3, 3), t: t + 1000, speed: 9 }, { id: "bus-2", fleet: "buses", ...square(3, 4), t: t + 1000, speed: 0 });
        await card.locator(".row", { hasText: "bus-2 enters Square 3/4" }).waitFor();
        assert.equal(await card.locator(".row", { hasText: "bus-1 enters Square 3/3" }).count(), 0);
        await card.getByRole("button", { name: "Clear" }).click();
        await objectsShown(page, 4);
        // Words.
        await page.getByLabel("Events with text").fill("van");
        await objectsShown(page, 2);
        await card.getByRole("button", { name: "Clear" }).click();
        // A link of the bar.
        await page.getByRole("navigation", { name: "Fleet" }).getByRole("link", { name: "0 silent" }).click();
        await objectsShown(page, 0);
        await page.waitForURL(/\?(.*&)?state=silent/);
        await page.getByRole("navigation", { name: "Fleet" }).getByRole("link", { name: "4 objects" }).click();
        await objectsShown(page, 4);

        // What goes in and out all the time.
        for (let i = 0; i < 8; i++) await report(server, { id: "van-1", fleet: "vans", ...(i % 2 ? c : square(7, 3)), t: t + 2_000 + i * 1000, speed: 9 });
        await page.goto(`${server.url}?at=${middle},13`);
        await objectsShown(page, 4);
        await page.getByRole("navigation", { name: "Fleet" }).getByRole("link", { name: /^[1-9] flapping$/ }).click();
        await page.getByRole("dialog").getByRole("button", { name: /van-1 .*6-3/ }).waitFor();
        await screenshot(page, "map-flapping");
        await page.getByRole("dialog").getByRole("button", { name: /van-1 .*6-3/ }).click();
        await page.getByRole("heading", { name: "van-1" }).waitFor();
        await page.keyboard.press("Escape");

        // Colours by fleet.
        await page.getByRole("group", { name: "Colours tell apart" }).getByRole("button", { name: "fleet" }).click();
        await page.getByRole("list", { name: "Fleets" }).getByRole("button", { name: "vans" }).waitFor();
        await page.waitForURL(/colour=fleet/);
        await look(page, "fleets");
        assert.deepEqual(seen.requests.filter((url) => /^(http|ws)/.test(url) && new URL(url).host !== new URL(server.url).host), []);
      });
    }));

  it("have places, times and paths to events", () =>
    withServer("", {}, async (server) => {
      const t = Date.now() - 60_000;
      await report(server, { id: "bus-1", ...square(4, 4), t, speed: 9 });
      await report(server, { id: "bus-1", ...square(5, 4), t: t + 5_000, speed: 9 });
      const options = { ...desk, timezoneId: "Pacific/Auckland", permissions: ["clipboard-read", "clipboard-write"] };
      await withPage(
        `${server.url}?at=${middle},13`,
        async (page) => {
          await objectsShown(page, 1);
          const foot = page.getByRole("group", { name: "Map scale, place and time" });
          await foot.getByText("500 m").waitFor();
          const place = square(6, 3);
          const { x, y } = await page.evaluate(([lon, lat]) => window.paddock.project(lon, lat), [place.lon, place.lat]);
          await page.mouse.move(x, y);
          await foot.getByText(/^52\.07\d\d\d, 13\.1[23]\d\d\d$/).waitFor();
          await page.keyboard.press("c");
          await foot.getByText(/^Copied 52\.07/).waitFor();
          assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^52\.07\d\d\d, 13\.1[23]\d\d\d$/);

          const clocks = page.locator(".feed-card .row time");
          const hour = async () => Number((await clocks.first().textContent()).slice(0, 2)) % 24;
          const shown = await page.locator(".feed-card .row").first().locator("time").getAttribute("datetime");
          assert.notEqual(await hour(), new Date(shown).getUTCHours());
          await page.keyboard.press("u");
          await foot.getByText("UTC").waitFor();
          assert.equal(await hour(), new Date(shown).getUTCHours());
          assert.match(await clocks.first().getAttribute("title"), /UTC/);

          await page.locator(".feed-card .row button", { hasText: "bus-1 enters Square 5/4" }).click();
          await page.waitForFunction(() => window.paddock.state().map.path >= 2);
          await look(page, "event");
          await page.goto(`${server.url}?object=default/bus-1`);
          await page.locator(".pairs", { hasText: "Last position" }).waitFor();
        },
        options,
      );
    }));
});

const block = (x, y, side) => [[x, y], [x + side, y], [x + side, y + side], [x, y + side]];

/** Land, water and a road around the squares, in one tile of the world. */
function ground() {
  const at = (lon, lat) => {
    const y = 0.5 - Math.log(Math.tan(Math.PI / 4 + (lat * Math.PI) / 360)) / (2 * Math.PI);
    return [Math.round(((lon + 180) / 360) * 4096), Math.round(y * 4096)];
  };
  const [x, y] = at(...middle);
  return vectorTile([
    { name: "earth", kind: "earth", points: block(0, 0, 4096) },
    { name: "landuse", kind: "park", points: block(x, y, 4) },
    { name: "water", kind: "ocean", points: block(x - 4, y - 4, 4) },
    { name: "roads", kind: "highway", line: true, points: [[x - 40, y + 9], [x + 40, y - 9]] },
    { name: "boundaries", kind: "country", line: true, points: [[x - 40, y - 9], [x + 40, y + 9]] },
  ]);
}

describe("a base map", () => {
  it("of vector tiles comes from an archive of the platform, by ranges", () =>
    withServer('dashboard: {basemap: "DIR/city.pmtiles"}', { "city.pmtiles": archive(1, ground(), { attribution: '<a href="https://elsewhere.example/">© Map <b>makers</b></a>' }) }, (server) =>
      withPage(`${server.url}?at=${middle},7`, async (page, seen) => {
        await page.waitForFunction(() => window.paddock?.state().map?.basemap && window.paddock.state().map.complete);
        await page.getByText("© Map makers", { exact: true }).waitFor();
        await look(page, "basemap");
        assert.ok(seen.requests.some((url) => new URL(url).pathname === "/v1/basemap"));
        assert.deepEqual(seen.requests.filter((url) => /^(http|ws)/.test(url) && new URL(url).host !== new URL(server.url).host), []);
        const part = await fetch(new URL("v1/basemap", server.url), { headers: { range: "bytes=0-6" } });
        assert.equal(part.status, 206);
        assert.equal(await part.text(), "PMTiles");
        const page_ = await fetch(server.url);
        assert.ok(!/https?:/.test(page_.headers.get("content-security-policy")));
      }),
    ));

  it("of pictures is drawn paler, and named as the settings say", () =>
    withServer('dashboard: {basemap: "DIR/city.pmtiles", attribution: "© Painters"}', { "city.pmtiles": archive(2, png([120, 160, 90])) }, (server) =>
      withPage(`${server.url}?at=${middle},7`, async (page) => {
        await page.waitForFunction(() => window.paddock?.state().map?.basemap && window.paddock.state().map.complete);
        await page.getByText("© Painters", { exact: true }).waitFor();
        await look(page, "pictures");
      }),
    ));

  it("of a tile server is the only other host that the page may ask", () =>
    withServer('dashboard: {basemap: "http://tiles.example.invalid/{z}/{x}/{y}.png"}', {}, async (server) => {
      const opened = await openPage(browser, "about:blank");
      const { page, seen } = opened;
      try {
        await page.route("http://tiles.example.invalid/**", (route) =>
          route.fulfill({ contentType: "image/png", headers: { "access-control-allow-origin": "*" }, body: png([120, 160, 90]) }),
        );
        await page.goto(`${server.url}?at=${middle},7`);
        await page.waitForFunction(() => window.paddock?.state().map?.basemap && window.paddock.state().map.complete);
        const hosts = new Set(seen.requests.filter((url) => /^http/.test(url)).map((url) => new URL(url).host));
        assert.deepEqual([...hosts].sort(), [new URL(server.url).host, "tiles.example.invalid"].sort());
        assert.deepEqual(seen.errors, []);
      } finally {
        await opened.close();
      }
    }));
});

describe("50,000 objects", () => {
  it("are counted in cells, and one by one from near; the page stays responsive", () =>
    withServer("", {}, async (server) => {
      const count = 50_000;
      await post(server.url, positions(count, Date.now() - 60_000));
      await withPage(`${server.url}?at=${middle},10.6`, async (page) => {
        await page.waitForFunction((n) => window.paddock?.state().map?.crowd === n && window.paddock.state().map.complete, count);
        await whileDriving(server, count, async () => {
          await page.getByText(/^50.0 k objects, 0 of them silent/).waitFor();

          // A click has its effect while everything moves.
          await page.getByLabel("Show squares").uncheck();
          await page.waitForURL(/hide=squares/);
          await page.getByLabel("Show squares").check();
          // A filter counts what passes it.
          await page.getByLabel("Events and objects of fleet").selectOption("vans");
          await page.waitForFunction((n) => window.paddock.state().map.crowd === n, Math.floor((count + 1) / 3));
          await page.getByLabel("Events and objects of fleet").selectOption("");
          await page.waitForFunction((n) => window.paddock.state().map.crowd === n, count);

          // The server finds what the page has not loaded, and the map goes there.
          await page.keyboard.press("/");
          await page.keyboard.type("bus-4899");
          await page.getByRole("option", { name: "bus-48990" }).click();
          await page.locator(".pairs", { hasText: "Last position" }).waitFor();
          await page.waitForFunction(() => window.paddock.state().objects.some(({ id }) => id === "bus-48990"));
          await page.keyboard.press("Escape");
        });
        await page.goto(`${server.url}?at=${middle},10.6`);
        await page.waitForFunction((n) => window.paddock?.state().map?.crowd === n && window.paddock.state().map.complete, count);
        await look(page, "crowd");
        // A click on a disc comes closer.
        const { x, y } = (await state(page)).map.cell;
        await page.mouse.click(x, y);
        await page.waitForFunction(() => (window.paddock.state().view.at?.zoom ?? 0) > 12);
        await page.goto(`${server.url}?at=${middle},15`);
        await page.waitForFunction(() => window.paddock?.state().map?.crowd === 0 && window.paddock.state().objects.length > 10 && window.paddock.state().map.complete);
        await look(page, "streets");
      });
      await withPage(
        server.url,
        async (page) => {
          await page.waitForFunction((n) => window.paddock?.state().map?.crowd === n && window.paddock.state().map.complete, count);
          await look(page, "crowd-phone");
        },
        phone,
      );
    }));
});
