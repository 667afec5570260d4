// Details of an event: what happened in a sentence, the event as JSON, and the commands that subscribe to its like.

import { fetchEvents, type EventData, type EventQuery, type FenceEvent, type FenceEventData } from "../api";
import type { App, Marked } from "../app";
import { fill, h } from "../dom";
import { formatCount, formatDistance, formatDuration, plural } from "../format";
import { curlCommand, natsCommand } from "../model/commands";
import { eventKind, isCondition, isCount, isNear, reasonText, verb } from "../model/kinds";
import type { Selection } from "../view";
import type { Panel } from "./details";
import { highlight } from "./json";
import { copyButton, failure, pairs, place, section, type Pair } from "./parts";
import { instantTime } from "./time";
import { describe, eventSet, linkTo, linkToRule, placeOf } from "./words";

/** How far back the server is asked for an event that this page has not seen. */
const searchedEvents = 1000;

export function showEvent(app: App, selection: Extract<Selection, { kind: "event" }>, panel: Panel): void {
  const { set, id } = selection;
  panel.title(`Event · ${set}`, id);
  panel.closed.addEventListener("abort", () => app.marked.set(null));
  const seen = app.feed.recent.findLast((event) => event.id === id && eventSet(event) === set);
  if (seen) {
    draw(app, seen, panel);
    return;
  }
  fill(panel.body, h("p", { class: "note" }, "Looking for it…"));
  find(set, id, panel.closed).then(
    (event) => {
      if (panel.closed.aborted) return;
      if (event) draw(app, event, panel);
      else fill(panel.body, gone());
    },
    (error: unknown) => {
      // An id that cannot be decoded is in an address that was written by hand.
      if (!panel.closed.aborted) fill(panel.body, error instanceof URIError ? gone() : failure(error));
    },
  );
}

function gone(): HTMLElement {
  return h("p", { class: "note" }, "The server no longer has this event.");
}

/**
 * An event's id is its object's id as a bus token and a count, before them the fleet unless that is "default"; or that of a
 * count or a meeting: the word, the rule, and the fence or both objects, before a number.
 */
async function find(set: string, id: string, signal: AbortSignal): Promise<FenceEvent | undefined> {
  const names = id.split("/").slice(0, -1).map(decodeURIComponent);
  const [object = "", fleet = "default"] = names.toReversed();
  const queries: Omit<EventQuery, "last">[] = [];
  if (set === "_") queries.push({ event: "near_begin" }, { event: "near_end" });
  else if (names.length === 3) queries.push({ set, fence: object });
  else queries.push({ set, fleet, object });
  for (const query of queries) {
    const events = await fetchEvents({ ...query, last: searchedEvents }, signal);
    const found = events.find((event) => event.id === id);
    if (found) return found;
  }
  return undefined;
}

function draw(app: App, event: FenceEvent, panel: Panel): void {
  const { data } = event;
  panel.title(`Event · ${data.set ?? "objects near each other"}`, describe(app, event).sentence);
  app.marked.set(markOf(event));
  const what = section("What happened");
  what.content.append(pairs(story(app, event)));

  const text = JSON.stringify(event, null, 2);
  const json = section("As JSON");
  json.heading.append(copyButton("Copy the event as JSON", () => text));
  json.content.append(h("pre", { class: "code", tabindex: 0, "aria-label": "The event as JSON" }, highlight(text)));

  fill(panel.body, what.element, json.element, command("Subscribe with curl", curlCommand(event)), command("Subscribe with nats", natsCommand(event, busURL(app))));
}

/** Where the map marks the event; an event about no object has no place. */
function markOf({ data }: FenceEvent): Marked | null {
  if (isCount(data)) return null;
  const [lon, lat] = data.point.coordinates;
  const before = isNear(data) ? null : (data.prev?.coordinates ?? null);
  return { lon, lat, t: Date.parse(data.at), object: { fleet: data.object.fleet, id: data.object.id }, before };
}

/** All that the event says, a row for each thing. */
function story(app: App, event: FenceEvent): Pair[] {
  const { data } = event;
  const { set, fence, object, rule, reason } = data;
  const kind = eventKind(event);
  const name = placeOf(app, event);
  const where = fence ? linkTo(app, { kind: "fence", set, fence: fence.id }, name) : name;
  const rows: Pair[] = object ? [["Object", linkToObject(app, object)]] : [["Fence", where]];
  if (isCount(data)) rows.push([capital(verb(kind)), plural(data.count, "object")], ["Asked for", formatCount(data.at_least)]);
  else if (isNear(data)) rows.push([capital(verb(kind)), linkToObject(app, data.other)], ["Distance", formatDistance(data.metres)]);
  else if (isCondition(kind)) rows.push([capital(verb(kind)), rule === undefined ? "a condition" : linkToRule(app, rule)], ["In", where]);
  else rows.push([capital(verb(kind)), where]);
  rows.push(...times(data, kind));
  if (rule !== undefined && !isCondition(kind)) rows.push(["Rule", linkToRule(app, rule)]);
  rows.push(["Because of", reasonText(reason)]);
  if (!isCount(data)) {
    const [lon, lat] = data.point.coordinates;
    rows.push(["Lat, lon", place(lat, lon).element]);
  }
  return [...rows, ["Event's id", event.id]];
}

function linkToObject(app: App, { fleet, id }: NonNullable<EventData["object"]>): HTMLElement {
  return linkTo(app, { kind: "object", fleet, id }, id);
}

/** When and for how long, and how far along. */
function times(data: EventData, kind: string): Pair[] {
  const { at, t, duration_ms: duration } = data;
  const rows: Pair[] = [["At", instantTime(at)]];
  const own: Partial<FenceEventData> = isCount(data) || isNear(data) ? {} : data;
  if (own.direction !== undefined) rows.push(["Direction", `to the ${own.direction}`]);
  else if (own.left !== undefined) rows.push(["Left at", instantTime(own.left)]);
  if (duration > 0) rows.push([spans[kind] ?? "Inside for", formatDuration(duration)]);
  if (own.progress !== undefined) rows.push(["Along the line", formatDistance(own.progress)]);
  if (t !== at) rows.push(["Device's time", instantTime(t)]);
  return rows;
}

/** What an event's duration is the length of, if it is not a visit. */
const spans: Partial<Record<string, string>> = { outside: "Outside for", condition_end: "Held for", count_end: "Held for", near_end: "Together for" };

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** The bus is on this machine as the page's server sees it; the page's host is where that is for the reader. */
function busURL(app: App): string {
  const { port } = new URL(app.hello.value?.bus ?? "nats://localhost:4222");
  return `nats://${location.hostname}:${port}`;
}

function command(title: string, text: string): HTMLElement {
  const part = section(title);
  part.heading.append(copyButton(`Copy: ${title}`, () => text));
  part.content.append(h("pre", { class: "code wrap", tabindex: 0, "aria-label": title }, text));
  return part.element;
}
