import { describe, expect, it } from "vitest";
import { emptyFrame, type Frame } from "../src/live/frame";
import { mercatorX } from "../src/map/mercator";
import { Motion } from "../src/map/motion";

/** One object at a longitude. */
function at(lon: number): Frame {
  return {
    ...emptyFrame(),
    count: 1,
    handles: Uint32Array.of(7),
    lon: Float64Array.of(lon),
    lat: Float64Array.of(0),
    heading: Float32Array.of(NaN),
    state: Uint8Array.of(0),
    speed: Float32Array.of(NaN),
  };
}

describe("a position that changes", () => {
  it("glides to its new place in the time since the change before it", () => {
    const motion = new Motion();
    motion.show(at(0), 10, true);
    motion.show(at(0.001), 11, true);
    expect(motion.settled).toBe(12);
    expect(motion.at(0, 11.5)[0]).toBeCloseTo(mercatorX(0.0005), 9);
    expect(motion.at(0, 12)[0]).toBeCloseTo(mercatorX(0.001), 9);
  });

  // Each drawing until then would show the same picture.
  it.each([
    ["without gliding", 0.001, false],
    ["that is far away", 1, true],
  ])("is settled at once %s", (_, lon, glide) => {
    const motion = new Motion();
    motion.show(at(0), 10, glide);
    motion.show(at(lon), 11, glide);
    expect(motion.settled).toBeLessThanOrEqual(11);
    expect(motion.at(0, 11)[0]).toBe(mercatorX(lon));
  });
});
