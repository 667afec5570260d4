import { describe, expect, it } from "vitest";
import { Feed, maxRecent, maxRows } from "../src/model/feed";
import { noFilter } from "../src/view";
import { event, many } from "./events";

/** Adds events at a rate for a time, ticking four times a second as the page does. Returns the time after. */
function run(feed: Feed, perSecond: number, seconds: number, from = 0): number {
  for (let step = 0; step < seconds * 4; step++) {
    const now = from + step * 250;
    feed.add(many(perSecond / 4, (i) => ({ fence: `d-${i}`, at: now })), now);
    feed.tick(now);
  }
  return from + seconds * 1000;
}

describe("Feed", () => {
  it("shows each event on its own, newest on top, up to 20 a second", () => {
    const feed = new Feed();
    run(feed, 20, 10);
    expect(feed.grouping).toBe(false);
    expect(feed.rows).toHaveLength(200);
    expect(feed.rows.every((row) => row.body.type === "event")).toBe(true);
    const times = feed.rows.map((row) => row.time);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
  });

  it("groups above that, and stops when it is calm again", () => {
    const feed = new Feed();
    const then = run(feed, 200, 6);
    expect(feed.grouping).toBe(true);
    expect(feed.rows.some((row) => row.body.type === "group")).toBe(true);
    run(feed, 4, 4, then);
    expect(feed.grouping).toBe(false);
    expect(feed.rows[0]?.body.type).toBe("event");
  });

  it("moves no faster than the eye while it groups", () => {
    const feed = new Feed();
    const then = run(feed, 400, 4);
    const before = feed.rows.length;
    run(feed, 400, 10, then);
    expect(feed.rows.length - before).toBeLessThanOrEqual(10);
  });

  it("keeps at most its bound of rows and of events", () => {
    const feed = new Feed();
    for (let i = 0; i < 40; i++) {
      feed.add(many(400, () => ({})), i * 60_000);
      feed.tick(i * 60_000);
      feed.tick(i * 60_000 + 30_000);
    }
    expect(feed.rows.length).toBeLessThanOrEqual(maxRows);
    expect(feed.recent.length).toBeLessThanOrEqual(maxRecent + 500);
  });

  it("stands still while paused and loses nothing", () => {
    const feed = new Feed();
    feed.paused = true;
    feed.add(many(3, () => ({})), 0);
    expect(feed.tick(250)).toBe(false);
    expect(feed.rows).toHaveLength(0);
    expect(feed.waiting).toBe(3);
    feed.paused = false;
    expect(feed.tick(500)).toBe(true);
    expect(feed.rows).toHaveLength(3);
  });

  it("takes an event once, however often it comes", () => {
    const feed = new Feed();
    const e = event();
    expect(feed.add([e, e], 0)).toEqual([e]);
    expect(feed.add([e], 100)).toEqual([]);
    feed.tick(250);
    feed.addPast([e]);
    expect(feed.rows).toHaveLength(1);
  });

  it("shows past events below what is new", () => {
    const feed = new Feed();
    const [old, older] = [event({ at: 2000 }), event({ at: 1000 })];
    feed.add([event({ at: 3000 })], 3000);
    feed.tick(3000);
    feed.addPast([older, old]);
    expect(feed.rows.map((row) => row.time)).toEqual([3000, 2000, 1000]);
    expect(feed.recent.map((e) => Date.parse(e.time))).toEqual([1000, 2000, 3000]);
  });

  it("looks back when the filter changes", () => {
    const feed = new Feed();
    feed.add([event({ kind: "enter" }), event({ kind: "exit" }), event({ kind: "exit", set: "zones" })], 0);
    feed.tick(0);
    feed.setFilter({ ...noFilter, events: ["exit"] });
    expect(feed.rows).toHaveLength(2);
    feed.setFilter({ ...noFilter, events: ["exit"], set: "zones" });
    expect(feed.rows).toHaveLength(1);
    feed.setFilter(noFilter);
    expect(feed.rows).toHaveLength(3);
  });
});

describe("a feed that misses events", () => {
  it("adds up gaps that follow one another", () => {
    const feed = new Feed();
    feed.addGap(40, "slow", 0);
    feed.addGap(2, "slow", 100);
    expect(feed.rows.map((row) => row.body)).toEqual([{ type: "gap", count: 42, reason: "slow" }]);
    feed.add([event()], 200);
    feed.addGap(1, "slow", 300);
    expect(feed.rows.map((row) => row.body.type)).toEqual(["gap", "event", "gap"]);
  });

  it("tells a gap of the past with its own time", () => {
    const feed = new Feed();
    feed.addGap(0, "fast", 1e12, 5000);
    expect(feed.rows.map(({ time }) => time)).toEqual([5000]);
  });

  it("stands still while paused, whatever is missed meanwhile, and tells it at its place", () => {
    const feed = new Feed();
    feed.add([event({ at: 1000 })], 0);
    feed.tick(0);
    feed.paused = true;
    feed.add([event({ at: 2000 })], 10);
    feed.addGap(3, "slow", 20);
    feed.addGap(4, "slow", 30);
    feed.add([event({ at: 3000 })], 40);
    expect([feed.rows.length, feed.waiting, feed.tick(250)]).toEqual([1, 2, false]);
    feed.paused = false;
    expect(feed.tick(500)).toBe(true);
    expect(feed.rows.map(({ body, time }) => (body.type === "gap" ? [body.count, time] : time))).toEqual([3000, [7, 30], 2000, 1000]);
    feed.paused = true;
    for (let i = 0; i < 5_000; i++) {
      feed.add(many(3, () => ({})), 1000 + i);
      feed.addGap(1, `slow ${i}`, 1000 + i);
    }
    feed.add(many(maxRecent, () => ({})), 1e5);
    expect(feed.waiting).toBe(maxRecent);
    feed.paused = false;
    expect(feed.tick(1e6)).toBe(true);
    expect(feed.rows).toHaveLength(maxRows);
  });
});

describe("the order of rows", () => {
  it("puts an event that arrives late at its place, by its time", () => {
    const feed = new Feed();
    const times = (): number[] => feed.rows.map((row) => row.time);
    feed.add([event({ at: 1000 }), event({ at: 3000 })], 3000);
    feed.tick(3000);
    feed.add([event({ at: 4000 }), event({ at: 2000 })], 4000);
    feed.tick(4000);
    expect(times()).toEqual([4000, 3000, 2000, 1000]);
    feed.setFilter({ ...noFilter, set: "districts" });
    expect(times()).toEqual([4000, 3000, 2000, 1000]);
  });

  it("keeps the last event on top of others of its time, and groups by time too", () => {
    const feed = new Feed();
    const [a, b] = [event({ at: 1000, object: "a" }), event({ at: 1000, object: "b" })];
    feed.add([a], 0);
    feed.tick(0);
    feed.add([b], 250);
    feed.tick(250);
    expect(feed.rows.map(({ body }) => body.type === "event" && body.event)).toEqual([b, a]);
    feed.add([...many(100, (i) => ({ at: 9000 - i })), event({ at: 500, kind: "exit" })], 10_000);
    feed.tick(10_000);
    expect(feed.grouping).toBe(true);
    expect(feed.rows.map(({ time }) => time)).toEqual([9000, 1000, 1000, 500]);
  });

  it("keeps a gap between what was before it and what came after it", () => {
    const feed = new Feed();
    feed.add([event({ at: 5000 })], 0);
    feed.tick(0);
    feed.addGap(3, "slow", 90_000); // the clock of this machine is ahead
    feed.add([event({ at: 6000 }), event({ at: 4000 })], 100);
    feed.tick(300);
    expect(feed.rows.map(({ body, time }) => (body.type === "gap" ? "gap" : time))).toEqual([6000, "gap", 5000, 4000]);
  });
});

describe("Feed over a restart of the server", () => {
  it("takes ids that come again after a restart of the server for other events", () => {
    const feed = new Feed();
    const first = event({});
    expect(feed.add([first], 0)).toHaveLength(1);
    const again = { ...first, time: new Date(Date.parse(first.time) + 60_000).toISOString() };
    expect(feed.add([again], 1000)).toHaveLength(0);
    feed.restart();
    expect(feed.add([again], 2000)).toEqual([again]);
  });
});
