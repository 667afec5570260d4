// Handles: the spots of a shape that a pointer can take hold of, and which of them it hits.

import { away } from "./measure";
import type { Screen, Spot } from "./screen";
import { middleBehind, middleOf, placesOf, samePlace, vertexAt, type Place, type Point, type Shape } from "./shape";

export type Handle =
  | { readonly kind: "vertex"; readonly place: Place }
  /** Between a vertex and the next one: taking hold of it inserts a vertex. */
  | { readonly kind: "middle"; readonly place: Place }
  /** Moves all of it. */
  | { readonly kind: "all" }
  /** Sizes a circle. */
  | { readonly kind: "rim" };

export interface PlacedHandle {
  readonly handle: Handle;
  readonly spot: Spot;
}

/** With more vertices in view there are no handles: they would cover the map. */
export const mostHandles = 400;
/** An edge shorter than this has no middle to take hold of, in CSS pixels. */
const shortestEdge = 30;
const reachOfMouse = 9;
const reachOfFinger = 22;

/** East of a circle's centre, where its rim has its handle. */
export function rimOf(centre: Point, radius: number): Point {
  return away(centre, radius, 90);
}

/**
 * The handles in view, later ones above earlier ones: middles, vertices, the selected vertex, the one that moves all. Where
 * there are too many, only that of the selected vertex and that of all.
 */
export function handlesOf(shape: Shape, screen: Screen, selected: Place | null): { handles: PlacedHandle[]; tooMany: number } {
  const all: PlacedHandle = { handle: { kind: "all" }, spot: screen.spot(middleOf(shape)) };
  if (shape.kind === "circle") {
    return { handles: [{ handle: { kind: "rim" }, spot: screen.spot(rimOf(shape.centre, shape.radius)) }, all], tooMany: 0 };
  }
  const middles: PlacedHandle[] = [];
  const vertices: PlacedHandle[] = [];
  let chosen: PlacedHandle | undefined;
  for (const place of placesOf(shape)) {
    const at = vertexAt(shape, place)!;
    const spot = screen.spot(at);
    if (screen.within(spot, reachOfFinger)) {
      const vertex: PlacedHandle = { handle: { kind: "vertex", place }, spot };
      if (samePlace(place, selected)) chosen = vertex;
      else vertices.push(vertex);
    }
    const middle = middleBehind(shape, place);
    if (!middle) continue;
    const half = screen.spot(middle);
    if (screen.within(half) && Math.hypot(half.x - spot.x, half.y - spot.y) * 2 >= shortestEdge) {
      middles.push({ handle: { kind: "middle", place }, spot: half });
    }
  }
  const above = chosen ? [all, chosen] : [all];
  if (vertices.length > mostHandles) return { handles: above, tooMany: vertices.length };
  return { handles: [...middles, ...vertices, ...above], tooMany: 0 };
}

/** The handle under a pointer: the nearest one, but a vertex before others. */
export function hit(handles: readonly PlacedHandle[], at: Spot, finger: boolean): Handle | null {
  const reach = finger ? reachOfFinger : reachOfMouse;
  let best: Handle | null = null;
  let least = Infinity;
  for (const { handle, spot } of handles) {
    const distance = Math.hypot(spot.x - at.x, spot.y - at.y);
    const cost = distance + (handle.kind === "middle" ? reach / 2 : 0);
    if (distance <= reach && cost <= least) [best, least] = [handle, cost];
  }
  return best;
}

/** Whether two spots are one for a pointer. */
export function meets(a: Spot, b: Spot, finger: boolean): boolean {
  return Math.hypot(a.x - b.x, a.y - b.y) <= (finger ? reachOfFinger : reachOfMouse);
}
