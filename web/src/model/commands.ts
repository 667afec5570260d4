// The commands that subscribe to events like one event: for curl and for the NATS command line.

import { apiURL, type FenceEvent } from "../api";
import { eventKind } from "./kinds";

/** Bus subjects carry an id as one token: each byte outside A-Z a-z 0-9 _ - becomes %XX, and nothing becomes "_". */
export function subjectToken(id: string): string {
  if (id === "") return "_";
  let token = "";
  for (const byte of new TextEncoder().encode(id)) {
    const char = String.fromCharCode(byte);
    token += /[A-Za-z0-9_-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  // An id that is itself "_" must not read as none.
  return token === "_" ? "%5F" : token;
}

export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function curlCommand(event: FenceEvent): string {
  const { set, fence } = event.data;
  return `curl -N ${quoteForShell(apiURL("v1/events", { set: set ?? undefined, fence: fence?.id, event: eventKind(event) }))}`;
}

export function natsCommand(event: FenceEvent, server: string): string {
  const { set, fence } = event.data;
  const subject = ["fence", set ?? "", fence?.id ?? "", eventKind(event)].map(subjectToken).join(".");
  return `nats --server ${server} sub ${quoteForShell(`${subject}.>`)}`;
}
