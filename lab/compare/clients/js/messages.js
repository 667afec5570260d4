// Messages: subjects, queues, requests, headers.

import { headers as newHeaders } from "@nats-io/nats-core";
import { connect, count, Events, patience, quoted, reconnecting, say, subscribe, take, words, world } from "./program.js";

export async function pubsub() {
  const nc = await connect();
  const other = await connect({ noEcho: true });
  const subs = ["fleet", "fleet.*", "fleet.a.pos", "fleet.*.pos", "*.a.*", "fleet.>", ">"].map((p) => subscribe(nc, p));
  const own = subscribe(other, "fleet.>");
  await nc.flush();
  await other.flush();
  for (const subject of ["fleet", "fleet.a", "fleet.a.pos", "fleet.b.pos", "fleet.a.pos.x", "Fleet.a.pos"]) {
    other.publish(subject, `to ${subject}`);
  }
  other.publish("fleet.a.pos");
  await other.flush();
  for (const [i, n] of [1, 1, 2, 3, 3, 5, 7].entries()) {
    await take(subs[i], n);
  }
  nc.publish("fleet.a", "from the other");
  await nc.flush();
  await take(own, 1);
  subs[0].sub.unsubscribe();
  other.publish("fleet", "after unsubscribe");
  await other.flush();
  say(`after unsubscribe: ${await count(subs[0])}, closed: ${subs[0].sub.isClosed()}`);
  await nc.close();
  await other.close();
}

export async function queue() {
  const nc = await connect();
  const other = await connect();
  const workers = [nc, other, other].map((c) => subscribe(c, "jobs.*", { queue: "workers" }));
  const audit = subscribe(nc, "jobs.>", { queue: "audit" });
  const plain = subscribe(nc, "jobs.new");
  await nc.flush();
  await other.flush();
  for (let i = 0; i < 300; i++) {
    nc.publish("jobs.new", "work");
  }
  await nc.flush();
  await other.flush();
  const counts = [];
  for (const sub of workers) {
    counts.push(await count(sub));
  }
  say(`workers: ${counts.reduce((a, b) => a + b)}, idle: ${counts.filter((n) => n === 0).length}`);
  say(`audit: ${await count(audit)}`);
  say(`plain: ${await count(plain)}`);
  await nc.close();
  await other.close();
}

export async function request() {
  const server = await connect();
  const nc = await connect({ inboxPrefix: "_INBOX.own" });
  const answer = (subject, text) =>
    server.subscribe(subject, {
      callback: (_, m) => subject === "silent" || m.respond(text + m.string().toUpperCase()),
    });
  answer("upper", "");
  answer("silent", "");
  answer("both", "one of both: ");
  answer("both", "one of both: ");
  const inbox = subscribe(server, "_INBOX.own.>");
  await server.flush();
  for (const subject of ["upper", "both", "nobody", "silent"]) {
    await asked(nc, subject, "hello", { timeout: 300 });
  }
  say(`answers seen: ${await count(inbox)}`);
  await asked(nc, "upper", "with an inbox of its own", { timeout: patience, noMux: true });
  await asked(nc, "nobody", "", { timeout: patience, noMux: true });
  let several = 0;
  for await (const m of await nc.requestMany("both", "", { maxMessages: 2, maxWait: patience })) {
    several += m.data.length > 0 ? 1 : 0;
  }
  say(`several: ${several}`);
  await server.close();
  await nc.close();
}

export async function asked(nc, subject, data = "", options = { timeout: patience }) {
  try {
    say(`${subject}: ${quoted(await nc.request(subject, data, options))}`);
  } catch (error) {
    say(`${subject}: ${words(error)}`);
  }
}

export async function headers() {
  const nc = await connect();
  const sub = subscribe(nc, "h");
  const reply = subscribe(nc, "reply");
  const send = (text, fields) => {
    const h = newHeaders();
    fields.forEach(([key, value]) => h.append(key, value));
    nc.publish("h", text, { headers: h });
  };
  send("two", [["Fleet", "north"], ["Key", "one"], ["Key", "two"]]);
  send("", [["Empty", ""]]);
  nc.publish("h", "none");
  send("text", [["Colon", "a: b: c"], ["Umlaut", "größer"]]);
  for (let i = 0; i < 4; i++) {
    sayHeaders(await sub.line.next(patience));
  }
  nc.publish("nobody.here", "", { reply: "reply" });
  sayHeaders(await reply.line.next(patience));
  await nc.close();
}

export function sayHeaders(m, name = m.subject) {
  const keys = m.headers?.keys() ?? [];
  say(`${name} ${quoted(m)}, ${keys.length} headers, code ${m.headers?.code ?? 0}`);
  for (const key of keys.sort()) {
    say(`  ${key}: ${m.headers.values(key).join(" | ")}`);
  }
}

export async function autounsub() {
  const nc = await connect();
  const [before, after, reached] = [0, 1, 2].map(() => subscribe(nc, "a"));
  before.sub.unsubscribe(3);
  nc.publish("a", "1");
  nc.publish("a", "2");
  await nc.flush();
  after.sub.unsubscribe(4);
  reached.sub.unsubscribe(2);
  ["3", "4", "5"].forEach((text) => nc.publish("a", text));
  await nc.flush();
  for (const s of [before, after, reached]) {
    say(`got ${await count(s)}, closed: ${s.sub.isClosed()}`);
  }
  await nc.close();
}

export async function info() {
  const nc = await connect(reconnecting);
  const events = new Events(nc);
  say(`round trip: ${(await nc.rtt()) >= 0}`);
  await nc.flush();
  // The second INFO has come before the answer to the PING.
  // api_lvl is JetStream's.
  const { server_id: id, server_name: name, version, client_id: client, git_commit, go, xkey, api_lvl, ...rest } = nc.info;
  say(`server id: ${id.length} characters, ${id[0]}, name: ${name !== ""}, version: ${version.split(".").length} parts, client: ${client > 0}`);
  for (const key of Object.keys(rest).sort()) {
    say(`${key}: ${rest[key]}`);
  }
  say(`server: ${new URL(world.url).host === nc.getServer() ? "as the url" : nc.getServer()}`);
  const sub = subscribe(nc, "stats");
  nc.publish("stats", "12345");
  await nc.flush();
  await take(sub, 1);
  const s = nc.stats();
  say(`in: ${s.inMsgs} of ${s.inBytes} bytes, out: ${s.outMsgs} of ${s.outBytes} bytes`);
  await events.none();
  await nc.close();
  await events.until("close");
}
