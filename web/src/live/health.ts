// Health: what the platform's doctor says in short, for an administrator: asked for now and then, never of a server that
// would refuse it.

import { apiURL, json, request } from "../api";
import { Signal } from "../signal";

/** The part of GET /v1/doctor's summary that the bar shows. */
export interface Health {
  /** Pairs of an object and a fence that it enters and leaves again and again. */
  flapping: number;
  failing_webhooks: number;
}

/** One thing that a check has found. */
export interface HealthItem {
  text: string;
  advice?: string;
  fleet?: string;
  object?: string;
}

const everyMs = 15_000;

/** Null until it is known, and for a key that is no administrator's. */
export function watchHealth(isVisible = () => document.visibilityState === "visible"): Signal<Health | null> {
  const health = new Signal<Health | null>(null);
  const ask = async (): Promise<void> => {
    if (!isVisible()) return;
    try {
      health.set((await get<{ summary: Health }>("v1/doctor", { only: "summary" })).summary);
    } catch {
      // The connection's banner says so.
    }
  };
  const start = async (): Promise<void> => {
    const { verbs } = await get<{ verbs: string[] }>("v1/session");
    if (!verbs.includes("admin")) return;
    window.setInterval(() => void ask(), everyMs);
    await ask();
  };
  // A server without the endpoint has no such figures.
  start().catch(() => undefined);
  return health;
}

/** What one check of the doctor has found. */
export async function fetchItems(check: string): Promise<HealthItem[]> {
  const { checks } = await get<{ checks: { items?: HealthItem[] }[] }>("v1/doctor", { only: check });
  return checks.flatMap(({ items }) => items ?? []);
}

async function get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
  return json<T>(request(apiURL(path, query)));
}
