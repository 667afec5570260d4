// Times that keep themselves right: "3 min" grows while it is on the page; the exact instant is its tooltip.

import { h, setText } from "../dom";
import { formatClock, formatDuration, formatInstant } from "../format";

/** The time of day of an RFC 3339 text or of Unix ms. */
export function clockTime(time: string | number): HTMLTimeElement {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return h("time", {}, "unknown");
  return h("time", { datetime: date.toISOString(), title: formatInstant(date) }, formatClock(date));
}

/** How long ago an instant was; tickTimes keeps it current. */
export function ago(time: string | number): HTMLTimeElement {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return h("time", {}, "unknown");
  const element = h("time", { datetime: date.toISOString(), title: formatInstant(date), "data-ago": date.getTime() });
  element.textContent = sinceText(date.getTime());
  return element;
}

function sinceText(ms: number): string {
  const age = Date.now() - ms;
  return age < 1000 ? "now" : formatDuration(age < 10_000 ? Math.floor(age / 1000) * 1000 : age).replace(".0 s", " s");
}

/** Brings all of ago()'s elements on the page up to now. Call it once a second. */
export function tickTimes(): void {
  for (const element of document.querySelectorAll<HTMLElement>("time[data-ago]")) {
    setText(element, sinceText(Number(element.dataset.ago)));
  }
}
