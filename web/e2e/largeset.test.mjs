// A set of 100,000 fences in a real browser against the real binary.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { launch, openPage, screenshot, state } from "./browser.mjs";
import { startPlatform } from "./server.mjs";

/** Without a graphics card each pixel costs the processor. */
const small = { viewport: { width: 1000, height: 700 } };

/** Fences in a row, and rows. */
const [columns, rows] = [400, 250];
const [west, south, step] = [13, 52, 0.002];

let directory;
let server;
let browser;

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "paddock-e2e-"));
  await writeFile(path.join(directory, "dense.geojson"), tessellation());
  server = await startPlatform(directory);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (directory) await rm(directory, { recursive: true });
});

/** Fences without gaps, always the same; their borders bend a bit. */
function tessellation() {
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const at = (x, y) => y * (columns + 1) + x;
  const corners = [];
  for (let y = 0; y <= rows; y++) {
    for (let x = 0; x <= columns; x++) corners.push([west + (x + 0.5 * random()) * step, south + (y + 0.5 * random()) * step]);
  }
  const between = ([ax, ay], [bx, by]) => [(ax + bx) / 2 + (by - ay) * 0.1, (ay + by) / 2 + (bx - ax) * 0.1];
  const features = [];
  for (let y = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++) {
      const ring = [corners[at(x, y)], corners[at(x + 1, y)], corners[at(x + 1, y + 1)], corners[at(x, y + 1)]];
      // A border is bent alike for both its neighbours: from the one with the lower place to the other.
      const bent = ring.flatMap((a, i) => {
        const b = ring[(i + 1) % 4];
        return [a, i < 2 ? between(a, b) : between(b, a)];
      });
      const coordinates = [[...bent, bent[0]].map(([lon, lat]) => [Number(lon.toFixed(6)), Number(lat.toFixed(6))])];
      features.push(JSON.stringify({
        type: "Feature",
        id: `${x}-${y}`,
        properties: { name: `Cell ${x}/${y}`, row: y },
        geometry: { type: "Polygon", coordinates },
      }));
    }
  }
  return `{"type":"FeatureCollection","features":[\n${features.join(",\n")}\n]}`;
}

async function withPage(query, run) {
  const opened = await openPage(browser, server.url + query, small);
  try {
    await run(opened.page, opened.seen);
    // The browser itself reports each 404.
    assert.deepEqual(opened.seen.errors.filter((error) => !/status of 404/.test(error)), []);
  } finally {
    await opened.close();
  }
}

async function send(method, target, body) {
  const response = await fetch(new URL(target, server.url), {
    method,
    ...(body ? { body: JSON.stringify(body), headers: { "content-type": "application/json" } } : {}),
  });
  assert.ok(response.ok, `${target}: ${response.status} ${await response.clone().text()}`);
  return response.json();
}

/** Until the set's tiles in view are drawn. */
async function drawn(page) {
  await page.waitForFunction(() => {
    const now = window.paddock?.state();
    return now?.map?.complete && now.loadedSets.includes("dense");
  });
}

const middle = { lon: west + (columns / 2) * step, lat: south + (rows / 2) * step };

async function place(page, { lon, lat }) {
  return page.evaluate(([x, y]) => window.paddock.project(x, y), [lon, lat]);
}

async function selected(page) {
  await page.waitForFunction(() => window.paddock.state().view.selection !== null);
  return (await state(page)).view.selection;
}

describe("a set of 100,000 fences", () => {
  it("is shown whole, without being loaded, and the page stays responsive", (test) =>
    withPage("", async (page, seen) => {
      await page.evaluate(() => {
        window.longest = 0;
        new PerformanceObserver((list) => {
          for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
        }).observe({ type: "longtask", buffered: true });
      });
      await drawn(page);
      assert.equal((await state(page)).map.fences, columns * rows);
      await screenshot(page, "large-set-far");

      const canvas = await place(page, middle);
      for (let i = 0; i < 2; i++) {
        await page.mouse.move(canvas.x, canvas.y);
        await page.mouse.wheel(0, -400);
        await drawn(page);
      }
      await page.mouse.down();
      await page.mouse.move(canvas.x - 300, canvas.y + 120, { steps: 10 });
      await page.mouse.up();
      await drawn(page);
      await screenshot(page, "large-set-near");

      const asked = seen.requests.map((url) => new URL(url).pathname);
      assert.ok(asked.some((at) => at.startsWith("/v1/sets/dense/tiles/")));
      assert.ok(!asked.includes("/v1/sets/dense"), "the whole set was loaded");
      test.diagnostic(`longest task of the page's thread: ${Math.round(await page.evaluate(() => window.longest))} ms`);
    }));

  it("has details for the fence that is clicked, near and far", () =>
    withPage(`?at=${middle.lon},${middle.lat},15`, async (page) => {
      await drawn(page);
      const { fences } = await send("GET", `v1/search?set=dense&lon=${middle.lon}&lat=${middle.lat}`);
      const { x, y } = await place(page, middle);
      await page.mouse.move(x, y);
      await page.locator(".tip", { hasText: `${fences[0].properties.name} · ${fences[0].id}` }).waitFor();
      await page.mouse.click(x, y);
      assert.deepEqual(await selected(page), { kind: "fence", set: "dense", fence: fences[0].id });
      await page.getByRole("heading", { name: `${fences[0].properties.name} · ${fences[0].id}` }).waitFor();
      await page.locator("dl.pairs", { hasText: `row${fences[0].properties.row}` }).waitFor();
      await screenshot(page, "large-set-fence");

      // From where no fence is large enough to draw, the server knows.
      await page.goto(`${server.url}?at=${middle.lon},${middle.lat},6`);
      await drawn(page);
      const far = await place(page, middle);
      await page.mouse.click(far.x, far.y);
      assert.deepEqual(await selected(page), { kind: "fence", set: "dense", fence: fences[0].id });
    }));

  it("is found by its address, and the map goes there", () =>
    withPage("?fence=dense/12-34", async (page) => {
      await page.getByRole("heading", { name: "Cell 12/34 · 12-34" }).waitFor();
      await page.waitForFunction(() => (window.paddock.state().view.at?.zoom ?? 0) > 12);
      await page.goto(`${server.url}?fence=dense/none`);
      await page.getByText("There is no such fence (any more).").waitFor();
    }));

  it("is searched by the server, which knows all names", () =>
    withPage("", async (page) => {
      await drawn(page);
      await page.getByLabel("Find an object or fence").fill("cell 399/2");
      await page.getByRole("option", { name: "Cell 399/24 · 399-24" }).click();
      assert.deepEqual(await selected(page), { kind: "fence", set: "dense", fence: "399-24" });
      await page.waitForFunction(() => (window.paddock.state().view.at?.zoom ?? 0) > 12);
    }));

  it("names its fences in events, is drawn anew when it changes, and can be hidden", () =>
    withPage(`?at=${middle.lon},${middle.lat},15`, async (page, seen) => {
      await drawn(page);
      const before = (await state(page)).sets.find(({ name }) => name === "dense").generation;
      await send("POST", "v1/positions", [{ id: "e2e", lon: 0, lat: 0 }]);
      await send("POST", "v1/positions", [{ id: "e2e", ...middle }]);
      const { fences } = await send("GET", `v1/search?set=dense&lon=${middle.lon}&lat=${middle.lat}`);
      await page.locator(".feed-card .row", { hasText: `e2e enters ${fences[0].properties.name} · ${fences[0].id}` }).first().waitFor();

      const [w, s, n] = [middle.lon - 0.003, middle.lat - 0.003, middle.lat + 0.003];
      const ring = [[w, s], [middle.lon, s], [middle.lon, n], [w, n], [w, s]];
      const geometry = { type: "Polygon", coordinates: [ring] };
      const { generation } = await send("PUT", "v1/sets/dense/fences/added", { type: "Feature", properties: { name: "Added" }, geometry });
      assert.ok(generation > before);
      await page.waitForFunction((wanted) => window.paddock.state().sets[0].generation === wanted, generation);
      const version = `v=${generation}.`;
      for (let i = 0; i < 100 && !seen.requests.some((url) => url.includes(version)); i++) {
        await page.waitForEvent("request", { predicate: (request) => request.url().includes("/tiles/") });
      }
      await drawn(page);
      const { x, y } = await place(page, { lon: middle.lon - 0.0005, lat: middle.lat });
      await page.mouse.move(x, y);
      await page.locator(".tip", { hasText: "Added · added" }).waitFor();

      await page.getByLabel("Show dense").uncheck();
      await page.mouse.click(x, y);
      assert.equal((await state(page)).view.selection, null);
    }));
});
