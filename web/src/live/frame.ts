// Frame: one binary message of positions. It holds every object in the view; objects that are not in it have left the view.
//
// Little-endian. Header, 16 bytes: u8 kind = 1 · u8 flags (bit 0: thinned) · u16 0 · u32 count · f64 time (Unix ms).
// Then count records of 16 bytes: u32 handle · i32 lon * 1e7 · i32 lat * 1e7 · u16 heading in 1/100 degree
// (65535: unknown) · u8 state · u8 speed in m/s (255: unknown).

export const State = {
  Moving: 0,
  Dwelling: 1,
  Silent: 2,
  Unknown: 3,
} as const;

const headerBytes = 16;
const recordBytes = 16;
const positionsKind = 1;
const thinnedFlag = 1;

export interface Frame {
  /** The server's time of the frame, Unix ms. */
  t: number;
  /** Whether the server left objects out to bound the frame. */
  thinned: boolean;
  count: number;
  handles: Uint32Array;
  /** Degrees. */
  lon: Float64Array;
  lat: Float64Array;
  /** Degrees clockwise from north; NaN if unknown. */
  heading: Float32Array;
  state: Uint8Array;
  /** Metres per second; NaN if unknown. */
  speed: Float32Array;
}

export class FrameError extends Error {
  override name = "FrameError";
}

export function emptyFrame(): Frame {
  return allocate(0);
}

function allocate(count: number): Frame {
  return {
    t: 0,
    thinned: false,
    count,
    handles: new Uint32Array(count),
    lon: new Float64Array(count),
    lat: new Float64Array(count),
    heading: new Float32Array(count),
    state: new Uint8Array(count),
    speed: new Float32Array(count),
  };
}

/** Throws a FrameError unless the buffer is exactly one whole frame; null for one of a kind that this page does not know. */
export function decodeFrame(buffer: ArrayBuffer): Frame | null {
  if (buffer.byteLength < headerBytes) throw new FrameError(`frame of ${buffer.byteLength} bytes has no header`);
  const data = new DataView(buffer);
  if (data.getUint8(0) !== positionsKind) return null;
  const count = data.getUint32(4, true);
  const want = headerBytes + count * recordBytes;
  if (buffer.byteLength !== want) throw new FrameError(`frame of ${count} records has ${buffer.byteLength} bytes, not ${want}`);

  const frame = allocate(count);
  frame.thinned = (data.getUint8(1) & thinnedFlag) !== 0;
  frame.t = data.getFloat64(8, true);
  for (let i = 0, at = headerBytes; i < count; i++, at += recordBytes) {
    frame.handles[i] = data.getUint32(at, true);
    frame.lon[i] = data.getInt32(at + 4, true) / 1e7;
    frame.lat[i] = data.getInt32(at + 8, true) / 1e7;
    const heading = data.getUint16(at + 12, true);
    frame.heading[i] = heading === 65535 ? NaN : heading / 100;
    // A state that this page does not know.
    frame.state[i] = Math.min(data.getUint8(at + 14), State.Unknown);
    const speed = data.getUint8(at + 15);
    frame.speed[i] = speed === 255 ? NaN : speed;
  }
  return frame;
}
