// The page's keys. None of them works while a text field has the focus, except Escape.

import type { App } from "../app";
import { draw } from "../draw/start";
import { mayWrite } from "../draw/rights";
import { showHelp } from "./help";
import { utc } from "./zone";

export function bindKeys(app: App, actions: { search: () => void; feed: () => void; copyPlace: () => void }): void {
  const keys: Record<string, () => void> = {
    "/": actions.search,
    p: () => app.setPaused(!app.paused.value),
    e: actions.feed,
    m: () => document.querySelector<HTMLElement>(".maplibregl-canvas")?.focus(),
    d: () => {
      if (mayWrite(app.grant.value)) void draw(app, { kind: "draw", shape: "polygon" });
    },
    f: () => app.map.value?.fit(),
    c: actions.copyPlace,
    u: () => utc.set(!utc.value),
    "?": showHelp,
    Escape: () => app.select(null),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open], :popover-open")) return;
    const field = event.target instanceof HTMLElement && event.target.matches("input:not([type=checkbox]), textarea, select");
    if (field && event.key !== "Escape") return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
