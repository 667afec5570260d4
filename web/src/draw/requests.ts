// Requests that change fences, with the state of a set that they are meant for.

import { ApiError, apiURL, request, type FenceFeature, type Finding, type Grant } from "../api";
import { parseExact } from "./exact";

/** A fence as the server has it. */
export interface Stored {
  readonly set: string;
  readonly id: string;
  /** Names the state of its set. */
  readonly tag: string;
  readonly feature: FenceFeature;
}

/** The state that a change is meant for: that of a tag, or that there is no such fence. */
export type Condition = { tag: string } | "absent";

export interface Outcome {
  readonly tag: string;
  readonly findings: readonly Finding[];
}

const fencePath = (set: string, id: string): string => `v1/sets/${encodeURIComponent(set)}/fences/${encodeURIComponent(id)}`;

/** What the key of this browser permits. */
export async function fetchGrant(): Promise<Grant> {
  return (await (await request(apiURL("v1/session"))).json()) as Grant;
}

/** A fence in full detail with its state; null if it is not there. */
export async function fetchStored(set: string, id: string): Promise<Stored | null> {
  try {
    const response = await request(apiURL(fencePath(set, id)), undefined, { cache: "no-cache" });
    const text = await response.text();
    const feature = JSON.parse(text) as FenceFeature;
    const { properties } = parseExact(text) as FenceFeature;
    return { set, id, tag: response.headers.get("ETag") ?? "", feature: { ...feature, properties } };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

function headersOf(condition: Condition): Record<string, string> {
  return condition === "absent" ? { "If-None-Match": "*" } : { "If-Match": condition.tag };
}

/** Stores a fence, or with dryRun only tells what the server finds in it. */
export async function putFence(set: string, id: string, body: string, condition: Condition | null, dryRun: boolean): Promise<Outcome> {
  const headers = { "Content-Type": "application/geo+json", ...(condition ? headersOf(condition) : {}) };
  const url = apiURL(fencePath(set, id), dryRun ? { "dry-run": 1 } : {});
  const answer = (await (await request(url, undefined, { method: "PUT", headers, body })).json()) as { etag: string; findings?: Finding[] };
  return { tag: answer.etag, findings: answer.findings ?? [] };
}

export async function deleteFence(set: string, id: string, tag: string): Promise<void> {
  await request(apiURL(fencePath(set, id)), undefined, { method: "DELETE", headers: headersOf({ tag }) });
}

export function isStatus(error: unknown, ...status: number[]): error is ApiError {
  return error instanceof ApiError && status.includes(error.status);
}

/** Whether two states of a fence are the same fence: a set has other fences, whose changes give it another tag. */
export function sameFence(a: Stored, b: Stored): boolean {
  return JSON.stringify(a.feature) === JSON.stringify(b.feature);
}

/** How often a change is tried again when only other fences of the set have changed meanwhile. */
const tries = 4;

/**
 * Makes a change of a stored fence. Changes of other fences of its set do not stop it. If the fence itself has changed,
 * or gone, the result is what is there now.
 */
export async function changeStored<T>(stored: Stored, change: (tag: string) => Promise<T>): Promise<{ done: T } | { conflict: Stored | null }> {
  let { tag } = stored;
  for (let i = 1; ; i++) {
    try {
      return { done: await change(tag) };
    } catch (error) {
      if (isStatus(error, 404)) return { conflict: null };
      if (!isStatus(error, 412)) throw error;
    }
    const now = await fetchStored(stored.set, stored.id);
    if (!now || !sameFence(stored, now) || i === tries) return { conflict: now };
    tag = now.tag;
  }
}
