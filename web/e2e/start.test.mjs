// A server that has no fences yet, in a real browser against the real binary: how it is given some.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { desk, launch, openPage, screenshot } from "./browser.mjs";
import { startWith } from "./server.mjs";

const zone = {
  type: "FeatureCollection",
  features: [
    {
      type: "Feature",
      id: "hall",
      properties: { name: "Hall" },
      geometry: { type: "Polygon", coordinates: [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]] },
    },
  ],
};

let directory;
let server;
let browser;

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "paddock-e2e-"));
  const file = path.join(directory, "paddock.yaml");
  await writeFile(file, "track: {initial: none, policy: raw}\n");
  server = await startWith(file);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (directory) await rm(directory, { recursive: true });
});

/** Drops a file on the page, as a person does with one of a folder. */
function drop(page, name, text) {
  return page.evaluate(
    ([name, text]) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([text], name));
      dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    },
    [name, text],
  );
}

async function report(lon, lat) {
  const answer = await fetch(new URL("v1/positions", server.url), { method: "POST", body: JSON.stringify({ id: "bus-7", lon, lat }) });
  assert.equal(answer.status, 200);
}

describe("a server without fences", () => {
  it("says how to add some, and takes a file that is dropped", async () => {
    const { page, close } = await openPage(browser, server.url);
    const card = page.getByRole("region", { name: "How to add fences" });
    await card.getByText(`curl -T FILE '${server.url}v1/sets/NAME'`).waitFor();
    await screenshot(page, "start-empty");

    await drop(page, "My Zones.geojson", "{");
    await card.getByText("My Zones.geojson: ").waitFor();
    await drop(page, "My Zones.geojson", JSON.stringify(zone));
    await card.getByText("My Zones.geojson is the set my-zones now, with 1 fence.").waitFor();
    const sets = await (await fetch(new URL("v1/sets", server.url))).json();
    assert.deepEqual(
      sets.sets.map(({ name, fences }) => [name, fences]),
      [["my-zones", 1]],
    );
    await drop(page, "my-zones.json", JSON.stringify(zone));
    await card.getByText('my-zones.json: set "my-zones" exists').waitFor();
    await close();
  });

  it("has a map that keeps its place in the address, and shows what is selected", async () => {
    await fetch(new URL("v1/sets/my-zones", server.url), { method: "DELETE" });
    await report(13.4, 52.5);
    const { page, close } = await openPage(browser, server.url);
    const placed = () => page.waitForFunction(() => new URLSearchParams(location.search).has("at"));
    for (const move of [() => page.mouse.wheel(0, -300), () => page.locator(".maplibregl-canvas").press("ArrowRight")]) {
      await page.goto(server.url);
      await page.waitForFunction(() => window.paddock.state().map);
      await page.mouse.move(desk.viewport.width / 2, desk.viewport.height / 2);
      await move();
      await placed();
    }
    await page.goto(`${server.url}?object=default/bus-7`);
    await page.waitForFunction(() => {
      const { at } = window.paddock.state().view;
      return at && Math.abs(at.lon - 13.4) < 0.01 && Math.abs(at.lat - 52.5) < 0.01;
    });
    await placed();
    await close();
    await fetch(new URL("v1/sets/my-zones", server.url), { method: "PUT", body: JSON.stringify(zone) });
  });

  it("says what it did not take of a file, until that is closed", async () => {
    const { page, close } = await openPage(browser, server.url, { ...desk, clock: true });
    const card = page.getByRole("region", { name: "How to add fences" });
    await drop(page, "whole.json", JSON.stringify(zone));
    await card.getByText("whole.json is the set whole now, with 1 fence.").waitFor();
    const point = { type: "Feature", properties: {}, geometry: { type: "Point", coordinates: [1, 2] } };
    await drop(page, "partly.json", JSON.stringify({ ...zone, features: [...zone.features, point] }));
    const said = card.getByText("partly.json is the set partly now, with 1 fence. Feature 1: a Point has no area.");
    await said.waitFor();
    await page.clock.fastForward(60_000);
    assert.ok(await said.isVisible(), "the finding is gone before it was closed");
    await screenshot(page, "start-partly");
    await card.getByRole("button", { name: "Close what was said" }).click();
    await said.waitFor({ state: "hidden" });
    await drop(page, "points.json", JSON.stringify({ ...zone, features: [point] }));
    await card.locator(".bad").getByText("points.json is the set points now, with 0 fences.").waitFor();
    for (const set of ["whole", "partly", "points"]) await fetch(new URL(`v1/sets/${set}`, server.url), { method: "DELETE" });
    await close();
  });

  it("tells what happens in a sentence, and where", async () => {
    const { page, close } = await openPage(browser, server.url);
    await report(2, 2);
    await report(0.5, 0.25);
    await page.getByRole("button", { name: /bus-7.*enters.*Hall/ }).first().click();
    await page.getByRole("heading", { name: "bus-7 enters Hall" }).waitFor();
    await page.getByText("0.250000, 0.500000").waitFor();
    await screenshot(page, "start-event");
    await page.getByRole("button", { name: "bus-7", exact: true }).click();
    await page.getByText("not reported").waitFor();
    // An object that moves leaves the focus where it is.
    const copy = page.getByRole("button", { name: "Copy latitude and longitude" });
    await copy.focus();
    await report(0.5, 0.5);
    await page.getByText("0.500000, 0.500000").waitFor();
    assert.ok(await copy.evaluate((button) => button === document.activeElement), "the button to copy was replaced");
    await close();
  });

  it("notes that there is no tunnel", async () => {
    const { page, close } = await openPage(browser, new URL("tunnel", server.url).href);
    await page.getByText("This server has no tunnel.").waitFor();
    await close();
  });
});
