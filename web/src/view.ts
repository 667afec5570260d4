// View: the state of the page, as one value that fits in a URL. Pure: location.ts keeps it in the address bar.

import { isStateName } from "./live/frame";
import { formatPast, parsePast, type PastView } from "./past/span";

export interface MapPosition {
  lon: number;
  lat: number;
  zoom: number;
}

export type Selection =
  | { kind: "fence"; set: string; fence: string }
  | { kind: "object"; fleet: string; id: string }
  | { kind: "event"; set: string; id: string };

export interface Filter {
  /** A set's name, or "" for all. */
  set: string;
  /** The kinds of event to show; empty means all. */
  events: readonly string[];
  /** The id of the rule that the events are of, or "" for all events. */
  rule: string;
  /** A fleet's name, or "" for all. */
  fleet: string;
  /** The states of objects to show; empty means all. */
  states: readonly string[];
  /** Words that must all occur in the event's ids, names or properties; on the map in an object's id or fleet. */
  text: string;
}

/** What the palette tells apart: the sets of fences, or the fleets of objects. */
export type Colouring = "set" | "fleet";

export interface View {
  at: MapPosition | null;
  selection: Selection | null;
  filter: Filter;
  /** Names of the sets that are switched off. */
  hidden: readonly string[];
  colouring: Colouring;
  /** The time of the past that is shown; null is the present. */
  past: PastView | null;
}

export const noFilter: Filter = { set: "", events: [], rule: "", fleet: "", states: [], text: "" };
export const emptyView: View = { at: null, selection: null, filter: noFilter, hidden: [], colouring: "set", past: null };

export function sameSelection(a: Selection | null, b: Selection | null): boolean {
  return a === b || (a !== null && b !== null && formatSelection(a) === formatSelection(b));
}

/**
 * The view as a query, "" for the empty view. Its parts: at=lon,lat,zoom · fence=set/key · object=fleet/id ·
 * record=set/id (an event) · set= · event=enter,exit · rule= · fleet= · state=moving,silent · q= · hide=set,set ·
 * colour=fleet · past=from,to · t= · speed= (of a playback).
 */
export function formatView(view: View): string {
  const parts: string[] = [];
  if (view.at) parts.push(`at=${view.at.lon.toFixed(5)},${view.at.lat.toFixed(5)},${view.at.zoom.toFixed(2)}`);
  if (view.selection) parts.push(formatSelection(view.selection));
  if (view.filter.set) parts.push(`set=${encodeURIComponent(view.filter.set)}`);
  if (view.filter.events.length > 0) parts.push(`event=${joinList(view.filter.events)}`);
  if (view.filter.rule) parts.push(`rule=${encodeURIComponent(view.filter.rule)}`);
  if (view.filter.fleet) parts.push(`fleet=${encodeURIComponent(view.filter.fleet)}`);
  if (view.filter.states.length > 0) parts.push(`state=${joinList(view.filter.states)}`);
  if (view.filter.text) parts.push(`q=${encodeURIComponent(view.filter.text)}`);
  if (view.hidden.length > 0) parts.push(`hide=${joinList(view.hidden)}`);
  if (view.colouring !== "set") parts.push(`colour=${view.colouring}`);
  if (view.past) parts.push(...formatPast(view.past));
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

function formatSelection(s: Selection): string {
  const pair = (a: string, b: string): string => `${encodeURIComponent(a)}/${encodeURIComponent(b)}`;
  if (s.kind === "fence") return `fence=${pair(s.set, s.fence)}`;
  if (s.kind === "object") return `object=${pair(s.fleet, s.id)}`;
  return `record=${pair(s.set, s.id)}`;
}

function joinList(items: readonly string[]): string {
  return items.map(encodeURIComponent).join(",");
}

/** Reads a query of formatView. Parts that it does not understand keep their defaults. */
export function parseView(query: string): View {
  const raw = new Map<string, string>();
  for (const part of query.replace(/^\?/, "").split("&")) {
    const equals = part.indexOf("=");
    if (equals > 0) raw.set(part.slice(0, equals), part.slice(equals + 1));
  }
  return {
    at: parsePosition(raw.get("at")),
    selection: parseSelection(raw),
    filter: {
      set: decode(raw.get("set") ?? ""),
      events: splitList(raw.get("event")),
      rule: decode(raw.get("rule") ?? ""),
      fleet: decode(raw.get("fleet") ?? ""),
      states: splitList(raw.get("state")).filter((state) => isStateName(state)),
      text: decode(raw.get("q") ?? ""),
    },
    hidden: splitList(raw.get("hide")),
    colouring: raw.get("colour") === "fleet" ? "fleet" : "set",
    past: parsePast(raw.get("past"), raw.get("t"), raw.get("speed")),
  };
}

function parsePosition(text: string | undefined): MapPosition | null {
  const [lon, lat, zoom, ...rest] = (text ?? "").split(/,|%2C/i).map((part) => (part === "" ? NaN : Number(part)));
  if (lon === undefined || lat === undefined || zoom === undefined || rest.length > 0) return null;
  const sound = Math.abs(lon) <= 180 && Math.abs(lat) <= 90 && zoom >= 0 && zoom <= 24;
  return sound ? { lon, lat, zoom } : null;
}

function parseSelection(raw: Map<string, string>): Selection | null {
  const fence = splitPair(raw.get("fence"));
  if (fence) return { kind: "fence", set: fence[0], fence: fence[1] };
  const object = splitPair(raw.get("object"));
  if (object) return { kind: "object", fleet: object[0], id: object[1] };
  const record = splitPair(raw.get("record"));
  if (record) return { kind: "event", set: record[0], id: record[1] };
  return null;
}

function splitPair(text: string | undefined): [string, string] | null {
  const slash = text?.indexOf("/") ?? -1;
  if (text === undefined || slash < 1 || slash === text.length - 1) return null;
  return [decode(text.slice(0, slash)), decode(text.slice(slash + 1))];
}

function splitList(text: string | undefined): string[] {
  return (text ?? "").split(",").filter(Boolean).map(decode);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text; // a stray percent sign: take it as it is
  }
}
