// Events: those of the past around the playback's time, in order of their times, read page by page in order of arrival.
//
// Pages begin with what arrived at the time that was asked for. An event that arrived before its own time, from a device
// whose clock is ahead, is not among them. What is kept is bounded: while there is enough ahead of the playback no page
// is asked for, and what is far behind it is dropped, so that there are at most two times `enoughAhead` and a page.

import type { FenceEvent } from "../api";
import { eventKey } from "../model/feed";
import type { EventPage, EventStart } from "./api";

/** Events in a page. */
export const pageEvents = 2_000;
/** With so many ahead of the time no page is asked for; as many are kept behind it. */
const enoughAhead = 3_000;
/** After a page without events the next one is asked for so many ms later at the earliest. */
const againMs = 5_000;

export interface Timed {
  /** Unix ms. */
  t: number;
  event: FenceEvent;
}

export class EventBook {
  #list: Timed[] = [];
  #keys = new Set<string>();
  #start: EventStart = { arrived: 0 };
  /** All events up to this time have been read, as far as events arrive in order. */
  frontier = -Infinity;
  /** When the last page was asked for, Unix ms, if it had no events; Infinity once the server gives no more of them. */
  #endedAt: number | null = null;
  /** Whether there has been such a page: what comes behind it is as new as it can be. */
  #caughtUp = false;

  /** Starts again with the events that arrived at a time or later. */
  restart(arrived: number): void {
    this.#list = [];
    this.#keys.clear();
    this.#start = { arrived };
    this.frontier = arrived;
    this.#endedAt = null;
    this.#caughtUp = false;
  }

  /** There is nothing more to read, for now. */
  get ended(): boolean {
    return this.#endedAt !== null;
  }

  /** The server gives no more events. */
  refuse(): void {
    this.#endedAt = Infinity;
    this.#caughtUp = true;
  }

  /** Whether events up to a time exist that have not been read, as far as is known. */
  isBehind(t: number): boolean {
    return !this.#caughtUp && this.frontier < t;
  }

  get start(): EventStart {
    return this.#start;
  }

  get size(): number {
    return this.#list.length;
  }

  /** Whether another page is wanted for a playback at a time. Now is the present time. */
  wants(t: number, now = Date.now()): boolean {
    // Events may have arrived since the end of them was read.
    if (this.#endedAt !== null) return t > this.#endedAt && now - this.#endedAt > againMs;
    return this.#list.length - this.#after(t) < enoughAhead;
  }

  /** Takes a page, asked for at a time. It returns the new events of times up to t: they are late for the playback. */
  put({ events, lines, cursor }: EventPage, t: number, asked = Date.now()): FenceEvent[] {
    this.#start = { cursor };
    const fresh: Timed[] = [];
    for (const event of events) {
      const key = eventKey(event);
      if (this.#keys.has(key)) continue;
      this.#keys.add(key);
      fresh.push({ t: Date.parse(event.data.at), event });
    }
    this.#list = [...this.#list, ...fresh].sort((a, b) => a.t - b.t);
    for (const { t: at } of fresh) this.frontier = Math.max(this.frontier, at);
    this.#endedAt = lines === 0 ? asked : null;
    if (lines === 0) {
      this.#caughtUp = true;
      this.frontier = Math.max(this.frontier, asked);
    }
    this.#trim(t);
    return fresh.filter(({ t: at }) => at <= t).sort((a, b) => a.t - b.t).map(({ event }) => event);
  }

  /** The events behind one time, up to another. */
  between(after: number, until: number): FenceEvent[] {
    return this.#list.slice(this.#after(after), this.#after(until)).map(({ event }) => event);
  }

  /** The last events up to a time. */
  last(t: number, count: number): FenceEvent[] {
    const end = this.#after(t);
    return this.#list.slice(Math.max(0, end - count), end).map(({ event }) => event);
  }

  /** The time of the next event that passes, behind t or before it; null if none is known. */
  step(t: number, direction: 1 | -1, passes: (event: FenceEvent) => boolean): number | null {
    if (direction > 0) return this.#list.slice(this.#after(t)).find(({ event }) => passes(event))?.t ?? null;
    return this.#list.slice(0, this.#after(t)).findLast((item) => item.t < t && passes(item.event))?.t ?? null;
  }

  /** The number of events up to a time: the place of the first one behind it. */
  #after(t: number): number {
    let [low, high] = [0, this.#list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#list[middle]!.t <= t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #trim(t: number): void {
    const drop = Math.max(0, this.#after(t) - enoughAhead);
    for (const { event } of this.#list.splice(0, drop)) this.#keys.delete(eventKey(event));
  }
}
