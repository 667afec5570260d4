// Picture: the objects as they stood at some time, as a frame like those of the live feed. Between two positions an object
// is on the line between them; where there is no position for long it stays, silent, and then it goes. Pure.

import type { Bounds } from "../api";
import { State, stateNames, type Frame } from "../live/frame";
import { lastAt, type Chunk, type Series } from "./chunk";

/** An object is shown for so long behind its last position. */
export const lookBackMs = 600_000;
/** m/s from which an object moves, as the server has it. */
const movingFrom = 0.5;
const metresPerDegree = 111_195;

export interface Choice {
  /** Only objects in this part of the map. */
  bounds: Bounds | null;
  /** Names of states; empty is all. */
  states: readonly string[];
  /** Words that occur in the id or the fleet. */
  text: string;
}

/** Two positions that are further apart have a gap between them. */
export function gapMs(every: number): number {
  return Math.max(120_000, 3 * every);
}

interface Fix {
  t: number;
  lon: number;
  lat: number;
}

/** Of an object, at a time. */
export interface Stand extends Fix {
  speed: number;
  heading: number;
  state: number;
}

/** Where an object stood; null if it was not known. `t` is the time of its last position. */
export function standOf(series: Series, next: Series | undefined, t: number, gap: number): Stand | null {
  const at = lastAt(series, t);
  if (at < 0) return null;
  const before: Fix = { t: series.t[at]!, lon: series.lon[at]!, lat: series.lat[at]! };
  const age = t - before.t;
  if (age > lookBackMs) return null;
  const after = fixAfter(series, at, next);
  const speed = series.speed[at]!;
  const heading = series.heading[at]!;
  if (!after || after.t - before.t > gap) {
    const state = age > gap ? State.Silent : stateOf(speed);
    return { ...before, speed, heading, state };
  }
  const share = age / (after.t - before.t);
  const dlon = wrapped(after.lon - before.lon);
  const dlat = after.lat - before.lat;
  const [east, north] = [dlon * metresPerDegree * Math.cos((before.lat * Math.PI) / 180), dlat * metresPerDegree];
  const metres = Math.hypot(east, north);
  const shown = Number.isNaN(speed) ? (metres * 1000) / (after.t - before.t) : speed;
  return {
    t: before.t,
    lon: wrapped(before.lon + dlon * share),
    lat: before.lat + dlat * share,
    speed: shown,
    // The way that it goes on the map, so that an arrow never slides sideways.
    heading: metres > 3 ? ((Math.atan2(east, north) * 180) / Math.PI + 360) % 360 : heading,
    state: stateOf(shown),
  };
}

function fixAfter(series: Series, at: number, next: Series | undefined): Fix | null {
  const from = series.t[at]!;
  for (const [list, first] of [[series, at + 1], [next, 0]] as const) {
    if (!list) continue;
    for (let i = first; i < list.t.length; i++) {
      if (list.t[i]! > from) return { t: list.t[i]!, lon: list.lon[i]!, lat: list.lat[i]! };
    }
  }
  return null;
}

function stateOf(speed: number): number {
  if (Number.isNaN(speed)) return State.Unknown;
  return speed >= movingFrom ? State.Moving : State.Dwelling;
}

function wrapped(degrees: number): number {
  return degrees > 180 ? degrees - 360 : degrees < -180 ? degrees + 360 : degrees;
}

/** The frame of a time. */
export function frameAt(chunk: Chunk | null, next: Chunk | null, t: number, choice: Choice): Frame {
  const room = chunk?.series.size ?? 0;
  const frame = {
    handles: new Uint32Array(room),
    lon: new Float64Array(room),
    lat: new Float64Array(room),
    heading: new Float32Array(room),
    state: new Uint8Array(room),
    speed: new Float32Array(room),
  };
  const gap = gapMs(chunk?.level.every ?? 0);
  const words = choice.text.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const series of chunk?.series.values() ?? []) {
    if (words.length > 0 && !names(series, words)) continue;
    const stand = standOf(series, next?.series.get(series.handle), t, gap);
    if (!stand || (choice.bounds && !within(choice.bounds, stand))) continue;
    if (choice.states.length > 0 && !choice.states.includes(stateNames[stand.state as 0 | 1 | 2 | 3])) continue;
    frame.handles[count] = series.handle;
    frame.lon[count] = stand.lon;
    frame.lat[count] = stand.lat;
    frame.heading[count] = stand.heading;
    frame.state[count] = stand.state;
    frame.speed[count] = stand.speed;
    count++;
  }
  const cut = <T extends { subarray(from: number, to: number): T }>(list: T): T => list.subarray(0, count);
  return {
    t,
    thinned: chunk?.partial ?? false,
    cells: null,
    still: true,
    count,
    handles: cut(frame.handles),
    lon: cut(frame.lon),
    lat: cut(frame.lat),
    heading: cut(frame.heading),
    state: cut(frame.state),
    speed: cut(frame.speed),
  };
}

function names({ id, fleet }: Series, words: readonly string[]): boolean {
  const text = `${id}\n${fleet}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function within([w, s, e, n]: Bounds, { lon, lat }: Fix): boolean {
  return lon >= w && lon <= e && lat >= s && lat <= n;
}
