// Which events the feed shows, and which objects the map asks for.

import type { EventData, FenceEvent, ObjectFilter } from "../api";
import { State, stateNames } from "../live/frame";
import type { Filter } from "../view";
import { eventKind, isNear } from "./kinds";

const haystacks = new WeakMap<FenceEvent, string>();

/** Everything of an event that a search looks at, in lower case; made once for each event. */
function haystack(event: FenceEvent): string {
  let text = haystacks.get(event);
  if (text === undefined) {
    const { set, fence, object, rule, reason } = event.data;
    const other = isNear(event.data) ? event.data.other : null;
    const values = [set ?? "", fence?.id ?? "", eventKind(event), rule ?? "", reason];
    for (const party of [object, other]) if (party) values.push(party.id, party.fleet);
    for (const properties of [fence?.properties, object?.properties, other?.properties]) {
      for (const value of Object.values(properties ?? {})) {
        if (typeof value === "string" || typeof value === "number") values.push(String(value));
      }
    }
    text = values.join("\n").toLowerCase();
    haystacks.set(event, text);
  }
  return text;
}

/** Tells the state of an object now, undefined if the page does not know it. */
export type StateOf = (fleet: string, id: string) => number | undefined;

const states = new WeakMap<FenceEvent, number>();

/** Notes the states of the events' objects that came with them. */
export function noteStates(events: readonly FenceEvent[], told: readonly number[] | undefined): void {
  for (const [i, event] of events.entries()) {
    const state = told?.[i];
    if (state !== undefined) states.set(event, Math.min(state, State.Unknown));
  }
}

/** The name of the state of an event's object: at the event as far as the server told it, else now. */
function stateName(event: FenceEvent, now: StateOf | undefined): string {
  const { object } = event.data;
  const state = states.get(event) ?? (object ? now?.(object.fleet, object.id) : undefined) ?? State.Unknown;
  return stateNames[state]!;
}

function isOfFleet(data: EventData, fleet: string): boolean {
  return data.object?.fleet === fleet || (isNear(data) && data.other.fleet === fleet);
}

export function matches(event: FenceEvent, filter: Filter, now?: StateOf): boolean {
  if (filter.set !== "" && event.data.set !== filter.set) return false;
  if (filter.events.length > 0 && !filter.events.includes(eventKind(event))) return false;
  if (filter.rule !== "" && event.data.rule !== filter.rule) return false;
  if (filter.fleet !== "" && !isOfFleet(event.data, filter.fleet)) return false;
  if (filter.states.length > 0 && !filter.states.includes(stateName(event, now))) return false;
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => haystack(event).includes(word));
}

export function isFiltering(filter: Filter): boolean {
  return filter.set !== "" || filter.events.length > 0 || filter.rule !== "" || filtersObjects(filter);
}

/** Whether fewer objects are on the map. */
export function filtersObjects({ fleet, states, text }: Filter): boolean {
  return fleet !== "" || states.length > 0 || text.trim() !== "";
}

/** The part of the filter that is about objects, for the server. */
export function objectFilter({ fleet, states, text }: Filter): ObjectFilter {
  // A message to the live feed is at most 4 KiB long. No fleet has a longer name.
  return { fleet: fleet.slice(0, 256), states, text: text.trim().slice(0, 100) };
}
