// The state of a cluster, as the node that answers knows it.

import { get } from "../../frame/request";

export interface Cluster {
  t: string;
  name: string;
  node: string;
  connected: boolean;
  /** "": none leads at present. */
  leader: string;
  term: number;
  nodes: ClusterNode[];
  log?: ClusterLog;
  log_error?: string;
  counters: ClusterCounters;
}

export interface ClusterNode {
  name: string;
  process: string;
  role: "starting" | "follower" | "leader" | "leaving";
  alive: boolean;
  version: string;
  url: string;
  applied: number;
  lag: number;
  lag_seconds: number;
  since: string;
  seen: string;
}

export interface ClusterLog {
  stream: string;
  first: number;
  last: number;
  messages: number;
  bytes: number;
  replicas_wanted: number;
  replicas: { name: string; state: "leader" | "current" | "behind" | "offline"; lag: number }[];
}

export interface ClusterCounters {
  claims_won: number;
  claims_lost: number;
  log_gaps: number;
  append_retries: Record<string, number>;
  forwarded_batches: number;
  forwarded_positions: number;
  forward_retries: number;
  refused_positions: Record<string, number>;
  reconnects: number;
}

export const fetchCluster = (signal: AbortSignal): Promise<Cluster> => get("v1/cluster", {}, signal);
