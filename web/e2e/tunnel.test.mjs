// The page of the tunnel in a real browser, with a real tunnel and visitors.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { accessibilityFindings, desk, launch, openPage, phone, screenshot } from "./browser.mjs";
import { startClient, startWith } from "./server.mjs";

let directory;
let server;
let browser;
let service;
const held = new Set();

const secret = "of the test alone";
const hash = createHash("sha256").update(secret).digest("hex");

/** A file of the test's own. */
async function file(name, text) {
  const at = path.join(directory, name);
  await writeFile(at, text);
  return at;
}

const serverFile = () =>
  file(
    "paddock.yaml",
    `tunnel:
  serve: {http: "127.0.0.1:0", control: "off"}
  clients:
    - {name: bus-17, token_sha256: ${hash}, hosts: [bus-17.example, "*.bus-17.example"]}
    - {name: depot, token_sha256: ${hash}, hosts: ["*.depot.example"]}
`,
  );

/** A client with tunnels, "name: host -> target". */
async function client(name, ...tunnels) {
  const token = await file(`${name}.token`, `${name}:${secret}`);
  const lines = tunnels.map(([host, target], i) => `    t${i}: {proto: http, addr: "${target}", host: ${host}}\n`);
  const wire = server.said(/wire listening.*addr=(\S+)/);
  return startClient(
    await file(`${name}.yaml`, `tunnel:\n  connect: {server: "${wire}", plaintext: true, token_file: ${token}}\n  tunnels:\n${lines.join("")}`),
    tunnels.length,
  );
}

/** The status of a visitor's request. */
async function visit(host, target = "/") {
  const url = new URL(target, server.said(/tunnel listening for visitors.*url=(\S+)/));
  const request = http.get(url, { headers: { host }, agent: false });
  const [response] = await once(request, "response");
  response.resume();
  await once(response, "end");
  return response.statusCode;
}

before(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "tunnel-page-"));
  service = http.createServer((request, response) => {
    if (request.url === "/hold") held.add(response);
    else response.end("x".repeat(3_500));
  });
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  server = await startWith(await serverFile());
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  service?.closeAllConnections();
  service?.close();
  if (directory) await rm(directory, { recursive: true });
});

async function withPage(run, options = desk, query = "") {
  const opened = await openPage(browser, `${server.url}tunnel${query}`, options);
  try {
    await run(opened.page, opened.seen);
  } finally {
    await opened.close();
  }
}

/** Pictures, which must be without serious faults. */
async function look(page, what, schemes = ["light", "dark"]) {
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    await screenshot(page, `tunnel-${what}-${colorScheme}`);
    assert.deepEqual(await accessibilityFindings(page), [], `${what} ${colorScheme}`);
  }
}

const target = () => `127.0.0.1:${service.address().port}`;

describe("the tunnel's page", () => {
  it("says how to begin when nobody is there, and is found from the map", () =>
    withPage(async (page, seen) => {
      await page.getByText("No client is connected.").waitFor();
      await page.getByText("Nobody so far.").waitFor();
      await look(page, "empty", ["light"]);
      const { host } = new URL(server.url);
      assert.deepEqual(seen.requests.filter((url) => !/^(data|blob):/.test(url) && new URL(url).host !== host), []);
      assert.deepEqual(seen.errors, []);
      // The map itself is not drawn: that takes its time.
      await page.route("**/assets/map-*.js", (route) => route.abort());
      await page.getByRole("link", { name: "Map" }).click();
      await page.getByRole("link", { name: "Tunnel" }).click();
      await page.getByText("No client is connected.").waitFor();
    }));

  it("shows clients, tunnels, rates and refusals of real visitors", async () => {
    const clients = [
      await client("bus-17", ["bus-17.example", target()], ["cam.bus-17.example", target()], ["dead.bus-17.example", "127.0.0.1:1"]),
      await client("depot", ["door.depot.example", target()]),
    ];
    let visiting = true;
    const holding = visit("bus-17.example", "/hold");
    const visitors = (async () => {
      for (let i = 0; visiting; i++) {
        const all = [visit("bus-17.example"), visit("door.depot.example"), ...(i % 4 ? [] : [visit("dead.bus-17.example"), visit("nobody.example")])];
        await Promise.all([...all, new Promise((resolve) => setTimeout(resolve, 40))]);
      }
    })();
    try {
      for (const [name, options] of Object.entries({ desk, phone })) {
        await withPage(async (page, seen) => {
          const row = (table, text) => page.getByRole("region", { name: table }).locator("tbody tr", { hasText: text });
          await row("Clients", "bus-17").filter({ hasText: "cam.bus-17.example and 1 more" }).waitFor();
          const tunnel = row("Tunnels", "bus-17.example").first();
          await page.waitForFunction((cell) => Number(cell.textContent) > 1, await tunnel.locator('[data-label="Per second"]').elementHandle());
          assert.match(await tunnel.locator('[data-label="In flight"]').textContent(), /^[1-9]\d* \/ \d+/);
          await row("Refused", "no route").waitFor();
          await row("Refused", "unreachable").filter({ hasText: "target" }).waitFor();
          await row("Tunnels", "dead.bus-17.example").locator('[data-state="refused"]').waitFor();
          const memory = page.getByRole("meter", { name: "Memory" });
          await page.waitForFunction((meter) => Number(meter.ariaValueNow) > 0, await memory.elementHandle());
          assert.match(await memory.getAttribute("aria-valuetext"), /^\d.* of 96 MiB$/);
          await look(page, name);

          await page.getByLabel("Find a client or a tunnel").fill("DEPOT");
          await row("Clients", "bus-17").waitFor({ state: "detached" });
          assert.equal(await row("Tunnels", "example").count(), 1);
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
      await look(page, "away", ["light"]);
    });
  });

  it("says that the server is away, keeps the picture, and comes back", () =>
    withPage(async (page) => {
      await page.locator(".pill", { hasText: "Live" }).waitFor();
      await server.kill();
      await page.getByRole("alert").getByText("The server is away.").waitFor();
      assert.ok((await page.locator(".bound").count()) > 0);
      await look(page, "offline", ["dark"]);
      server = await startWith(await serverFile(), server);
      await page.getByRole("alert").getByText("Back").waitFor();
      await page.locator(".pill", { hasText: "Live" }).waitFor();
    }));

  it("shows markup in names as text", () =>
    withPage(async (page) => {
      const markup = '<img src=x onerror="document.title=1"><b>bold</b>';
      await page.route("**/v1/tunnel*", async (route) => {
        const answer = await (await route.fetch()).json();
        answer.sessions = [{ name: markup, id: markup, address: markup, agent: markup, age_ms: 1, rtt_us: 1, in_flight: 1, streams: 1, bytes_in: 1, bytes_out: 1, names: [markup], names_all: 1 }];
        answer.tunnels = [{ at: markup, protocol: markup, client: markup, away: true, waiting: 1, in_flight: 1, limit: 1, streams: 1, queued: 1, begun: 1, refused: 1 }];
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
