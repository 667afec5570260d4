// Shape: the geometry of a fence while it is edited, as a value that never changes: each change makes another one. Rings
// are open here: their last vertex is not their first one again.

export type Point = readonly [lon: number, lat: number];
export type Chain = readonly Point[];

/** What is drawn. A corridor is a line with a buffer. */
export type Kind = "polygon" | "circle" | "corridor" | "line";

export interface Polygon {
  readonly kind: "polygon";
  /** Each part is its outer ring and its holes. */
  readonly parts: readonly (readonly Chain[])[];
}

export interface Line {
  readonly kind: "line";
  /** Each part is one chain. */
  readonly parts: readonly (readonly Chain[])[];
}

export interface Circle {
  readonly kind: "circle";
  readonly centre: Point;
  /** Metres. */
  readonly radius: number;
}

export type Shape = Polygon | Line | Circle;

/** The place of a vertex in a shape; the centre of a circle is the only one that it has. */
export interface Place {
  readonly part: number;
  readonly ring: number;
  readonly index: number;
}

export const firstPlace: Place = { part: 0, ring: 0, index: 0 };

/** Vertices that a chain must keep. */
export const fewest: Record<"polygon" | "line", number> = { polygon: 3, line: 2 };

export function samePlace(a: Place | null, b: Place | null): boolean {
  return a === b || (a !== null && b !== null && a.part === b.part && a.ring === b.ring && a.index === b.index);
}

/** A centimetre: more decimals would say more than a hand can. */
const decimals = 1e7;

/** A point within the ranges of longitude and latitude, to a centimetre. */
export function point(lon: number, lat: number): Point {
  const round = (value: number, most: number): number => Math.round(Math.max(-most, Math.min(most, value)) * decimals) / decimals;
  return [round(lon, 180), round(lat, 90)];
}

export function chainsOf(shape: Shape): readonly (readonly Chain[])[] {
  return shape.kind === "circle" ? [[[shape.centre]]] : shape.parts;
}

/** All places in their order. */
export function placesOf(shape: Shape): Place[] {
  const places: Place[] = [];
  for (const [part, rings] of chainsOf(shape).entries()) {
    for (const [ring, chain] of rings.entries()) {
      for (let index = 0; index < chain.length; index++) places.push({ part, ring, index });
    }
  }
  return places;
}

export function vertexAt(shape: Shape, place: Place): Point | undefined {
  return chainsOf(shape)[place.part]?.[place.ring]?.[place.index];
}

/** The shape with another chain in place of one of its own; with an empty one it goes, and with an outer ring its part. */
function withChain(shape: Polygon | Line, part: number, ring: number, chain: Chain): Shape {
  const parts = shape.parts.flatMap((rings, p) => {
    if (p !== part) return [rings];
    if (chain.length > 0) return [rings.map((old, r) => (r === ring ? chain : old))];
    return ring === 0 ? [] : [rings.filter((_, r) => r !== ring)];
  });
  return { ...shape, parts };
}

export function moveVertex(shape: Shape, place: Place, to: Point): Shape {
  if (shape.kind === "circle") return { ...shape, centre: to };
  const chain = shape.parts[place.part]?.[place.ring];
  if (!chain) return shape;
  return withChain(shape, place.part, place.ring, chain.with(place.index, to));
}

/** Inserts a vertex behind the one at a place. */
export function insertVertex(shape: Shape, place: Place, at: Point): Shape {
  if (shape.kind === "circle") return shape;
  const chain = shape.parts[place.part]?.[place.ring];
  if (!chain) return shape;
  return withChain(shape, place.part, place.ring, chain.toSpliced(place.index + 1, 0, at));
}

/**
 * Removes a vertex. A hole or a further part that is left with too few goes whole; of the last part it is refused, and
 * the shape stays as it is.
 */
export function removeVertex(shape: Shape, place: Place): Shape {
  if (shape.kind === "circle") return shape;
  const chain = shape.parts[place.part]?.[place.ring];
  if (!chain) return shape;
  const left = chain.toSpliced(place.index, 1);
  if (left.length >= fewest[shape.kind]) return withChain(shape, place.part, place.ring, left);
  if (place.ring === 0 && shape.parts.length === 1) return shape;
  return withChain(shape, place.part, place.ring, []);
}

/** The middle of the edge behind a vertex; undefined behind the end of a line. */
export function middleBehind(shape: Shape, place: Place): Point | undefined {
  if (shape.kind === "circle") return undefined;
  const chain = shape.parts[place.part]?.[place.ring];
  const from = chain?.[place.index];
  const to = chain?.[place.index + 1] ?? (shape.kind === "polygon" ? chain?.[0] : undefined);
  return from && to && point((from[0] + to[0]) / 2, (from[1] + to[1]) / 2);
}

/** Moves all of it by so many degrees; less if it would leave the ranges of longitude and latitude. */
export function moveAll(shape: Shape, lon: number, lat: number): Shape {
  const [w, s, e, n] = boundsOf(shape);
  const x = Math.max(-180 - w, Math.min(180 - e, lon));
  const y = Math.max(-90 - s, Math.min(90 - n, lat));
  const moved = ([a, b]: Point): Point => point(a + x, b + y);
  if (shape.kind === "circle") return { ...shape, centre: moved(shape.centre) };
  return { ...shape, parts: shape.parts.map((rings) => rings.map((chain) => chain.map(moved))) };
}

export function boundsOf(shape: Shape): [west: number, south: number, east: number, north: number] {
  const box: [number, number, number, number] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [lon, lat] of chainsOf(shape).flat(2)) {
    box[0] = Math.min(box[0], lon);
    box[1] = Math.min(box[1], lat);
    box[2] = Math.max(box[2], lon);
    box[3] = Math.max(box[3], lat);
  }
  return box;
}

/** Where the handle that moves all of it is: the middle of its box. */
export function middleOf(shape: Shape): Point {
  if (shape.kind === "circle") return shape.centre;
  const [w, s, e, n] = boundsOf(shape);
  return [(w + e) / 2, (s + n) / 2];
}

export function contains(chain: Chain, [lon, lat]: Point): boolean {
  let inside = false;
  for (let i = 0, j = chain.length - 1; i < chain.length; j = i++) {
    const [ax, ay] = chain[i]!;
    const [bx, by] = chain[j]!;
    if (ay > lat !== by > lat && lon < ((bx - ax) * (lat - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

/** Cuts a hole into the part that holds its first vertex, or else into the first part. */
export function addHole(shape: Shape, hole: Chain): Shape {
  const [first] = hole;
  if (shape.kind !== "polygon" || !first) return shape;
  const holder = Math.max(0, shape.parts.findIndex(([outer]) => outer && contains(outer, first)));
  return { ...shape, parts: shape.parts.map((rings, part) => (part === holder ? [...rings, hole] : rings)) };
}

/** The shape of the points that were placed; null if they are too few. The second one of a circle is on its rim. */
export function shapeOf(kind: Kind, points: Chain, metres: (a: Point, b: Point) => number): Shape | null {
  if (kind === "circle") {
    const [centre, rim] = points;
    const radius = centre && rim ? metres(centre, rim) : 0;
    return centre && radius > 0 ? { kind, centre, radius } : null;
  }
  const form = kind === "polygon" ? "polygon" : "line";
  return points.length < fewest[form] ? null : { kind: form, parts: [[points]] };
}
