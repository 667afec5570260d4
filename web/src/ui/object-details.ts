// Details of an object: where it is, which fences it is in, its last events; and the switch for following it.

import { ApiError, fetchEvents, fetchObject, type EventData, type FenceEvent, type Membership, type ObjectState, type Pending } from "../api";
import type { App } from "../app";
import { fill, h, icon } from "../dom";
import { compass, formatSpeed } from "../format";
import { dayButton } from "../past/object";
import { stateName } from "../model/objects";
import { pendingProgress } from "../model/policy";
import type { Selection } from "../view";
import type { Panel } from "./details";
import { eventList, failure, lastEvents, listOf, pairs, place, section, updatePairs, type Pair } from "./parts";
import { ago, clockTime, lasting } from "./time";
import { describePending, linkTo } from "./words";

const shownEvents = 12;
/** The past is asked for once; after that the live feed tells. */
const pastEvents = 50;
const refreshMs = 2_000;

export function showObject(app: App, selection: Extract<Selection, { kind: "object" }>, panel: Panel): void {
  const { fleet, id } = selection;
  const now = section("Now");
  const fences = section("In fences");
  const pending = section("Not confirmed yet");
  const events = section("Last events");
  pending.element.hidden = true;
  panel.body.append(now.element, fences.element, pending.element, events.element);
  const list = pairs([]);
  const where = place(0, 0);
  const concerns = ({ object }: EventData): boolean => object?.id === id && object.fleet === fleet;
  let past: FenceEvent[] | undefined;
  panel.title(`Object · ${fleet}`, id, dayButton(app), followButton(app, panel.closed));

  panel.refresh(
    async () => {
      try {
        const object = await fetchObject(fleet, id, panel.closed);
        if (!list.isConnected) fill(now.content, list);
        where.show(object.lat, object.lon);
        updatePairs(list, facts(app, object, where.element));
        showMemberships(app, fences.content, object.fences);
        showPending(app, pending, object.pending ?? []);
      } catch (error) {
        if (panel.closed.aborted) return;
        const gone = error instanceof ApiError && error.status === 404;
        fill(now.content, gone ? h("p", { class: "note" }, "There is no such object (any more).") : failure(error));
        if (gone) {
          showMemberships(app, fences.content, []);
          showPending(app, pending, []);
        }
      }
      past ??= await fetchEvents({ fleet, object: id, last: pastEvents }, panel.closed).catch(() => undefined);
      const recent = app.feed.recent.filter(({ data }) => concerns(data));
      if (!panel.closed.aborted) eventList(app, events.content, lastEvents(past ?? [], recent, shownEvents), "object");
    },
    refreshMs,
    ({ data }) => concerns(data),
  );
}

export function followButton(app: App, closed: AbortSignal): HTMLElement {
  const button = h(
    "button",
    { type: "button", class: "toggle", title: "Keep it in the middle of the map", onclick: () => app.following.update((on) => !on) },
    icon("follow"),
    "Follow",
  );
  closed.addEventListener("abort", app.following.bind((on) => button.setAttribute("aria-pressed", String(on))));
  return button;
}

function facts(app: App, object: ObjectState, where: HTMLElement): Pair[] {
  const live = app.objects.find(object.fleet, object.id);
  const rows: Pair[] = [
    ["State", live ? stateName(live.state) : object.state],
    ["Lat, lon", where],
    ["Speed", object.speed === undefined ? "not reported" : formatSpeed(object.speed)],
  ];
  if (object.heading !== undefined) rows.push(["Heading", `${compass(object.heading)} · ${Math.round(object.heading)}°`]);
  rows.push(["Last position", h("span", { class: "fix" }, clockTime(object.t), " · ", ago(object.t))]);
  rows.push(["Last heard", ago(object.seen)]);
  return rows;
}

function showMemberships(app: App, target: HTMLElement, all: readonly Membership[]): void {
  const row = ({ set, fence, since }: Membership): HTMLElement =>
    h(
      "li",
      { "data-colour": app.catalog.colour(set) },
      h("i", { class: "swatch", "aria-hidden": "true" }),
      linkTo(app, { kind: "fence", set, fence }, app.catalog.label(set, fence)),
      h("span", { class: "hit-detail" }, "for ", lasting(since)),
    );
  listOf(target, "members", all, ({ set, fence, since }) => JSON.stringify([set, fence, app.catalog.label(set, fence), since]), row, "None.");
}

/** Changes that the policies of their sets have not confirmed, and what speaks for them so far. */
function showPending(app: App, { element, content }: ReturnType<typeof section>, all: readonly Pending[]): void {
  const row = (change: Pending): HTMLElement =>
    h(
      "li",
      { "data-colour": app.catalog.colour(change.set) },
      h("i", { class: "swatch", "aria-hidden": "true" }),
      describePending(app, change),
      h("span", { class: "hit-detail pending-how" }),
    );
  // A fence's name may be known only after its set has been loaded.
  const key = ({ set, fence, event, at }: Pending): string => JSON.stringify([set, fence, app.catalog.label(set, fence), event, at]);
  element.hidden = all.length === 0;
  listOf(content, "members pending", all, key, row, "");
  // A row stays while its positions are counted, and with it the focus on its link.
  const told = content.querySelectorAll(".pending-how");
  for (const [i, change] of all.entries()) fill(told[i]!, ...progress(change));
}

function progress(change: Pending): (string | HTMLElement)[] {
  if (change.due === undefined) return [pendingProgress(change)];
  return ["confirmed at ", clockTime(change.due)];
}
