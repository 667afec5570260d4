// Requests: the addresses of the server that the page came from, and the failures of what is asked there.

import type { Finding } from "./api";
import { Signal } from "./signal";

/** Anything but a 2xx answer, with the detail of its problem+json body when there is one. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Of a refused fence. */
    readonly findings: readonly Finding[] = [],
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Where the page was served from; everything is asked of the same origin. */
const base = new URL(".", document.baseURI);

export function liveURL(): string {
  const url = new URL("v1/live", base);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}

/** The absolute address of an API path with a query; absent and empty parameters are left out. */
export function apiURL(path: string, query: Record<string, string | number | undefined> = {}): string {
  const url = new URL(path, base);
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(key, String(value));
  }
  return url.href;
}

async function problem(response: Response): Promise<ApiError> {
  let detail = response.statusText;
  let findings: Finding[] = [];
  try {
    const body = (await response.json()) as { detail?: unknown; title?: unknown; findings?: unknown };
    if (Array.isArray(body.findings)) findings = body.findings as Finding[];
    if (typeof body.detail === "string") detail = body.detail;
    else if (typeof body.title === "string") detail = body.title;
  } catch {
    // Not a problem document: the status says enough.
  }
  return new ApiError(response.status, detail || `HTTP ${response.status}`, findings);
}

/** The server gave no answer, or went in the middle of one. Browsers say "Failed to fetch" or "network error". */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super("The server does not answer. Is paddock still running, and this machine on the network?", { cause });
    this.name = "Unreachable";
  }
}

/** Names the server where a browser reports a failed connection; every other failure stays unchanged. */
export async function reached<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof TypeError ? new Unreachable(error) : error;
  }
}

/** Whether the session of this browser has ended. No request is made then: the server would refuse each. */
export const sessionOver = new Signal(false);

export function endRequests(): void {
  sessionOver.set(true);
}

export async function request(url: string, signal?: AbortSignal, init: RequestInit = {}): Promise<Response> {
  if (sessionOver.value) throw new ApiError(401, "The session has ended.");
  const headers = new Headers(init.headers);
  headers.set("X-Requested-With", "XMLHttpRequest"); // a browser asks for no password then
  const response = await reached(fetch(url, { ...init, headers, ...(signal ? { signal } : {}) }));
  if (response.status === 401) endRequests();
  if (!response.ok) throw await problem(response);
  return response;
}

export async function json<T>(response: Promise<Response>): Promise<T> {
  return reached((await response).json() as Promise<T>);
}
