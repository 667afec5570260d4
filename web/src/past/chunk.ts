// Chunk: the positions of the objects in some part of the past, in typed arrays. Chunks are of equal length and begin at
// multiples of it, so that each position is asked for once, whichever way the playback goes. Pure.

import type { Bounds } from "../api";
import type { SampledPage } from "./api";
import { objectKey } from "../model/objects";

/** How finely a speed is played: a position every so many ms of each object, in chunks of a length. */
export interface Level {
  every: number;
  length: number;
}

/** Each chunk has 60 positions of an object at most, and lasts 6 seconds or more. */
const perChunk = 60;

export function levelOf(speed: number): Level {
  const every = speed <= 5 ? 2_000 : speed <= 30 ? 5_000 : speed <= 120 ? 15_000 : 60_000;
  return { every, length: every * perChunk };
}

/** The number of the chunk that holds a time. */
export function chunkAt(t: number, { length }: Level): number {
  return Math.floor(t / length);
}

/** What chunks are asked for besides their times. Another scope is another picture. */
export interface Scope {
  /** Null is everywhere. */
  box: Bounds | null;
  fleet: string;
}

/** The track of an object in a chunk: the last position before it, if that is not too old, and those in it. */
export interface Series {
  fleet: string;
  id: string;
  handle: number;
  /** Unix ms, ascending. */
  t: Float64Array;
  lon: Float64Array;
  lat: Float64Array;
  /** m/s and degrees; NaN where they were not reported. */
  speed: Float32Array;
  heading: Float32Array;
  /** The place in it that was last looked at: the next look is near. */
  hint: number;
}

/** Numbers for objects, as frames have them. They are kept as long as their names are. */
export class Handles {
  readonly #numbers = new Map<string, number>();

  of(fleet: string, id: string): number {
    const key = objectKey(fleet, id);
    let handle = this.#numbers.get(key);
    if (handle === undefined) {
      handle = this.#numbers.size + 1;
      this.#numbers.set(key, handle);
    }
    return handle;
  }
}

/** Bounds of a chunk. What is beyond is left out, and the page says so. */
export const maxObjects = 5_000;
export const maxPositions = 400_000;

export class Chunk {
  readonly series = new Map<number, Series>();
  positions = 0;
  /** Objects were left out. */
  partial = false;

  constructor(
    readonly level: Level,
    readonly index: number,
    readonly scope: Scope,
  ) {}

  get from(): number {
    return this.index * this.level.length;
  }

  get to(): number {
    return this.from + this.level.length;
  }

  covers(t: number): boolean {
    return t >= this.from && t < this.to;
  }

  /** Takes a page of an answer. It reports whether there is room for another one. */
  add({ from, objects, next }: SampledPage, handles: Handles): boolean {
    const begin = Date.parse(from);
    for (const object of objects) {
      if (this.series.size >= maxObjects || this.positions >= maxPositions) {
        this.partial = true;
        return false;
      }
      const handle = handles.of(object.fleet, object.id);
      this.positions += object.t.length;
      this.series.set(handle, {
        fleet: object.fleet,
        id: object.id,
        handle,
        t: Float64Array.from(object.t, (ms) => begin + ms),
        lon: Float64Array.from(object.lon),
        lat: Float64Array.from(object.lat),
        speed: measures(object.speed, object.t.length),
        heading: measures(object.heading, object.t.length),
        hint: 0,
      });
    }
    const full = this.series.size >= maxObjects || this.positions >= maxPositions;
    if (full && next !== undefined) this.partial = true;
    return !full;
  }
}

function measures(values: readonly (number | null)[] | undefined, length: number): Float32Array {
  return values ? Float32Array.from(values, (value) => value ?? NaN) : new Float32Array(length).fill(NaN);
}

/** The place of the last time at or before t, -1 if there is none. */
export function lastAt(series: Series, t: number): number {
  const { t: times } = series;
  let at = Math.min(series.hint, times.length - 1);
  while (at >= 0 && times[at]! > t) at--;
  while (at + 1 < times.length && times[at + 1]! <= t) at++;
  series.hint = Math.max(at, 0);
  return at;
}
