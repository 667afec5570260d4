// The words for events, the same everywhere on the page.

import type { FenceEvent } from "../api";
import type { App } from "../app";
import { h, icon, type IconName } from "../dom";
import { formatCount } from "../format";
import { eventKind, type Selection } from "../view";

/** "enter" -> "enters"; a kind that this page does not know keeps its own name. */
export function verb(kind: string): string {
  return { enter: "enters", exit: "exits", dwell: "dwells in", inside: "is inside", cross: "crosses" }[kind] ?? kind;
}

/** "142 enters", "1 exit", "3 dwells". */
export function countOf(n: number, kind: string): string {
  const noun = { enter: "enter", exit: "exit", dwell: "dwell" }[kind];
  return noun ? `${formatCount(n)} ${noun}${n === 1 ? "" : "s"}` : `${formatCount(n)} × ${kind}`;
}

/** The event's shape: with its colour, never instead of its word. */
export function kindIcon(kind: string): HTMLElement {
  const name: IconName = kind === "enter" || kind === "exit" || kind === "dwell" ? kind : "other";
  return h("span", { class: "kind", "data-kind": kind, "aria-hidden": "true" }, icon(name));
}

/** A fence's name: as its set's document has it, or what its properties or its id say while that is not loaded. */
export function fenceName(app: App, event: FenceEvent): string {
  const { set, fence } = event.data;
  return app.catalog.label(set, fence.id, fence.properties);
}

/** Opens the details of something. */
export function linkTo(app: App, selection: Selection, text: string): HTMLButtonElement {
  return h("button", { type: "button", class: "link", onclick: () => app.select(selection) }, text);
}

export function eventSelection(event: FenceEvent): Selection {
  return { kind: "event", set: event.data.set, id: event.id };
}

/** What a row says of an event, and the sentence it amounts to. */
export function describe(app: App, event: FenceEvent): { kind: string; object: string; fence: string; sentence: string } {
  const kind = eventKind(event);
  const object = event.data.object.id;
  const fence = fenceName(app, event);
  return { kind, object, fence, sentence: `${object} ${verb(kind)} ${fence}` };
}
