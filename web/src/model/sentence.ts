// Sentence: an event in words, as pieces that a row can set in different type or leave out.

import type { EventData, FenceEvent } from "../api";
import { formatDistance, formatDuration, plural } from "../format";
import { eventKind, isCondition, isCount, isNear, plain, verb } from "./kinds";

export interface Piece {
  role: "object" | "other" | "verb" | "rule" | "fence";
  text: string;
  /** A word that leads to it: "in". */
  lead?: string;
}

/** The pieces of "v1 enters Depot 3" or "v1 meets over-the-limit in Depot 3"; place is placeName of the event. */
export function sentence(event: FenceEvent, place: string): Piece[] {
  const kind = eventKind(event);
  const { data } = event;
  const does: Piece = { role: "verb", text: verb(kind) };
  if (isCount(data)) return [{ role: "fence", text: place }, does, { role: "other", text: plural(data.count, "object") }];
  const start: Piece[] = [{ role: "object", text: data.object.id }, does];
  if (isNear(data)) return [...start, { role: "other", text: data.other.id }];
  if (!isCondition(kind)) return [...start, { role: "fence", text: place }];
  return [...start, { role: "rule", text: data.rule ?? "a condition" }, { role: "fence", lead: "in", text: place }];
}

export function joinPieces(pieces: readonly Piece[]): string {
  return pieces.map(({ lead, text }) => (lead ? `${lead} ${text}` : text)).join(" ");
}

/** The name of an event's place: label gives that of its fence; an event without one is about all of its set, or has no place. */
export function placeName({ set, fence }: Pick<EventData, "set" | "fence">, label: (set: string, fence: NonNullable<EventData["fence"]>) => string): string {
  if (set === null) return "";
  return fence ? label(set, fence) : `all fences of ${set}`;
}

/** What else a row says: how long, which way, which rule, and why if that is no move. */
export function facts(event: FenceEvent): string[] {
  const { data } = event;
  const { reason, rule } = data;
  const kind = eventKind(event);
  const all = [extent(data, kind)];
  if (isNear(data)) all.push(formatDistance(data.metres));
  else if (!isCount(data) && data.progress !== undefined) all.push(`at ${formatDistance(data.progress)}`);
  if (rule !== undefined && !isCondition(kind)) all.push(rule);
  if (reason !== "move") all.push(reason === "initial" ? "first position" : plain(reason));
  return all.filter(Boolean);
}

function extent(data: EventData, kind: string): string {
  const { duration_ms: duration, at } = data;
  if (isCount(data) || isNear(data)) return kind.endsWith("_end") ? `after ${formatDuration(duration)}` : "";
  const { left, direction } = data;
  if (kind === "cross") {
    if (direction !== undefined) return `to the ${direction}`;
    return left === undefined ? "" : `in ${formatDuration(Date.parse(left) - Date.parse(at))}`;
  }
  if (kind === "exit" || kind === "condition_end") return `after ${formatDuration(duration)}`;
  const lasts = kind === "dwell" || kind === "inside" || kind === "outside";
  return lasts && duration > 0 ? `for ${formatDuration(duration)}` : "";
}
