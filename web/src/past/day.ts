// Day: what an object did within a span: how far and how long it drove, where it stood, and where its track has gaps. Pure.

import type { SampledPage } from "./api";
import { gapMs } from "./picture";

/** At least so long within so many metres: it stood. */
const stopMs = 180_000;
const stopMetres = 40;
/** A track has this many positions at most: a day, one each ten seconds. */
const mostPositions = 8_640;
const metresPerDegree = 111_195;

export interface Interval {
  /** Unix ms. */
  from: number;
  to: number;
}

export interface Stop extends Interval {
  lon: number;
  lat: number;
}

export interface DayTrack extends Interval {
  fleet: string;
  id: string;
  /** Columns of the positions, by time. */
  t: number[];
  lon: number[];
  lat: number[];
  /** m/s on the way to each position; NaN where there is none: at the first one, and behind a gap. */
  speed: number[];
  stops: Stop[];
  gaps: Interval[];
  /** Driven, without stops and gaps. */
  metres: number;
  drivingMs: number;
}

/** How far apart positions of a track are asked for, in ms: whole seconds. */
export function everyOf({ from, to }: Interval): number {
  return Math.min(3_600_000, Math.max(1_000, Math.ceil((to - from) / mostPositions / 1000) * 1000));
}

/** Metres between two places that are not far from each other. */
export function metresBetween(lon0: number, lat0: number, lon1: number, lat1: number): number {
  const dlon = ((lon1 - lon0 + 540) % 360) - 180;
  return Math.hypot(dlon * Math.cos((((lat0 + lat1) / 2) * Math.PI) / 180), lat1 - lat0) * metresPerDegree;
}

/** Joins pages of one object, in order of time. */
export function joinPages(pages: readonly SampledPage[], fleet: string, id: string): { t: number[]; lon: number[]; lat: number[] } {
  const all = { t: [] as number[], lon: [] as number[], lat: [] as number[] };
  for (const { from, objects } of pages) {
    const begin = Date.parse(from);
    for (const object of objects) {
      if (object.id !== id || object.fleet !== fleet) continue;
      for (const [i, ms] of object.t.entries()) {
        if (begin + ms <= (all.t.at(-1) ?? -Infinity)) continue;
        all.t.push(begin + ms);
        all.lon.push(object.lon[i]!);
        all.lat.push(object.lat[i]!);
      }
    }
  }
  return all;
}

export function analyse(name: { fleet: string; id: string }, span: Interval, every: number, columns: { t: number[]; lon: number[]; lat: number[] }): DayTrack {
  const { t, lon, lat } = columns;
  const far = (a: number, b: number): number => metresBetween(lon[a]!, lat[a]!, lon[b]!, lat[b]!);
  const gap = gapMs(every);
  const gaps: Interval[] = [];
  const speed: number[] = [];
  for (let i = 0; i < t.length; i++) {
    const dt = i === 0 ? Infinity : t[i]! - t[i - 1]!;
    speed.push(dt > gap ? NaN : (far(i - 1, i) * 1000) / dt);
    if (i > 0 && dt > gap) gaps.push({ from: t[i - 1]!, to: t[i]! });
  }
  const stops = findStops(columns, speed, far);
  let [metres, drivingMs] = [0, 0];
  let stop = 0;
  for (let i = 1; i < t.length; i++) {
    while (stop < stops.length && stops[stop]!.to <= t[i - 1]!) stop++;
    const stands = stop < stops.length && stops[stop]!.from <= t[i - 1]! && stops[stop]!.to >= t[i]!;
    if (Number.isNaN(speed[i]) || stands) continue;
    metres += far(i - 1, i);
    drivingMs += t[i]! - t[i - 1]!;
  }
  return { ...name, ...span, t, lon, lat, speed, stops, gaps, metres, drivingMs };
}

function findStops({ t, lon, lat }: { t: number[]; lon: number[]; lat: number[] }, speed: number[], far: (a: number, b: number) => number): Stop[] {
  const stops: Stop[] = [];
  for (let i = 0; i < t.length; i++) {
    let j = i;
    while (j + 1 < t.length && !Number.isNaN(speed[j + 1]) && far(i, j + 1) <= stopMetres) j++;
    if (t[j]! - t[i]! < stopMs) continue;
    stops.push({ from: t[i]!, to: t[j]!, lon: lon[i]!, lat: lat[i]! });
    i = j;
  }
  return stops;
}

/** A part of the line in one colour. */
export interface Stroke {
  /** 0 to 1. */
  shade: number;
  coordinates: [lon: number, lat: number][];
}

const shades = 12;
/** m/s at which the shade is 1. */
const fastest = 25;

/** The line of a track in strokes of one shade each: by speed up to 90 km/h, or by time from the first to the last position. */
export function strokesOf(track: DayTrack, by: "speed" | "time"): Stroke[] {
  const { t, lon, lat, speed } = track;
  const strokes: Stroke[] = [];
  const begin = t[0] ?? 0;
  const length = Math.max(1, (t.at(-1) ?? 0) - begin);
  let present: Stroke | undefined;
  for (let i = 1; i < t.length; i++) {
    if (Number.isNaN(speed[i])) {
      present = undefined;
      continue;
    }
    const share = by === "speed" ? Math.min(1, speed[i]! / fastest) : (t[i]! - begin) / length;
    const shade = Math.round(share * shades) / shades;
    if (present?.shade !== shade) {
      present = { shade, coordinates: [[lon[i - 1]!, lat[i - 1]!]] };
      strokes.push(present);
    }
    present.coordinates.push([lon[i]!, lat[i]!]);
  }
  return strokes;
}

/** Where a gap begins and ends, as lines. */
export function gapLines({ t, lon, lat, speed }: DayTrack): [lon: number, lat: number][][] {
  const lines: [number, number][][] = [];
  for (let i = 1; i < t.length; i++) {
    if (Number.isNaN(speed[i])) lines.push([[lon[i - 1]!, lat[i - 1]!], [lon[i]!, lat[i]!]]);
  }
  return lines;
}
