// The past on the map: an hour that was sent, played back, and a vehicle's day.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { accessibilityFindings, desk, launch, openPage, phone, screenshot, state } from "./browser.mjs";
import { fences, lastS, placeOf, rest, sendHour, silence, vehicles } from "./past.mjs";
import { startKeeping, startPlatform } from "./server.mjs";

const minuteMs = 60_000;
/** The hour before the last one, so that it is over. */
const begin = Math.floor(Date.now() / (60 * minuteMs) - 2) * 60 * minuteMs;
const end = begin + lastS * 1000;

let directory;
let server;
let browser;

before(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), "paddock-past-"));
  await mkdir(path.join(directory, "sets"));
  await writeFile(path.join(directory, "sets", "yards.geojson"), JSON.stringify(fences));
  server = await startKeeping(path.join(directory, "sets"), path.join(directory, "data"));
  await sendHour(server.url, begin);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  if (directory) await rm(directory, { recursive: true, force: true });
});

const iso = (t) => new Date(t).toISOString().replace(".000Z", "Z");

/** The address of the hour, at a second of it. */
function at(second, more = "", zoom = 13) {
  return `?past=${iso(begin)},${iso(end)}&t=${iso(begin + second * 1000)}&at=13.4,52.52,${zoom}${more}`;
}

async function withPage(query, run, options = desk) {
  const { page, seen, close } = await openPage(browser, server.url + query, options);
  try {
    await run(page);
    assert.deepEqual(seen.errors, []);
    const foreign = seen.requests.filter((url) => !url.startsWith(server.url) && !url.startsWith(server.url.replace("http", "ws")) && !/^(data|blob):/.test(url));
    assert.deepEqual(foreign, []);
  } finally {
    await close();
  }
}

/** Until the picture of the time is there, with so many objects. */
async function shown(page, objects = vehicles.length) {
  await page.waitForFunction((count) => {
    const { past, map, objects } = window.paddock.state();
    return past && !past.loading && past.drawn === past.t && map?.complete && past.objects === count && objects.length === count;
  }, objects);
}

/** Fails unless each vehicle is drawn where it was at a second of the hour, to some metres. */
async function isAt(page, second) {
  const { objects } = await state(page);
  for (const n of vehicles) {
    const id = `van-${n}`;
    const gap = id === silence.id && second > silence.from && second < silence.to;
    const want = placeOf(n, gap ? silence.from : second);
    const drawn = objects.find((object) => object.id === id);
    assert.ok(drawn, `${id} is not drawn`);
    const metres = Math.hypot((drawn.lon - want.lon) * 67_700, (drawn.lat - want.lat) * 111_195);
    assert.ok(metres < 15, `${id} is ${metres.toFixed(1)} m from where it was at ${second} s`);
  }
}

describe("playback", () => {
  it("shows the fleet as it stood, wherever the slider is", () =>
    withPage(at(600), async (page) => {
      await shown(page);
      await isAt(page, 600);
      const slider = page.getByRole("slider", { name: "Time of the playback" });
      for (const second of [1500, 300, 3000]) {
        await slider.fill(String(second));
        await page.waitForFunction((t) => window.paddock.state().past.t === t, begin + second * 1000);
        await shown(page);
        await isAt(page, second);
      }
      await slider.fill("1500");
      await shown(page);
      await screenshot(page, "past");
      assert.equal(await page.locator(".legend [data-state=silent] .count").textContent(), "1");
    }));

  it("plays, with the events of the time in its order, and stops at the end", () =>
    withPage(at(600, "&speed=600"), async (page) => {
      await shown(page);
      await page.getByRole("button", { name: /^Play/ }).click();
      await page.waitForFunction((t) => window.paddock.state().past.t > t, begin + 1200 * 1000);
      await page.getByRole("button", { name: /^Stop/ }).click();
      const { past } = await state(page);
      assert.equal(past.playing, false);
      assert.ok(past.feed.length > 5, `${past.feed.length} events`);
      assert.ok(past.feed.every((time) => Date.parse(time) <= past.t), "an event is ahead of the time");
      const times = await page.locator(".feed-card .row time").evaluateAll((all) => all.map((time) => Date.parse(time.dateTime)));
      assert.deepEqual(times, times.toSorted((a, b) => b - a));

      await page.keyboard.press("End");
      await page.waitForFunction((t) => window.paddock.state().past.t === t, end);
      assert.equal((await state(page)).past.playing, false);
    }));

  it("has an address, and goes back to the present", () =>
    withPage(at(900), async (page) => {
      await shown(page);
      await page.getByLabel("Speed").selectOption("120");
      await page.keyboard.press("Escape");
      await page.getByRole("slider").fill("1000");
      await page.waitForFunction(() => /t=[^&]*:16:40Z/.test(location.search) && location.search.includes("speed=120"));
      const address = page.url();
      await page.goto("about:blank");
      await page.goto(address);
      await shown(page);
      const { past, view } = await state(page);
      assert.equal(past.t, begin + 1_000_000);
      assert.equal(view.past.speed, 120);
      await isAt(page, 1000);

      await page.getByRole("button", { name: "Back to live" }).click();
      await page.waitForFunction(() => window.paddock.state().past === null && !location.search.includes("past="));
      await page.waitForFunction(() => window.paddock.state().objects.length === 5);
      await page.getByRole("button", { name: "Past" }).click();
      await page.waitForFunction(() => window.paddock.state().past !== null);
    }));

  it("works from the keyboard", () =>
    withPage(at(600), async (page) => {
      await shown(page);
      const t = async () => (await state(page)).past.t - begin;
      await page.keyboard.press("ArrowRight");
      assert.equal(await t(), 610_000);
      await page.keyboard.press("Shift+ArrowLeft");
      assert.equal(await t(), 550_000);
      await page.keyboard.press("Home");
      assert.equal(await t(), 0);
      await page.keyboard.press("]");
      assert.equal((await state(page)).view.past.speed, 120);
      const visits = await (await fetch(new URL(`v1/visits?from=${iso(begin + 1000)}&limit=1000`, server.url))).json();
      const times = visits.visits.flatMap((visit) => [Date.parse(visit.begin), ...(visit.end ? [Date.parse(visit.end)] : [])]);
      const first = Math.min(...times.filter((time) => time > begin));
      await page.keyboard.press(".");
      await page.waitForFunction((time) => window.paddock.state().past.t === time, first);
      const second = Math.min(...times.filter((time) => time > first));
      await page.keyboard.press(".");
      await page.waitForFunction((time) => window.paddock.state().past.t === time, second);
      await page.keyboard.press(",");
      await page.waitForFunction((time) => window.paddock.state().past.t === time, first);
      await page.keyboard.press("Space");
      await page.waitForFunction((time) => window.paddock.state().past.t > time, first);
      await page.keyboard.press("Space");
      await page.waitForFunction(() => !window.paddock.state().past.playing);
      await page.keyboard.press("l");
      await page.waitForFunction(() => window.paddock.state().past === null);
      await page.keyboard.press("h");
      await page.waitForFunction(() => window.paddock.state().past !== null);
    }));

  it("takes another span", () =>
    withPage(at(600), async (page) => {
      await shown(page);
      await page.getByLabel("Span").selectOption("custom");
      await page.getByLabel("To", { exact: true }).fill(new Date(begin).toISOString().slice(0, 10) + "T00:00:00");
      await page.getByLabel("From", { exact: true }).fill(new Date(begin).toISOString().slice(0, 10) + "T00:00:00");
      await page.getByRole("button", { name: "Show", exact: true }).click();
      await page.getByText("One minute to 31 days").waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByLabel("Span").selectOption("6h");
      await page.waitForFunction(() => {
        const { past } = window.paddock.state().view;
        return past.to - past.from === 6 * 3600e3;
      });
    }));

  it("says plainly that nothing is kept, where that is so", async () => {
    const keepsNothing = await startPlatform(path.join(directory, "sets"));
    const { page, close } = await openPage(browser, keepsNothing.url, desk);
    try {
      await page.getByRole("button", { name: "Past" }).click();
      await page.getByText("no past is kept: start the server with a data directory").waitFor();
      await page.getByRole("button", { name: "Back to live" }).click();
      await page.waitForFunction(() => window.paddock.state().past === null);
    } finally {
      await close();
      await keepsNothing.stop();
    }
  });
});

describe("a vehicle's day", () => {
  it("has its track, visits, stops and files", () =>
    withPage(at(1500, `&object=default/${rest.id}`), async (page) => {
      await shown(page);
      const details = page.locator(".details-card");
      await details.getByText("15 min 10 s in 1 stop").waitFor();
      const query = `v1/visits?object=${rest.id}&fleet=default&from=${iso(begin)}&to=${iso(end)}`;
      const { visits } = await (await fetch(new URL(query, server.url))).json();
      await details.locator(".past-table tbody tr").first().waitFor();
      assert.equal(await details.locator(".past-table tbody tr").count(), visits.length);
      assert.equal(await page.locator(".past-visit").count(), visits.length);
      await screenshot(page, "past-day");

      // A time in the table is a place on the slider, a fence a link.
      const row = details.locator(".past-table tbody tr").nth(2);
      const time = Date.parse(await row.locator("time").first().getAttribute("datetime"));
      await row.locator("button:has(time)").first().click();
      await page.waitForFunction((t) => Math.abs(window.paddock.state().past.t - t) < 1000, time);

      for (const [name, begins] of [["GPX", "<?xml"], ["GeoJSON", '{"type":"Feature"'], ["CSV", "t,seen,lon,lat"], ["Visits as CSV", "set,fence"]]) {
        const href = await details.getByRole("link", { name, exact: true }).getAttribute("href");
        const answer = await fetch(href);
        assert.equal(answer.status, 200, href);
        assert.ok((await answer.text()).startsWith(begins), name);
      }

      await details.getByRole("button", { name: "Whole day" }).click();
      await page.waitForFunction(() => {
        const { past } = window.paddock.state().view;
        return past.to - past.from >= 23 * 3600e3;
      });
      await row.getByRole("button", { name: /^Yard/ }).click();
      await page.waitForFunction(() => window.paddock.state().view.selection.kind === "fence");
    }));

  it("marks the gap in a track", () =>
    withPage(at(600, `&object=default/${silence.id}`), async (page) => {
      await shown(page);
      await page.getByText("15 min in 1 gap").waitFor();
      assert.equal(await page.locator(".past-gap").count(), 1);
      await page.getByRole("button", { name: "time", exact: true }).click();
      await screenshot(page, "past-gap");
    }));

  it("is a button away, in the details of the present", () =>
    withPage("?object=default/van-1", async (page) => {
      await page.getByRole("button", { name: "Day", exact: true }).click();
      await page.waitForFunction(() => window.paddock.state().view.past !== null);
      await page.getByRole("heading", { name: "Track" }).waitFor();
    }));
});

describe("everyone can use it", () => {
  for (const [name, options, zoom] of [["desk", desk, 13], ["phone", phone, 12]]) {
    it(`has no serious accessibility fault, light or dark (${name})`, () =>
      withPage(
        at(1500, "", zoom),
        async (page) => {
          await shown(page);
          const look = async (what) => {
            for (const colorScheme of ["dark", "light"]) {
              const { mapDrawings } = (await state(page)).map;
              await page.emulateMedia({ colorScheme });
              await page.waitForFunction((drawings) => window.paddock.state().map.mapDrawings > drawings, mapDrawings);
              await screenshot(page, ["past", name, what, colorScheme].filter(Boolean).join("-"));
              assert.deepEqual(await accessibilityFindings(page), [], `${what} ${colorScheme}`);
            }
          };
          await look("");
          assert.ok(await page.getByRole("button", { name: "Back to live" }).isVisible());
          await page.goto(`${server.url}${at(1500, `&object=default/${silence.id}`, zoom)}`);
          await shown(page);
          await page.getByText("15 min in 1 gap").waitFor();
          await look("day");
          // Nothing lies over the bar.
          await page.getByRole("slider").click({ trial: true });
          await page.getByRole("button", { name: "Back to live" }).click({ trial: true });
          if (!options.isMobile) return;
          await page.locator(".tabs").getByRole("button", { name: "Events" }).click();
          await page.locator(".feed-card .row").first().waitFor();
          await look("events");
          await page.getByRole("button", { name: "Back to live" }).click({ trial: true });
        },
        options,
      ));
  }
});
