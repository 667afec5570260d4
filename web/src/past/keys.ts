// The keys of the playback. They work wherever the focus is, except in fields, on buttons (space) and on the map (arrows).

import type { App } from "../app";
import { speeds } from "./span";

/** Seconds of the past by which an arrow moves; with Shift, more. */
const stepS = 10;
const leapS = 60;

export function bindPastKeys(app: App): void {
  const { past } = app;
  const move = (by: number) => (event: KeyboardEvent) => past.seek(past.clock.t + by * 1000 * (event.shiftKey ? leapS : stepS));
  const faster = (by: number) => () => {
    const at = speeds.indexOf(past.clock.speed) + by;
    if (speeds[at] !== undefined) past.setSpeed(speeds[at]);
  };
  const keys: Record<string, (event: KeyboardEvent) => void> = {
    " ": () => past.toggle(),
    ArrowLeft: move(-1),
    ArrowRight: move(1),
    Home: () => past.seek(past.clock.from),
    End: () => past.seek(past.clock.to),
    ",": () => void past.step(-1),
    ".": () => void past.step(1),
    "[": faster(-1),
    "]": faster(1),
    l: () => past.live(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open], :popover-open")) return;
    if (event.key === "h" && !past.active && !isField(event.target)) {
      event.preventDefault();
      openLastHour(app);
      return;
    }
    if (!past.active || !mayTake(event)) return;
    const action = keys[event.key];
    if (!action) return;
    event.preventDefault();
    action(event);
  });
}

export function openLastHour(app: App): void {
  const to = Math.floor(Date.now() / 1000) * 1000;
  app.past.open(to - 3_600_000, to);
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input:not([type=checkbox], [type=range]), textarea, select");
}

function mayTake({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return true;
  if (isField(target)) return false;
  if (key === " ") return !target.matches("button, summary, a, input[type=checkbox]");
  const moves = key.startsWith("Arrow") || key === "Home" || key === "End";
  return !(moves && target.closest(".maplibregl-map, [role=listbox], .details-body, .feed-card .scroll"));
}
