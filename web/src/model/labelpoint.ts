// LabelPoint: where the name of a fence is written: within it, at the widest place of the height of its middle.

import type { Position } from "geojson";
import type { FenceGeometry } from "../api";
import { boundsOf } from "./sets";

export interface LabelPoint {
  lon: number;
  lat: number;
  /** Degrees of longitude that are free around the point, and of latitude between the fence's ends. */
  width: number;
  height: number;
}

/** Null of a geometry without room for a name. */
export function labelPoint(geometry: FenceGeometry): LabelPoint | null {
  switch (geometry.type) {
    case "Polygon":
      return inPolygon(geometry.coordinates);
    case "MultiPolygon":
      return geometry.coordinates.map(inPolygon).reduce(wider, null);
    case "LineString":
      return onLine(geometry.coordinates);
    default:
      return geometry.coordinates.map(onLine).reduce(wider, null);
  }
}

function wider(a: LabelPoint | null, b: LabelPoint | null): LabelPoint | null {
  return !a || (b && b.width > a.width) ? b : a;
}

function inPolygon(rings: Position[][]): LabelPoint | null {
  const outer = rings[0];
  if (!outer || outer.length < 4) return null;
  const [, south, , north] = boundsOf({ type: "Polygon", coordinates: [outer] });
  const lat = middleOf(outer) ?? (south + north) / 2;
  const crossings = rings.flatMap((ring) => crossingsAt(ring, lat)).sort((a, b) => a - b);
  let best: LabelPoint | null = null;
  for (let i = 0; i + 1 < crossings.length; i += 2) {
    const [west, east] = [crossings[i]!, crossings[i + 1]!];
    best = wider(best, { lon: (west + east) / 2, lat, width: east - west, height: north - south });
  }
  return best;
}

/** The latitude of the centre of a ring's area; null of a ring without area. */
function middleOf(ring: Position[]): number | null {
  let [area, moment] = [0, 0];
  const [x0, y0] = [ring[0]![0]!, ring[0]![1]!]; // near the ring, so that no digits are lost
  for (let i = 0; i + 1 < ring.length; i++) {
    const [ax, ay] = [ring[i]![0]! - x0, ring[i]![1]! - y0];
    const [bx, by] = [ring[i + 1]![0]! - x0, ring[i + 1]![1]! - y0];
    const cross = ax * by - bx * ay;
    area += cross;
    moment += cross * (ay + by);
  }
  return area === 0 ? null : y0 + moment / (3 * area);
}

/** The longitudes at which a ring crosses a latitude. */
function crossingsAt(ring: Position[], lat: number): number[] {
  const found: number[] = [];
  for (let i = 0; i + 1 < ring.length; i++) {
    const [ax, ay] = [ring[i]![0]!, ring[i]![1]!];
    const [bx, by] = [ring[i + 1]![0]!, ring[i + 1]![1]!];
    if (ay > lat !== by > lat) found.push(ax + ((lat - ay) / (by - ay)) * (bx - ax));
  }
  return found;
}

function onLine(line: Position[]): LabelPoint | null {
  const middle = line[Math.floor(line.length / 2)];
  if (!middle) return null;
  const [w, s, e, n] = boundsOf({ type: "LineString", coordinates: line });
  return { lon: middle[0]!, lat: middle[1]!, width: e - w, height: Math.max(n - s, e - w) };
}
