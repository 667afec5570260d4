// The details of the selection: a card that a fence, an object or an event fills in.

import type { App } from "../app";
import { fill, h, icon } from "../dom";
import { sameSelection, type Selection } from "../view";
import { showPastObject } from "../past/object";
import { showEvent } from "./event-details";
import { showFence } from "./fence-details";
import { showObject } from "./object-details";

/** What a panel has: where to put its title and its content, and a signal that fires when it is closed. */
export interface Panel {
  title(kind: string, name: string, ...actions: HTMLElement[]): void;
  body: HTMLElement;
  closed: AbortSignal;
  /** Calls the function when the server may have something new on a subject: at once, on its events, and in between. */
  refresh(load: () => Promise<void>, everyMs: number, concerns: (event: import("../api").FenceEvent) => boolean): void;
}

/** Events that follow one another closely cause one request; on a busy fence that is the pace. */
const settleMs = 1_000;

export function createDetails(app: App): HTMLElement {
  const kind = h("span", { class: "details-kind" });
  const name = h("h2", { id: "details-title", tabindex: -1 });
  const actions = h("span", { class: "details-actions" });
  const body = h("div", { class: "scroll details-body", tabindex: 0, role: "group", "aria-labelledby": "details-title" });
  const close = h("button", { type: "button", class: "icon-button", "aria-label": "Close details", title: "Close (Esc)", onclick: () => app.select(null) }, icon("close"));
  const element = h(
    "section",
    { class: "card details-card", "aria-labelledby": "details-title", hidden: true },
    h("div", { class: "card-head" }, h("div", { class: "details-name" }, kind, name), actions, close),
    body,
  );

  let abort: AbortController | undefined;
  const open = (selection: Selection | null): void => {
    abort?.abort();
    element.hidden = selection === null;
    fill(body);
    fill(actions);
    if (!selection) return;
    abort = new AbortController();
    const { signal } = abort;
    show(app, selection, {
      title(kindText, nameText, ...buttons) {
        kind.textContent = kindText;
        name.textContent = nameText;
        fill(actions, ...buttons);
      },
      body,
      closed: signal,
      refresh: (load, everyMs, concerns) => keepFresh(app, signal, load, everyMs, concerns),
    });
    body.scrollTop = 0;
  };
  app.view.watch((now, before) => {
    if (!sameSelection(now.selection, before.selection)) open(now.selection);
  });
  app.scene.watch(() => open(app.view.value.selection));
  open(app.view.value.selection);
  return element;
}

function show(app: App, selection: Selection, panel: Panel): void {
  if (selection.kind === "fence") showFence(app, selection, panel);
  else if (selection.kind === "object") (app.past.active ? showPastObject : showObject)(app, selection, panel);
  else showEvent(app, selection, panel);
}

function keepFresh(app: App, closed: AbortSignal, load: () => Promise<void>, everyMs: number, concerns: Parameters<Panel["refresh"]>[2]): void {
  let soon: number | undefined;
  let busy = false;
  const run = async (): Promise<void> => {
    soon = undefined;
    if (busy || closed.aborted) return;
    busy = true;
    // A load reports its own failures in the panel.
    await load().catch(() => undefined);
    busy = false;
  };
  const unwatch = app.events.watch((events) => {
    if (events.some(concerns)) soon ??= window.setTimeout(() => void run(), settleMs);
  });
  const timer = window.setInterval(() => void run(), everyMs);
  closed.addEventListener("abort", () => {
    unwatch();
    clearInterval(timer);
    clearTimeout(soon);
  });
  void run();
}
