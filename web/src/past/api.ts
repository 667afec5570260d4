// The server's requests for the past. Interfaces that carry the name of a schema are compared with it, as those of api.ts.

import { apiURL, json, parseNDJSON, reached, request, type Bounds, type FenceEvent } from "../api";

/** The positions of an object in columns of the same length. */
export interface SampledObject {
  id: string;
  fleet: string;
  /** Milliseconds behind the page's from, ascending; below 0 for the last one before it. */
  t: number[];
  lon: number[];
  lat: number[];
  speed?: (number | null)[];
  heading?: (number | null)[];
}

/** GET /v1/positions. */
export interface SampledPage {
  from: string;
  to: string;
  every_ms: number;
  objects: SampledObject[];
  next?: string;
}

export interface SampleQuery {
  /** Unix ms. */
  from: number;
  to: number;
  /** Milliseconds. */
  every: number;
  back?: number;
  box?: Bounds | null;
  fleet?: string;
  object?: string;
  after?: string;
}

export async function fetchSample({ from, to, every, back, box, ...rest }: SampleQuery, signal?: AbortSignal): Promise<SampledPage> {
  const times = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), every: `${every}ms` };
  const more = { back: back === undefined ? undefined : `${back}ms`, bbox: box?.map((degrees) => degrees.toFixed(6)).join(",") };
  return json<SampledPage>(request(apiURL("v1/positions", { ...times, ...more, ...rest }), signal));
}

/** A visit of a fence, as GET /v1/visits lists it. */
export interface PastVisit {
  set: string;
  fence: string;
  fleet: string;
  object: string;
  begin: string;
  /** Absent while it is open. */
  end?: string;
  open: boolean;
}

export async function fetchVisits(fleet: string, object: string, from: number, to: number, signal?: AbortSignal): Promise<{ visits: PastVisit[]; next?: string }> {
  const query = { fleet, object, from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  return json<{ visits: PastVisit[]; next?: string }>(request(apiURL("v1/visits", query), signal));
}

/** The visits of a fence that hold a time, at most 100. */
export async function fetchOccupants(set: string, fence: string, t: number, signal: AbortSignal): Promise<{ visits: PastVisit[]; next?: string }> {
  const [from, to] = [Math.floor(t), Math.floor(t) + 1].map((ms) => new Date(ms).toISOString());
  return json<{ visits: PastVisit[]; next?: string }>(request(apiURL("v1/visits", { set, fence, from, to, limit: 100 }), signal));
}

/** Where a page of past events begins: behind a cursor, or with the first event that arrived at a time (Unix ms) or later. */
export type EventStart = { cursor: string } | { arrived: number };

export interface EventPage {
  events: FenceEvent[];
  /** Lines of the answer; 0 at the end. */
  lines: number;
  cursor: string;
}

/** A page of past events, in order of arrival. */
export async function fetchEventPage(start: EventStart, query: { set: string; fleet: string; event?: string | undefined; limit: number }, signal: AbortSignal): Promise<EventPage> {
  const begin = "cursor" in start ? { cursor: start.cursor } : { from: new Date(start.arrived).toISOString() };
  const response = await request(apiURL("v1/events", { ...query, ...begin, wait: 0, format: "ndjson" }), signal);
  const text = await reached(response.text());
  const lines = text.split("\n").filter((line) => line.trim() !== "").length;
  return { events: parseNDJSON(text), lines, cursor: response.headers.get("Paddock-Cursor") ?? "" };
}
