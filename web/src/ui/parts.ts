// Parts that more than one details panel is made of.

import type { FenceEvent, Properties } from "../api";
import type { App } from "../app";
import { fill, h, icon, type Child } from "../dom";
import { eventKey } from "../model/feed";
import { eventRow } from "./feed";

/** A heading with content that changes; hidden while there is none. */
export function section(title: string, className = ""): { element: HTMLElement; heading: HTMLElement; content: HTMLElement } {
  const heading = h("h3", {}, title);
  const content = h("div", { class: className });
  return { element: h("section", { class: "part" }, heading, content), heading, content };
}

export function pairs(rows: [name: string, value: Child][]): HTMLElement {
  return h("dl", { class: "pairs" }, ...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
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
  if (events.length === 0) fill(target, h("p", { class: "note" }, "None yet."));
  else fill(target, h("ol", { class: "rows" }, ...events.map((event) => eventRow(app, event, leaveOut))));
}

/** Copies text; the button says whether that worked. */
export function copyButton(label: string, text: () => string): HTMLButtonElement {
  const button = h("button", { type: "button", class: "copy", "aria-label": label, title: label }, icon("copy"), "Copy");
  button.addEventListener("click", () => {
    void copy(text()).then((worked) => {
      fill(button, icon(worked ? "check" : "close"), worked ? "Copied" : "Not allowed");
      setTimeout(() => fill(button, icon("copy"), "Copy"), 1600);
    });
  });
  return button;
}

async function copy(text: string): Promise<boolean> {
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
