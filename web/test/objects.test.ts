import { describe, expect, it } from "vitest";
import { emptyFrame, type Frame } from "../src/live/frame";
import { floatsPerObject, Motion } from "../src/map/motion";
import { latitude, longitude, mercatorX, mercatorY } from "../src/map/mercator";
import { Objects } from "../src/model/objects";
import { Trails } from "../src/model/trails";

function frame(dots: [handle: number, lon: number, lat: number, state?: number][], t = 0): Frame {
  return {
    ...emptyFrame(),
    t,
    count: dots.length,
    handles: Uint32Array.from(dots, ([handle]) => handle),
    lon: Float64Array.from(dots, ([, lon]) => lon),
    lat: Float64Array.from(dots, ([, , lat]) => lat),
    heading: new Float32Array(dots.length),
    speed: new Float32Array(dots.length),
    state: Uint8Array.from(dots, ([, , , state]) => state ?? 0),
  };
}

describe("Objects", () => {
  it("finds an object by name in the last frame", () => {
    const objects = new Objects();
    objects.learn({ type: "names", names: [[1, "city", "a"], [2, "city", "b"]] });
    objects.show(frame([[1, 10, 20], [2, 11, 21, 2]]));
    expect(objects.find("city", "b")).toMatchObject({ lon: 11, lat: 21, state: 2 });
    expect(objects.find("other", "b")).toBeUndefined();
    objects.show(frame([[1, 10, 20]]));
    expect(objects.find("city", "b")).toBeUndefined();
  });

  it("does not mix up objects when a new connection gives handles anew", () => {
    const objects = new Objects();
    objects.learn({ type: "names", names: [[1, "city", "a"], [2, "city", "b"]] });
    objects.show(frame([[1, 10, 20], [2, 11, 21]]));
    objects.reset();
    expect(objects.find("city", "a")).toBeDefined(); // the last picture stays
    objects.learn({ type: "names", names: [[1, "city", "b"]] });
    objects.show(frame([[1, 50, 60]]));
    expect(objects.find("city", "a")).toBeUndefined();
    expect(objects.find("city", "b")).toMatchObject({ lon: 50 });
  });

  it("forgets names that have left the view, when there are many", () => {
    const objects = new Objects();
    const many = Array.from({ length: 5_000 }, (_, i): [number, string, string] => [i, "city", `v${i}`]);
    objects.learn({ type: "names", names: many });
    objects.show(frame([[1, 10, 20], [4_999, 11, 21]]));
    expect(objects.name(2)).toBeUndefined();
    expect(objects.handle("city", "v2")).toBeUndefined();
    expect(objects.find("city", "v4999")).toMatchObject({ lon: 11 });
    objects.learn({ type: "names", names: [[2, "city", "v2"]] });
    objects.show(frame([[2, 12, 22]]));
    expect(objects.find("city", "v2")).toMatchObject({ lon: 12 });
  });

  it("forgets the name of a removed object whose handle another one has", () => {
    const objects = new Objects();
    for (let i = 0; i < 3; i++) {
      objects.learn({ type: "names", names: [[1, "city", `v${i}`], [2, "city", "stays"]] });
      objects.show(frame([[1, 10, 20], [2, 11, 21]]));
    }
    expect([0, 1, 2].map((i) => objects.handle("city", `v${i}`))).toEqual([undefined, undefined, 1]);
    // One that came back has another handle: its old one is of no concern.
    objects.learn({ type: "names", names: [[3, "city", "stays"]] });
    objects.learn({ type: "names", names: [[2, "city", "new"]] });
    expect(objects.handle("city", "stays")).toBe(3);
  });

  it("tells which handles have come to stand for other objects", () => {
    const objects = new Objects();
    expect(objects.learn({ type: "names", names: [[1, "city", "a"], [2, "city", "b"]] })).toEqual([]);
    expect(objects.learn({ type: "names", names: [[1, "city", "a"], [2, "other", "b"], [3, "city", "c"]] })).toEqual([2]);
  });

  it("counts states", () => {
    const objects = new Objects();
    objects.show(frame([[1, 0, 0, 0], [2, 0, 0, 1], [3, 0, 0, 2], [4, 0, 0, 0], [5, 0, 0, 3]]));
    expect(objects.counts()).toEqual({ moving: 2, dwelling: 1, silent: 1, unknown: 1 });
  });

  it("has no object where a name has not come yet", () => {
    const objects = new Objects();
    objects.show(frame([[9, 0, 0]]));
    expect(objects.at(0)).toBeUndefined();
    expect(objects.at(-1)).toBeUndefined();
  });
});

describe("Trails", () => {
  it("keeps a minute, a point a second", () => {
    const trails = new Trails();
    for (let ms = 0; ms <= 300_000; ms += 200) trails.add("a", ms, 0, ms);
    const points = trails.get("a", 300_000);
    expect(points.at(-1)!.t).toBeGreaterThan(298_000);
    expect(points[0]!.t).toBeGreaterThanOrEqual(240_000);
    expect(points.length).toBeGreaterThan(50);
    expect(points.map((point) => point.t)).toEqual(points.map((point) => point.t).toSorted((a, b) => a - b));
    expect(trails.get("b", 0)).toEqual([]);
  });

  it("forgets who has been away for a minute", () => {
    const trails = new Trails();
    trails.add("a", 0, 0, 0);
    trails.sweep(100_000);
    expect(trails.get("a", 30_000)).toEqual([]);
  });
});

describe("Motion", () => {
  it("glides between two positions and ends exactly on the second", () => {
    const motion = new Motion();
    motion.show(frame([[1, 10, 20]]), 100, true);
    motion.show(frame([[1, 10.0001, 20]]), 101, true);
    const x0 = mercatorX(10);
    const x1 = mercatorX(10.0001);
    expect(motion.at(0, 101)[0]).toBe(x0);
    expect(motion.at(0, 101.5)[0]).toBeCloseTo((x0 + x1) / 2, 12);
    expect(motion.at(0, 103)[0]).toBe(x1);
    expect(motion.settled).toBeGreaterThan(101);
  });

  it("turns from where it is drawn when the next position comes early", () => {
    const motion = new Motion();
    motion.show(frame([[1, 10, 20]]), 100, true);
    motion.show(frame([[1, 10.0001, 20]]), 101, true);
    const drawn = motion.at(0, 101.3)[0];
    motion.show(frame([[1, 10.0002, 20]]), 101.3, true);
    expect(motion.at(0, 101.3)[0]).toBeCloseTo(drawn, 15);
  });

  it("jumps when it is far, when it was away, and without glide", () => {
    const motion = new Motion();
    motion.show(frame([[1, 10, 20]]), 100, true);
    motion.show(frame([[1, 11, 20]]), 101, true);
    expect(motion.at(0, 101)[0]).toBe(mercatorX(11));
    motion.show(frame([]), 102, true);
    motion.show(frame([[1, 11.0001, 20]]), 103, true);
    expect(motion.at(0, 103)[0]).toBe(mercatorX(11.0001));
    motion.show(frame([[1, 11.0002, 20]]), 104, false);
    expect(motion.at(0, 104)[0]).toBe(mercatorX(11.0002));
  });

  it("has no path from a removed object to the next one with its handle", () => {
    const motion = new Motion();
    motion.show(frame([[1, 10, 20], [2, 10, 20]]), 100, true);
    motion.forget([1]);
    motion.show(frame([[1, 10.0001, 20], [2, 10.0001, 20]]), 101, true);
    expect([0, 1].map((i) => motion.at(i, 101)[0])).toEqual([mercatorX(10.0001), mercatorX(10)]);
  });

  it("gives the graphics card what at() says", () => {
    const motion = new Motion();
    motion.show(frame([[1, 10, 20], [2, 10.01, 20.01]]), 100, true);
    const b = motion.buffer;
    expect(motion.originX + b[floatsPerObject + 2]!).toBeCloseTo(mercatorX(10.01), 10);
    expect(motion.originY + b[floatsPerObject + 3]!).toBeCloseTo(mercatorY(20.01), 10);
    expect(b[floatsPerObject + 8]).toBe(-1);
    motion.show(frame([[1, 10, 20], [2, 10.01, 20.01]]), 101, true, (slot) => slot + 3);
    expect([motion.buffer[8], motion.buffer[floatsPerObject + 8]]).toEqual([3, 4]);
  });
});

it("Mercator there and back", () => {
  for (const [lon, lat] of [[0, 0], [-73.96, 40.78], [179.9, -84]] as const) {
    expect(longitude(mercatorX(lon))).toBeCloseTo(lon, 9);
    expect(latitude(mercatorY(lat))).toBeCloseTo(lat, 9);
  }
  expect(mercatorX(0)).toBe(0.5);
  expect(mercatorY(0)).toBeCloseTo(0.5, 15);
});
