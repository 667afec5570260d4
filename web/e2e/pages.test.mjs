// The operator's pages in a real browser against the real binary: navigation, sets, rules, webhooks, keys, devices, bus and wire.

import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { after, before, describe, it } from "node:test";
import { desk, launch, lookInAllWidths, phone, rowOf, screenshot } from "./browser.mjs";
import { depots, startOperator, viewer } from "./operator.mjs";

let stand;
let browser;

before(async () => {
  stand = await startOperator();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await stand?.stop();
});

/** A page with the session of a key; its own errors and foreign requests fail the test. */
async function withPage(target, run, { options = desk, key, errors = [] } = {}) {
  const { page, seen, close } = await stand.page(browser, target, options, key);
  try {
    await run(page);
    const { host } = new URL(stand.server.url);
    assert.deepEqual(seen.requests.filter((url) => !/^(data|blob|about):/.test(url) && new URL(url).host !== host), []);
    assert.deepEqual(seen.errors.filter((text) => !errors.some((known) => text.includes(known))), []);
  } finally {
    await close();
  }
}

/** The panel beside the list. */
const panel = (page) => page.locator(".split-detail");
const button = (within, name) => within.getByRole("button", { name, exact: true });

/** Answers a question with its action. */
async function answer(page, action) {
  await button(page.getByRole("dialog"), action).click();
}

describe("the navigation", () => {
  it("has all pages, marks the present one, and works by keyboard", () =>
    withPage("sets", async (page) => {
      const side = page.getByRole("navigation", { name: "Pages" });
      assert.deepEqual(await side.getByRole("link").allTextContents(), ["Map", "Sets", "Rules", "Webhooks", "Keys", "Devices", "Bus", "Wire", "Tunnel", "Cluster", "Documents"]);
      for (const name of ["Rules", "Webhooks", "Keys", "Devices", "Bus", "Wire", "Tunnel", "Cluster", "Sets"]) {
        await side.getByRole("link", { name }).focus();
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { level: 1, name }).waitFor();
        assert.equal(await page.locator('.side [aria-current="page"]').textContent(), name);
        assert.equal(await page.title(), `Paddock ${name.toLowerCase()}`);
      }
      await page.keyboard.press("Tab");
      await page.getByRole("link", { name: "Skip the navigation" }).press("Enter");
      assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
    }, { errors: ["404"] })); // a server without a tunnel and a cluster

  it("is a menu on a phone", () =>
    withPage("rules", async (page) => {
      await button(page, "Pages").click();
      const menu = page.getByRole("navigation", { name: "Pages" });
      const opened = () => page.waitForFunction(() => document.activeElement?.textContent === "Rules");
      await opened();
      await screenshot(page, "page-menu-phone");
      await page.keyboard.press("Escape");
      await menu.waitFor({ state: "hidden" });
      await button(page, "Pages").press("Enter");
      await opened();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Webhooks" }).waitFor();
    }, { options: phone }));

  it("is in the bar of the map", () =>
    withPage("?rule=none", async (page) => {
      await page.locator(".figure").first().waitFor();
      const before = await page.locator(".figure:visible").count();
      await button(page, "Pages").click();
      assert.equal(await page.locator('.menu [aria-current="page"]').textContent(), "Map");
      assert.equal(await page.locator(".figure:visible").count(), before);
      await page.keyboard.press("Escape");
      await button(page, "Pages").click();
      await page.getByRole("link", { name: "Devices" }).click();
      await page.getByRole("heading", { level: 1, name: "Devices" }).waitFor();
    }));
});

describe("the login", () => {
  it("leads back to the page that was asked for", async () => {
    const context = await browser.newContext(desk);
    const page = await context.newPage();
    await page.goto(`${stand.server.url}sets?set=depots`);
    await page.getByLabel("Key").fill(viewer);
    await button(page, "Open").click();
    await panel(page).getByRole("heading", { name: "depots" }).waitFor();
    assert.match(page.url(), /\/sets\?set=depots$/);
    await context.close();
  });
});

describe("the map of a key that ends", () => {
  it("goes on after a change of the key, and stops with it", async () => {
    const { secret } = await stand.call("POST", "v1/keys", { name: "guest", verbs: ["events:read", "objects:read", "lookup"] });
    await withPage("", async (page) => {
      const state = (wanted) => page.waitForFunction((name) => window.paddock.state().connection === name, wanted);
      await state("live");
      const figures = page.locator(".figure:visible dt");
      await figures.getByText("memory").waitFor();
      await stand.call("PATCH", "v1/keys/guest", { sets: ["depots"] });
      await state("lost");
      await state("live");
      // Only what the key sees is measured now.
      await page.getByRole("navigation", { name: "Fleet" }).getByText("in view").waitFor();
      await figures.getByText("memory").waitFor({ state: "detached" });
      assert.deepEqual(await figures.allTextContents(), ["fences"]);
      await screenshot(page, "key-with-limits");
      await stand.call("DELETE", "v1/keys/guest");
      await page.getByRole("alert").getByText("The session has ended.").waitFor();
      await screenshot(page, "session-ended");
      await button(page, "Reload").click();
      await page.getByLabel("Key").waitFor();
    }, { key: secret, errors: ["401"] });
  });
});

describe("the panel of a new item", () => {
  const all = [["sets", "sets", "Add a set"], ["rules", "rules", "Add a rule"], ["webhooks", "webhooks", "Add a webhook"], ["keys", "keys", "Add a key"], ["devices", "doors", "New phone"]];
  for (const [name, list, add] of all) {
    it(`stays until it is closed at ${name}`, () =>
      withPage(name, async (page) => {
        let release;
        const held = new Promise((resolve) => (release = resolve));
        await page.route((url) => url.pathname === `/v1/${list}`, async (route) => {
          await held;
          await route.continue();
        });
        await page.reload();
        await button(page, add).click();
        release(); // the list comes when the panel is open
        await page.getByText("Live", { exact: true }).waitFor();
        await panel(page).waitFor();
        await page.keyboard.press("Escape");
        await panel(page).waitFor({ state: "hidden" });
        for (const close of [() => page.keyboard.press("Escape"), () => button(panel(page), "Close").click()]) {
          await button(page, add).click();
          await close();
          await panel(page).waitFor({ state: "hidden" });
        }
      }));
  }
});

describe("a key that may not see a page", () => {
  for (const name of ["keys", "webhooks", "rules", "bus"]) {
    it(`is told so at ${name}`, () =>
      withPage(name, async (page) => {
        await page.getByRole("alert").getByText("This key may not see this page.").waitFor();
        await page.getByRole("alert").getByText("the key \"viewer\" may not do this").waitFor();
        assert.equal(await page.locator("main").isVisible(), false);
        if (name === "keys") await screenshot(page, "page-denied");
      }, { key: viewer, errors: ["403"] }));
  }

  it("sees sets, and why it may not change them", () =>
    withPage("sets?set=depots", async (page) => {
      await button(panel(page), "Delete…").click();
      await answer(page, "Delete");
      await panel(page).getByRole("alert").getByText("Not allowed: the key \"viewer\" may not do this").waitFor();
    }, { key: viewer, errors: ["403"] }));
});

describe("the page of the sets", () => {
  it("shows source, index, findings and failing files", () =>
    withPage("sets", async (page) => {
      await page.getByText("broken.geojson").waitFor();
      await rowOf(page, "depots").getByText("depots.geojson").waitFor();
      // A refresh leaves the keyboard where it is.
      await rowOf(page, "depots").getByRole("link").focus();
      await page.waitForResponse((response) => response.url().endsWith("/v1/sets"));
      await page.waitForResponse((response) => response.url().endsWith("/v1/sets"));
      assert.equal(await page.evaluate(() => document.activeElement?.textContent), "depots");
      await rowOf(page, "depots").getByRole("link").click();
      await panel(page).getByText("ring 0: two of its edges cross").waitFor();
      assert.match(await panel(page).getByRole("link", { name: "fence bow-tie" }).getAttribute("href"), /\?fence=depots\/bow-tie$/);
      assert.match(await panel(page).getByRole("link", { name: "Show on the map" }).getAttribute("href"), /\?at=0\.5/);
      await panel(page).getByText("Each position counts at once.").waitFor();
      assert.match(page.url(), /\/sets\?set=depots$/);
      await lookInAllWidths(page, "sets");
      await page.goBack();
      await panel(page).waitFor({ state: "hidden" });
      assert.equal(await page.evaluate(() => document.activeElement?.textContent), "depots");
    }));

  it("adds a set from a file, gives it a policy, and deletes it", () =>
    withPage("sets", async (page) => {
      await button(page, "Add a set").click();
      await page.getByLabel("GeoJSON file").setInputFiles({ name: "New yards.geojson", mimeType: "application/geo+json", buffer: Buffer.from(JSON.stringify(depots)) });
      assert.equal(await page.getByLabel("Name of the set").inputValue(), "new-yards");
      await lookInAllWidths(page, "sets-add");
      await button(panel(page), "Add the set").click();
      await panel(page).getByText("new-yards has 3 fences now").waitFor();
      await button(panel(page), "Go on").click();
      await panel(page).getByRole("heading", { name: "new-yards" }).waitFor();
      await rowOf(page, "new-yards").getByText("HTTP").waitFor();
      await button(panel(page), "Change…").click();
      await panel(page).getByLabel("Preset").selectOption("dwell");
      await panel(page).getByLabel("Time on the other side").fill("5");
      await button(panel(page), "Save the policy").click();
      await panel(page).getByText("The time needs a unit").waitFor();
      await panel(page).getByLabel("Time on the other side").fill("5m");
      const learntPolicy = page.waitForResponse((response) => response.url().endsWith("/new-yards/policy"));
      await stand.call("DELETE", "v1/sets/new-yards/fences/d-3");
      await learntPolicy;
      await button(panel(page), "Save the policy").click();
      await panel(page).getByText("A change is confirmed when it has lasted 5 min.").waitFor();
      assert.equal((await stand.call("GET", "v1/sets/new-yards/policy")).own, true);
      // Another change, which the page learns while it asks.
      await button(panel(page), "Delete…").click();
      await page.getByRole("dialog").waitFor();
      const learnt = page.waitForResponse((response) => response.url().endsWith("/new-yards?findings=1"));
      await stand.call("DELETE", "v1/sets/new-yards/fences/d-4");
      await learnt;
      await answer(page, "Delete");
      await panel(page).getByText("It was changed meanwhile: reload it").waitFor();
      await page.route("**/v1/sets", (route) => route.abort());
      await page.getByRole("alert").getByText("The server is away.").waitFor();
      await page.route("**/v1/sets", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"detail":"not now"}' }));
      await page.getByRole("alert").getByText("The server says: not now.").waitFor();
      await page.unroute("**/v1/sets");
      await page.reload();
      await button(panel(page), "Delete…").click();
      await button(page.getByRole("dialog"), "Cancel").click();
      await button(panel(page), "Delete…").click();
      await answer(page, "Delete");
      await rowOf(page, "new-yards").waitFor({ state: "detached" });
      await stand.call("GET", "v1/sets/new-yards", undefined, { status: 404 });
    }, { errors: ["412", "503", "ERR_FAILED"] }));
});

describe("the page of the rules", () => {
  it("makes a rule by its form, which causes events", () =>
    withPage("rules", async (page) => {
      await page.getByText("No rules yet.").waitFor();
      await lookInAllWidths(page, "rules-empty");
      await button(page, "Add a rule").click();
      await panel(page).getByLabel("Id", { exact: true }).fill("in-the-depot");
      await panel(page).getByLabel("Set", { exact: true }).fill("depots");
      await panel(page).getByRole("checkbox", { name: "enter", exact: true }).uncheck();
      await panel(page).getByRole("checkbox", { name: "exit", exact: true }).uncheck();
      await button(panel(page), "Add the rule").click();
      await panel(page).getByText("Choose what the rule tells.").waitFor();
      await panel(page).getByRole("checkbox", { name: "inside", exact: true }).check();
      await panel(page).getByLabel("Fences", { exact: true }).selectOption("ids");
      await panel(page).getByLabel("Which").fill("d-3\nnot-there");
      await button(panel(page), "Add the rule").click();
      await panel(page).getByText('"not-there"').waitFor(); // a warning
      await rowOf(page, "in-the-depot").getByText("inside").waitFor();
      assert.match(page.url(), /\/rules\?rule=in-the-depot$/);
      await stand.report("bus-7", 0.005);
      const events = String(await stand.call("GET", "v1/events?last=10&wait=0&format=ndjson")).trim().split("\n").map((line) => JSON.parse(line));
      assert.ok(events.some(({ type, data }) => type === "paddock.fence.inside" && data.rule === "in-the-depot"), JSON.stringify(events));
      await panel(page).getByLabel("Object", { exact: true }).fill("bus-7");
      await button(panel(page), "Run").click();
      await panel(page).getByText("1 event, from 1 position.").waitFor();
      assert.match(await panel(page).getByRole("link", { name: "Its events" }).getAttribute("href"), /\?rule=in-the-depot$/);
      await lookInAllWidths(page, "rules");
    }));

  it("edits a rule as JSON, tells of a change in between, and deletes it", () =>
    withPage("rules?rule=in-the-depot", async (page) => {
      await button(panel(page), "JSON").click();
      const text = panel(page).getByLabel("Rule", { exact: true });
      assert.deepEqual(JSON.parse(await text.inputValue()).detect, ["inside"]);
      await text.fill("{");
      await button(panel(page), "Save the rule").click();
      await panel(page).getByText("This is not JSON").waitFor();
      await text.fill(JSON.stringify({ id: "in-the-depot", set: "depots", objects: "bus-*" }));
      await stand.call("PATCH", "v1/rules/in-the-depot", { fleet: "north" });
      await button(panel(page), "Save the rule").click();
      await panel(page).getByText("It was changed meanwhile: reload it").waitFor();
      await page.reload();
      assert.equal(await panel(page).getByLabel("Fleet", { exact: true }).first().inputValue(), "north");
      await panel(page).getByLabel("Objects", { exact: true }).fill("bus-*");
      await button(panel(page), "Save the rule").click();
      await rowOf(page, "in-the-depot").getByText("bus-* of north").waitFor();
      await button(panel(page), "Switch off").click();
      await rowOf(page, "in-the-depot").getByText("off", { exact: true }).waitFor();
      await page.getByLabel("Find a rule").fill("nothing");
      await page.getByText("No rule has this.").waitFor();
      await page.getByLabel("Find a rule").fill("");
      await button(panel(page), "Delete…").click();
      await answer(page, "Delete");
      await page.getByText("No rules yet.").waitFor();
    }, { errors: ["412"] }));
});

describe("the page of the webhooks", () => {
  it("shows a webhook that fails, and sends again after it recovers", () =>
    withPage("webhooks", async (page) => {
      await rowOf(page, "archive").getByText("delivering").waitFor();
      await button(page, "Add a webhook").click();
      await panel(page).getByLabel("Id", { exact: true }).fill("ops");
      await panel(page).getByLabel("URL", { exact: true }).fill(stand.receiver.url);
      await panel(page).getByLabel("Only these sets").fill("depots");
      // The secret is shown also where what follows fails.
      await page.route("**/v1/webhooks/ops", (route) => (route.request().method() === "GET" ? route.abort() : route.continue()));
      await button(panel(page), "Add the webhook").click();
      await panel(page).getByText("The server does not answer.").waitFor();
      const secret = await panel(page).getByLabel("The secret of ops").locator("input").inputValue();
      assert.match(secret, /^whsec_/);
      assert.ok(!(await page.content()).includes(secret));
      await button(panel(page), "I have kept it").click();
      await page.unroute("**/v1/webhooks/ops");
      await page.reload();

      await button(panel(page), "Send again…").click();
      const since = panel(page).getByLabel("Send the events again since");
      await since.fill("2026-01-02T03:04");
      stand.receiver.status = 500;
      await stand.report("bus-8", -1);
      await stand.report("bus-8", 0.005);
      await panel(page).getByText("failed, 500").first().waitFor();
      await rowOf(page, "ops").getByText("failing").waitFor();
      await button(panel(page), "Retry now").waitFor();
      assert.equal(await since.inputValue(), "2026-01-02T03:04");
      await button(panel(page), "Cancel").click();
      await lookInAllWidths(page, "webhooks-failing");
      stand.receiver.status = 204;
      await button(panel(page), "Retry now").click();
      await panel(page).getByText("delivered, 204").waitFor();
      await rowOf(page, "ops").getByText("delivering").waitFor();
      const [failed, delivered] = [stand.receiver.got.at(0), stand.receiver.got.at(-1)];
      assert.equal(delivered.body, failed.body);
      assert.match(delivered.headers["webhook-signature"], /^v1,/);
    }, { errors: ["ERR_FAILED"] }));

  it("shows dead letters, and sends one again", () =>
    withPage("webhooks?id=ops", async (page) => {
      const letters = panel(page).getByRole("heading", { name: "Dead letters" });
      /** Causes an event, and has it refused until it is a dead letter; then the receiver takes everything again. */
      const bury = async (lon) => {
        stand.receiver.status = 422;
        await stand.report("bus-8", lon);
        const retry = button(panel(page), "Retry now");
        while (!(await letters.isVisible())) {
          await letters.or(retry).first().waitFor();
          if (!(await letters.isVisible())) await retry.click({ timeout: 2_000 }).catch(() => undefined); // it may have just gone
        }
        stand.receiver.status = 204;
        await stand.call("POST", "v1/webhooks/ops/retry"); // the next event may wait after a refusal
      };
      await bury(0.025);
      await lookInAllWidths(page, "webhooks-letters");
      const before = stand.receiver.got.length;
      const first = panel(page).getByRole("button", { name: /^Send .* again$/ }).first();
      const same = panel(page).getByRole("button", { name: await first.getAttribute("aria-label"), exact: true });
      await first.click();
      await same.waitFor({ state: "detached" });
      assert.ok(stand.receiver.got.slice(before).some(({ headers }) => headers["paddock-replay"] === "1"));
      await letters.waitFor({ state: "hidden" });
      await bury(0.005);
      await button(panel(page), "Send all again").click();
      await letters.waitFor({ state: "hidden" });
      await button(panel(page), "Disable").click();
      await rowOf(page, "ops").getByText("disabled").waitFor();
      await button(panel(page), "Enable").click();
      await rowOf(page, "ops").getByText("delivering").waitFor();
      await button(panel(page), "Delete…").click();
      await answer(page, "Delete");
      await page.getByText("No webhooks yet.").waitFor();
      await rowOf(page, "archive").getByRole("link").click();
      await panel(page).getByText("delivered").first().waitFor();
      await lookInAllWidths(page, "sinks");
    }));
});

describe("the details of a webhook", () => {
  it("are those of the last one that was chosen", () =>
    withPage("webhooks", async (page) => {
      for (const id of ["late", "soon"]) await stand.call("PUT", `v1/webhooks/${id}`, { url: stand.receiver.url, sets: ["Depots, north"] });
      let release;
      const held = new Promise((resolve) => (release = resolve));
      await page.route("**/v1/webhooks/late", async (route) => {
        await held;
        await route.continue();
      });
      await rowOf(page, "late").getByRole("link").click();
      await panel(page).getByText("Loading…").waitFor();
      await rowOf(page, "soon").getByRole("link").click();
      await button(panel(page), "Change…").waitFor();
      const answered = page.waitForResponse("**/v1/webhooks/late");
      release();
      await answered;
      await page.waitForTimeout(300);
      assert.equal(await panel(page).getByRole("heading", { level: 2 }).textContent(), "soon");
      await button(panel(page), "Change…").click();
      await lookInAllWidths(page, "webhooks-change");
      await button(panel(page), "Save the webhook").click();
      await button(panel(page), "Change…").waitFor();
      assert.deepEqual((await stand.call("GET", "v1/webhooks/soon")).webhook.sets, ["Depots, north"]);
      for (const id of ["late", "soon"]) await stand.call("DELETE", `v1/webhooks/${id}`);
    }));
});

describe("the page of the keys", () => {
  it("shows a secret once, which works and is gone after a reload", () =>
    withPage("keys", async (page) => {
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await rowOf(page, "viewer").getByText("of the file").waitFor();
      await button(page, "Add a key").click();
      await panel(page).getByLabel("Name").fill("collector");
      await button(panel(page), "Add the key").click();
      await panel(page).getByText("Choose what the key may do.").waitFor();
      await panel(page).getByLabel("positions:write").check();
      await panel(page).getByLabel("Only these fleets").fill("north\nsouth");
      await panel(page).getByLabel("Expires").fill("2099-12-31");
      await lookInAllWidths(page, "keys-add");
      await button(panel(page), "Add the key").click();
      await button(panel(page), "Copy: The secret of collector").click();
      await panel(page).getByText("Copied").waitFor();
      const secret = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(secret, /^pdk_/);
      assert.ok(!(await page.content()).includes(secret));
      await screenshot(page, "page-keys-secret");
      await stand.call("POST", "v1/positions?fleet=north", { id: "truck-1", lon: 0.5, lat: 0.5 }, { key: secret });
      await stand.call("POST", "v1/positions?fleet=west", { id: "truck-1", lon: 0.5, lat: 0.5 }, { key: secret, status: 403 });
      await rowOf(page, "collector").getByText(/^20\d\d-/).first().waitFor();
      await page.reload();
      await panel(page).getByText("positions:write").first().waitFor();
      assert.equal(await page.evaluate((text) => [...document.querySelectorAll("input")].some(({ value }) => value === text), secret), false);
      await rowOf(page, "collector").getByText("2099-12-31").waitFor();
      await page.getByRole("cell", { name: "key.add" }).first().waitFor();
      await lookInAllWidths(page, "keys");

      await button(panel(page), "New secret…").click();
      await answer(page, "New secret");
      const next = await panel(page).getByLabel("The secret of collector").locator("input").inputValue();
      await stand.call("POST", "v1/positions?fleet=north", { id: "truck-1", lon: 0.6, lat: 0.5 }, { key: secret, status: 401 });
      await stand.call("POST", "v1/positions?fleet=north", { id: "truck-1", lon: 0.6, lat: 0.5 }, { key: next });
      await button(panel(page), "I have kept it").click();
      await button(panel(page), "Delete…").click();
      await answer(page, "Delete");
      await rowOf(page, "collector").first().waitFor({ state: "detached" });
      await stand.call("POST", "v1/positions?fleet=north", { id: "truck-1", lon: 0.7, lat: 0.5 }, { key: next, status: 401 });
    }));

  it("pages through the audit", async () => {
    for (let i = 0; i < 60; i++) await stand.call("PUT", "v1/rules/paged", { set: "depots", objects: `bus-${i}` });
    await stand.call("DELETE", "v1/rules/paged");
    await withPage("keys?object=paged", async (page) => {
      const rows = page.getByRole("region", { name: "Changes" }).locator("tbody tr");
      await rows.first().getByText("rule.delete").waitFor();
      assert.equal(await rows.count(), 50);
      await button(page, "Older").dblclick(); // one page, however often it is pressed before that is here
      await page.waitForFunction(() => document.querySelectorAll('[aria-label="Changes"] tbody tr').length === 11);
      await button(page, "Newer").click();
      await rows.first().getByText("rule.delete").waitFor();
    });
  });
});

describe("the page of the devices", () => {
  it("shows a rejection with its input", () =>
    withPage("devices", async (page) => {
      await stand.call("POST", "v1/positions", { id: "lost-1", lon: 213.4, lat: 52.5 }, { status: 400 });
      await rowOf(page, "http").getByRole("link").click();
      await panel(page).getByText("lon: 213.4 is out of range").first().waitFor();
      await panel(page).locator("pre", { hasText: '"id":"lost-1"' }).first().waitFor();
      await lookInAllWidths(page, "devices");
    }));

  it("lets a phone in", () =>
    withPage("devices", async (page) => {
      await button(page, "New phone").click();
      await panel(page).getByText("phones cannot reach it").waitFor();
      await panel(page).getByLabel("Name of the key").fill("phone-of-anna");
      await panel(page).getByLabel("Only this fleet").fill("phones");
      await button(panel(page), "Make the key").click();
      await panel(page).getByRole("img", { name: "QR code" }).waitFor();
      const door = await panel(page).getByLabel("Server URL", { exact: true }).inputValue();
      assert.match(door, /\/in\/osmand\/pdk_/);
      assert.ok(!(await page.content()).includes(door));
      await lookInAllWidths(page, "devices-phone");
      const report = await fetch(`${door}?id=anna&lat=0.005&lon=0.005`);
      assert.equal(report.status, 200);
      assert.equal((await stand.call("GET", "v1/objects/anna?fleet=phones")).fleet, "phones");
      await rowOf(page, "osmand").getByText("1", { exact: true }).first().waitFor();
      // The settings are shown also without a code.
      await page.route("**/v1/qr", (route) => route.abort());
      await button(page, "New phone").click();
      await panel(page).getByLabel("Name of the key").fill("phone-of-ben");
      await button(panel(page), "Make the key").click();
      await panel(page).getByText("There is no code to scan.").waitFor();
      assert.match(await panel(page).getByLabel("Server URL", { exact: true }).inputValue(), /\/in\/osmand\/pdk_/);
    }, { errors: ["ERR_FAILED"] }));
});

describe("the pages of the services", () => {
  it("show the connections of the bus", async () => {
    const [, host, port] = /nats:\/\/([\d.]+):(\d+)/.exec(stand.server.said(/(nats:\S+)/));
    const client = net.connect(Number(port), host);
    await once(client, "data"); // INFO
    client.write('CONNECT {"verbose":false,"pedantic":false,"name":"prober","auth_token":"pdk_operator-of-a-test"}\r\nSUB fence.depots.> 1\r\nPING\r\n');
    await once(client, "data");
    try {
      await withPage("bus?find=prober", async (page) => {
        const prober = rowOf(page, "prober");
        await prober.getByText("fence.depots.>").waitFor();
        await prober.getByText("key:operator").waitFor();
        await page.locator(".figure").filter({ hasText: "connections" }).getByText("1", { exact: true }).waitFor();
        await page.getByLabel("Find a connection").fill("");
        await rowOf(page, "positions").getByText("in the process").waitFor();
        await rowOf(page, "hq").getByText(/^connected for /).waitFor();
        await rowOf(page, "site").getByText(/refused/).waitFor();
        await lookInAllWidths(page, "bus");
      });
    } finally {
      client.destroy();
    }
  });

  it("show the wire door", () =>
    withPage("wire", async (page) => {
      await page.getByText("No peer is connected.").waitFor();
      await page.getByText("None so far.").waitFor();
      await lookInAllWidths(page, "wire");
    }));

  it("say that a platform is on its own", () =>
    withPage("cluster", async (page) => {
      await page.getByText("This platform is on its own.").waitFor();
      await page.getByText("None here").waitFor();
      await lookInAllWidths(page, "cluster-alone");
    }, { errors: ["404"] }));
});
