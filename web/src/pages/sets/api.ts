// Sets as GET /v1/sets lists them for this page: with index and source. The shapes are compared with the OpenAPI document.

import type { Finding, Policy, SetPolicy } from "../../api";
import { get, part, send } from "../../frame/request";

export interface IndexInfo {
  /** The kind that works now, where the set's is auto. */
  kind: string;
  bytes: number;
  bytes_per_edge: number;
  building: boolean;
}

/** The file that a set is read from. */
export interface SetSource {
  file: string;
  loaded?: string;
  error?: string;
  since?: string;
}

/** SetInfo with everything that the server tells. */
export interface ListedSet {
  name: string;
  generation: number;
  fences: number;
  parts: number;
  edges: number;
  kind: string;
  index: IndexInfo;
  bbox: [west: number, south: number, east: number, north: number] | null;
  findings: number;
  source?: SetSource;
}

export interface ListedSets {
  sets: ListedSet[];
  failing?: SetSource[];
}

/** GET /v1/sets/{set}?findings=1, and the answer to a change. */
export type ListedReport = ListedSet & { etag: string; reasons: Finding[] };

export const fetchSets = (signal?: AbortSignal): Promise<ListedSets> => get("v1/sets", {}, signal);

export const fetchReport = (set: string): Promise<ListedReport> => get(`v1/sets/${part(set)}`, { findings: 1 });

/** Makes a document the whole set. The tag is that of the state that it replaces, or "new". */
export const putSet = (set: string, document: Blob, tag: string): Promise<ListedReport> =>
  send(`v1/sets/${part(set)}`, { method: "PUT", body: document, type: "application/geo+json", tag });

export const deleteSet = (set: string, tag: string): Promise<void> => send(`v1/sets/${part(set)}`, { method: "DELETE", tag });

export const fetchPolicy = (set: string): Promise<SetPolicy> => get(`v1/sets/${part(set)}/policy`);

export const putPolicy = (set: string, policy: string | Policy): Promise<SetPolicy> => send(`v1/sets/${part(set)}/policy`, { method: "PUT", body: policy });

export const deletePolicy = (set: string): Promise<void> => send(`v1/sets/${part(set)}/policy`, { method: "DELETE" });
