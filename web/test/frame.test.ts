import { describe, expect, it } from "vitest";
import { decodeFrame, FrameError, State, type Frame } from "../src/live/frame";

interface Dot {
  handle: number;
  lon: number;
  lat: number;
  heading: number;
  state: number;
  speed: number;
}

/** Written from the protocol's description, not from the decoder. */
function encode(dots: Dot[], t: number, flags = 0): ArrayBuffer {
  const buffer = new ArrayBuffer(16 + 16 * dots.length);
  const view = new DataView(buffer);
  view.setUint8(0, 1);
  view.setUint8(1, flags);
  view.setUint32(4, dots.length, true);
  view.setFloat64(8, t, true);
  for (const [i, dot] of dots.entries()) {
    const at = 16 + 16 * i;
    view.setUint32(at, dot.handle, true);
    view.setInt32(at + 4, Math.round(dot.lon * 1e7), true);
    view.setInt32(at + 8, Math.round(dot.lat * 1e7), true);
    view.setUint16(at + 12, dot.heading, true);
    view.setUint8(at + 14, dot.state);
    view.setUint8(at + 15, dot.speed);
  }
  return buffer;
}

/** A frame of positions. */
function decode(buffer: ArrayBuffer): Frame {
  const frame = decodeFrame(buffer);
  if (!frame) throw new Error("not a frame of positions");
  return frame;
}

const dot: Dot = { handle: 7, lon: -73.9586123, lat: 40.7811001, heading: 35999, state: 0, speed: 12 };

describe("decodeFrame", () => {
  it("reads every field", () => {
    const frame = decode(encode([dot, { ...dot, handle: 4294967295, lon: 180, lat: -90, state: 2 }], 1795202210365.5));
    expect(frame.count).toBe(2);
    expect(frame.t).toBe(1795202210365.5);
    expect(frame.thinned).toBe(false);
    expect([...frame.handles]).toEqual([7, 4294967295]);
    expect([...frame.lon]).toEqual([-73.9586123, 180]);
    expect([...frame.lat]).toEqual([40.7811001, -90]);
    expect(frame.heading[0]).toBeCloseTo(359.99, 3);
    expect([...frame.state]).toEqual([State.Moving, State.Silent]);
    expect(frame.speed[0]).toBe(12);
  });

  it("gives NaN for what is unknown", () => {
    const frame = decode(encode([{ ...dot, heading: 65535, speed: 255 }], 0));
    expect(frame.heading[0]).toBeNaN();
    expect(frame.speed[0]).toBeNaN();
  });

  it("tells that objects were left out", () => {
    expect(decode(encode([], 0, 1)).thinned).toBe(true);
  });

  it("reads an empty frame", () => {
    expect(decode(encode([], 5)).count).toBe(0);
  });

  it.each([
    ["nothing", new ArrayBuffer(0)],
    ["half a header", new ArrayBuffer(15)],
    ["a record cut short", encode([dot], 0).slice(0, 31)],
    ["bytes behind the last record", (() => { const b = new Uint8Array(33); b.set(new Uint8Array(encode([dot], 0))); return b.buffer; })()],
    ["a count that is not there", (() => { const b = encode([dot], 0); new DataView(b).setUint32(4, 4294967295, true); return b; })()],
  ])("refuses %s", (_, buffer) => {
    expect(() => decodeFrame(buffer)).toThrow(FrameError);
  });

  it("passes over a frame of another kind", () => {
    const buffer = encode([dot], 0);
    new DataView(buffer).setUint8(0, 9);
    expect(decodeFrame(buffer)).toBeNull();
  });

  it("reads the cells of a crowd, and the objects beside them", () => {
    const buffer = encode([dot, dot, { ...dot, handle: 9 }], 5);
    const view = new DataView(buffer);
    view.setUint8(0, 2);
    view.setUint32(4, 2, true);
    for (const [i, [lon, lat, objects, silent]] of ([[10, -20, 5_000, 3], [-180, 80, 1, 0]] as const).entries()) {
      view.setInt32(16 + 16 * i, lon * 1e7, true);
      view.setInt32(20 + 16 * i, lat * 1e7, true);
      view.setUint32(24 + 16 * i, objects, true);
      view.setUint32(28 + 16 * i, silent, true);
    }
    const { t, count, handles, cells } = decode(buffer);
    expect([t, count, handles[0]]).toEqual([5, 1, 9]);
    expect(cells).toEqual({
      count: 2,
      lon: Float64Array.of(10, -180),
      lat: Float64Array.of(-20, 80),
      objects: Uint32Array.of(5_000, 1),
      silent: Uint32Array.of(3, 0),
    });
    view.setUint32(4, 4, true);
    expect(() => decodeFrame(buffer)).toThrow(FrameError);
  });

  it("takes a state that it does not know for unknown", () => {
    expect([...decode(encode([{ ...dot, state: 9 }], 0)).state]).toEqual([State.Unknown]);
  });
});
