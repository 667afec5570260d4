// Details of a fence: its name and properties, the objects inside and since when, its last events.

import { fetchEvents, fetchObjects, type FenceEvent, type ObjectState } from "../api";
import type { App } from "../app";
import { fill, h, setText } from "../dom";
import { fenceButtons } from "../draw/start";
import { formatCount } from "../format";
import { objectKey } from "../model/objects";
import type { Selection } from "../view";
import type { Panel } from "./details";
import { showPastOccupants } from "../past/fence";
import { eventList, failure, lastEvents, listOf, properties, section } from "./parts";
import { showPolicy } from "./policy";
import { lasting } from "./time";
import { linkTo } from "./words";

const shownObjects = 100;
const shownEvents = 12;
/** The past is asked for once; after that the live feed tells. */
const pastEvents = 50;
const refreshMs = 5_000;

export function showFence(app: App, selection: Extract<Selection, { kind: "fence" }>, panel: Panel): void {
  const { set, fence } = selection;
  const inside = section("Inside now");
  const events = section("Last events");
  const about = section("Properties");
  const policy = section(`When ${set} counts a change`);
  panel.body.append(inside.element, events.element, about.element, policy.element);

  const buttons = fenceButtons(app, set, fence);
  const describe = (): void => {
    const known = app.catalog.fence(set, fence);
    panel.title(`Fence · ${set}`, known?.label ?? fence, ...(app.catalog.lacks(set, fence) ? [] : buttons));
    if (!known) app.catalog.meet(set, fence);
    const missing = app.catalog.lacks(set, fence) ? "There is no such fence (any more)." : "Loading…";
    fill(about.content, known ? properties({ id: known.key, ...known.properties }) : h("p", { class: "note" }, missing));
  };
  describe();
  panel.closed.addEventListener("abort", app.catalog.sets.watch(describe));

  let past: FenceEvent[] | undefined;
  const concerns = (data: FenceEvent["data"]): boolean => data.set === set && data.fence?.id === fence;
  panel.refresh(
    async () => {
      if (app.past.active) await showPastOccupants(app, inside.heading, inside.content, set, fence, panel.closed);
      else await showPresent(app, inside, set, fence, panel.closed);
      await showPolicy(policy.content, set, panel.closed);
      past ??= await fetchEvents({ set, fence, last: pastEvents }, panel.closed).catch(() => undefined);
      const recent = app.feed.recent.filter(({ data }) => concerns(data));
      if (!panel.closed.aborted) eventList(app, events.content, lastEvents(past ?? [], recent, shownEvents), "fence");
    },
    refreshMs,
    ({ data }) => concerns(data),
  );
}

async function showPresent(app: App, inside: ReturnType<typeof section>, set: string, fence: string, closed: AbortSignal): Promise<void> {
  try {
    const page = await fetchObjects({ set, fence, limit: shownObjects }, closed);
    setText(inside.heading, `Inside now · ${formatCount(page.objects.length)}${page.next ? "+" : ""}`);
    showOccupants(app, inside.content, page.objects, set, fence);
  } catch (error) {
    if (!closed.aborted) fill(inside.content, failure(error));
  }
}

function showOccupants(app: App, target: HTMLElement, objects: ObjectState[], set: string, fence: string): void {
  const since = ({ fences }: ObjectState): string => fences.find((f) => f.set === set && f.fence === fence)?.since ?? "";
  // The last to arrive is on top.
  const sorted = objects.toSorted((a, b) => Date.parse(since(b)) - Date.parse(since(a)));
  const row = (object: ObjectState): HTMLElement =>
    h(
      "li",
      {},
      linkTo(app, { kind: "object", fleet: object.fleet, id: object.id }, object.id),
      h("span", { class: "hit-detail" }, "for ", lasting(since(object))),
    );
  listOf(target, "members", sorted, (object) => `${objectKey(object.fleet, object.id)} ${since(object)}`, row, "No objects.");
}
