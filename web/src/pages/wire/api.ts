// The state of the wire door. Counters are since the start.

import { get } from "../../frame/request";

export interface Wire {
  /** Unix ms. */
  t: number;
  figures: WireFigures;
  connections: WireConnection[];
  connections_all: number;
}

export interface WireFigures {
  connections: number;
  opening: number;
  waiting: number;
  subscribers: number;
  streams: number;
  in_flight: number;
  positions: number;
  searches: number;
  received: number;
  sent: number;
  accepted: number;
  refused: number;
  failed: number;
  denied: number;
  paused: number;
  refused_large: number;
  skipped: number;
}

export interface WireConnection {
  name: string;
  identity?: string;
  address: string;
  agent?: string;
  age_ms: number;
  rtt_us: number;
  in_flight: number;
  streams: number;
  posts: number;
  requests: number;
  received: number;
  sent: number;
  queued_bytes: number;
}

export const fetchWire = (find: string, signal: AbortSignal): Promise<Wire> => get("v1/wire", { find, limit: 200 }, signal);
