// Sets: the fences that the page knows, with a name for each that a person would use.

import type { FeatureCollection, Position } from "geojson";
import type { Bounds, FenceGeometry, Properties, SetDocument, SetInfo, SetReport } from "../api";
import { plural } from "../format";

export interface FenceName {
  set: string;
  key: string;
  label: string;
  /** What the map knows the fence by: its place in its set's document, or in a large set its key. */
  feature: number | string;
}

export interface FenceInfo extends FenceName {
  properties: Properties;
  bounds: Bounds;
}

export interface FenceSet {
  info: SetInfo;
  /** Which of the palette's colours is this set's. */
  colour: number;
  /** In the order of the set's document; none of a large set. */
  fences: readonly FenceInfo[];
  /** All fences, or of a large set those that the page has met. */
  byKey: ReadonlyMap<string, FenceInfo>;
  /** What the map draws: geometry and place only, or the address of a large set's tiles. */
  drawn: FeatureCollection<FenceGeometry> | string;
}

/** A set beyond this is not loaded: the map draws it from tiles, and a fence is fetched when it is requested. */
const mostFences = 2_500;
const mostEdges = 250_000;

/** The name that the server would give the set of a file: "NYC zones.geojson" -> "nyc-zones"; "" if it makes none. */
export function setName(file: string): string {
  return file
    .replace(/\.[^.]*$/, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** How many findings are told of a file. */
const toldFindings = 3;

/** What came of a file, as sentences: which set it is now, and what is wrong in it. */
export function outcome(file: string, { name, fences, reasons }: SetReport): string {
  const told = reasons.slice(0, toldFindings).map(({ feature, fence, reason }) => {
    const part = feature < 0 ? "The document" : `Feature ${feature}${fence === undefined ? "" : ` (${fence})`}`;
    return `${part}: ${reason}.`;
  });
  const more = reasons.length - told.length;
  if (more > 0) told.push(`${plural(more, "more finding")}: GET /v1/sets/${name}?findings=1.`);
  return [`${file} is the set ${name} now, with ${plural(fences, "fence")}.`, ...told].join(" ");
}

export function isLarge({ fences, edges }: SetInfo): boolean {
  return fences > mostFences || edges > mostEdges;
}

/** How many colours for sets the style sheet has; further sets start again. */
export const setColours = 6;

export function buildSet(info: SetInfo, colour: number, doc: SetDocument): FenceSet {
  const name = labeller(doc);
  const fences = doc.features.map((feature, ordinal): FenceInfo => {
    const key = String(feature.id ?? ordinal);
    const properties = feature.properties ?? null;
    return { set: info.name, key, feature: ordinal, label: name(key, properties), properties, bounds: boundsOf(feature.geometry) };
  });
  return {
    info,
    colour: colour % setColours,
    fences,
    byKey: new Map(fences.map((fence) => [fence.key, fence])),
    drawn: {
      type: "FeatureCollection",
      features: doc.features.map(({ geometry }, id) => ({ type: "Feature", id, geometry, properties: {} })),
    },
  };
}

/**
 * Chooses how to name the fences of a set: by the property whose own name says that it is one ("name", "title", or an
 * ending such as "DistrictName"), taking the one that tells most fences apart. A name that several fences share gets
 * the key behind it; without any such property the key is the name.
 */
export function labeller(doc: SetDocument): (key: string, properties: Properties) => string {
  const values = new Map<string, string[]>();
  for (const { properties } of doc.features) {
    for (const [property, value] of Object.entries(properties ?? {})) {
      if (typeof value !== "string" || value.trim() === "" || !/(name|title|label)$/i.test(property)) continue;
      const list = values.get(property);
      if (list) list.push(value);
      else values.set(property, [value]);
    }
  }
  let best = "";
  let distinct = 1; // a property that has one value for all names nothing
  for (const [property, list] of values) {
    const count = new Set(list).size;
    if (count > distinct || (count > 1 && count === distinct && /^(name|title)$/i.test(property))) [best, distinct] = [property, count];
  }
  if (best === "" && doc.features.length === 1) best = [...values.keys()][0] ?? "";
  if (best === "") return (key) => key;
  const unique = distinct === values.get(best)!.length;
  return (key, properties) => {
    const value = properties?.[best];
    if (typeof value !== "string" || value.trim() === "") return key;
    return unique ? value : `${value} · ${key}`;
  };
}

/** A name for a fence of which no others are known: by its properties, with its key behind it. */
export function nameAlone(key: string, properties: Properties): string {
  let best = "";
  let rank = 0;
  for (const [property, value] of Object.entries(properties ?? {})) {
    const r = namingRank(property.toLowerCase());
    if (r > rank && typeof value === "string" && value.trim() !== "") [best, rank] = [value.trim(), r];
  }
  return withKey(best, key);
}

export function withKey(name: string, key: string): string {
  return name === "" || name === key ? key : `${name} · ${key}`;
}

/** The server's rule for names in tiles. */
function namingRank(property: string): number {
  const words = ["label", "title", "name"];
  const exact = words.indexOf(property);
  return exact >= 0 ? 2 + exact : words.some((word) => property.endsWith(word)) ? 1 : 0;
}

/** The rings of an area, or the lines of a line. */
function chainsOf(geometry: FenceGeometry): Position[][] {
  switch (geometry.type) {
    case "LineString":
      return [geometry.coordinates];
    case "MultiPolygon":
      return geometry.coordinates.flat();
    default:
      return geometry.coordinates;
  }
}

export function boundsOf(geometry: FenceGeometry): Bounds {
  const bounds: Bounds = [Infinity, Infinity, -Infinity, -Infinity];
  for (const chain of chainsOf(geometry)) {
    for (const [lon = 0, lat = 0] of chain) {
      bounds[0] = Math.min(bounds[0], lon);
      bounds[1] = Math.min(bounds[1], lat);
      bounds[2] = Math.max(bounds[2], lon);
      bounds[3] = Math.max(bounds[3], lat);
    }
  }
  return bounds;
}

/** The box around all; null if there is none. */
export function union(all: Iterable<Bounds>): Bounds | null {
  let box: Bounds | null = null;
  for (const [w, s, e, n] of all) {
    if (!(w <= e && s <= n)) continue;
    box = box ? [Math.min(box[0], w), Math.min(box[1], s), Math.max(box[2], e), Math.max(box[3], n)] : [w, s, e, n];
  }
  return box;
}

/** Larger fences below, so that a small one can always be hit. */
export function drawingOrder(sets: Iterable<FenceSet>): FenceSet[] {
  const meanArea = ({ info, fences }: FenceSet): number => {
    if (fences.length === 0 && info.bbox) {
      const [w, s, e, n] = info.bbox;
      return ((e - w) * (n - s)) / Math.max(1, info.fences);
    }
    const total = fences.reduce((sum, { bounds: [w, s, e, n] }) => sum + Math.max(0, e - w) * Math.max(0, n - s), 0);
    return total / Math.max(1, fences.length);
  };
  return [...sets]
    .map((set) => ({ set, area: meanArea(set) }))
    .sort((a, b) => b.area - a.area || (a.set.info.name < b.set.info.name ? -1 : 1))
    .map(({ set }) => set);
}

/** Fences whose name, key or set holds the text; those that begin with it first. At most limit. */
export function searchFences(sets: Iterable<FenceSet>, text: string, limit: number): FenceInfo[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const begins: FenceInfo[] = [];
  const holds: FenceInfo[] = [];
  for (const { byKey } of sets) {
    for (const fence of byKey.values()) {
      const label = fence.label.toLowerCase();
      if (label.startsWith(wanted) || fence.key.toLowerCase().startsWith(wanted)) begins.push(fence);
      else if (holds.length < limit && label.includes(wanted)) holds.push(fence);
      if (begins.length >= limit) return begins;
    }
  }
  return [...begins, ...holds].slice(0, limit);
}
