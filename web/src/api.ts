// The server's HTTP and live protocol: the shapes of its JSON, and one function for each request the page makes.
//
// Each interface carries the name of its schema in the OpenAPI document at /v1/openapi.json; test/openapi.test.ts
// compares the two. Times in JSON are RFC 3339 text; `t` in live frames is Unix milliseconds. Coordinates are degrees WGS84.

import type { FeatureCollection, LineString, MultiLineString, MultiPolygon, Polygon } from "geojson";

import { ApiError, apiURL, json, reached, request } from "./request";

export { ApiError, Unreachable, apiURL, endRequests, json, liveURL, reached, request, sessionOver } from "./request";

export type Properties = Record<string, unknown> | null;

/** One item of GET /v1/sets, and of a live frame of type "sets". */
export interface SetInfo {
  name: string;
  generation: number;
  fences: number;
  parts: number;
  edges: number;
  kind: string;
  /** Null if the set is empty. */
  bbox: [west: number, south: number, east: number, north: number] | null;
  /** Defects found in its data. */
  findings: number;
  /** The file of which it is made; only GET /v1/sets tells. */
  source?: SetSource;
}

export interface SetSource {
  file: string;
}

/** GET /v1/session: what the key of the browser permits. Absent fleets or sets are all. */
export interface Grant {
  name: string;
  verbs: string[];
  fleets?: string[];
  sets?: string[];
}

export interface SetList {
  sets: SetInfo[];
}

/** Something wrong in a document that was made a set. */
export interface Finding {
  /** Its index in the document; -1 is all of it. */
  feature: number;
  fence?: string;
  code?: string;
  reason: string;
  /** Where, if there is a place. */
  at?: [lon: number, lat: number];
  /** No fence came of the feature. */
  refused: boolean;
}

/** The result of making a set of a document. */
export type SetReport = SetInfo & { reasons: Finding[] };

/** An area, or a line: one that is only crossed, or the middle of a corridor. */
export type FenceGeometry = Polygon | MultiPolygon | LineString | MultiLineString;

/** GET /v1/sets/{set}: each feature's id is the fence's key as text. */
export type SetDocument = FeatureCollection<FenceGeometry, Properties>;

/** A fence that an object is in, and since when. */
export interface Membership {
  set: string;
  fence: string;
  since: string;
  visit: string;
}

/** A change of membership that the policy of the set has not confirmed. */
export interface Pending {
  set: string;
  fence: string;
  event: string;
  at: string;
  /** Positions that speak for it. */
  fixes: number;
  /** When it is confirmed without another position. */
  due?: string;
}

export interface ObjectState {
  id: string;
  fleet: string;
  lon: number;
  lat: number;
  /** The device's time of the last position, and the time at which it arrived. */
  t: string;
  seen: string;
  speed?: number;
  heading?: number;
  state: string;
  fences: Membership[];
  pending?: Pending[];
}

/** How much it takes to change a membership. Durations are text such as "1m30s". */
export interface Policy {
  fixes?: number;
  metres?: number;
  sure?: number;
  accuracy_factor?: number;
  max_accuracy?: number;
  enter_after?: string;
  exit_after?: string;
  /** Metres per second. */
  max_speed?: number;
  ttl?: string;
  late?: string;
  initial?: string;
}

export interface SetPolicy {
  policy: Policy;
  /** Whether it is the set's own, and not that of all sets without one. */
  own: boolean;
  /** The file that holds it. */
  file?: string;
}

export interface ObjectPage {
  objects: ObjectState[];
  next?: string;
}

export interface PointGeometry {
  type: "Point";
  coordinates: [lon: number, lat: number];
}

interface Happening {
  /** When it happened, the device's time, and when the object entered; of outside when it left. */
  at: string;
  t: string;
  since: string;
  duration_ms: number;
  visit: string;
  reason: string;
}

export interface FenceEventData extends Happening {
  set: string;
  /** Null: about all fences of the set. */
  fence: { id: string; properties: Properties } | null;
  object: { id: string; fleet: string; properties: Properties };
  point: PointGeometry;
  prev?: PointGeometry;
  seq: number;
  /** The rule that asks for events of this kind. */
  rule?: string;
  /** Of cross: when the object left the fence again, or the side of the line to which it went. */
  left?: string;
  direction?: string;
  /** Metres along the line of a corridor. */
  progress?: number;
}

/** Of count_begin and count_end: how many objects of a rule are in a fence. */
export interface CountEventData extends Happening {
  set: string;
  fence: { id: string; properties: Properties };
  object: null;
  count: number;
  at_least: number;
  rule: string;
}

/** Of near_begin and near_end: two objects that meet or part. */
export interface NearEventData extends Happening {
  set: null;
  fence: null;
  object: { id: string; fleet: string; properties: Properties };
  point: PointGeometry;
  other: { id: string; fleet: string; properties: Properties };
  other_point: PointGeometry;
  metres: number;
  rule: string;
}

export type EventData = FenceEventData | CountEventData | NearEventData;

/** A CloudEvents 1.0 envelope of type paddock.fence.<event>. Its source and id together are unique. */
export interface FenceEvent {
  specversion: "1.0";
  id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  /** W3C Trace Context of the request whose position caused the event. */
  traceparent?: string;
  tracestate?: string;
  datacontenttype: "application/json";
  data: EventData;
}

export interface Hello {
  type: "hello";
  version: string;
  t: number;
  cursor: string;
  demo: boolean;
  /** URL of the bus for NATS clients. */
  bus?: string;
  /** Whether GET /v1/tunnel has something to tell. */
  tunnel?: boolean;
  /** Whether there is a history of positions and visits. */
  history?: boolean;
  basemap?: Basemap;
}

/** The map below the fences. */
export interface Basemap {
  /** vector and raster are the tiles of the archive at GET /v1/basemap; tiles are those of a tile server, raster ones. */
  kind: "vector" | "raster" | "tiles";
  /** The template of a tile server. */
  url?: string;
  /** "" or absent is that of the archive. */
  attribution?: string;
}

export function basemapURL(): string {
  return apiURL("v1/basemap");
}

/** Names of the handles that binary frames use: [handle, fleet, id]. */
export interface Names {
  type: "names";
  names: [handle: number, fleet: string, id: string][];
}

export interface Stats {
  type: "stats";
  t: number;
  positions_per_s: number;
  events_per_s: number;
  objects: number;
  silent: number;
  /** Positions of the last minute that were older than their object's last one; absent at an older server. */
  late?: number;
  fences: number;
  /** null: no event in the last seconds. */
  event_p99_ms: number | null;
  memory_bytes: number;
  rejected_per_s: number;
  late_per_s: number;
  dropped_per_s: number;
}

export interface Events {
  type: "events";
  cursor: string;
  events: FenceEvent[];
  /** While states are filtered: the state of each event's object when the event was sent. */
  states?: number[];
}

/** Events that this client will never get; the server may not know how many. */
export interface Gap {
  type: "gap";
  count: number | null;
  cursor: string;
  reason: string;
}

export interface SetsChanged extends SetList {
  type: "sets";
}

/** GET /v1/tunnel: the state of the tunnel's server. Counters are since its start. */
export interface Tunnel {
  /** Unix ms. */
  t: number;
  figures: TunnelFigures;
  refused: TunnelRefused[];
  overloads: TunnelOverload[];
  sessions: TunnelSession[];
  sessions_all: number;
  tunnels: TunnelLine[];
  tunnels_all: number;
}

export interface TunnelFigures {
  sessions: number;
  sessions_limit: number;
  names: number;
  away: number;
  waiting: number;
  visitors: number;
  visitors_limit: number;
  requests: number;
  requests_limit: number;
  streams: number;
  streams_limit: number;
  queued: number;
  bytes: number;
  bytes_limit: number;
  begun: number;
  served: number;
  cancelled: number;
  takeovers: number;
  resent: number;
  received: number;
  sent: number;
}

export interface TunnelRefused {
  stage: string;
  reason: string;
  count: number;
}

/** Of the refused, those at an exhausted bound, by bound. */
export interface TunnelOverload {
  of: string;
  count: number;
}

/** A client that is connected. */
export interface TunnelSession {
  name: string;
  id: string;
  address: string;
  agent?: string;
  age_ms: number;
  /** 0: not measured yet. */
  rtt_us: number;
  in_flight: number;
  streams: number;
  bytes_in: number;
  bytes_out: number;
  names: string[];
  names_all: number;
  /** To the server. */
  connections: number;
  /** Visitors on connections of their own. */
  direct: number;
}

/** A name or an address that a client holds. */
export interface TunnelLine {
  at: string;
  protocol: string;
  client: string;
  /** Whose members have it together, each with a line of its own. */
  group?: string;
  members: number;
  here: number;
  away: boolean;
  waiting: number;
  in_flight: number;
  limit: number;
  streams: number;
  queued: number;
  begun: number;
  refused: number;
}

export type LiveMessage = Hello | Names | Stats | Events | Gap | SetsChanged;

export type Bounds = [west: number, south: number, east: number, north: number];

export interface ObjectFilter {
  fleet: string;
  states: readonly string[];
  text: string;
}

/** A request to the live feed; absent fields leave their settings unchanged. */
export interface LiveRequest {
  view?: Bounds;
  /** Only these objects. */
  objects?: ObjectFilter;
  /** The level of the cells that the page can show: squares of Web Mercator, 1/2^cell of the world wide. */
  cell?: number;
  /** An object that is sent beside cells. */
  single?: { fleet: string; id: string };
  cursor?: string;
}

/** Makes a set of a GeoJSON document; a set of that name must not be there. */
export async function createSet(name: string, doc: Blob): Promise<SetReport> {
  const headers = { "Content-Type": "application/geo+json" };
  return json<SetReport>(request(apiURL(`v1/sets/${encodeURIComponent(name)}`), undefined, { method: "POST", headers, body: doc }));
}

export async function fetchSets(signal?: AbortSignal): Promise<SetInfo[]> {
  return (await json<SetList>(request(apiURL("v1/sets"), signal))).sets;
}

/** A set's fences and the tag of that state; null if the tag is still the known one. */
export async function fetchSet(name: string, known = ""): Promise<{ doc: SetDocument; tag: string } | null> {
  const response = await request(apiURL(`v1/sets/${encodeURIComponent(name)}`));
  const tag = response.headers.get("ETag") ?? "";
  if (tag !== "" && tag === known) {
    await response.body?.cancel();
    return null;
  }
  return { doc: await reached(response.json() as Promise<SetDocument>), tag };
}

export type FenceFeature = SetDocument["features"][number];

/** One fence; null if the set has none of that key. */
export async function fetchFence(set: string, key: string): Promise<FenceFeature | null> {
  try {
    const url = apiURL(`v1/sets/${encodeURIComponent(set)}/fences/${encodeURIComponent(key)}`);
    return await json<FenceFeature>(request(url));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Fences of a set whose id or name holds a text. */
export async function findFences(set: string, text: string, limit: number, signal?: AbortSignal): Promise<{ id: string; properties: Properties }[]> {
  const url = apiURL(`v1/sets/${encodeURIComponent(set)}/fences`, { text, limit, properties: "all" });
  return (await json<{ fences: { id: string; properties: Properties }[] }>(request(url, signal))).fences;
}

/** The address of a set's vector tiles, with the places of the numbers in braces. Each version has one of its own. */
export function tilesURL(set: string, version: string): string {
  return `${apiURL(`v1/sets/${encodeURIComponent(set)}/tiles/`)}{z}/{x}/{y}?v=${encodeURIComponent(version)}`;
}

/** The keys of the fences of a set that hold a point. */
export async function fetchHolders(set: string, lon: number, lat: number): Promise<string[]> {
  const answer = await json<{ fences: { id: string }[] }>(request(apiURL("v1/search", { set, lon, lat })));
  return answer.fences.map(({ id }) => id);
}

/** A past position: its place and Unix ms. */
export interface PastPosition {
  lon: number;
  lat: number;
  t: number;
}

/** The first positions of an object from a time to another, Unix ms; none if the server keeps no history. */
export async function fetchTrack(fleet: string, id: string, from: number, to: number, signal?: AbortSignal, limit = 500): Promise<PastPosition[]> {
  const query = { fleet, from: new Date(from).toISOString(), to: new Date(to).toISOString(), format: "ndjson", limit };
  const url = apiURL(`v1/objects/${encodeURIComponent(id)}/track`, query);
  const text = await reached((await request(url, signal)).text());
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const { lon, lat, t } = JSON.parse(line) as { lon: number; lat: number; t: string | number };
      return { lon, lat, t: new Date(t).getTime() };
    });
}

export interface ObjectQuery {
  fleet?: string;
  prefix?: string;
  set?: string;
  fence?: string;
  limit?: number;
}

export async function fetchObjects(query: ObjectQuery, signal?: AbortSignal): Promise<ObjectPage> {
  return json<ObjectPage>(request(apiURL("v1/objects", { ...query }), signal));
}

export async function fetchObject(fleet: string, id: string, signal?: AbortSignal): Promise<ObjectState> {
  const url = apiURL(`v1/objects/${encodeURIComponent(id)}`, { fleet });
  return json<ObjectState>(request(url, signal));
}

export async function fetchPolicy(set: string, signal?: AbortSignal): Promise<SetPolicy> {
  return json<SetPolicy>(request(apiURL(`v1/sets/${encodeURIComponent(set)}/policy`), signal));
}

export interface EventQuery {
  set?: string;
  fence?: string;
  event?: string;
  fleet?: string;
  object?: string;
  /** The newest so many. */
  last: number;
}

/** Past events, oldest first; the request ends instead of waiting for more. */
export async function fetchEvents(query: EventQuery, signal?: AbortSignal): Promise<FenceEvent[]> {
  const url = apiURL("v1/events", { ...query, wait: 0, format: "ndjson" });
  return parseNDJSON(await reached((await request(url, signal)).text()));
}

/** What the data of a record may have. */
interface UnknownData {
  set?: unknown;
  fence?: { id?: unknown } | null;
  object?: { id?: unknown } | null;
  point?: { coordinates?: unknown };
  other?: { id?: unknown };
  metres?: unknown;
  count?: unknown;
}

/** Whether a record is an event in the form that this page reads; a newer server may send others beside them. */
export function isFenceEvent(record: unknown): record is FenceEvent {
  const { type, data } = (record ?? {}) as { type?: unknown; data?: UnknownData };
  if (typeof type !== "string" || !type.startsWith("paddock.fence.") || !data) return false;
  const { set, fence, object, point } = data;
  const placed = typeof object?.id === "string" && Array.isArray(point?.coordinates);
  if (set === null) return placed && fence === null && typeof data.other?.id === "string" && typeof data.metres === "number";
  if (typeof set !== "string") return false;
  if (object === null) return typeof fence?.id === "string" && typeof data.count === "number";
  return placed && (fence === null || typeof fence?.id === "string");
}

export function parseNDJSON(text: string): FenceEvent[] {
  const events: FenceEvent[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue; // a heartbeat
    const record: unknown = JSON.parse(line);
    if (isFenceEvent(record)) events.push(record);
  }
  return events;
}

/** The state of the tunnel: clients and tunnels in whose names the text occurs. */
export async function fetchTunnel(find: string, signal: AbortSignal): Promise<Tunnel> {
  return json<Tunnel>(request(apiURL("v1/tunnel", { find }), signal));
}
