// A platform for tests of the operator's pages: it asks for keys, keeps what happens, and has a receiver of webhooks.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { desk, openPage } from "./browser.mjs";
import { startKept } from "./server.mjs";

/** Secrets of the keys of the file: one may do everything, one may read. */
export const admin = "pdk_operator-of-a-test";
export const viewer = "pdk_viewer-of-a-test";

const digest = (secret) => createHash("sha256").update(secret).digest("hex");
const ring = (west) => [[[west, 0], [west + 0.01, 0], [west + 0.01, 0.01], [west, 0.01], [west, 0]]];
const feature = (id, coordinates) => ({ type: "Feature", id, properties: { name: `Depot ${id}` }, geometry: { type: "Polygon", coordinates } });
const bowTie = [[[1, 0], [1.01, 0.01], [1.01, 0], [1, 0.01], [1, 0]]];

export const depots = { type: "FeatureCollection", features: [feature("d-3", ring(0)), feature("d-4", ring(0.02)), feature("bow-tie", bowTie)] };

export async function startOperator() {
  const directory = await mkdtemp(path.join(tmpdir(), "paddock-pages-"));
  const at = (name) => path.join(directory, name);
  const other = await startOtherBus();
  await mkdir(at("sets"));
  await writeFile(at("sets/depots.geojson"), JSON.stringify(depots));
  await writeFile(at("sets/broken.geojson"), '{"type":"Feature');
  await writeFile(
    at("paddock.yaml"),
    `access:
  required: true
  keys:
    - {name: operator, verbs: [admin], sha256: ${digest(admin)}}
    - {name: viewer, verbs: [events:read, objects:read, lookup], sha256: ${digest(viewer)}}
webhooks: {allow: [127.0.0.0/8]}
bus:
  paddock:
    bridges:
      - {name: hq, urls: "nats://127.0.0.1:${other.address().port}", import: [cmd.>], export: [chat.>]}
      - {name: site, urls: "nats://127.0.0.1:1", import: [site.>]}
sinks:
  - {id: archive, sets: [depots], file: {path: ${at("events.ndjson")}}}
`,
  );
  const receiver = await startReceiver();
  const server = await startKept({ file: at("paddock.yaml"), sets: at("sets"), data: at("data") }).catch((error) => {
    receiver.close();
    other.close();
    throw error;
  });
  const stand = {
    server,
    receiver,

    /** A request with a key, which has to succeed unless a status is given. */
    async call(method, address, body, { key = admin, status } = {}) {
      const init = { method, headers: { authorization: `Bearer ${key}` } };
      if (body !== undefined) init.body = JSON.stringify(body);
      const answer = await fetch(new URL(address, server.url), init);
      const text = await answer.text();
      if (status === undefined ? !answer.ok : answer.status !== status) throw new Error(`${method} ${address}: ${answer.status} ${text}`);
      return text === "" || !/[/+]json/.test(answer.headers.get("content-type") ?? "") ? text : JSON.parse(text);
    },

    /** Reports a position. */
    report: (id, lon, lat = 0.005) => stand.call("POST", "v1/positions", { id, lon, lat }),

    /** Opens a page of the dashboard with the session of a key. */
    async page(browser, target, options = desk, key = admin) {
      const opened = await openPage(browser, "about:blank", options);
      await opened.page.context().request.post(`${server.url}v1/session`, { form: { key }, maxRedirects: 0 });
      await opened.page.goto(server.url + target);
      return opened;
    },

    async stop() {
      await server.stop();
      receiver.close();
      other.close();
      await rm(directory, { recursive: true });
    },
  };
  return stand;
}

/** A NATS server for a bridge: it greets, answers PING, and takes what comes. */
async function startOtherBus() {
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.write('INFO {"server_id":"OTHER","proto":1,"headers":true,"max_payload":1048576}\r\n');
    socket.on("data", (piece) => {
      if (piece.includes("PING\r\n")) socket.write("PONG\r\n");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** A receiver of webhooks, whose status the test chooses. */
async function startReceiver() {
  const got = [];
  const receiver = { status: 204, got };
  const server = http.createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      got.push({ headers: request.headers, body, status: receiver.status });
      response.statusCode = receiver.status;
      response.end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  receiver.url = `http://127.0.0.1:${server.address().port}/hook`;
  receiver.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return receiver;
}
