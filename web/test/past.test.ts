import { afterEach, describe, expect, it, vi } from "vitest";
import type { EventPage, EventStart, SampledPage } from "../src/past/api";
import type { FenceEvent } from "../src/api";
import { State } from "../src/live/frame";
import { boxAround, Buffer, serves } from "../src/past/buffer";
import { Chunk, chunkAt, Handles, lastAt, levelOf, maxObjects } from "../src/past/chunk";
import { Clock } from "../src/past/clock";
import { analyse, everyOf, gapLines, joinPages, metresBetween, strokesOf } from "../src/past/day";
import { EventBook, pageEvents } from "../src/past/events";
import { frameAt, lookBackMs } from "../src/past/picture";
import { mostPages, searchBack, searchEvents, searchOn } from "../src/past/search";
import { choices, dateAfter, dateOfSpan, dateText, dayOf, fieldText, formatPast, hourMs, marksOf, nearestSpeed, parseField, parsePast, viewOf } from "../src/past/span";
import { Trails } from "../src/model/trails";
import { event as makeEvent } from "./events";

const begin = Date.parse("2026-03-12T11:00:00Z");
const iso = (t: number): string => new Date(t).toISOString();

function page(from: number, objects: SampledPage["objects"], next?: string): SampledPage {
  return { from: iso(from), to: iso(from + hourMs), every_ms: 15_000, objects, ...(next === undefined ? {} : { next }) };
}

describe("a span", () => {
  it("comes back from an address as it was", () => {
    const view = { from: begin, to: begin + hourMs, t: begin + 61_500, speed: 120 };
    const parts = Object.fromEntries(formatPast(view).map((part) => part.split("=") as [string, string]));
    expect(parts).toEqual({ past: "2026-03-12T11:00:00Z,2026-03-12T12:00:00Z", t: "2026-03-12T11:01:01.500Z", speed: "120" });
    expect(parsePast(parts.past, parts.t, parts.speed)).toEqual(view);
    expect(parsePast(encodeURIComponent(parts.past!), encodeURIComponent(parts.t!), "119")).toEqual(view);
  });

  it.each([
    ["", "nothing"],
    ["2026-03-12T11:00:00Z", "no end"],
    ["2026-03-12T11:00:00,2026-03-12T12:00:00", "no zone"],
    ["2026-03-12T12:00:00Z,2026-03-12T11:00:00Z", "an end before its beginning"],
    ["2026-03-12T11:00:00Z,2026-03-12T11:00:59Z", "less than a minute"],
    ["2026-03-12T11:00:00Z,2026-06-12T11:00:00Z", "more than 31 days"],
    ["yesterday,today", "words"],
  ])("is none of %s: %s", (past) => expect(parsePast(past, undefined, undefined)).toBeNull());

  it("begins at its beginning, at a speed at which it lasts a minute or so", () => {
    const text = "2026-03-12T11:00:00Z,2026-03-12T12:00:00Z";
    expect(parsePast(text, undefined, undefined)).toEqual({ from: begin, to: begin + hourMs, t: begin, speed: 60 });
    expect(parsePast(text, "2026-03-12T10:00:00Z", "-4")).toEqual({ from: begin, to: begin + hourMs, t: begin, speed: 60 });
    expect(viewOf(begin, begin + 24 * hourMs).speed).toBe(600);
    expect([0.1, 3, 45, 5000].map(nearestSpeed)).toEqual([1, 2, 60, 600]);
  });

  it("is a day of the calendar, in UTC or the viewer's zone", () => {
    for (const utc of [true, false]) {
      const [from, to] = dayOf("2026-03-12", utc);
      expect(fieldText(from, utc)).toBe("2026-03-12T00:00:00");
      expect(fieldText(to, utc)).toBe("2026-03-13T00:00:00");
      expect(dateOfSpan({ from, to }, utc)).toBe("2026-03-12");
      expect(dateOfSpan({ from, to: to - 1 }, utc)).toBeNull();
      expect(parseField("2026-03-12T00:00:00", utc)).toBe(from);
      const yesterday = choices.find(({ id }) => id === "yesterday")!;
      expect(yesterday.span(to + 5000, utc)).toEqual([from, to]);
    }
    expect(dateAfter("2026-03-01", -1)).toBe("2026-02-28");
    expect([true, false].map((utc) => dayOf("", utc))).toEqual([[NaN, NaN], [NaN, NaN]]);
  });
});

describe("where the clocks change", () => {
  afterEach(() => vi.unstubAllEnvs());
  const written = (zone: string, t: number): string => new Date(t).toLocaleString("sv-SE", { timeZone: zone });

  it.each([
    ["Africa/Cairo", "2026-04-24", 23],
    ["America/Santiago", "2026-09-06", 23],
    ["Africa/Cairo", "2026-10-29", 25],
    ["Europe/Berlin", "2026-10-25", 25],
  ])("in %s, %s has %d hours", (zone, date, hours) => {
    vi.stubEnv("TZ", zone);
    const [from, to] = dayOf(date, false);
    expect((to - from) / hourMs).toBe(hours);
    expect(dateText(to, false)).toBe(dateAfter(date, 1));
    expect(dateText(to - 1, false)).toBe(date);
    expect(dayOf(dateAfter(date, 1), false)[0]).toBe(to);
    expect(dateOfSpan({ from, to }, false)).toBe(date);
  });

  it("each day has one mark", () => {
    vi.stubEnv("TZ", "Europe/Berlin");
    const at = (text: string): number => new Date(text).getTime();
    const week = marksOf(at("2026-10-22T00:00:00"), at("2026-10-29T00:00:00"), false);
    expect(week.times.map((t) => written("Europe/Berlin", t))).toEqual([22, 23, 24, 25, 26, 27, 28, 29].map((day) => `2026-10-${day} 00:00:00`));
    expect(week.days).toBe(true);
    const [from, to] = dayOf("2026-10-25", false);
    expect(marksOf(from, to, false).times.map((t) => written("Europe/Berlin", t).slice(11, 16))).toEqual(["00:00", "04:00", "08:00", "12:00", "16:00", "20:00", "00:00"]);
    const [early, late] = dayOf("2026-03-29", false);
    expect(marksOf(early, early + 8 * hourMs, false).times.map((t) => written("Europe/Berlin", t).slice(11, 16))).toEqual(["00:00", "01:00", "03:00", "04:00", "05:00", "06:00", "07:00", "08:00", "09:00"]);
    expect(marksOf(early, late, true).times.every((t) => t % hourMs === 0)).toBe(true);
    // Each fourth day, and quarters of the hour that comes twice.
    expect(marksOf(at("2026-10-10T00:00:00"), at("2026-11-09T00:00:00"), false).times.every((t) => written("Europe/Berlin", t).endsWith(" 00:00:00"))).toBe(true);
    expect(marksOf(at("2026-10-25T00:30:00Z"), at("2026-10-25T02:00:00Z"), false).times).toHaveLength(7);
  });

  it("marks are at full minutes, hours and days, no more than nine", () => {
    for (const zone of ["UTC", "Europe/Berlin", "Asia/Kathmandu"]) {
      vi.stubEnv("TZ", zone);
      for (let length = 60_000; length < 31 * 24 * hourMs; length *= 1.7) {
        const { times } = marksOf(begin, begin + length, false);
        expect(times.length).toBeGreaterThan(1);
        expect(times.length).toBeLessThanOrEqual(9);
        expect(times.every((t) => t >= begin && t <= begin + length)).toBe(true);
        expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
      }
    }
  });
});

describe("the clock", () => {
  const span = { from: 0, to: 100_000, t: 0, speed: 60 };

  it("goes on at its speed, and stops at the end", () => {
    const clock = new Clock();
    clock.set(span);
    expect(clock.advance(100)).toBe(false);
    clock.play();
    expect(clock.advance(100)).toBe(true);
    expect(clock.t).toBe(6_000);
    for (let i = 0; i < 30; i++) clock.advance(100);
    expect([clock.t, clock.playing]).toEqual([100_000, false]);
    clock.play();
    expect([clock.t, clock.playing]).toEqual([0, true]);
  });

  it("does not leap after a pause of the page, and stays in its span", () => {
    const clock = new Clock();
    clock.set(span);
    clock.play();
    clock.advance(60_000);
    expect(clock.t).toBe(60_000);
    clock.seek(-5);
    expect(clock.t).toBe(0);
    clock.set({ ...span, speed: 2 });
    expect(clock.playing).toBe(true);
    clock.set({ ...span, to: 50_000 });
    expect(clock.playing).toBe(false);
  });
});

describe("chunks", () => {
  const level = levelOf(60);
  const chunkOf = (index: number, objects: SampledPage["objects"], handles = new Handles()): Chunk => {
    const chunk = new Chunk(level, index, { box: null, fleet: "" });
    chunk.add(page(chunk.from, objects), handles);
    return chunk;
  };

  it("are longer at higher speeds, and have 60 positions of an object", () => {
    for (const speed of [1, 10, 60, 600]) expect(levelOf(speed).length / levelOf(speed).every).toBe(60);
    expect(levelOf(600).length / 600).toBe(6_000);
  });

  it("are bounded, and tell that objects are left out", () => {
    const chunk = new Chunk(level, 0, { box: null, fleet: "" });
    const objects = Array.from({ length: maxObjects }, (_, i) => ({ id: `v${i}`, fleet: "f", t: [0], lon: [1], lat: [2] }));
    expect(chunk.add(page(0, objects, "more"), new Handles())).toBe(false);
    expect(chunk.partial).toBe(true);
    const whole = new Chunk(level, 0, { box: null, fleet: "" });
    expect(whole.add(page(0, objects), new Handles())).toBe(false);
    expect(whole.partial).toBe(false);
  });

  it("find the last position at a time, forwards and backwards", () => {
    const [series] = chunkOf(0, [{ id: "v", fleet: "f", t: [-5, 0, 10, 20], lon: [1, 2, 3, 4], lat: [0, 0, 0, 0] }]).series.values();
    for (const [t, want] of [[25, 3], [9, 1], [10, 2], [-6, -1], [-5, 0], [19, 2]] as const) expect(lastAt(series!, t)).toBe(want);
  });

  it("are asked for around the time, within the span, and held within a bound", () => {
    const buffer = new Buffer();
    buffer.setSpeed(60);
    const { length } = level;
    const t = 10.5 * length;
    const asked: number[] = [];
    for (let chunk = buffer.wanted(t, 0, 12 * length - 1); chunk; chunk = buffer.wanted(t, 0, 12 * length - 1)) {
      asked.push(chunk.index);
      buffer.put(chunk, t);
    }
    expect(asked).toEqual([10, 11]);
    expect(buffer.at(t).exact).toBe(true);
    expect(buffer.at(t).next?.index).toBe(11);
    for (let i = 0; i < 40; i++) {
      const at = t + i * length;
      for (let chunk = buffer.wanted(at, 0, 100 * length); chunk; chunk = buffer.wanted(at, 0, 100 * length)) {
        chunk.add(page(chunk.from, [{ id: "v", fleet: "f", t: [0], lon: [1], lat: [2] }]), new Handles());
        buffer.put(chunk, at);
      }
      expect(buffer.positions).toBeLessThanOrEqual(4);
    }
  });

  it("of another speed or place are shown until there are better ones", () => {
    const buffer = new Buffer();
    buffer.setSpeed(60);
    const t = 10.5 * level.length;
    const scope = { box: null, fleet: "a" };
    buffer.setScope(scope);
    const old = buffer.wanted(t, 0, 1e12)!;
    buffer.put(old, t);
    buffer.setSpeed(600);
    expect(buffer.at(t)).toMatchObject({ chunk: old, exact: false });
    buffer.put(new Chunk(level, old.index, scope), t);
    expect(buffer.at(t).chunk).toBe(old); // one that was under way is dropped
    const better = buffer.wanted(t, 0, 1e12)!;
    buffer.put(better, t);
    expect(buffer.at(t)).toMatchObject({ chunk: better, exact: true });
  });

  it("serve for a smaller part of the map, unless objects are left out", () => {
    const box = boxAround([0, 0, 10, 10])!;
    expect(box).toEqual([-2.5, -2.5, 12.5, 12.5]);
    const scope = { box, fleet: "" };
    expect(serves(scope, [1, 1, 11, 11], false)).toBe(true);
    expect(serves(scope, [1, 1, 13, 11], false)).toBe(false);
    expect(serves(scope, [1, 1, 2, 2], false)).toBe(true);
    expect(serves(scope, [1, 1, 2, 2], true)).toBe(false);
    expect(boxAround([-180, -85, 180, 85])).toBeNull();
    expect(chunkAt(-1, level)).toBe(-1);
  });
});

describe("the picture", () => {
  const level = levelOf(60); // a position each 15 s
  const all: Parameters<typeof frameAt>[3] = { bounds: null, states: [], text: "" };
  const handles = new Handles();
  const from = 1000 * level.length;
  const chunk = new Chunk(level, 1000, { box: null, fleet: "" });
  chunk.add(
    page(from, [
      { id: "north", fleet: "a", t: [0, 15_000, 30_000], lon: [10, 10, 10], lat: [50, 50.001, 50.002] },
      { id: "still", fleet: "a", t: [-60_000, 0, 15_000], lon: [11, 11, 11], lat: [50, 50, 50], speed: [0, 0, 0], heading: [90, 90, 90] },
      { id: "lost", fleet: "b", t: [0, 400_000], lon: [12, 13], lat: [50, 50], speed: [9, 9] },
      { id: "date line", fleet: "b", t: [0, 15_000], lon: [179.999, -179.999], lat: [0, 0] },
    ]),
    handles,
  );
  const next = new Chunk(level, 1001, { box: null, fleet: "" });
  next.add(page(next.from, [{ id: "lost", fleet: "b", t: [-500_000, 0], lon: [13, 14], lat: [50, 50] }]), handles);
  const at = (t: number, choice = all): Record<string, { lon: number; lat: number; state: number; speed: number; heading: number }> => {
    const frame = frameAt(chunk, next, from + t, choice);
    const names = new Map([...chunk.series.values()].map(({ handle, id }) => [handle, id]));
    return Object.fromEntries(
      Array.from({ length: frame.count }, (_, i) => [
        names.get(frame.handles[i]!)!,
        { lon: frame.lon[i]!, lat: frame.lat[i]!, state: frame.state[i]!, speed: frame.speed[i]!, heading: frame.heading[i]! },
      ]),
    );
  };

  it("has each object on the line between two positions", () => {
    const { north, "date line": wrapped } = at(7_500);
    expect(north!.lat).toBeCloseTo(50.0005, 6);
    expect(north!.speed).toBeCloseTo(111.195 / 15, 1);
    expect([north!.heading, north!.state]).toEqual([0, State.Moving]);
    expect(Math.abs(wrapped!.lon)).toBeCloseTo(180, 6);
    expect(wrapped!.heading).toBe(90);
  });

  it("has an object that stands with the heading that it told", () => {
    expect(at(7_500).still).toMatchObject({ lon: 11, state: State.Dwelling, heading: 90 });
  });

  it("draws no line over a gap: the object stays, silent, and goes in the end", () => {
    expect(at(100_000).lost).toMatchObject({ lon: 12, state: State.Moving });
    expect(at(200_000).lost).toMatchObject({ lon: 12, state: State.Silent });
    expect(at(400_000).lost).toMatchObject({ lon: 13 });
    expect(at(30_000 + lookBackMs).north).toBeDefined();
    expect(at(30_001 + lookBackMs).north).toBeUndefined();
    expect(at(-1).north).toBeUndefined();
  });

  it("has what the filter and the map let pass", () => {
    expect(Object.keys(at(0, { ...all, text: "B LO" }))).toEqual(["lost"]);
    expect(Object.keys(at(0, { ...all, states: ["dwelling"] }))).toEqual(["still"]);
    expect(Object.keys(at(0, { ...all, bounds: [9, 49, 11.5, 51] }))).toEqual(["north", "still"]);
    expect(frameAt(null, null, from, all).count).toBe(0);
  });
});

describe("the events of a time", () => {
  const event = (n: number, t: number): FenceEvent => ({ ...makeEvent({ object: `v${n}`, at: t }), id: `v${n}/1` });
  const put = (book: EventBook, events: FenceEvent[], t: number): FenceEvent[] => book.put({ events, lines: events.length, cursor: "c" }, t);

  it("are in order of time, whatever the order of their arrival", () => {
    const book = new EventBook();
    book.restart(begin);
    put(book, [event(3, begin + 3000), event(1, begin + 1000)], begin);
    expect(put(book, [event(2, begin + 2000), event(1, begin + 1000)], begin + 2500).map(({ id }) => id)).toEqual(["v2/1"]);
    expect(book.between(begin, begin + 3000).map(({ id }) => id)).toEqual(["v1/1", "v2/1", "v3/1"]);
    expect(book.between(begin + 1000, begin + 2999).map(({ id }) => id)).toEqual(["v2/1"]);
    expect(book.last(begin + 2000, 1).map(({ id }) => id)).toEqual(["v2/1"]);
  });

  it("are stepped through, those that pass only", () => {
    const book = new EventBook();
    book.restart(begin);
    put(book, [1, 2, 3].map((n) => event(n, begin + n * 1000)), begin);
    const odd = ({ id }: FenceEvent): boolean => id !== "v2/1";
    expect(book.step(begin, 1, odd)).toBe(begin + 1000);
    expect(book.step(begin + 1000, 1, odd)).toBe(begin + 3000);
    expect(book.step(begin + 3000, 1, odd)).toBeNull();
    expect(book.step(begin + 3000, -1, odd)).toBe(begin + 1000);
    expect(book.step(begin + 1000, -1, odd)).toBeNull();
  });

  it("are bounded", () => {
    const book = new EventBook();
    book.restart(begin);
    let n = 0;
    let t = begin;
    for (let round = 0; round < 12; round++) {
      while (book.wants(t)) put(book, Array.from({ length: pageEvents }, () => event(++n, begin + n)), t);
      expect(book.size).toBeLessThanOrEqual(2 * 3_000 + pageEvents);
      t += 1_500;
    }
    expect(n).toBeGreaterThan(10_000);
  });

  it("end for now where no more have arrived", () => {
    const book = new EventBook();
    book.restart(begin);
    put(book, [event(1, begin + 1000)], begin);
    const empty = { events: [], lines: 0, cursor: "c" };
    const now = begin + 60_000;
    book.put(empty, begin, now);
    expect([book.ended, book.frontier]).toEqual([true, now]);
    // What arrives later is asked for when the playback comes to it, and not all the time.
    expect([book.wants(now, now + 60_000), book.wants(now + 1, now + 1000), book.wants(now + 1, now + 60_000)]).toEqual([false, false, true]);
    book.put({ ...empty, events: [event(2, now + 5000)], lines: 1 }, now, now + 60_000);
    expect([book.ended, book.frontier, book.isBehind(now + 60_000)]).toEqual([false, now + 5000, false]);
    book.refuse();
    expect([book.ended, book.wants(now + 1e9, now + 1e9)]).toEqual([true, false]);
  });
});

describe("a search for an event", () => {
  const every = 100;
  /** Events that arrived one after the other from the beginning on, as many as are asked for; the wanted ones are "v0". */
  const searched = (n: number, wanted: number[], passes = ({ data }: FenceEvent): boolean => data.object?.id === "v0") => {
    let pages = 0;
    const shared = makeEvent();
    const read = (start: EventStart): Promise<EventPage> => {
      pages++;
      const first = "cursor" in start ? Number(start.cursor) : Math.max(0, Math.ceil((start.arrived - begin) / every));
      const events = Array.from({ length: Math.max(0, Math.min(searchEvents, n - first)) }, (_, i): FenceEvent => {
        const id = wanted.includes(first + i) ? "v0" : "v1";
        return { ...shared, data: { ...shared.data, object: { id, fleet: "f", properties: {} }, at: iso(begin + (first + i) * every) } as FenceEvent["data"] };
      });
      return Promise.resolve({ events, lines: events.length, cursor: String(first + events.length) });
    };
    const end = begin + n * every;
    return { pages: () => pages, on: (t: number) => searchOn({ t, end, passes, read }, { arrived: t }), back: (t: number) => searchBack({ t, end: begin, passes, read }) };
  };

  it("finds the nearest in both directions, and none beyond the span", async () => {
    const { on, back } = searched(20_000, [3, 100, 15_000]);
    expect(await on(begin)).toBe(begin + 3 * every);
    expect(await on(begin + 3 * every)).toBe(begin + 100 * every);
    expect(await on(begin + 100 * every)).toBe(begin + 15_000 * every);
    expect(await on(begin + 15_000 * every)).toBeNull();
    expect(await back(begin + 19_000 * every)).toBe(begin + 15_000 * every);
    expect(await back(begin + 15_000 * every)).toBe(begin + 100 * every);
    expect(await back(begin + 3 * every)).toBeNull();
  });

  it("ends where it has come to after many pages, and goes on from there", async () => {
    const n = searchEvents * mostPages + 50_000;
    const last = n - 2;
    for (const direction of ["on", "back"] as const) {
      const search = searched(n, [direction === "on" ? last : 1]);
      const [start, want] = direction === "on" ? [begin, begin + last * every] : [begin + n * every, begin + every];
      const first = await search[direction](start);
      expect(search.pages()).toBeLessThanOrEqual(mostPages);
      expect(Math.abs(first! - start)).toBeGreaterThan(0.1 * n * every);
      expect(Math.abs(first! - want)).toBeGreaterThan(0);
      let t = first!;
      for (let i = 0; i < 5 && t !== want; i++) t = (await search[direction](t))!;
      expect(t).toBe(want);
    }
  }, 60_000);
});

describe("the long trail", () => {
  it("begins with the history, goes on with what the page sees, and is as long as it was asked for", () => {
    const trails = new Trails();
    const seen = (t: number): void => trails.add("v", t / 1000, 0, t);
    trails.lengthen("v", Array.from({ length: 10 }, (_, i) => ({ lon: 0, lat: 0, t: i * 10_000 })), 300_000);
    for (let t = 90_000; t <= 350_000; t += 1000) {
      seen(t);
      trails.get("v", t);
    }
    const points = trails.get("v", 350_000);
    expect(points[0]!.t).toBe(50_000);
    expect(points.at(-1)!.t).toBe(350_000);
    expect(points.map(({ t }) => t)).toEqual(points.map(({ t }) => t).toSorted((a, b) => a - b));
    expect(points.length).toBeGreaterThan(250);
    trails.lengthen("w", [], 300_000);
    expect(trails.get("v", 350_000).length).toBeLessThan(65);
  });
});

describe("a day", () => {
  const name = { fleet: "f", id: "v" };
  // 10 s each: 100 s of driving north at 11 m/s, 300 s of standing, 100 s of driving, a gap of 400 s, 50 s of driving.
  const columns = { t: [] as number[], lon: [] as number[], lat: [] as number[] };
  let [t, lat] = [begin, 50];
  const go = (steps: number, by: number, every = 10_000): void => {
    for (let i = 0; i < steps; i++) {
      t += every;
      lat += by;
      columns.t.push(t);
      columns.lon.push(10);
      columns.lat.push(lat);
    }
  };
  go(11, 0.001);
  go(30, 0);
  go(10, 0.001);
  go(1, 0.01, 400_000);
  go(5, 0.001);
  const track = analyse(name, { from: begin, to: begin + hourMs }, 10_000, columns);

  it("has its stops, gaps, distance and time of driving", () => {
    expect(track.stops.map(({ from, to }) => (to - from) / 1000)).toEqual([300]);
    expect(track.gaps.map(({ from, to }) => (to - from) / 1000)).toEqual([400]);
    expect(track.drivingMs).toBe(250_000);
    expect(track.metres).toBeCloseTo(25 * 111.195, 0);
  });

  it("is a line in strokes that end at gaps", () => {
    const strokes = strokesOf(track, "speed");
    expect(strokes.map(({ shade }) => shade > 0)).toEqual([true, false, true, true]);
    expect(gapLines(track)).toHaveLength(1);
    const byTime = strokesOf(track, "time");
    expect(byTime[0]!.shade).toBeLessThan(0.1);
    expect(byTime.at(-1)!.shade).toBe(1);
    expect(strokesOf({ ...track, t: [], lon: [], lat: [], speed: [] }, "time")).toEqual([]);
  });

  it("is joined of pages, each position once, and asked for in a bounded number of positions", () => {
    const pages = [page(begin, [{ ...name, t: [0, 1000], lon: [1, 2], lat: [3, 4] }]), page(begin, [{ ...name, t: [1000, 2000], lon: [2, 5], lat: [4, 6] }]), page(begin, [{ id: "w", fleet: "f", t: [5000], lon: [0], lat: [0] }])];
    expect(joinPages(pages, "f", "v")).toEqual({ t: [begin, begin + 1000, begin + 2000], lon: [1, 2, 5], lat: [3, 4, 6] });
    expect(everyOf({ from: 0, to: hourMs })).toBe(1000);
    expect(everyOf({ from: 0, to: 24 * hourMs })).toBe(10_000);
    expect(everyOf({ from: 0, to: 31 * 24 * hourMs })).toBe(310_000);
    expect(metresBetween(179.999, 0, -179.999, 0)).toBeCloseTo(222.4, 0);
  });
});
