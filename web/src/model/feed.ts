// Feed: the rows of the event feed, newest first. Pure but for the times that it is given; ui/feed.ts draws it.
//
// Rows are in order of their events' times: an event that arrives late becomes a row at its own place, not on top.
//
// Events wait in a buffer until tick() makes rows of them: each its own row while at most 20 events a second pass the
// filter, groups of two seconds above that. The last events are kept apart from the rows, so that another filter can
// look back. While it is paused the buffer fills, also with what was missed, and nothing moves.

import type { FenceEvent } from "../api";
import { type Filter, noFilter } from "../view";
import { matches, type StateOf } from "./filter";
import { group, type Row } from "./group";

export const maxRows = 500;
/** Events kept for another filter, and for the panels' "last events". */
export const maxRecent = 5_000;

const groupAbovePerSecond = 20;
/** Lower than the limit above, so that a rate near it does not switch the feed back and forth. */
const ungroupBelowPerSecond = 14;
const rateWindowMs = 2_000;
const groupEveryMs = 2_000;

export interface GapRow {
  type: "gap";
  /** 0: the server could not say how many. */
  count: number;
  reason: string;
}

/** A gap that waits for the pause to end, with the events that came before it. */
interface HeldGap {
  events: FenceEvent[];
  gap: GapRow;
  time: number;
}

export interface FeedRow {
  /** Unique for the life of the page. */
  id: number;
  /** Unix ms of the row's last event. */
  time: number;
  /** Unix ms by which the rows are ordered: a gap is on top of the rows before it, whatever the clocks say. */
  order: number;
  body: Row | GapRow;
}

export class Feed {
  /** Newest first, at most maxRows. */
  rows: FeedRow[] = [];
  paused = false;
  grouping = false;
  #filter: Filter = noFilter;
  #nextID = 1;
  #held: HeldGap[] = [];
  /** Events behind the last held gap. */
  #buffer: FenceEvent[] = [];
  #recent: FenceEvent[] = [];
  #seen = new Set<string>();
  #arrivals: { at: number; count: number }[] = [];
  #lastFlush = 0;
  readonly #stateOf: StateOf | undefined;

  /** stateOf is asked for the states of objects whose events came without them. */
  constructor(stateOf?: StateOf) {
    this.#stateOf = stateOf;
  }

  get filter(): Filter {
    return this.#filter;
  }

  /** Events that wait for the pause to end; no more than maxRecent. */
  get waiting(): number {
    return this.#held.reduce((sum, { events }) => sum + events.length, this.#buffer.length);
  }

  /** The last events, in order of arrival. */
  get recent(): readonly FenceEvent[] {
    return this.#recent;
  }

  /** Takes events that just happened, oldest first. Repeated events are dropped. */
  add(events: readonly FenceEvent[], now: number): FenceEvent[] {
    const fresh = events.filter((event) => this.#remember(event));
    const shown = fresh.filter((event) => this.#shows(event));
    this.#buffer.push(...shown);
    this.#bound();
    this.#arrivals.push({ at: now, count: shown.length });
    return fresh;
  }

  /** Takes past events, oldest first: they become rows of their own at once, below the present rows. */
  addPast(events: readonly FenceEvent[]): void {
    const fresh = events.filter((event) => this.#remember(event));
    if (fresh.length === 0) return;
    this.#recent = byTime(this.#recent);
    this.#insert(fresh.filter((event) => this.#shows(event)).map((event) => this.#row({ type: "event", event })));
  }

  /** Tells that events were missed, with a time that is not that of now in the past. */
  addGap(count: number, reason: string, now: number, time = now): void {
    if (this.paused) {
      this.#hold({ type: "gap", count, reason }, time);
      return;
    }
    this.#flush(now);
    this.#showGap({ type: "gap", count, reason }, time);
  }

  #hold(gap: GapRow, time: number): void {
    const last = this.#held.at(-1);
    if (last?.gap.reason === gap.reason && this.#buffer.length === 0) {
      last.gap.count += gap.count;
      last.time = time;
      return;
    }
    this.#held.push({ events: this.#buffer, gap, time });
    this.#buffer = [];
    if (this.#held.length > maxRows) this.#held.shift();
  }

  /** Drops the oldest of too many waiting events. */
  #bound(): void {
    let excess = this.waiting - maxRecent;
    for (const events of [...this.#held.map((held) => held.events), this.#buffer]) {
      if (excess <= 0) return;
      excess -= events.splice(0, excess).length;
    }
  }

  #showGap(gap: GapRow, time: number): void {
    const top = this.rows[0];
    let { count } = gap;
    // A reader that stays too slow misses events again and again: one row says how many.
    if (top?.body.type === "gap" && top.body.reason === gap.reason) {
      this.rows.shift();
      count += top.body.count;
    }
    const order = this.rows[0]?.order ?? time;
    this.#insert([{ id: this.#nextID++, time, order, body: { ...gap, count } }]);
  }

  /** The server was restarted: it counts events from the start, so known ids stand for other events. */
  restart(): void {
    this.#seen.clear();
  }

  /** Makes rows of the due events; reports whether the rows changed. Call it a few times a second. */
  tick(now: number): boolean {
    this.#measure(now);
    if (this.paused || (this.#buffer.length === 0 && this.#held.length === 0)) return false;
    if (this.grouping && now - this.#lastFlush < groupEveryMs) return false;
    this.#flush(now);
    return true;
  }

  /** Shows the kept events that pass another filter. */
  setFilter(filter: Filter): void {
    this.#filter = filter;
    this.#held = [];
    this.#buffer = [];
    this.#arrivals = [];
    this.grouping = false;
    const shown = byTime(this.#recent.filter((event) => this.#shows(event))).slice(-maxRows);
    this.rows = [];
    this.#insert(shown.map((event) => this.#row({ type: "event", event })));
  }

  #flush(now: number): void {
    for (const { events, gap, time } of this.#held.splice(0)) {
      this.#showAll(events, now);
      this.#showGap(gap, time);
    }
    const events = this.#buffer;
    this.#buffer = [];
    this.#showAll(events, now);
  }

  #showAll(all: readonly FenceEvent[], now: number): void {
    if (all.length === 0) return;
    this.#lastFlush = now;
    const events = byTime(all);
    const bodies = this.grouping ? group(events) : events.slice(-maxRows).map((event): Row => ({ type: "event", event }));
    this.#insert(bodies.map((body) => this.#row(body)));
  }

  #shows(event: FenceEvent): boolean {
    return matches(event, this.#filter, this.#stateOf);
  }

  /** Puts rows, oldest first, at their places; of the same time the last one is on top. */
  #insert(rows: FeedRow[]): void {
    // The sort is stable, and takes little for what is nearly sorted.
    this.rows = [...rows.reverse(), ...this.rows].sort((a, b) => b.order - a.order).slice(0, maxRows);
  }

  #row(body: Row): FeedRow {
    const last = body.type === "event" ? body.event : body.events.at(-1)!;
    const time = Date.parse(last.time);
    return { id: this.#nextID++, time, order: Number.isNaN(time) ? 0 : time, body };
  }

  #measure(now: number): void {
    this.#arrivals = this.#arrivals.filter(({ at }) => now - at < rateWindowMs);
    const total = this.#arrivals.reduce((sum, { count }) => sum + count, 0);
    const perSecond = (total * 1000) / rateWindowMs;
    if (perSecond > groupAbovePerSecond) this.grouping = true;
    else if (perSecond < ungroupBelowPerSecond) this.grouping = false;
  }

  #remember(event: FenceEvent): boolean {
    const key = eventKey(event);
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    this.#recent.push(event);
    if (this.#recent.length > maxRecent + 500) {
      for (const old of this.#recent.splice(0, this.#recent.length - maxRecent)) this.#seen.delete(eventKey(old));
    }
    return true;
  }
}

/** Unique among all events of one run of the server: CloudEvents' source and id together. */
export function eventKey(event: FenceEvent): string {
  return `${event.source}\n${event.id}`;
}

/** The events, oldest first; of the same time in order of arrival. */
function byTime(events: readonly FenceEvent[]): FenceEvent[] {
  return events
    .map((event) => ({ event, time: Date.parse(event.time) || 0 }))
    .sort((a, b) => a.time - b.time)
    .map(({ event }) => event);
}
