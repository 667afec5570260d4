// The dashboard in a real browser against the real binary.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { accessibilityFindings, desk, launch, openPage, phone, ready, screenshot, state } from "./browser.mjs";
import { startServer } from "./server.mjs";

let server;
let browser;

before(async () => {
  server = await startServer();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Opens a page for one test and closes it again, whatever happens in between. */
async function withPage(query, run, options = desk) {
  const opened = await openPage(browser, server.url + query, options);
  try {
    await run(opened.page, opened.seen);
  } finally {
    await opened.close();
  }
}

async function api(path, body) {
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const response = await fetch(new URL(path, server.url), options);
  assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
  return response.json();
}

/** A fence of a set, and a point that the server says is in it. */
async function somePlace(set) {
  const { features } = await api(`v1/sets/${set}`);
  for (const { id, geometry } of features) {
    const ring = geometry.type === "Polygon" ? geometry.coordinates[0] : geometry.coordinates[0][0];
    const lon = ring.reduce((sum, point) => sum + point[0], 0) / ring.length;
    const lat = ring.reduce((sum, point) => sum + point[1], 0) / ring.length;
    const { fences } = await api(`v1/search?lon=${lon}&lat=${lat}&set=${set}`);
    if (fences.some((fence) => fence.id === id)) return { set, id, lon, lat };
  }
  throw new Error(`the set ${set} has no fence with its middle inside`);
}

let causes = 0;

/** Moves a new object into a fence. Resolves with its id when the server has said that it has taken that. */
async function causeEnter({ lon, lat }) {
  const id = `e2e-${process.pid}-${++causes}`;
  await api("v1/positions", [{ id, lon: lon + 3, lat }]);
  await api("v1/positions", [{ id, lon, lat }]);
  return id;
}

describe("the map", () => {
  it("shows vehicles that move, and asks nothing of other machines", () =>
    withPage("", async (page, seen) => {
      await ready(page);
      const first = new Map((await state(page)).objects.map(({ id, lon, lat }) => [id, `${lon} ${lat}`]));
      await page.waitForFunction((before) => {
        const moved = window.paddock.state().objects.filter(({ id, lon, lat }) => before[id] && before[id] !== `${lon} ${lat}`);
        return moved.length > 100;
      }, Object.fromEntries(first));
      const { map, missed } = await state(page);
      const { fences, overlayDrawings } = map;
      assert.equal(missed, 0);
      assert.ok(fences > 2000, `${fences} fences on the map`);
      assert.ok(overlayDrawings > 0);

      const { host } = new URL(server.url);
      const foreign = seen.requests.filter((url) => !/^(data|blob):/.test(url) && new URL(url).host !== host);
      assert.deepEqual(foreign, []);
      assert.deepEqual(seen.errors, []);
    }));

  it("opens a fence's details on a click, and the address names it", () =>
    withPage("", async (page) => {
      await ready(page);
      const { lon, lat } = await somePlace("zones");
      await page.goto(`${server.url}?at=${lon},${lat},15`);
      await ready(page);
      const { x, y } = await page.evaluate(([a, b]) => window.paddock.project(a, b), [lon, lat]);
      // Vehicles pass by, and a vehicle goes before the fence: try until the fence is hit.
      for (let i = 0; i < 20; i++) {
        await page.mouse.click(x, y);
        if ((await state(page)).view.selection?.kind === "fence") break;
        await page.keyboard.press("Escape");
      }
      const { selection } = (await state(page)).view;
      assert.equal(selection?.kind, "fence");
      await page.getByRole("heading", { name: /^Inside now/ }).waitFor();
      assert.match(new URL(page.url()).search, new RegExp(`fence=${selection.set}/${selection.fence}`));
      await page.goBack();
      assert.equal((await state(page)).view.selection?.fence, undefined);
    }));

  it("follows a vehicle, whose details say where it is", () =>
    withPage("", async (page) => {
      await ready(page);
      await page.getByRole("button", { name: "Follow a vehicle" }).click();
      await page.waitForFunction(() => window.paddock.state().following);
      await page.getByText("Last heard").waitFor();
      const { id } = (await state(page)).view.selection;
      await page.waitForFunction((wanted) => {
        // The middle of what the panels leave free.
        const object = window.paddock.state().objects.find((o) => o.id === wanted);
        return object && Math.abs(object.x - 732) < 200 && Math.abs(object.y - 450) < 200;
      }, id);
      await screenshot(page, "object");
    }));
});

describe("the feed", () => {
  it("shows an event as it occurs", async () => {
    const place = await somePlace("zones");
    await causeEnter(place); // the filter is for the map too, which then shows this one
    await withPage("?q=e2e-", async (page) => {
      await ready(page);
      const id = await causeEnter(place);
      await page.locator(".feed-card .row", { hasText: `${id} enters` }).first().waitFor();
      await page.goto(`${server.url}?object=default/${id}`);
      const fences = page.locator(".details-card section", { hasText: "In fences" });
      await fences.getByRole("listitem").first().waitFor();
      const gone = await fetch(new URL(`v1/objects/${id}`, server.url), { method: "DELETE" });
      assert.equal(gone.status, 204);
      await page.getByText("There is no such object").waitFor();
      await fences.getByText("None.").waitFor();
    });
  });

  it("filters by set, kind and text, and the address holds the filter", () =>
    withPage("", async (page) => {
      await ready(page);
      const card = page.locator(".feed-card");
      await page.waitForFunction(() => window.paddock.state().recentEvents > 50);

      await page.getByLabel("Events of set").selectOption("zones");
      await card.locator(".row").first().waitFor();
      const facts = await card.locator(".row-facts").allTextContents();
      assert.ok(facts.length > 0);
      assert.deepEqual(facts.filter((text) => text.includes("districts")), []);

      await card.getByRole("button", { name: "exit", exact: true }).click();
      await card.locator(".row").first().waitFor();
      const verbs = await card.locator(".verb").allTextContents();
      assert.deepEqual(verbs.filter((verb) => !verb.includes("exit")), []);
      await page.waitForURL(/set=zones&event=exit/);

      await page.getByLabel("Events with text").fill("no such thing");
      await card.getByText("No event passes the filter yet.").waitFor();
      await card.getByRole("button", { name: "Clear" }).click();
      await card.locator(".row").first().waitFor();
    }));

  it("pauses", () =>
    withPage("", async (page) => {
      await ready(page);
      await page.locator(".feed-card .row").first().waitFor();
      await page.keyboard.press("p");
      await page.waitForFunction(() => window.paddock.state().paused);
      // Not innerText: it leaves out rows that are out of sight, as the browser sees fit.
      const rows = await page.locator(".feed-card .rows").textContent();
      await page.getByRole("button", { name: /new events?$/ }).waitFor();
      assert.equal(await page.locator(".feed-card .rows").textContent(), rows);
      await page.keyboard.press("p");
      await page.waitForFunction((before) => document.querySelector(".feed-card .rows").textContent !== before, rows);
    }));

  it("opens an event as JSON with the commands that subscribe to it", async () => {
    const place = await somePlace("zones");
    await causeEnter(place);
    await withPage("?q=e2e-", async (page) => {
      await ready(page);
      const id = await causeEnter(place);
      await page.locator(".feed-card .row button", { hasText: id }).first().click();
      const event = JSON.parse(await page.getByLabel("The event as JSON", { exact: true }).innerText());
      assert.equal(event.type, "paddock.fence.enter");
      assert.equal(event.data.object.id, id);
      const curl = await page.getByLabel("Subscribe with curl", { exact: true }).innerText();
      const nats = await page.getByLabel("Subscribe with nats", { exact: true }).innerText();
      assert.equal(new URL(/'(.+)'/.exec(curl)[1]).searchParams.get("fence"), event.data.fence.id);
      assert.ok(nats.includes(`fence.zones.${event.data.fence.id}.enter.>`), nats);
      await screenshot(page, "event");

      // The event has an address of its own.
      const address = page.url();
      await page.goto("about:blank");
      await page.goto(address);
      await page.getByLabel("The event as JSON", { exact: true }).waitFor();
    });
  });
});

describe("the connection", () => {
  it("says that it is lost, keeps the picture, and recovers", () =>
    withPage("", async (page) => {
      await ready(page);
      await server.kill();
      const banner = page.getByRole("alert");
      await banner.getByText("Connection lost.").waitFor();
      assert.ok((await state(page)).objects.length > 0, "the last picture is gone");
      await screenshot(page, "offline");

      server = await startServer(server.port);
      await page.waitForFunction(() => window.paddock.state().connection === "live");
      await banner.getByText("Back").waitFor();
      const before = Object.fromEntries((await state(page)).objects.map(({ id, lon }) => [id, lon]));
      await page.waitForFunction((old) => window.paddock.state().objects.some(({ id, lon }) => id in old && old[id] !== lon), before);
    }));
});

describe("everyone can use it", () => {
  it("works from the keyboard", () =>
    withPage("", async (page) => {
      await ready(page);
      const reached = [];
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press("Tab");
        reached.push(
          await page.evaluate(() => {
            const focused = document.activeElement;
            const style = getComputedStyle(focused);
            const ring = style.outlineStyle !== "none" || focused.closest(".search") !== null;
            return `${focused.getAttribute("aria-label") ?? focused.textContent.trim()}${ring ? "" : " (focus not visible)"}`;
          }),
        );
      }
      for (const wanted of ["Map of fences", "Find an object", "Show districts", "Pause", "enter", "Events of set", "Events with text"]) {
        assert.ok(reached.some((name) => name.startsWith(wanted)), `${wanted} not reached: ${reached.join(" | ")}`);
      }
      assert.deepEqual(reached.filter((name) => name.includes("not visible")), []);

      const { set, id } = await somePlace("districts");
      await page.keyboard.press("/");
      await page.keyboard.type(id);
      await page.getByRole("option").first().waitFor();
      await page.keyboard.press("Enter");
      await page.waitForFunction(([s, f]) => {
        const { selection } = window.paddock.state().view;
        return selection?.set === s && selection.fence === f;
      }, [set, id]);
      await page.getByRole("heading", { name: /^Inside now/ }).waitFor();
      await page.keyboard.press("Escape");
      assert.equal((await state(page)).view.selection, null);

      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    }));

  for (const [name, options] of Object.entries({ desk, phone })) {
    it(`has no serious accessibility fault, light or dark (${name})`, () =>
      withPage(
        "",
        async (page) => {
          await ready(page);
          const look = async (what) => {
            for (const colorScheme of ["dark", "light"]) {
              const { mapDrawings } = (await state(page)).map;
              await page.emulateMedia({ colorScheme });
              // The map takes the colours with its next drawing.
              await page.waitForFunction((before) => window.paddock.state().map.mapDrawings > before, mapDrawings);
              await screenshot(page, [name, what, colorScheme].filter(Boolean).join("-"));
              assert.deepEqual(await accessibilityFindings(page), [], `${what} ${colorScheme}`);
            }
          };
          await look("");
          await page.getByRole("button", { name: "See what is in a fence" }).click();
          await page.getByRole("heading", { name: /^Inside now/ }).waitFor();
          await look("fence");
          if (!options.isMobile) return;
          await page.getByRole("button", { name: "Close details" }).click();
          await page.locator(".tabs").getByRole("button", { name: "Events" }).click();
          await page.locator(".feed-card .row").first().waitFor();
          await look("events");
        },
        options,
      ));
  }
});
