// What the scenarios share: lines, the runner, connections, events. Nothing here
// needs Node, so that the same scenarios run in a page.

// How long something may take that is expected, and how long nothing must come
// where nothing is expected; in ms.
export const patience = 10_000;
export const quiet = 100;

// world is where the scenarios are played: url and plainURL of the server, say
// for one line, ask for what only the runner can do, and nats.js's connect.
export const world = {};

export const say = (line) => world.say(line);
export const ask = (what) => world.ask(what);
export const words = (error) => {
  const cause = error.cause?.name ? ` (${error.cause.name}: ${error.cause.message})` : "";
  return `${error.name}: ${error.message}${cause}`;
};
export const quoted = (m) => JSON.stringify(m.string());

export function connect(options = {}, servers = world.url) {
  return world.connect({ servers, reconnect: false, timeout: patience, ...options });
}

// attempt says whether a connection comes about, and closes it.
export async function attempt(what, options = {}, servers = world.url) {
  try {
    const nc = await connect(options, servers);
    say(`${what}: connected`);
    await nc.close();
  } catch (error) {
    say(`${what}: ${words(error)}`);
  }
}

// refused says that a connection is refused, without the words: what the server
// says comes in the middle of the client's own writes, and may be lost to them.
export async function refused(what, options = {}, servers = world.url) {
  try {
    const nc = await connect(options, servers);
    say(`${what}: connected`);
    await nc.close();
  } catch {
    say(`${what}: refused`);
  }
}

// Line is a queue whose reader waits, but not for ever.
class Line {
  items = [];
  waiting = null;

  push(item) {
    this.items.push(item);
    this.waiting?.();
  }

  // next returns undefined when nothing has come in time.
  async next(ms) {
    if (this.items.length === 0) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.waiting = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.waiting = null;
    }
    return this.items.shift();
  }
}

// subscribe returns a subscription with what came for it.
export function subscribe(nc, subject, options = {}) {
  const line = new Line();
  const sub = nc.subscribe(subject, {
    ...options,
    callback: (error, m) => error || line.push(m),
  });
  return { subject, sub, line };
}

// take says which n messages come, and whether more do.
export async function take({ subject, line }, n) {
  for (let i = 0; i < n; i++) {
    const m = await line.next(patience);
    if (!m) {
      say(`${subject}: nothing comes`);
      return;
    }
    say(`${subject}: ${m.subject} ${quoted(m)}`);
  }
  const m = await line.next(quiet);
  if (m) {
    say(`${subject}: one too many, ${m.subject} ${quoted(m)}`);
  }
}

export async function count({ line }) {
  let n = 0;
  while (await line.next(quiet)) {
    n++;
  }
  return n;
}

// reconnecting are the options of a connection that comes again at once.
export const reconnecting = { reconnect: true, reconnectTimeWait: 20, reconnectJitter: 0, maxReconnectAttempts: -1 };

// Events collects what the client tells of a connection.
export class Events {
  line = new Line();

  constructor(nc) {
    const tell = async () => {
      for await (const s of nc.status()) {
        const text = { error: () => `error: ${words(s.error)}`, slowConsumer: () => `slow consumer: ${s.pending}` }[s.type];
        // How often it tries in vain is a matter of time.
        if (s.type !== "reconnecting" && s.type !== "ping") {
          this.line.push(text ? text() : s.type);
        }
      }
    };
    this.ended = tell();
  }

  // until says what happens up to the event that begins so.
  async until(prefix) {
    for (;;) {
      const event = await this.line.next(patience);
      say(event ?? `no event ${prefix}`);
      if (!event || event.startsWith(prefix)) {
        return;
      }
    }
  }

  async none() {
    const event = await this.line.next(quiet);
    if (event) {
      say(`unexpected: ${event}`);
    }
  }
}
