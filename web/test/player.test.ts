import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { FenceEvent } from "../src/api";
import type { App } from "../src/app";
import { noFilter, emptyView } from "../src/view";
import { event as makeEvent, many, type EventChange } from "./events";

const hourMs = 3_600_000;
const begin = Date.parse("2026-03-12T11:00:00Z");
const later = begin + 24 * hourMs;

/** What the server keeps: an object for each part of the past, and events, which arrived at their times. */
interface Past {
  objects: { from: number; to: number; id: string; speed?: number[] }[];
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
    return Response.json({ from: query.get("from"), to: query.get("to"), every_ms: 15_000, objects: objects.map(({ id, speed }) => ({ id, fleet: "f", t: [0], lon: [1], lat: [1], speed })) });
  }
  const at = (event: FenceEvent): number => Date.parse(event.data.at);
  const cursor = query.get("cursor");
  const after = cursor === null ? Date.parse(query.get("from")!) - 1 : Number(cursor);
  const kind = query.get("event");
  const matching = past.events.filter((event) => at(event) > after && (query.get("set") ?? event.data.set) === event.data.set && (kind === null || event.type.endsWith(`.${kind}`)));
  const found = matching.slice(0, Number(query.get("limit") ?? 10_000));
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

describe("a playback that is faster than its events", () => {
  it("tells so with the time that it shows", async () => {
    const app = await open();
    vi.stubGlobal("fetch", (address: string) => (address.includes("/v1/events") ? new Promise(() => undefined) : Promise.resolve(answer(new URL(address)))));
    app.past.open(begin, begin + 24 * hourMs);
    app.past.toggle();
    for (let i = 0; i < 200 && app.past.feed.rows.length === 0; i++) {
      for (const draw of frames.splice(0)) draw((now += 100));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const [row] = app.past.feed.rows;
    expect(row?.body.type).toBe("gap");
    expect(row?.time).toBe(app.past.clock.t);
  });
});

describe("a step to an event", () => {
  const dayMs = 24 * hourMs;
  const minuteMs = 60_000;
  /** Opens the day at a time of it. */
  const openAt = async (t: number, filter: Partial<typeof noFilter> = {}): Promise<App> => {
    const app = await open();
    app.view.set({ ...emptyView, filter: { ...noFilter, ...filter }, past: { from: begin, to: begin + dayMs, t, speed: 600 } });
    await rest();
    return app;
  };
  const steady = (from: number, n: number, everyMs: number, change: EventChange = {}): FenceEvent[] => many(n, (i) => ({ at: from + i * everyMs, ...change }));

  it.each([30, 5 * 60, 14 * 60])("back finds the last one %d minutes before", async (minutes) => {
    const t = begin + 15 * hourMs;
    past.events = [makeEvent({ at: begin + 1000 }), makeEvent({ at: t - minutes * minuteMs }), makeEvent({ at: t + minuteMs })];
    const app = await openAt(t);
    await app.past.step(-1);
    expect(app.past.clock.t).toBe(t - minutes * minuteMs);
    await app.past.step(-1);
    expect(app.past.clock.t).toBe(begin + 1000);
    await app.past.step(-1);
    expect(app.past.clock.t).toBe(begin);
  });

  it.each([[[]], [["cross", "exit"]]])("on and back finds one behind thousands that the filter %j leaves out", async (kinds) => {
    const [before, after] = [begin + 100_000, begin + 1_000_000];
    const text = kinds.length === 0 ? "gate" : "";
    past.events = [makeEvent({ at: before, kind: "cross", fence: "gate" }), ...steady(before + 100, 8_998, 100), makeEvent({ at: after, kind: "cross", fence: "gate" })];
    const app = await openAt(begin + 500_000, { events: kinds, text });
    await app.past.step(1);
    expect(app.past.clock.t).toBe(after);
    await app.past.step(1);
    expect(app.past.clock.t).toBe(begin + dayMs);
    app.past.seek(begin + 500_000);
    await app.past.step(-1);
    expect(app.past.clock.t).toBe(before);
  }, 60_000);

  it("has the server look for a single kind", async () => {
    past.events = [...steady(begin + 1000, 20_000, 50), makeEvent({ at: begin + 2_000_000, kind: "cross" })];
    const app = await openAt(begin + 2000, { events: ["cross"] });
    const before = asked.length;
    await app.past.step(1);
    expect(app.past.clock.t).toBe(begin + 2_000_000);
    expect(asked.slice(before).filter(({ pathname }) => pathname === "/v1/events").length).toBeLessThan(3);
  }, 60_000);

  it("finds those of objects in a state", async () => {
    past.objects = [{ from: begin - dayMs, to: begin + 2 * dayMs, id: "v1", speed: [9] }];
    past.events = [makeEvent({ at: begin + minuteMs, object: "other" }), makeEvent({ at: begin + 2 * minuteMs, object: "v1" })];
    for (const { data } of past.events) data.object!.fleet = "f";
    const app = await openAt(begin, { states: ["moving"] });
    expect(app.objects.find("f", "v1")).toBeDefined();
    await app.past.step(1);
    expect(app.past.clock.t).toBe(begin + 2 * minuteMs);
  });

  it("gives way to another wish", async () => {
    past.events = [makeEvent({ at: begin + 1000 }), makeEvent({ at: begin + 20 * hourMs })];
    const app = await openAt(begin + 15 * hourMs);
    const back = app.past.step(-1);
    app.past.seek(begin + 10 * hourMs);
    await back;
    expect(app.past.clock.t).toBe(begin + 10 * hourMs);
    const [first, second] = [app.past.step(-1), app.past.step(1)];
    await Promise.all([first, second]);
    expect(app.past.clock.t).toBe(begin + 20 * hourMs);
  });
});
