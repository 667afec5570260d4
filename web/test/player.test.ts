import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FenceEvent } from "../src/api";
import { noFilter, emptyView } from "../src/view";
import { event as makeEvent } from "./events";

const hourMs = 3_600_000;
const begin = Date.parse("2026-03-12T11:00:00Z");
const later = begin + 24 * hourMs;

/** What the server keeps: an object for each part of the past, and events, which arrived at their times. */
interface Past {
  objects: { from: number; to: number; id: string }[];
  events: FenceEvent[];
}

let past: Past;
let asked: URL[];
let frames: ((now: number) => void)[];
let now: number;

function answer(url: URL): Response {
  const { searchParams: query } = url;
  if (url.pathname === "/v1/positions") {
    const from = Date.parse(query.get("from")!);
    const objects = past.objects.filter((each) => each.from <= from && from < each.to);
    return Response.json({ from: query.get("from"), to: query.get("to"), every_ms: 15_000, objects: objects.map(({ id }) => ({ id, fleet: "f", t: [0], lon: [1], lat: [1] })) });
  }
  const at = (event: FenceEvent): number => Date.parse(event.data.at);
  const cursor = query.get("cursor");
  const after = cursor === null ? Date.parse(query.get("from")!) - 1 : Number(cursor);
  const found = past.events.filter((event) => at(event) > after && (query.get("set") ?? event.data.set) === event.data.set);
  const headers = { "Paddock-Cursor": String(Math.max(after, ...found.map(at))) };
  return new Response(found.map((event) => `${JSON.stringify(event)}\n`).join(""), { headers });
}

beforeEach(() => {
  [past, asked, frames, now] = [{ objects: [], events: [] }, [], [], performance.now()];
  vi.stubGlobal("document", { baseURI: "http://localhost/" });
  vi.stubGlobal("location", { search: "" });
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("requestAnimationFrame", (draw: (now: number) => void) => frames.push(draw));
  vi.stubGlobal("cancelAnimationFrame", () => (frames = []));
  vi.stubGlobal("fetch", (address: string) => {
    const url = new URL(address);
    asked.push(url);
    return Promise.resolve(answer(url));
  });
});
afterEach(() => vi.unstubAllGlobals());

async function open() {
  const [{ App }, { Player }] = await Promise.all([import("../src/app"), import("../src/past/player")]);
  const app = new App();
  app.past = new Player(app);
  app.bounds.set([0, 0, 2, 2]);
  return app;
}

/** Draws until nothing is asked for any more. */
async function rest(): Promise<void> {
  for (let before = -1; before < asked.length; ) {
    before = asked.length;
    for (let i = 0; i < 4; i++) {
      for (const draw of frames.splice(0)) draw((now += 100));
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

describe("a second playback", () => {
  it("shows objects under their own names", async () => {
    const app = await open();
    past.objects = [{ from: begin, to: begin + hourMs, id: "first" }, { from: later, to: later + hourMs, id: "second" }];
    for (const [from, id] of [[begin, "first"], [later, "second"]] as const) {
      app.past.open(from, from + hourMs);
      await rest();
      expect([app.objects.frame.count, app.objects.at(0)?.id, app.objects.find("f", id)?.id]).toEqual([1, id, id]);
      app.past.live();
    }
  });

  it("has events of its own time", async () => {
    const app = await open();
    past.events = [begin + 1000, later + 1000].map((at) => makeEvent({ at }));
    app.past.open(begin, begin + hourMs);
    await rest();
    app.past.live();
    past.events.push(makeEvent({ at: later + 2 * hourMs }));
    app.past.open(later + hourMs, later + 3 * hourMs);
    await rest();
    app.past.seek(later + 3 * hourMs);
    await rest();
    expect(app.past.feed.recent.map(({ data: { at } }) => Date.parse(at))).toContain(later + 2 * hourMs);
  });

  it("has the events of another filter", async () => {
    const app = await open();
    past.events = ["a", "b"].map((set, i) => makeEvent({ set, at: begin + 1000 * (i + 1) }));
    app.view.set({ ...emptyView, filter: { ...noFilter, set: "a" } });
    app.past.open(begin, begin + hourMs);
    await rest();
    app.past.live();
    app.setFilter({ set: "b" });
    app.past.open(begin, begin + hourMs);
    await rest();
    app.past.seek(begin + 10_000);
    await rest();
    expect(app.past.feed.recent.map(({ data: { set } }) => set)).toEqual(["b"]);
  });
});
