// The comparison's program in nats.js: it plays one scenario against the server
// of NATS_URL and prints what its user would notice.

import { wsconnect } from "@nats-io/nats-core";
import { connect } from "@nats-io/transport-node";
import readline from "node:readline";
import WebSocket from "ws";
import { browser } from "./browser.js";
import * as credentials from "./credentials.js";
import * as doors from "./doors.js";
import * as lifecycle from "./lifecycle.js";
import * as limits from "./limits.js";
import * as messages from "./messages.js";
import { world } from "./program.js";
import { service } from "./service.js";

const runner = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// overWeb connects by a WebSocket that is not Node's own, which older versions
// have not, and which takes no authority.
const overWeb = ({ tls, ...options }) =>
  wsconnect({
    ...options,
    wsFactory: async (url) => ({ socket: new WebSocket(url, tls ?? {}), encrypted: url.startsWith("wss://") }),
  });

Object.assign(world, {
  url: process.env.NATS_URL,
  plainURL: process.env.PLAIN_URL,
  say: (line) => process.stdout.write(line + "\n"),
  async ask(what) {
    world.say("@" + what);
    const { value } = await runner.next();
    if (value !== "done") {
      throw new Error("the runner has gone");
    }
  },
  connect: (options) =>
    String(options.servers).startsWith("ws") ? overWeb(options) : connect(options),
});

const scenarios = { ...messages, service, ...lifecycle, ...limits, ...credentials, ...doors, browser };
const name = process.argv[2].replace(/-(.)/g, (_, letter) => letter.toUpperCase());
if (!scenarios[name]) {
  console.error("no such scenario");
  process.exit(2);
}
await scenarios[name]();
process.exit(0);
