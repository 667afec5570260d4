// The words for events, the same everywhere on the page.

import type { FenceEvent, Pending } from "../api";
import type { App } from "../app";
import { h, icon } from "../dom";
import { eventKind, kindSign } from "../model/kinds";
import { pendingVerb } from "../model/policy";
import { joinPieces, placeName, sentence, type Piece } from "../model/sentence";
import type { Selection } from "../view";

/** The event's shape: with its colour, never instead of its word. */
export function kindIcon(kind: string): HTMLElement {
  return h("span", { class: "kind", "data-kind": kind, "aria-hidden": "true" }, icon(kindSign(kind)));
}

/** A fence's name: as its set's document has it, or what its properties or its id say while that is not loaded. */
export function placeOf(app: App, event: FenceEvent): string {
  return placeName(event.data, (set, { id, properties }) => app.catalog.label(set, id, properties));
}

/** Opens the details of something. */
export function linkTo(app: App, selection: Selection, text: string): HTMLButtonElement {
  return h("button", { type: "button", class: "link", onclick: () => app.select(selection) }, text);
}

/** Shows the events of a rule alone. */
export function linkToRule(app: App, rule: string): HTMLButtonElement {
  return h("button", { type: "button", class: "link", title: "Show the events of this rule only", onclick: () => app.showRule(rule) }, rule);
}

export function eventSelection(event: FenceEvent): Selection {
  return { kind: "event", set: eventSet(event), id: event.id };
}

/** The event's set; "_" of one that is about none, as in its subject on the bus. */
export function eventSet(event: FenceEvent): string {
  return event.data.set ?? "_";
}

/** What a row says of an event, and the sentence it amounts to. */
export function describe(app: App, event: FenceEvent): { kind: string; pieces: Piece[]; sentence: string } {
  const pieces = sentence(event, placeOf(app, event));
  return { kind: eventKind(event), pieces, sentence: joinPieces(pieces) };
}

/** "entering Depot 3", of a change that waits for its confirmation. */
export function describePending(app: App, pending: Pending): HTMLElement {
  const { set, fence, event } = pending;
  const name = linkTo(app, { kind: "fence", set, fence }, app.catalog.label(set, fence));
  return h("span", { class: "pending-what" }, h("span", { class: "verb", "data-kind": event }, pendingVerb(pending)), " ", name);
}
