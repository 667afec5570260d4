// TLS and WebSocket.

import { readFileSync } from "node:fs";
import { asked } from "./messages.js";
import { attempt, connect, Events, patience, reconnecting, refused, say, subscribe, take, world } from "./program.js";

const authority = { caFile: "ca.pem" };
const certificate = (name) => ({ ...authority, certFile: `${name}.pem`, keyFile: `${name}-key.pem` });

// echo says that messages go through this door.
async function echo(options) {
  const nc = await connect(options);
  const sub = subscribe(nc, "echo");
  nc.publish("echo", "through this door");
  await nc.flush();
  await take(sub, 1);
  await nc.close();
}

export async function tls() {
  await attempt("with the authority", { tls: authority });
  await attempt("without");
  await attempt("with another", { tls: { caFile: "other-ca.pem" } });
  await attempt("by tls://", { tls: authority }, world.url.replace("nats://", "tls://"));
  await echo({ tls: authority });
}

export async function tlsVerify() {
  await attempt("with a certificate", { tls: certificate("client") });
  await refused("without", { tls: authority });
  await echo({ tls: certificate("client") });
}

export async function tlsFirst() {
  await attempt("at once", { tls: { ...authority, handshakeFirst: true } });
  await refused("after INFO", { tls: authority, timeout: 500 });
  await echo({ tls: { ...authority, handshakeFirst: true } });
}

export async function tlsMixed() {
  await echo({ tls: null });
  await echo({ tls: authority });
}

export async function tlsMap() {
  await attempt("a user", { tls: certificate("client") });
  await attempt("nobody", { tls: certificate("unknown") });
  await refused("without", { tls: authority });
  const nc = await connect({ ...reconnecting, tls: certificate("client") });
  const events = new Events(nc);
  const sub = subscribe(nc, "fleet.>");
  nc.publish("fleet.a", "permitted");
  nc.publish("other", "not permitted");
  await nc.flush();
  await take(sub, 1);
  await events.until("error");
  await nc.close();
}

export async function websocket() {
  const nc = await connect();
  const sub = subscribe(nc, "web.>");
  for (const n of [0, 1, 125, 126, 65_535, 65_536, 300_000]) {
    nc.publish("web.size", "w".repeat(n));
  }
  await nc.flush();
  for (let i = 0; i < 7; i++) {
    const m = await sub.line.next(patience);
    say(`${m.subject}: ${m.data.length} bytes, all: ${m.string().replaceAll("w", "") === ""}`);
  }
  const plain = await connect({}, world.plainURL);
  plain.publish("web.plain", "from the other door");
  await plain.flush();
  await take(sub, 1);
  plain.subscribe("answer", { callback: (_, m) => m.respond("yes") });
  await plain.flush();
  await asked(nc, "answer");
  await asked(nc, "nobody");
  await plain.close();
  await nc.close();
}

export async function websocketTls() {
  const alice = { user: "alice", pass: "alice" };
  const bob = { user: "bob", pass: "bob" };
  const trusting = { tls: { ca: readFileSync("ca.pem") } };
  await attempt("alice by the web", { ...alice, ...trusting });
  await attempt("bob by the web", { ...bob, ...trusting });
  await attempt("alice plain", alice, world.plainURL);
  await attempt("bob plain", bob, world.plainURL);
  await refused("without the authority", alice);
  await echo({ ...alice, ...trusting });
}
