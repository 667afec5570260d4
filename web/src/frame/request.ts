// Requests of the pages: questions, and changes under the condition that nothing else has changed meanwhile.

import { ApiError, apiURL, json, request } from "../api";

export type Query = Record<string, string | number | undefined>;

/** A part of a path, such as an id, as it is written in one. */
export function part(text: string): string {
  return encodeURIComponent(text);
}

export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return json<T>(request(apiURL(path, query), signal));
}

/** An answer with the tag of the state that it is of. */
export interface Tagged<T> {
  value: T;
  tag: string;
}

export async function getTagged<T>(path: string, query: Query = {}): Promise<Tagged<T>> {
  const response = await request(apiURL(path, query));
  return { value: await json<T>(Promise.resolve(response)), tag: response.headers.get("ETag") ?? "" };
}

export interface Change {
  method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** A value is sent as JSON, a Blob as it is. */
  body?: unknown;
  type?: string;
  /** The state that is changed; "*" is any, "new" asks that there is none. */
  tag?: string;
}

/** Makes a change. The answer is undefined if the server sends none. */
export async function send<T>(path: string, { method, body, type = "application/json", tag }: Change): Promise<T> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = type;
  if (tag === "new") headers["If-None-Match"] = "*";
  else if (tag !== undefined && tag !== "") headers["If-Match"] = tag;
  const init: RequestInit = { method, headers };
  if (body !== undefined) init.body = body instanceof Blob ? body : JSON.stringify(body);
  const response = await request(apiURL(path), undefined, init);
  if (response.status === 204) return undefined as T;
  return json<T>(Promise.resolve(response));
}

/** What to tell about a failed request. */
export function explain(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error);
  switch (error.status) {
    case 401:
      return "The session has ended: reload the page, and give the key again.";
    case 403:
      return `Not allowed: ${error.message}.`;
    case 412:
      return "It was changed meanwhile: reload it, and make the change again.";
  }
  return sentence(error.message);
}

/** A message of the server as a sentence; the name of a field at its beginning stays as it is. */
export function sentence(text: string): string {
  const begun = /^[\w.]+:/.test(text) ? text : text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
