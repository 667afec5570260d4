// Kinds: the kinds of event, each with its words, its sign and its colour. A kind that is not listed here is one of a
// newer server: it keeps its own name and a neutral sign.

import type { CountEventData, EventData, FenceEvent, NearEventData } from "../api";
import type { IconName } from "../dom";
import { formatCount } from "../format";

interface KindOfEvent {
  /** Between an object and a fence. */
  verb: string;
  one: string;
  many: string;
  /** Before the place of many: "142 enters in Harlem South". */
  link: string;
  sign: IconName;
  /** The part of the style sheet's name of the colour. */
  colour: KindColour;
  /** It tells that something still is so, and comes with each position: the map does not flash for it. */
  repeats?: boolean;
}

export const kindColours = ["enter", "exit", "dwell", "inside", "outside", "cross", "condition"] as const;
export type KindColour = (typeof kindColours)[number];

const kinds: ReadonlyMap<string, KindOfEvent> = new Map<string, KindOfEvent>([
  ["enter", { verb: "enters", one: "enter", many: "enters", link: "in", sign: "enter", colour: "enter" }],
  ["exit", { verb: "exits", one: "exit", many: "exits", link: "in", sign: "exit", colour: "exit" }],
  ["dwell", { verb: "dwells in", one: "dwell", many: "dwells", link: "in", sign: "dwell", colour: "dwell" }],
  ["inside", { verb: "is inside", one: "position inside", many: "positions inside", link: "of", sign: "inside", colour: "inside", repeats: true }],
  ["outside", { verb: "is outside of", one: "position outside", many: "positions outside", link: "of", sign: "outside", colour: "outside", repeats: true }],
  ["cross", { verb: "crosses", one: "crossing", many: "crossings", link: "of", sign: "cross", colour: "cross" }],
  ["condition_begin", { verb: "meets", one: "condition met", many: "conditions met", link: "in", sign: "begin", colour: "condition" }],
  ["condition_end", { verb: "no longer meets", one: "condition ended", many: "conditions ended", link: "in", sign: "end", colour: "condition" }],
  ["count_begin", { verb: "fills to", one: "count reached", many: "counts reached", link: "in", sign: "fill", colour: "condition" }],
  ["count_end", { verb: "empties to", one: "count no longer reached", many: "counts no longer reached", link: "in", sign: "drain", colour: "condition" }],
  ["near_begin", { verb: "meets", one: "meeting", many: "meetings", link: "of", sign: "meet", colour: "condition" }],
  ["near_end", { verb: "parts from", one: "parting", many: "partings", link: "of", sign: "part", colour: "condition" }],
]);

/** A button of the filter: its word, and the kinds that it stands for. */
export interface KindChoice {
  word: string;
  kinds: readonly string[];
  /** Shown only when the rare ones are asked for, or while it is chosen. */
  rare: boolean;
}

export const kindChoices: readonly KindChoice[] = [
  { word: "enter", kinds: ["enter"], rare: false },
  { word: "exit", kinds: ["exit"], rare: false },
  { word: "dwell", kinds: ["dwell"], rare: false },
  { word: "inside", kinds: ["inside"], rare: true },
  { word: "outside", kinds: ["outside"], rare: true },
  { word: "cross", kinds: ["cross"], rare: true },
  { word: "condition", kinds: ["condition_begin", "condition_end"], rare: true },
  { word: "count", kinds: ["count_begin", "count_end"], rare: true },
  { word: "near", kinds: ["near_begin", "near_end"], rare: true },
];

/** Choices for the filtered kinds that no button stands for: those of a newer server, which an address may hold. */
export function unlistedChoices(filtered: readonly string[]): KindChoice[] {
  return filtered.filter((kind) => !kinds.has(kind)).map((kind) => ({ word: plain(kind), kinds: [kind], rare: true }));
}

/** The filtered kinds with a choice added, or taken away if all of it is there. */
export function toggleChoice(filtered: readonly string[], { kinds: own }: KindChoice): string[] {
  const others = filtered.filter((kind) => !own.includes(kind));
  return isChosen(filtered, own) ? others : [...others, ...own];
}

export function isChosen(filtered: readonly string[], own: readonly string[]): boolean {
  return own.every((kind) => filtered.includes(kind));
}

/** The event's kind: "paddock.fence.enter" -> "enter". */
export function eventKind(event: FenceEvent): string {
  return event.type.slice(event.type.lastIndexOf(".") + 1);
}

/** Whether it is a kind that this page knows. */
export function isKind(name: string): boolean {
  return kinds.has(name);
}

/** "enter" -> "enters"; an unknown kind as plain words. */
export function verb(kind: string): string {
  return kinds.get(kind)?.verb ?? plain(kind);
}

/** "142 enters", "1 exit", "3 × door opened". */
export function countOf(n: number, kind: string): string {
  const known = kinds.get(kind);
  if (!known) return `${formatCount(n)} × ${plain(kind)}`;
  return `${formatCount(n)} ${n === 1 ? known.one : known.many}`;
}

/** The word between countOf and a place. */
export function placeLink(kind: string): string {
  return kinds.get(kind)?.link ?? "in";
}

export function kindSign(kind: string): IconName {
  return kinds.get(kind)?.sign ?? "other";
}

/** The colour of a kind; null is a neutral one. */
export function kindColour(kind: string): KindColour | null {
  return kinds.get(kind)?.colour ?? null;
}

/** Whether the event is a change, which the map lights up. */
export function isChange(kind: string): boolean {
  return kinds.get(kind)?.repeats !== true;
}

/** Whether an event is about how many objects are in a fence. */
export function isCount(data: EventData): data is CountEventData {
  return data.object === null;
}

/** Whether an event is about two objects. */
export function isNear(data: EventData): data is NearEventData {
  return data.set === null;
}

/** Whether the event is about a rule's condition in a fence, and not about the fence itself. */
export function isCondition(kind: string): boolean {
  return kind === "condition_begin" || kind === "condition_end";
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["move", "a move"],
  ["initial", "its first position"],
  ["fence_added", "the fence was added"],
  ["fence_changed", "the fence was changed"],
  ["fence_removed", "the fence was removed"],
  ["ttl", "silence for too long"],
  ["object_removed", "the object was removed"],
  ["rule_added", "a rule for it was added"],
  ["rule_removed", "the rules for it were removed"],
  ["schedule", "the hours of a rule began or ended"],
  ["expired", "the last hours of a rule ended"],
]);

export function isKnownReason(reason: string): boolean {
  return reasons.has(reason);
}

/** Why an event happened, in words. */
export function reasonText(reason: string): string {
  return reasons.get(reason) ?? plain(reason);
}

/** "fence_added" -> "fence added". */
export function plain(name: string): string {
  return name.replaceAll("_", " ");
}
