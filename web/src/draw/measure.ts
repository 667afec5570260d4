// Measures of a shape on a sphere of the earth's mean radius: within half a percent of the server's, which are on the
// ellipsoid. They are for the eye while something is drawn.

import { formatDistance } from "../format";
import type { Chain, Point, Shape } from "./shape";

/** Mean radius of the earth in metres (IUGG). */
const earth = 6_371_008.8;
const degree = Math.PI / 180;

/** Metres between two points along the great circle. */
export function metres([aLon, aLat]: Point, [bLon, bLat]: Point): number {
  const lat = Math.sin(((bLat - aLat) * degree) / 2);
  const lon = Math.sin(((bLon - aLon) * degree) / 2);
  const h = lat * lat + Math.cos(aLat * degree) * Math.cos(bLat * degree) * lon * lon;
  return 2 * earth * Math.asin(Math.min(1, Math.sqrt(h)));
}

/** The point so many metres from another, in a direction in degrees clockwise from north. */
export function away([lon, lat]: Point, distance: number, direction: number): Point {
  const d = distance / earth;
  const [phi, theta] = [lat * degree, direction * degree];
  const to = Math.asin(Math.sin(phi) * Math.cos(d) + Math.cos(phi) * Math.sin(d) * Math.cos(theta));
  const x = Math.cos(d) - Math.sin(phi) * Math.sin(to);
  const turned = Math.atan2(Math.sin(theta) * Math.sin(d) * Math.cos(phi), x);
  return [lon + turned / degree, to / degree];
}

/** A circle as a ring of so many vertices. */
export function ringOf(centre: Point, radius: number, vertices = 72): Point[] {
  return Array.from({ length: vertices }, (_, i) => away(centre, radius, (360 * i) / vertices));
}

export function lengthOf(chain: Chain, closed: boolean): number {
  let sum = 0;
  for (let i = 1; i < chain.length; i++) sum += metres(chain[i - 1]!, chain[i]!);
  if (closed && chain.length > 2) sum += metres(chain.at(-1)!, chain[0]!);
  return sum;
}

/** Square metres within a ring, by the trapezoids below its edges in the cylindrical equal-area projection. */
export function areaOf(chain: Chain): number {
  let sum = 0;
  for (let i = 0; i < chain.length; i++) {
    const [aLon, aLat] = chain[i]!;
    const [bLon, bLat] = chain[(i + 1) % chain.length]!;
    sum += (bLon - aLon) * degree * (Math.sin(aLat * degree) + Math.sin(bLat * degree));
  }
  return Math.abs((sum * earth * earth) / 2);
}

/** 0.3 -> "0.3 m²", 1234 -> "1,234 m²", 56000 -> "5.6 ha", 2000000 -> "2 km²". */
export function formatArea(squareMetres: number): string {
  if (!Number.isFinite(squareMetres)) return "–";
  const text = (value: number): string => new Intl.NumberFormat("en", { maximumSignificantDigits: value >= 1000 ? 4 : 3 }).format(value);
  if (squareMetres >= 1e6) return `${text(squareMetres / 1e6)} km²`;
  if (squareMetres >= 1e4) return `${text(squareMetres / 1e4)} ha`;
  return `${text(squareMetres)} m²`;
}

/** What a shape measures, in the order in which it is of interest. */
export function measures(shape: Shape, buffer: number | null): [name: string, value: string][] {
  if (shape.kind === "circle") {
    const { radius } = shape;
    // Of the cap of a sphere: a flat circle would be too large.
    const area = 4 * Math.PI * earth * earth * Math.sin(radius / earth / 2) ** 2;
    return [["Radius", formatDistance(radius)], ["Area", formatArea(area)]];
  }
  if (shape.kind === "line") {
    const length = shape.parts.flat().reduce((sum, chain) => sum + lengthOf(chain, false), 0);
    const width: [string, string][] = buffer === null ? [] : [["Width", formatDistance(2 * buffer)]];
    return [["Length", formatDistance(length)], ...width];
  }
  const area = shape.parts.reduce((sum, [outer, ...holes]) => sum + areaOf(outer ?? []) - holes.reduce((cut, hole) => cut + areaOf(hole), 0), 0);
  const around = shape.parts.flat().reduce((sum, chain) => sum + lengthOf(chain, true), 0);
  return [["Area", formatArea(Math.max(0, area))], ["Boundary", formatDistance(around)]];
}

/**
 * The circle that a ring stands for, if it is one as the server makes it: vertices in even steps at one distance from
 * their middle, at least 16 of them.
 */
export function circleOf(chain: Chain): { centre: Point; radius: number } | null {
  if (chain.length < 16) return null;
  const mean = (i: 0 | 1): number => chain.reduce((sum, p) => sum + p[i], 0) / chain.length;
  // The mean of the longitudes is that of the centre; the latitudes are of a ring on a sphere: its ends have their middle.
  const lats = chain.map(([, lat]) => lat);
  const centre: Point = [mean(0), (Math.min(...lats) + Math.max(...lats)) / 2];
  const distances = chain.map((p) => metres(centre, p));
  const radius = distances.reduce((sum, d) => sum + d, 0) / distances.length;
  const steps = chain.map((p, i) => metres(p, chain[(i + 1) % chain.length]!));
  const step = steps.reduce((sum, d) => sum + d, 0) / steps.length;
  const off = Math.max(...distances.map((d) => Math.abs(d - radius))) / radius;
  const uneven = Math.max(...steps.map((d) => Math.abs(d - step))) / step;
  return off < circleTolerance && uneven < 10 * circleTolerance ? { centre, radius } : null;
}

/** The server's circles are on the ellipsoid, which is flatter than the sphere by a three-hundredth. */
const circleTolerance = 0.006;
