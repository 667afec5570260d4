// The page of the tunnel in a real browser, with a real tunnel and visitors.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { after, before, describe, it } from "node:test";
import { desk, launch, look, openPage, phone } from "./browser.mjs";
import { startTunnel } from "./tunnel.mjs";

let tunnel;
let browser;
let service;
const held = new Set();

before(async () => {
  service = http.createServer((request, response) => {
    if (request.url === "/hold") held.add(response);
    else response.end("x".repeat(3_500));
  });
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  tunnel = await startTunnel();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await tunnel?.stop();
  service?.closeAllConnections();
  service?.close();
});

async function withPage(run, options = desk, query = "") {
  const opened = await openPage(browser, `${tunnel.server.url}tunnel${query}`, options);
  try {
    await run(opened.page, opened.seen);
  } finally {
    await opened.close();
  }
}

const target = () => `127.0.0.1:${service.address().port}`;

describe("the tunnel's page", () => {
  it("says how to begin when nobody is there, and is found from the map", () =>
    withPage(async (page, seen) => {
      await page.getByText("No client is connected.").waitFor();
      await page.getByText("None so far.").waitFor();
      await look(page, "tunnel-empty", { schemes: ["light"] });
      const { host } = new URL(tunnel.server.url);
      assert.deepEqual(seen.requests.filter((url) => !/^(data|blob):/.test(url) && new URL(url).host !== host), []);
      assert.deepEqual(seen.errors, []);
      // The map itself is not drawn: that takes its time.
      await page.route("**/assets/map-*.js", (route) => route.abort());
      await page.getByRole("link", { name: "Map" }).click();
      await page.getByRole("button", { name: "Pages" }).click();
      await page.getByRole("link", { name: "Tunnel" }).click();
      await page.getByText("No client is connected.").waitFor();
    }));

  it("shows clients, tunnels, rates and refusals of real visitors", async () => {
    const clients = [
      await tunnel.client("bus-17", [["bus-17.example", target()], ["cam.bus-17.example", target()], ["dead.bus-17.example", "127.0.0.1:1"], ["shared.example", target(), "web"]]),
      await tunnel.client("depot", [["door.depot.example", target()], ["shared.example", target(), "web"]]),
    ];
    let visiting = true;
    const holding = tunnel.visit("bus-17.example", "/hold");
    const visitors = (async () => {
      for (let i = 0; visiting; i++) {
        const all = ["bus-17.example", "door.depot.example", ...(i % 4 ? [] : ["dead.bus-17.example", "nobody.example"])].map((host) => tunnel.visit(host));
        await Promise.all([...all, new Promise((resolve) => setTimeout(resolve, 40))]);
      }
    })();
    try {
      for (const [name, options] of Object.entries({ desk, phone })) {
        await withPage(async (page, seen) => {
          const row = (table, text) => page.getByRole("region", { name: table }).locator("tbody tr", { hasText: text });
          await row("Clients", "bus-17").filter({ hasText: "cam.bus-17.example and 2 more" }).waitFor();
          const bus = row("Tunnels", "bus-17.example").first();
          await page.waitForFunction((cell) => Number(cell.textContent) > 1, await bus.locator('[data-label="Per second"]').elementHandle());
          assert.match(await bus.locator('[data-label="In flight"]').textContent(), /^[1-9]\d* \/ \d+/);
          await row("Refused", "no route").waitFor();
          await row("Refused", "unreachable").filter({ hasText: "target" }).waitFor();
          await row("Tunnels", "dead.bus-17.example").locator('[data-state="refused"]').waitFor();
          await row("Tunnels", "shared.example").filter({ hasText: "depot" }).filter({ hasText: "web, 2 of 2" }).waitFor();
          const memory = page.getByRole("meter", { name: "Memory" });
          await page.waitForFunction((meter) => Number(meter.ariaValueNow) > 0, await memory.elementHandle());
          assert.match(await memory.getAttribute("aria-valuetext"), /^\d.* of 96 MiB$/);
          await look(page, `tunnel-${name}`);

          await page.getByLabel("Find a client or a tunnel").fill("DEPOT");
          await row("Clients", "bus-17").waitFor({ state: "detached" });
          assert.equal(await row("Tunnels", "example").count(), 2);
          assert.match(page.url(), /\?find=DEPOT$/);
          assert.deepEqual(seen.errors, []);
        }, options);
      }
    } finally {
      visiting = false;
      await visitors;
      for (const response of held) response.end();
      await holding;
      for (const one of clients) await one.stop();
    }
    await withPage(async (page) => {
      await page.locator("tbody tr", { hasText: "door.depot.example" }).locator('[data-state="away"]').waitFor();
      await look(page, "tunnel-away", { schemes: ["light"] });
    });
  });

  it("says that the server is away, keeps the picture, and comes back", () =>
    withPage(async (page) => {
      await page.locator(".pill", { hasText: "Live" }).waitFor();
      await tunnel.server.kill();
      await page.getByRole("alert").getByText("The server is away.").waitFor();
      assert.ok((await page.locator(".bound").count()) > 0);
      await look(page, "tunnel-offline", { schemes: ["dark"] });
      await tunnel.restart();
      await page.getByRole("alert").getByText("Back").waitFor();
      await page.locator(".pill", { hasText: "Live" }).waitFor();
    }));

  it("shows markup in names as text", () =>
    withPage(async (page) => {
      const markup = '<img src=x onerror="document.title=1"><b>bold</b>';
      await page.route("**/v1/tunnel*", async (route) => {
        const answer = await (await route.fetch()).json();
        answer.sessions = [{ name: markup, id: markup, address: markup, agent: markup, age_ms: 1, rtt_us: 1, in_flight: 1, streams: 1, bytes_in: 1, bytes_out: 1, names: [markup], names_all: 1 }];
        answer.tunnels = [{ at: markup, protocol: markup, client: markup, group: markup, members: 2, here: 1, away: true, waiting: 1, in_flight: 1, limit: 1, streams: 1, queued: 1, begun: 1, refused: 1 }];
        answer.refused = [{ stage: markup, reason: markup, count: 1 }];
        answer.overloads = [{ of: markup, count: 1 }];
        answer.sessions_all = answer.tunnels_all = 1;
        await route.fulfill({ json: answer });
      });
      await page.getByRole("region", { name: "Clients" }).getByText(markup).first().waitFor();
      await page.getByText(`No room: ${markup} 1.`).waitFor();
      assert.equal(await page.locator("main img, main b").count(), 0);
      assert.equal(await page.title(), "Paddock tunnel");
    }));
});
