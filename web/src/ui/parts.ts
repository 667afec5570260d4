// Parts that more than one details panel is made of.

import type { FenceEvent, Properties } from "../api";
import type { App } from "../app";
import { fill, fillKeyed, h, icon, setText, type Child } from "../dom";
import { formatPlace } from "../format";
import { eventKey } from "../model/feed";
import { eventRow } from "./feed";

/** A heading with content that changes; hidden while there is none. */
export function section(title: string, className = ""): { element: HTMLElement; heading: HTMLElement; content: HTMLElement } {
  const heading = h("h3", {}, title);
  const content = h("div", { class: className });
  return { element: h("section", { class: "part" }, heading, content), heading, content };
}

export type Pair = [name: string, value: Child];

export function pairs(rows: Pair[]): HTMLElement {
  return h("dl", { class: "pairs" }, ...rows.map(pair));
}

/** Brings a list made by pairs up to now; rows that say the same stay. */
export function updatePairs(list: HTMLElement, rows: Pair[]): void {
  const text = (value: Child): string => {
    // A time is what it stands for, not what it said when it was written.
    if (value instanceof HTMLTimeElement) return value.dateTime;
    // A place that moves brings itself up to now.
    if (value instanceof HTMLElement && value.classList.contains("place")) return "";
    return value instanceof Node ? (value.textContent ?? "") : String(value);
  };
  fillKeyed(list, rows, ([name, value]) => `${name}\n${text(value)}`, pair);
}

function pair([name, value]: Pair): HTMLElement {
  return h("div", {}, h("dt", {}, name), h("dd", {}, value));
}

export function properties(all: Properties | undefined): HTMLElement {
  const entries = Object.entries(all ?? {});
  if (entries.length === 0) return h("p", { class: "note" }, "No properties.");
  return pairs(entries.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]));
}

/** The newest first, each event once, at most limit. */
export function lastEvents(past: readonly FenceEvent[], recent: readonly FenceEvent[], limit: number): FenceEvent[] {
  const all = new Map([...past, ...recent].map((event) => [eventKey(event), event]));
  return [...all.values()].sort((a, b) => Date.parse(b.time) - Date.parse(a.time)).slice(0, limit);
}

export function eventList(app: App, target: HTMLElement, events: readonly FenceEvent[], leaveOut: "object" | "fence"): void {
  listOf(target, "rows", events, eventKey, (event) => eventRow(app, event, leaveOut), "None yet.");
}

/** Fills the target with a list of the items, or with a note if there are none; entries that stay are kept. */
export function listOf<T>(
  target: HTMLElement,
  className: string,
  items: readonly T[],
  key: (item: T) => string,
  create: (item: T) => HTMLElement,
  none: string,
): void {
  if (items.length === 0) {
    fill(target, h("p", { class: "note" }, none));
    return;
  }
  let list = target.querySelector("ul");
  if (!list) {
    list = h("ul", { class: className });
    fill(target, list);
  }
  fillKeyed(list, items, key, create);
}

/** A place in the order that maps and people use, with a button that copies it; show moves it, and the button stays. */
export function place(lat: number, lon: number): { element: HTMLElement; show(lat: number, lon: number): void } {
  const text = h("span");
  const element = h("span", { class: "place" }, text, copyButton("Copy latitude and longitude", () => text.textContent, ""));
  const show = (lat: number, lon: number): void => setText(text, formatPlace(lat, lon));
  show(lat, lon);
  return { element, show };
}

/** Copies text; the button says whether that worked. Where there is little room, its word is "". */
export function copyButton(label: string, text: () => string, word = "Copy"): HTMLButtonElement {
  const button = h("button", { type: "button", class: "copy", "aria-label": label, title: label }, icon("copy"), word);
  button.addEventListener("click", () => {
    void copy(text()).then((worked) => {
      fill(button, icon(worked ? "check" : "close"), word === "" ? "" : worked ? "Copied" : "Not allowed");
      setTimeout(() => fill(button, icon("copy"), word), 1600);
    });
  });
  return button;
}

/** Reports whether that worked. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Pages that are neither https nor on this machine have no clipboard but this. */
function copyBySelection(text: string): boolean {
  const area = h("textarea", { class: "visually-hidden" });
  area.value = text;
  document.body.append(area);
  area.select();
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only way there
  const worked = document.execCommand("copy");
  area.remove();
  return worked;
}

export function failure(error: unknown): HTMLElement {
  return h("p", { class: "note" }, error instanceof Error ? error.message : String(error));
}
