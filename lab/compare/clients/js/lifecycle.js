// How connections end and begin again.

import { asked } from "./messages.js";
import { ask, attempt, connect, count, Events, patience, reconnecting, refused, say, subscribe, take, words } from "./program.js";

export async function drain() {
  const nc = await connect(reconnecting);
  const events = new Events(nc);
  const other = await connect();
  let got = 0;
  const slowly = async (sub) => {
    for await (const _ of sub) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      got++;
    }
  };
  const first = nc.subscribe("first");
  const firstDone = slowly(first);
  const secondDone = slowly(nc.subscribe("second"));
  await nc.flush();
  const twenty = async (subject) => {
    for (let i = 0; i < 20; i++) {
      other.publish(subject, "x");
    }
    await other.flush();
    await nc.flush();
  };
  await twenty("first");
  await first.drain();
  await firstDone;
  say(`got ${got}`);
  await asked(other, "first");
  await twenty("second");
  await nc.drain();
  await events.until("close");
  await secondDone;
  say(`got ${got}`);
  await asked(other, "second");
  try {
    nc.publish("second");
  } catch (error) {
    say(`publish when closed: ${words(error)}`);
  }
  await other.close();
}

export async function reconnect() {
  const nc = await connect(reconnecting);
  const events = new Events(nc);
  const sub = subscribe(nc, "news.*");
  const short = subscribe(nc, "short", { max: 2 });
  nc.publish("news.first", "before");
  nc.publish("short", "before");
  await nc.flush();
  await take(sub, 1);
  await ask("stop");
  await events.until("disconnect");
  nc.publish("news.away", "while away");
  await ask("start");
  await events.until("reconnect");
  nc.publish("news.back", "after");
  nc.publish("short", "after");
  nc.publish("short", "too much");
  await nc.flush();
  await take(sub, 2);
  say(`short: ${await count(short)}`);
  await nc.close();
  await events.until("close");
}

export async function lameduck() {
  const nc = await connect(reconnecting);
  const events = new Events(nc);
  const sub = subscribe(nc, "still");
  await nc.flush();
  await ask("lameduck");
  await events.until("ldm");
  nc.publish("still", "delivered in lame duck mode");
  await nc.flush();
  await take(sub, 1);
  await refused("a new client");
  await nc.close();
  await events.until("close");
}

export async function stale() {
  const nc = await connect(reconnecting);
  const events = new Events(nc);
  const sub = subscribe(nc, "again");
  await nc.flush();
  await ask("pause");
  await events.until("reconnect");
  nc.publish("again", "after");
  await nc.flush();
  await take(sub, 1);
  await nc.close();
  await events.until("close");
}

export async function slowServer() {
  const nc = await connect(reconnecting);
  const events = new Events(nc);
  const flood = nc.subscribe("flood", { callback: () => {} });
  await nc.flush();
  await ask("flood flood");
  await events.until("reconnect");
  flood.unsubscribe();
  const again = subscribe(nc, "again");
  nc.publish("again", "after");
  await nc.flush();
  await take(again, 1);
  await nc.close();
  await events.until("close");
}

export async function slowClient() {
  const nc = await connect(reconnecting);
  const events = new Events(nc);
  const other = await connect();
  const sub = nc.subscribe("much", { slow: 10 });
  await nc.flush();
  for (let i = 0; i < 25; i++) {
    other.publish("much", String(i));
  }
  await other.flush();
  await nc.flush();
  await events.until("slow consumer");
  say(`pending: ${sub.getPending()}`); // this client drops nothing
  await nc.close();
  await other.close();
  await events.until("close");
}

export async function reload() {
  const bob = await connect({ ...reconnecting, user: "bob", pass: "bob" });
  const eve = await connect({ user: "eve", pass: "eve" });
  const bobs = new Events(bob);
  const eves = new Events(eve);
  const news = subscribe(bob, "news.>");
  const sport = subscribe(bob, "sport");
  await bob.flush();
  eve.publish("news.a", "before");
  eve.publish("sport", "before");
  await eve.flush();
  await take(news, 1);
  await take(sport, 1);
  await ask("reload");
  await bobs.until("error");
  await eves.until("close");
  const reason = await Promise.race([eve.closed(), new Promise((resolve) => setTimeout(resolve, patience))]);
  say(`eve: ${reason ? words(reason) : "no reason"}`);
  bob.publish("news.a", "after");
  bob.publish("sport", "after");
  await bob.flush();
  await take(news, 1);
  say(`sport: ${await count(sport)}`);
  await attempt("eve again", { user: "eve", pass: "eve" });
  await bob.close();
  await bobs.until("close");
}
