// The slider of the playback: the span from left to right, with the selected object's visits and gaps as bars over it.

import type { App } from "../app";
import { fill, h, setText } from "../dom";
import { formatClock } from "../format";
import { utc } from "../ui/zone";
import type { PastVisit } from "./api";
import type { Interval } from "./day";
import { marksOf } from "./span";

/** Bars beyond this would be thinner than they can be seen. */
const mostBars = 300;
const mostLanes = 4;

const date = { weekday: "short", day: "numeric", month: "short" } as const;
const local = new Intl.DateTimeFormat("en-GB", date);
const inUTC = new Intl.DateTimeFormat("en-GB", { ...date, timeZone: "UTC" });

/** "Thu, 12 Mar". */
export function formatDate(ms: number): string {
  return (utc.value ? inUTC : local).format(ms);
}

export function createSlider(app: App): HTMLElement {
  const { past } = app;
  const range = h("input", {
    type: "range",
    class: "past-range",
    min: 0,
    step: 1,
    "aria-label": "Time of the playback",
    oninput: () => past.seek(past.clock.from + Number(range.value) * 1000),
  });
  const lanes = h("div", { class: "past-lanes", "aria-hidden": "true" });
  const marks = h("div", { class: "past-marks", "aria-hidden": "true" });
  let drawn = "";
  const draw = (): void => {
    const { from, to, t } = past.clock;
    if (!past.active || to <= from) return;
    range.max = String(Math.round((to - from) / 1000));
    range.value = String(Math.round((t - from) / 1000));
    range.style.setProperty("--at", `${((t - from) / (to - from)) * 100}%`);
    range.setAttribute("aria-valuetext", `${formatClock(t, utc.value)}, ${formatDate(t)}`);
    const key = `${from} ${to} ${utc.value}`;
    if (key === drawn) return;
    drawn = key;
    fill(marks, ...drawMarks(from, to));
  };
  const drawLanes = (): void => fill(lanes, ...bars(app, past.visits.value, past.track.value?.gaps ?? []));
  past.tick.bind(draw);
  utc.watch(draw);
  past.visits.watch(drawLanes);
  past.track.watch(drawLanes);
  return h("div", { class: "past-slider" }, lanes, range, marks);
}

function place(app: App, { from, to }: Interval): string | null {
  const { clock } = app.past;
  const length = clock.to - clock.from;
  const [a, b] = [Math.max(0, (from - clock.from) / length), Math.min(1, (to - clock.from) / length)];
  return b > a ? `left:${(a * 100).toFixed(3)}%;width:max(2px,${((b - a) * 100).toFixed(3)}%)` : null;
}

/** A lane for each set, and one for the gaps of the track. */
function bars(app: App, visits: readonly PastVisit[], gaps: readonly Interval[]): HTMLElement[] {
  const bySet = new Map<string, PastVisit[]>();
  for (const visit of visits.slice(0, mostBars)) bySet.set(visit.set, [...(bySet.get(visit.set) ?? []), visit]);
  const bar = (className: string, interval: Interval): HTMLElement | null => {
    const where = place(app, interval);
    if (!where) return null;
    const element = h("i", { class: className });
    element.style.cssText = where;
    return element;
  };
  const lanes = [...bySet].slice(0, mostLanes).map(([set, list]) =>
    h("div", { class: "past-lane", "data-colour": app.catalog.colour(set) }, ...list.map((visit) => bar("past-visit", intervalOf(visit, app.past.clock.to)))),
  );
  if (gaps.length > 0) lanes.push(h("div", { class: "past-lane" }, ...gaps.slice(0, mostBars).map((gap) => bar("past-gap", gap))));
  return lanes;
}

/** An open visit lasts until the end of what is shown. */
export function intervalOf({ begin, end }: PastVisit, last: number): Interval {
  return { from: Date.parse(begin), to: end === undefined ? last : Date.parse(end) };
}

function drawMarks(from: number, to: number): HTMLElement[] {
  const { times, days } = marksOf(from, to, utc.value);
  return times.map((t) => {
    const mark = h("span", {}, days ? formatDate(t) : formatClock(t, utc.value).slice(0, 5));
    const share = (t - from) / (to - from);
    mark.style.left = `${share * 100}%`;
    mark.dataset.edge = share < 0.02 ? "first" : share > 0.98 ? "last" : "";
    return mark;
  });
}

/** Writes the time of the playback into two elements. */
export function showTime(app: App, clock: HTMLElement, day: HTMLElement): void {
  const { t } = app.past.clock;
  setText(clock, formatClock(t, utc.value));
  setText(day, `${formatDate(t)} · ${utc.value ? "UTC" : "local"}`);
}
