// Which events the feed shows.

import type { FenceEvent } from "../api";
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

export function matches(event: FenceEvent, filter: Filter): boolean {
  if (filter.set !== "" && event.data.set !== filter.set) return false;
  if (filter.events.length > 0 && !filter.events.includes(eventKind(event))) return false;
  if (filter.rule !== "" && event.data.rule !== filter.rule) return false;
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => haystack(event).includes(word));
}

export function isFiltering(filter: Filter): boolean {
  return filter.set !== "" || filter.events.length > 0 || filter.rule !== "" || filter.text.trim() !== "";
}
