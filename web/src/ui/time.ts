// Times that keep themselves right: "3 min ago" grows while it is on the page, and a time of day changes with the zone; the
// exact instant, here and in UTC, is the tooltip.

import { h, setText } from "../dom";
import { formatBoth, formatClock, formatDuration, formatInstant, formatUTC } from "../format";
import { utc } from "./zone";

/** The time of day of an RFC 3339 text or of Unix ms. */
export function clockTime(time: string | number): HTMLTimeElement {
  return zoned(time, "clock");
}

/** The exact instant of an RFC 3339 text or of Unix ms. */
export function instantTime(time: string | number): HTMLTimeElement {
  return zoned(time, "instant");
}

const formats = {
  clock: (ms: number) => formatClock(ms, utc.value),
  instant: (ms: number) => (utc.value ? formatUTC(ms) : formatInstant(ms)),
};

function zoned(time: string | number, format: keyof typeof formats): HTMLTimeElement {
  const date = new Date(time);
  const ms = date.getTime();
  if (Number.isNaN(ms)) return h("time", {}, "unknown");
  return h("time", { datetime: date.toISOString(), title: formatBoth(date), "data-ms": ms, "data-format": format }, formats[format](ms));
}

utc.watch(() => {
  for (const element of document.querySelectorAll<HTMLElement>("time[data-ms]")) {
    const format = formats[element.dataset.format as keyof typeof formats];
    setText(element, format(Number(element.dataset.ms)));
  }
});

/** How long ago an instant was: "now", "3 s ago"; tickTimes keeps it current. */
export function ago(time: string | number): HTMLTimeElement {
  return counting(time, " ago");
}

/** How long something has lasted since an instant: "3 s"; tickTimes keeps it current. */
export function lasting(time: string | number): HTMLTimeElement {
  return counting(time, "");
}

function counting(time: string | number, suffix: string): HTMLTimeElement {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return h("time", {}, "unknown");
  const element = h("time", { datetime: date.toISOString(), title: formatBoth(date), "data-since": date.getTime(), "data-suffix": suffix });
  element.textContent = sinceText(date.getTime(), suffix);
  return element;
}

function sinceText(ms: number, suffix: string): string {
  const age = Math.max(0, Date.now() - ms);
  if (age < 1000 && suffix !== "") return "now";
  return formatDuration(age < 10_000 ? Math.floor(age / 1000) * 1000 : age).replace(".0 s", " s") + suffix;
}

/** Brings all of ago()'s and lasting()'s elements on the page up to now. Call it once a second. */
export function tickTimes(): void {
  for (const element of document.querySelectorAll<HTMLElement>("time[data-since]")) {
    setText(element, sinceText(Number(element.dataset.since), element.dataset.suffix ?? ""));
  }
}
