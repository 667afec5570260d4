// The scenarios that a page can play.

import { wsconnect } from "@nats-io/nats-core";
import { drain } from "./lifecycle.js";
import * as messages from "./messages.js";
import { world } from "./program.js";
import { service } from "./service.js";

const scenarios = { ...messages, service, drain };

// play is what the test calls; say comes from it too.
globalThis.play = async (name, url) => {
  Object.assign(world, { url, plainURL: url, say: globalThis.say, connect: wsconnect });
  await scenarios[name]();
};
