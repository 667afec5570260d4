// Between features, as the server has them, and drafts, as they are edited.

import type { Position } from "geojson";
import type { FenceFeature, FenceGeometry, Properties } from "../api";
import { Exact, parseExact, writeExact } from "./exact";
import { circleOf } from "./measure";
import type { Chain, Circle, Kind, Line, Point, Polygon, Shape } from "./shape";

/** A property in the table: its value as a person writes it. */
export interface Row {
  readonly name: string;
  readonly value: string;
}

export interface Drawing {
  readonly points: Chain;
  /** It is to be cut out of the shape that is there. */
  readonly hole: boolean;
}

/** All of a fence that undo and redo go through. */
export interface Draft {
  readonly kind: Kind;
  /** What has been placed of something that is not finished; null: all of it is. */
  readonly drawing: Drawing | null;
  readonly shape: Shape | null;
  readonly name: string;
  /** Settings of the fence by name without prefix, as they are written; "" is none. */
  readonly settings: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
}

export const settingPrefix = "paddock:";

/** The settings that have a field of their own; others are rows of the table. */
export const fieldSettings = ["buffer", "floor", "ceiling", "fixes", "metres", "enter_after", "exit_after"] as const;

/** Metres to each side of a new corridor. */
export const usualBuffer = 50;

export function emptyDraft(kind: Kind): Draft {
  const settings: Record<string, string> = kind === "corridor" ? { buffer: String(usualBuffer) } : {};
  return { kind, drawing: { points: [], hole: false }, shape: null, name: "", settings, rows: [] };
}

/** The buffer of a corridor in metres; null of a line, and of text that is no number. */
export function bufferOf({ settings }: Draft): number | null {
  const text = settings.buffer?.trim() ?? "";
  const value = text === "" ? NaN : Number(text);
  return value > 0 ? value : null;
}

export function draftOf(feature: FenceFeature): Draft {
  const shape = shapeOfGeometry(feature.geometry);
  const settings: Record<string, string> = {};
  const rows: Row[] = [];
  let name = "";
  for (const [key, value] of Object.entries(feature.properties ?? {})) {
    const setting = key.startsWith(settingPrefix) ? key.slice(settingPrefix.length) : "";
    if (key === "name" && typeof value === "string") name = value;
    else if (isField(setting) && (typeof value === "number" || typeof value === "string" || value instanceof Exact)) settings[setting] = writeValue(value);
    else rows.push({ name: key, value: writeValue(value) });
  }
  const kind = shape.kind === "line" && settings.buffer ? "corridor" : shape.kind;
  return { kind, drawing: null, shape, name, settings, rows };
}

function isField(name: string): boolean {
  return (fieldSettings as readonly string[]).includes(name);
}

function shapeOfGeometry(geometry: FenceGeometry): Shape {
  const line = (chains: Position[][]): Line => ({ kind: "line", parts: chains.map((chain) => [chain.map(pointOf)]) });
  const polygon = (parts: Position[][][]): Polygon => ({ kind: "polygon", parts: parts.map((rings) => rings.map(opened)) });
  switch (geometry.type) {
    case "LineString":
      return line([geometry.coordinates]);
    case "MultiLineString":
      return line(geometry.coordinates);
    case "MultiPolygon":
      return polygon(geometry.coordinates);
    case "Polygon":
      return circleAlone(geometry.coordinates) ?? polygon([geometry.coordinates]);
  }
}

function circleAlone(rings: Position[][]): Circle | null {
  const circle = rings.length === 1 ? circleOf(opened(rings[0]!)) : null;
  return circle && { kind: "circle", ...circle };
}

function pointOf([lon = 0, lat = 0]: Position): Point {
  return [lon, lat];
}

function opened(ring: Position[]): Point[] {
  const points = ring.map(pointOf);
  const [first, last] = [points[0], points.at(-1)];
  const closed = points.length > 1 && first![0] === last![0] && first![1] === last![1];
  return closed ? points.slice(0, -1) : points;
}

/** A value as text that readValue reads again: text as it is, unless it would be read as something else. */
export function writeValue(value: unknown): string {
  if (typeof value !== "string") return writeExact(value);
  return typeof readValue(value) === "string" && readValue(value) === value ? value : JSON.stringify(value);
}

/** Numbers, true, false, null, lists and objects as JSON has them, and everything else as text. */
export function readValue(text: string): unknown {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

/** The properties that a draft stands for; null if there are none. */
export function propertiesOf({ name, settings, rows, shape }: Draft): Properties {
  const entries: [string, unknown][] = [];
  if (name.trim() !== "") entries.push(["name", name.trim()]);
  for (const row of rows) if (row.name.trim() !== "") entries.push([row.name.trim(), readValue(row.value)]);
  for (const [setting, text] of Object.entries(settings)) {
    const unused = setting === "buffer" && shape?.kind !== "line";
    if (text.trim() !== "" && !unused) entries.push([settingPrefix + setting, readValue(text.trim())]);
  }
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** The geometry of a shape, or of a circle the form that the server makes a polygon of. */
type Form = { geometry: FenceGeometry } | { circle: { lon: number; lat: number; radius_m: number } };

function formOf(shape: Shape): Form {
  const closed = (ring: Chain): Position[] => [...ring, ring[0]!].map(([lon, lat]) => [lon, lat]);
  if (shape.kind === "circle") {
    const [lon, lat] = shape.centre;
    return { circle: { lon, lat, radius_m: Math.round(shape.radius * 100) / 100 } };
  }
  if (shape.kind === "line") {
    const lines = shape.parts.map(([chain]) => chain!.map(([lon, lat]) => [lon, lat]));
    const [only] = lines;
    return { geometry: lines.length === 1 ? { type: "LineString", coordinates: only! } : { type: "MultiLineString", coordinates: lines } };
  }
  const parts = shape.parts.map((rings) => rings.map(closed));
  const [only] = parts;
  return { geometry: parts.length === 1 ? { type: "Polygon", coordinates: only! } : { type: "MultiPolygon", coordinates: parts } };
}

/** The body that stores a draft. An unchanged shape is sent exactly as it was. */
export function bodyOf(draft: Draft, stored: { shape: Shape | null; geometry: FenceGeometry } | null): string {
  const { shape } = draft;
  const form = shape === null ? { geometry: null } : stored?.shape === shape ? { geometry: stored.geometry } : formOf(shape);
  return writeExact({ type: "Feature", properties: propertiesOf(draft), ...form });
}
