// The state of the bus. Counters are since its start.

import { get } from "../../frame/request";

export interface Bus {
  /** Unix ms. */
  t: number;
  figures: BusFigures;
  prefixes: BusPrefix[];
  subjects: BusSubject[];
  closed: BusClosed[];
  connections: BusConnection[];
  connections_all: number;
  /** To other servers. */
  bridges: BusBridge[];
}

export interface BusFigures {
  connections: number;
  opened: number;
  subscriptions: number;
  messages_in: number;
  messages_out: number;
  bytes_in: number;
  bytes_out: number;
  pending_bytes: number;
  /** Connections that were closed for it. */
  slow_consumers: number;
  dropped: number;
  stalls: number;
  refused: number;
}

export interface BusPrefix {
  prefix: string;
  in: number;
  out: number;
}

export interface BusSubject {
  subject: string;
  messages: number;
}

export interface BusClosed {
  reason: string;
  count: number;
}

export interface BusConnection {
  id: number;
  name?: string;
  user?: string;
  /** Absent: within the process. */
  address?: string;
  client?: string;
  age_ms: number;
  rtt_us: number;
  pending_bytes: number;
  messages_in: number;
  messages_out: number;
  bytes_in: number;
  bytes_out: number;
  dropped: number;
  stalls: number;
  subscriptions: number;
  /** Of the first subscriptions. */
  subjects: string[];
}

export interface BusBridge {
  name: string;
  connected: boolean;
  /** Absent: there is no connection. */
  url?: string;
  age_ms: number;
  /** Absent: there is a connection, or the first attempt goes on. */
  error?: string;
  connects: number;
  waiting_bytes: number;
  messages_in: number;
  messages_out: number;
  /** By reason. */
  dropped_in: Record<string, number>;
  dropped_out: Record<string, number>;
}

export const fetchBus = (find: string, signal: AbortSignal): Promise<Bus> => get("v1/bus", { find, limit: 200 }, signal);
