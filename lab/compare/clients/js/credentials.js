// Every way to say who one is, and what one may do then.

import { nkeyAuthenticator } from "@nats-io/nats-core";
import { asked } from "./messages.js";
import { attempt, connect, Events, quiet, reconnecting, say, patience, subscribe, take } from "./program.js";

export async function token() {
  await attempt("right", { token: "a token, with spaces" });
  await attempt("wrong", { token: "a token" });
  await attempt("user instead", { user: "a token, with spaces", pass: "" });
  await attempt("none");
}

export async function password() {
  await attempt("right", { user: "alice", pass: "wonder'land" });
  await attempt("wrong password", { user: "alice", pass: "wonderland" });
  await attempt("wrong user", { user: "Alice", pass: "wonder'land" });
  await attempt("token instead", { token: "wonder'land" });
  await attempt("none");
}

export async function bcrypt() {
  await attempt("right", { user: "alice", pass: "correct horse" });
  await attempt("wrong", { user: "alice", pass: "correct horses" });
  await attempt("empty", { user: "alice", pass: "" });
}

export async function nkey() {
  const { readFileSync } = await import("node:fs");
  const key = (file) => ({ authenticator: nkeyAuthenticator(readFileSync(file)) });
  await attempt("right", key("alice.nk"));
  await attempt("a stranger's", key("stranger.nk"));
  await attempt("none");
  const nc = await connect(key("alice.nk"));
  const sub = subscribe(nc, "n");
  nc.publish("n", "signed in");
  await nc.flush();
  await take(sub, 1);
  await nc.close();
}

export async function anonymous() {
  const guest = await connect(reconnecting);
  const events = new Events(guest);
  await guest.flush();
  say(`auth required: ${guest.info.auth_required}`);
  const alice = await connect({ user: "alice", pass: "alice" });
  const all = subscribe(alice, ">");
  const open = subscribe(guest, "public.>");
  await alice.flush();
  await guest.flush();
  guest.publish("public.a", "from a guest");
  guest.publish("private.a", "from a guest");
  await guest.flush();
  await events.until("error");
  subscribe(guest, "private.>");
  await guest.flush();
  await events.until("error");
  await take(all, 1);
  await take(open, 1);
  await attempt("wrong", { user: "alice", pass: "bob" });
  await guest.close();
  await alice.close();
}

export async function permissions() {
  const root = await connect({ user: "root", pass: "root" });
  const worker = await connect({ ...reconnecting, user: "worker", pass: "worker" });
  const events = new Events(worker);
  const done = subscribe(root, "jobs.*.done");
  const jobs = subscribe(worker, "jobs.>");
  await root.flush();
  await worker.flush();
  for (const subject of ["jobs.1.done", "jobs.secret.done", "jobs.1", "other"]) {
    worker.publish(subject, "from a worker");
    await worker.flush();
  }
  for (let i = 0; i < 3; i++) {
    await events.until("error");
  }
  await take(done, 1);
  await take(jobs, 1);
  const denied = [];
  for (const subject of ["jobs.secret.a", "audit", "other.*", ">"]) {
    denied.push(subscribe(worker, subject));
    await worker.flush();
    await events.until("error");
  }
  denied.push(subscribe(worker, "audit", { queue: "others" }));
  await worker.flush();
  await events.until("error");
  say(`closed: ${denied.map(({ sub }) => sub.isClosed()).join(" ")}`);
  const audit = subscribe(worker, "audit", { queue: "workers" });
  await worker.flush();
  await events.none();
  for (const subject of ["jobs.secret.plan", "jobs.open.plan", "audit"]) {
    root.publish(subject, "from root");
  }
  await root.flush();
  await take(jobs, 1);
  await take(audit, 1);
  await asked(worker, "other", "", { timeout: quiet });
  await events.until("error");
  const byDefault = await connect({ ...reconnecting, user: "admin", pass: "admin" });
  const limited = new Events(byDefault);
  byDefault.publish("jobs.1", "not public");
  await byDefault.flush();
  await limited.until("error");
  subscribe(byDefault, "jobs.>");
  await byDefault.flush();
  await limited.until("error");
  for (const nc of [worker, root, byDefault]) {
    await nc.close();
  }
}

export async function responses() {
  const asker = await connect({ user: "asker", pass: "asker" });
  for (const [user, subject, answers] of [["helper", "help.me", 2], ["once", "once", 1]]) {
    const nc = await connect({ ...reconnecting, user, pass: user });
    const events = new Events(nc);
    const sub = subscribe(nc, subject);
    const replies = subscribe(asker, `reply.${user}`);
    await nc.flush();
    await asker.flush();
    asker.publish(subject, "please", { reply: `reply.${user}` });
    await asker.flush();
    const m = await sub.line.next(patience);
    for (const text of ["1", "2", "3"]) {
      nc.publish(m.reply, text);
      await nc.flush();
    }
    await events.until("error");
    await take(replies, answers);
    nc.publish("reply.other", "not asked");
    await nc.flush();
    for (let i = 0; i < 3 - answers; i++) {
      await events.until("error");
    }
    await nc.close();
  }
  await asker.close();
}
