// Search: the event nearest to a time that passes, among those that the playback has not read. It reads pages of its
// own, so that the feed and what is kept for it stay as they are. It ends after so many pages, wherever it is then.

import type { FenceEvent } from "../api";
import type { EventPage, EventStart } from "./api";
import { minuteMs } from "./span";

/** Events in a page of a search. */
export const searchEvents = 5_000;
/** A search reads at most this many pages. */
export const mostPages = 40;
/** Events that arrived so long before the time are looked at first; then always four times as long. */
const firstLeadMs = minuteMs;

export interface Search {
  /** Unix ms. */
  t: number;
  /** Where the span ends in the direction of the search, Unix ms. */
  end: number;
  passes: (event: FenceEvent) => boolean;
  read: (start: EventStart) => Promise<EventPage>;
}

const timeOf = (event: FenceEvent): number => Date.parse(event.data.at);

/** The time of the next event, or where the search has come to; null if there is none within the span. */
export async function searchOn({ t, end, passes, read }: Search, start: EventStart): Promise<number | null> {
  let reached = t;
  for (let i = 0; i < mostPages; i++) {
    const { events, lines, cursor } = await read(start);
    if (lines === 0) return null;
    const found = events.filter((event) => timeOf(event) > t && passes(event)).map(timeOf);
    if (found.length > 0) return Math.min(...found);
    if (isBeyond(events, end)) return null;
    start = { cursor };
    reached = Math.max(reached, middleOf(events));
  }
  return reached;
}

/** The time of the last event before, or where the search has come to; null if there is none within the span. */
export async function searchBack({ t, end, passes, read }: Search): Promise<number | null> {
  let pages = 0;
  // Pages are in order of arrival, from the beginning of each time on: the time before is read in parts.
  for (let [until, lead] = [t, firstLeadMs]; until > end; lead *= 4) {
    const from = Math.max(end, t - lead);
    let best = -Infinity;
    for (let start: EventStart = { arrived: from }; ; ) {
      if (pages++ === mostPages) return until;
      const { events, lines, cursor } = await read(start);
      for (const event of events) {
        const at = timeOf(event);
        if (at < t && at > best && passes(event)) best = at;
      }
      if (lines === 0 || isBeyond(events, until)) break;
      start = { cursor };
    }
    if (best > -Infinity) return best;
    until = from;
  }
  return null;
}

/** Whether a page is of what came behind a time: a few clocks that are ahead do not make it so. */
function isBeyond(events: readonly FenceEvent[], t: number): boolean {
  return middleOf(events) >= t;
}

/** Half of the events are of this time or later; -Infinity of none. */
function middleOf(events: readonly FenceEvent[]): number {
  const times = events.map(timeOf).sort((a, b) => a - b);
  return times[times.length >> 1] ?? -Infinity;
}
