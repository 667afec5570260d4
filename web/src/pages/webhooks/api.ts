// Webhooks and sinks: their settings, the state of their deliveries, and operations on them.

import { ApiError } from "../../api";
import { get, getTagged, part, send, type Tagged } from "../../frame/request";

export interface Webhook {
  id?: string;
  url: string;
  sets?: string[];
  fences?: string[];
  events?: string[];
  fleets?: string[];
  objects?: string;
  rules?: string[];
  format?: string;
  max_batch?: number;
  /** Values are shown as [hidden], which stands for what is there in a change. */
  headers?: Record<string, string>;
  secrets?: string[];
  enabled?: boolean;
}

export interface Attempt {
  at: string;
  outcome: string;
  status?: number;
  reason?: string;
  events: number;
  took_ms: number;
}

export interface WebhookState {
  state: string;
  /** Why it is disabled. */
  reason?: string;
  disabled_at?: string;
  cursor: string;
  /** Events behind the cursor, selected or not. */
  lag: number;
  last_attempt?: Attempt;
  next_attempt?: string;
  /** In a row. */
  failures: number;
  failing_since?: string;
  delivered: number;
  dead_letters: number;
  missed: number;
  replay?: { after: string; to: string };
  replay_letters?: number;
}

export interface ShownWebhook {
  webhook: Webhook;
  /** The file that holds it, where it is changed. */
  file?: string;
  state: WebhookState;
  warnings?: string[];
}

export interface Sink {
  id: string;
  kind: string;
  to: string;
  events: string;
  state: WebhookState;
}

export interface DeadLetter {
  cursor: string;
  /** The id of the event. */
  event: string;
  at: string;
  attempts: number;
  status?: number;
  reason?: string;
}

/** Everything of the list; without webhooks there may be sinks. */
export interface Deliveries {
  webhooks: ShownWebhook[];
  sinks: Sink[];
}

export async function fetchDeliveries(signal: AbortSignal): Promise<Deliveries> {
  const none = (error: unknown): { webhooks: ShownWebhook[] } => {
    if (error instanceof ApiError && error.status === 404) return { webhooks: [] };
    throw error;
  };
  const [hooks, sinks] = await Promise.all([
    get<{ webhooks: ShownWebhook[] }>("v1/webhooks", { limit: 1000 }, signal).catch(none),
    get<{ sinks: Sink[] }>("v1/sinks", {}, signal),
  ]);
  return { ...hooks, ...sinks };
}

export const webhookPath = (id: string): string => `v1/webhooks/${part(id)}`;
export const sinkPath = (id: string): string => `v1/sinks/${part(id)}`;

export const fetchWebhook = (id: string): Promise<Tagged<ShownWebhook>> => getTagged(webhookPath(id));

/** Adds or replaces a webhook. The tag is that of the state that it replaces, or "new". */
export const putWebhook = (id: string, webhook: Webhook, tag: string): Promise<ShownWebhook> => send(webhookPath(id), { method: "PUT", body: webhook, tag });

export const deleteWebhook = (id: string, tag: string): Promise<void> => send(webhookPath(id), { method: "DELETE", tag });

/** The last attempts of a webhook or a sink, the newest first. */
export const fetchAttempts = async (path: string): Promise<Attempt[]> => (await get<{ attempts: Attempt[] }>(`${path}/attempts`)).attempts;

export const operate = (path: string, operation: "retry" | "enable" | "disable"): Promise<unknown> => send(`${path}/${operation}`, { method: "POST" });

export const replay = (id: string, from: string): Promise<unknown> => send(`${webhookPath(id)}/replay`, { method: "POST", body: { from } });

export const fetchLetters = async (id: string): Promise<DeadLetter[]> => (await get<{ dead_letters: DeadLetter[] }>(`${webhookPath(id)}/deadletters`, { limit: 1000 })).dead_letters;

export const replayLetter = (id: string, cursor: string): Promise<unknown> => send(`${webhookPath(id)}/deadletters/${part(cursor)}/replay`, { method: "POST" });
