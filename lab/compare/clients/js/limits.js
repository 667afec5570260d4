// Limits of the server.

import { headers } from "@nats-io/nats-core";
import { asked } from "./messages.js";
import { connect, count, Events, patience, reconnecting, refused, say, subscribe, take, words } from "./program.js";

export async function payload() {
  const nc = await connect();
  const most = "x".repeat(nc.info.max_payload);
  say(`max payload: ${most.length}`);
  const sub = subscribe(nc, "p");
  const send = (what, text, options) => {
    try {
      nc.publish("p", text, options);
      say(`${what}: no error`);
    } catch (error) {
      say(`${what}: ${words(error)}`);
    }
  };
  const h = headers();
  h.set("A", "b");
  send("most", most);
  send("one byte more", most + "x");
  send("with a header", most, { headers: h });
  await asked(nc, "p", most + "x");
  await nc.flush();
  const m = await sub.line.next(patience);
  say(`got ${m.data.length} bytes, more: ${await count(sub)}`);
  await nc.close();
}

export async function maxConnections() {
  const nc = await connect();
  await refused("second");
  nc.publish("still", "here");
  await nc.flush();
  await nc.close();
  // The server may see the end of the first a moment later.
  for (let i = 0; i < 1000; i++) {
    try {
      const third = await connect();
      say("third");
      await third.close();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  say("never third");
}

export async function maxSubscriptions() {
  const nc = await connect(reconnecting);
  const events = new Events(nc);
  const first = subscribe(nc, "s.1");
  const second = subscribe(nc, "s.2");
  await nc.flush();
  await events.none();
  const third = subscribe(nc, "s.3");
  await events.until("error");
  for (const subject of ["s.1", "s.2", "s.3"]) {
    nc.publish(subject, "x");
  }
  await nc.flush();
  await take(first, 1);
  await take(second, 1);
  say(`third: ${await count(third)}`);
  await nc.close();
  await events.until("close");
}
