// The keys of the server, and its audit.

import { get, part, send } from "../../frame/request";

export interface Key {
  name: string;
  verbs: string[];
  /** The only ones it is for; absent: all. */
  fleets?: string[];
  sets?: string[];
  expires?: string;
  created?: string;
  /** When it was last presented, as far as this run of the server knows. */
  used?: string;
  /** It is of the configuration file, and changed there. */
  file?: boolean;
  expired?: boolean;
  /** In the answer that makes it, and nowhere else. */
  secret?: string;
}

export interface KeyChange {
  name?: string;
  verbs?: string[];
  fleets?: string[];
  sets?: string[];
  /** "" is never. */
  expires?: string;
}

/** An entry of the audit. */
export interface Change {
  id: string;
  at: string;
  /** Name of the key; http.token, anyone and file stand for what is no key. */
  by: string;
  from?: string;
  action: string;
  object: string;
  detail?: string;
  /** The change was not made after all, for this reason. */
  failed?: string;
}

export interface AuditPage {
  changes: Change[];
  next?: string;
}

export const verbs = [
  ["positions:write", "send positions"],
  ["events:read", "read events"],
  ["objects:read", "read objects and their past"],
  ["lookup", "look points up in sets"],
  ["sets:write", "change sets"],
  ["rules:write", "change rules"],
  ["admin", "everything, with keys and webhooks"],
] as const;

export const fetchKeys = async (signal?: AbortSignal): Promise<Key[]> => (await get<{ keys: Key[] }>("v1/keys", {}, signal)).keys;

export const addKey = (key: KeyChange): Promise<Key> => send("v1/keys", { method: "POST", body: key });

export const changeKey = (name: string, change: KeyChange): Promise<Key> => send(`v1/keys/${part(name)}`, { method: "PATCH", body: change });

/** Gives a key a new secret; the old one ends. */
export const rotateKey = (name: string): Promise<Key> => send(`v1/keys/${part(name)}/secret`, { method: "POST" });

export const deleteKey = (name: string): Promise<void> => send(`v1/keys/${part(name)}`, { method: "DELETE" });

export interface AuditQuery {
  by: string;
  object: string;
  /** The last id of the page before. */
  before: string;
}

export const fetchAudit = (query: AuditQuery): Promise<AuditPage> => get("v1/audit", { ...query, limit: 50 });
