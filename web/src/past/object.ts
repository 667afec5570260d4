// Details of an object in the past: where it stood at the time of the playback, and its day: distance, stops, gaps, visits,
// and its track as files.

import { apiURL } from "../api";
import type { App } from "../app";
import { fill, h, icon, setText } from "../dom";
import { compass, formatDistance, formatDuration, formatSpeed, plural } from "../format";
import { stateName } from "../model/objects";
import type { Panel } from "../ui/details";
import { followButton } from "../ui/object-details";
import { listOf, pairs, place, section, updatePairs, type Pair } from "../ui/parts";
import { clockTime } from "../ui/time";
import { linkTo } from "../ui/words";
import { utc } from "../ui/zone";
import type { Selection } from "../view";
import type { PastVisit } from "./api";
import type { DayTrack, Interval } from "./day";
import type { TrackColour } from "./player";
import { moreVisits, trackError } from "./selected";
import { intervalOf } from "./slider";
import { dateAfter, dateText } from "./span";

type ObjectSelection = Extract<Selection, { kind: "object" }>;

/** Lists of the panel are not longer than this; the files are whole. */
const mostRows = 100;
/** A file has at most so many positions. */
const mostInFile = 100_000;

/** Opens the day of an object: today, or in the past the day of the playback. */
export function dayButton(app: App): HTMLElement {
  const open = (): void => app.past.setDay(dateText(app.past.active ? app.past.clock.t : Date.now(), utc.value));
  return h("button", { type: "button", class: "toggle", title: "Its track and its visits of a day", onclick: open }, icon("history"), "Day");
}

export function showPastObject(app: App, selection: ObjectSelection, panel: Panel): void {
  const { past } = app;
  const { fleet, id } = selection;
  panel.title(`Object · ${fleet}`, id, followButton(app, panel.closed));
  const then = section("At this time");
  const day = section("Day");
  const track = section("Track");
  const visits = section("Visits");
  const stops = section("Stops");
  const files = section("Download");
  panel.body.append(then.element, day.element, track.element, visits.element, stops.element, files.element);
  showThen(app, selection, then.content, panel.closed);
  day.content.append(dayPicker(app, panel.closed));
  const colour = colourChoice(app, panel.closed);
  const facts = pairs([]);
  const note = h("p", { class: "note" });
  track.content.append(facts, colour, note);
  const drawTrack = (): void => {
    const now = past.track.value;
    const error = trackError.value;
    setText(note, error || (now ? (now.t.length === 0 ? "No positions in this time." : "") : "Loading…"));
    note.hidden = note.textContent === "";
    facts.hidden = colour.hidden = stops.element.hidden = !now || now.t.length === 0;
    if (!now) return;
    updatePairs(facts, factsOf(now));
    const list = now.stops.slice(0, mostRows);
    listOf(stops.content, "members", list, ({ from }) => String(from), (stop) => intervalRow(app, stop, null), "None of three minutes or more.");
  };
  const drawVisits = (): void => {
    fill(visits.heading, "Visits", h("span", { class: "count" }, `${past.visits.value.length}${moreVisits.value ? "+" : ""}`));
    fill(visits.content, visitTable(app, past.visits.value));
  };
  const drawFiles = (): void => {
    fill(files.content, ...fileLinks(app, selection));
  };
  for (const end of [past.track.bind(drawTrack), trackError.watch(drawTrack), past.visits.bind(drawVisits), utc.watch(drawVisits), app.catalog.sets.watch(drawVisits)]) {
    panel.closed.addEventListener("abort", end);
  }
  onSpan(app, panel.closed, drawFiles);
}

/** Calls the function now and whenever the span has changed. */
function onSpan(app: App, closed: AbortSignal, draw: () => void): void {
  let drawn = "";
  const check = (): void => {
    const { from, to } = app.past.clock;
    const key = `${from} ${to}`;
    if (key === drawn) return;
    drawn = key;
    draw();
  };
  closed.addEventListener("abort", app.past.tick.watch(check));
  check();
}

function showThen(app: App, { fleet, id }: ObjectSelection, target: HTMLElement, closed: AbortSignal): void {
  const list = pairs([]);
  const where = place(0, 0);
  const none = h("p", { class: "note" }, "Not known at this time, or not in this part of the map.");
  target.append(list, none);
  let told = 0;
  const draw = (): void => {
    // Figures that change 30 times a second cannot be read.
    const now = performance.now();
    if (app.past.clock.playing && now - told < 200) return;
    told = now;
    const object = app.objects.find(fleet, id);
    list.hidden = !object;
    none.hidden = object !== undefined;
    if (!object) return;
    where.show(object.lat, object.lon);
    const rows: Pair[] = [
      ["State", stateName(object.state)],
      ["Lat, lon", where.element],
      ["Speed", Number.isNaN(object.speed) ? "not reported" : formatSpeed(object.speed)],
    ];
    if (!Number.isNaN(object.heading)) rows.push(["Heading", `${compass(object.heading)} · ${Math.round(object.heading)}°`]);
    updatePairs(list, rows);
  };
  closed.addEventListener("abort", app.frame.bind(draw));
}

function dayPicker(app: App, closed: AbortSignal): HTMLElement {
  const { past } = app;
  const field = h("input", {
    type: "date",
    "aria-label": "Day",
    onchange: () => {
      if (field.value !== "") past.setDay(field.value);
    },
  });
  const by = (days: number) => () => past.setDay(dateAfter(dateText(past.clock.from, utc.value), days));
  const step = (label: string, name: "chevron", className: string, days: number): HTMLElement =>
    h("button", { type: "button", class: `icon-button ${className}`, "aria-label": label, title: label, onclick: by(days) }, icon(name));
  const whole = h("button", { type: "button", class: "toggle", onclick: () => past.setDay(dateText(past.clock.t, utc.value)) }, "Whole day");
  const draw = (): void => {
    const value = dateText(past.clock.from, utc.value);
    if (document.activeElement !== field && field.value !== value) field.value = value;
    whole.hidden = past.date !== null;
  };
  for (const end of [past.tick.bind(draw), utc.watch(draw)]) closed.addEventListener("abort", end);
  return h("div", { class: "past-picker" }, step("The day before", "chevron", "flip", -1), field, step("The next day", "chevron", "", 1), whole);
}

function factsOf({ t, metres, drivingMs, stops, gaps }: DayTrack): Pair[] {
  const lost = gaps.reduce((sum, { from, to }) => sum + to - from, 0);
  const rows: Pair[] = [
    ["Driven", `${formatDistance(metres)} in ${formatDuration(drivingMs)}`],
    ["First, last", t.length > 0 ? h("span", {}, clockTime(t[0]!), " – ", clockTime(t.at(-1)!)) : "–"],
    ["Stood", stops.length === 0 ? "never for three minutes" : `${formatDuration(stops.reduce((sum, { from, to }) => sum + to - from, 0))} in ${plural(stops.length, "stop")}`],
  ];
  if (gaps.length > 0) rows.push(["Not heard", `${formatDuration(lost)} in ${plural(gaps.length, "gap")}`]);
  return rows;
}

function colourChoice(app: App, closed: AbortSignal): HTMLElement {
  const choice = (value: TrackColour, word: string): HTMLButtonElement => {
    const button = h("button", { type: "button", onclick: () => app.past.colour.set(value) }, word);
    closed.addEventListener("abort", app.past.colour.bind((now) => button.setAttribute("aria-pressed", String(now === value))));
    return button;
  };
  const [low, high] = [h("span"), h("span")];
  const ends = { speed: ["0", "90 km/h"], time: ["first", "last"] } as const;
  closed.addEventListener(
    "abort",
    app.past.colour.bind((now) => {
      setText(low, ends[now][0]);
      setText(high, ends[now][1]);
    }),
  );
  return h(
    "div",
    { class: "past-colour" },
    h("div", { class: "colouring", role: "group", "aria-label": "The line's colour tells" }, h("span", {}, "Colour by"), choice("speed", "speed"), choice("time", "time")),
    h("div", { class: "past-ramp" }, low, h("i", { "aria-hidden": "true" }), high),
  );
}

function visitTable(app: App, visits: readonly PastVisit[]): HTMLElement {
  if (visits.length === 0) return h("p", { class: "note" }, "None in this time.");
  const row = (visit: PastVisit): HTMLElement => {
    const { set, fence, open } = visit;
    const { from, to } = intervalOf(visit, app.past.clock.to);
    const name = linkTo(app, { kind: "fence", set, fence }, app.catalog.label(set, fence));
    return h(
      "tr",
      { "data-colour": app.catalog.colour(set) },
      h("td", {}, h("span", { class: "past-fence" }, h("i", { class: "swatch", "aria-hidden": "true" }), name)),
      h("td", {}, seekTo(app, from)),
      h("td", {}, open ? "still in" : seekTo(app, to)),
      h("td", {}, open ? "" : formatDuration(to - from)),
    );
  };
  const rows = visits.slice(0, mostRows).map(row);
  const table = h(
    "table",
    { class: "past-table" },
    h("thead", {}, h("tr", {}, ...["Fence", "From", "To", "For"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, ...rows),
  );
  const more = visits.length > mostRows ? h("p", { class: "note" }, `and ${visits.length - mostRows} more, in the file`) : null;
  return h("div", {}, table, more);
}

/** A time that the playback goes to. */
function seekTo(app: App, t: number): HTMLElement {
  const go = (): void => app.past.seek(t);
  return h("button", { type: "button", class: "link", title: "Go to this time", onclick: go }, clockTime(t));
}

function intervalRow(app: App, { from, to }: Interval, name: string | null): HTMLElement {
  return h("li", {}, name, seekTo(app, from), h("span", { class: "hit-detail" }, `for ${formatDuration(to - from)}`));
}

function fileLinks(app: App, { fleet, id }: ObjectSelection): HTMLElement[] {
  const { from, to } = app.past.clock;
  const span = { fleet, from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const track = (format: string): string => apiURL(`v1/objects/${encodeURIComponent(id)}/track`, { ...span, format, limit: mostInFile });
  const link = (label: string, href: string, name: string): HTMLElement => h("a", { class: "past-file", href, download: name }, label);
  const file = id.replace(/[^\w.-]+/g, "_");
  const date = dateText(from, utc.value);
  return [
    h(
      "div",
      { class: "past-files" },
      link("GPX", track("gpx"), `${file}-${date}.gpx`),
      link("GeoJSON", track("geojson"), `${file}-${date}.geojson`),
      link("CSV", track("csv"), `${file}-${date}.csv`),
      link("Visits as CSV", apiURL("v1/visits", { ...span, object: id, format: "csv", limit: 10_000 }), `${file}-${date}-visits.csv`),
    ),
  ];
}
