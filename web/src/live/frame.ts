// Frame: one binary message of positions. It holds every object in the view; objects that are not in it have left the view.
//
// Little-endian. Header, 16 bytes: u8 kind = 1 · u8 flags (bit 0: thinned) · u16 0 · u32 count · f64 time (Unix ms).
// Then count records of 16 bytes: u32 handle · i32 lon * 1e7 · i32 lat * 1e7 · u16 heading in 1/100 degree
// (65535: unknown) · u8 state · u8 speed in m/s (255: unknown).
//
// A crowd comes as cells: kind = 2, count is that of the cells, which come before the records: i32 lon * 1e7 ·
// i32 lat * 1e7 · u32 objects · u32 silent ones among them. The records after them are then single objects.

export const State = {
  Moving: 0,
  Dwelling: 1,
  Silent: 2,
  Unknown: 3,
} as const;

/** The names of the states, by number. */
export const stateNames = ["moving", "dwelling", "silent", "unknown"] as const;

export function isStateName(name: string): boolean {
  return (stateNames as readonly string[]).includes(name);
}

const headerBytes = 16;
const recordBytes = 16;
const positionsKind = 1;
const cellsKind = 2;
const thinnedFlag = 1;

/** Numbers of objects by place. */
export interface Cells {
  count: number;
  /** The mean place of the objects, degrees. */
  lon: Float64Array;
  lat: Float64Array;
  objects: Uint32Array;
  silent: Uint32Array;
}

export interface Frame {
  /** The server's time of the frame, Unix ms. */
  t: number;
  /** Whether the server left objects out to bound the frame. */
  thinned: boolean;
  /** Of a crowd; the objects are then only those that were asked for on their own. */
  cells: Cells | null;
  /** Objects are exactly there at this moment: they do not glide to their places. */
  still?: boolean;
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
    cells: null,
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
  const kind = data.getUint8(0);
  if (kind !== positionsKind && kind !== cellsKind) return null;
  const count = data.getUint32(4, true);
  const records = (buffer.byteLength - headerBytes) / recordBytes;
  const whole = Number.isInteger(records) && (kind === cellsKind ? records >= count : records === count);
  if (!whole) throw new FrameError(`frame of kind ${kind} and ${count} records has ${buffer.byteLength} bytes`);

  const cells = kind === cellsKind ? decodeCells(data, count) : null;
  const skipped = cells ? count : 0;
  const frame = allocate(records - skipped);
  frame.cells = cells;
  frame.thinned = (data.getUint8(1) & thinnedFlag) !== 0;
  frame.t = data.getFloat64(8, true);
  for (let i = 0, at = headerBytes + skipped * recordBytes; i < frame.count; i++, at += recordBytes) {
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

function decodeCells(data: DataView, count: number): Cells {
  const cells: Cells = {
    count,
    lon: new Float64Array(count),
    lat: new Float64Array(count),
    objects: new Uint32Array(count),
    silent: new Uint32Array(count),
  };
  for (let i = 0, at = headerBytes; i < count; i++, at += recordBytes) {
    cells.lon[i] = data.getInt32(at, true) / 1e7;
    cells.lat[i] = data.getInt32(at + 4, true) / 1e7;
    cells.objects[i] = data.getUint32(at + 8, true);
    cells.silent[i] = data.getUint32(at + 12, true);
  }
  return cells;
}
