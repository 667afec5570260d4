// Player: shows the past in place of the present. It moves the clock, loads what the clock needs, and hands frames and
// events to the page as if they came from the live feed.

import type { App } from "../app";
import { Scene } from "../app";
import { ApiError, type FenceEvent } from "../api";
import { matches, objectFilter } from "../model/filter";
import { isKind } from "../model/kinds";
import { Signal } from "../signal";
import type { Filter } from "../view";
import { fetchEventPage, type EventPage, type EventStart, type PastVisit } from "./api";
import { boxAround, Buffer, serves } from "./buffer";
import { Handles } from "./chunk";
import { Clock } from "./clock";
import type { DayTrack } from "./day";
import { EventBook } from "./events";
import { leadMs, Loader } from "./loader";
import { frameAt } from "./picture";
import { searchBack, searchEvents, searchOn } from "./search";
import { dateOfSpan, dayOf, viewOf, type PastView } from "./span";
import { utc } from "../ui/zone";

/** The picture is made anew at most this often: 30 times a second. */
const frameMs = 33;
/** The address follows the playback this often. */
const addressMs = 1_000;
/** Events that the feed has at once, after a leap in time. */
const leadEvents = 60;
/** Beyond this many events between two pictures, the rest are not told one by one. */
const mostAtOnce = 500;
/** A playback that is so many seconds of the viewer ahead of the events leaves some out. */
const laggingS = 3;

export interface Status {
  /** The picture of this time is on its way. */
  loading: boolean;
  /** What the server said, "" if all is well. */
  error: string;
  /** There is no past at all. */
  gone: boolean;
  /** More objects are here than are shown. */
  partial: boolean;
  /** Objects that are shown. */
  objects: number;
}

const quiet: Status = { loading: false, error: "", gone: false, partial: false, objects: 0 };

/** How the line of a track is coloured. */
export type TrackColour = "speed" | "time";

export class Player {
  readonly clock = new Clock();
  /** Changes with the clock's time, span, speed or state. */
  readonly tick = new Signal(0);
  readonly status = new Signal<Status>(quiet);
  /** The selected object's track and visits within the span. */
  readonly track = new Signal<DayTrack | null>(null);
  readonly visits = new Signal<readonly PastVisit[]>([]);
  readonly colour = new Signal<TrackColour>("speed");
  readonly #app: App;
  readonly #scene = new Scene();
  readonly #buffer = new Buffer();
  readonly #book = new EventBook();
  /** As the scene, they are there for the life of the page. */
  readonly #handles = new Handles();
  #loader: Loader;
  #animation = 0;
  #last = 0;
  #drawn = 0;
  #addressed = 0;
  #told = 0;
  #stale = true;
  /** Of an event to step to. */
  #search = new AbortController();

  constructor(app: App) {
    this.#app = app;
    this.#loader = this.#newLoader();
    this.#scene.feed.setFilter(app.view.value.filter);
    app.view.watch((now, before) => {
      if (now.past !== before.past) this.#follow(now.past);
      if (now.filter !== before.filter) this.#refilter(now.filter, before.filter);
    });
    app.bounds.watch(() => {
      if (this.active) this.#look();
    });
    this.#follow(app.view.value.past);
  }

  /** Whether the page shows the past. */
  get active(): boolean {
    return this.#app.scene.value === this.#scene;
  }

  get feed(): Scene["feed"] {
    return this.#scene.feed;
  }

  /** Shows a span from its beginning on. */
  open(from: number, to: number): void {
    this.#show(viewOf(from, to));
  }

  /** Shows another span; the time stays if it is in it. */
  setSpan(from: number, to: number): void {
    const view = viewOf(from, to);
    const { t } = this.clock;
    if (this.active && t >= from && t <= to) view.t = t;
    this.#show(view);
  }

  /** Shows the day of the calendar that a span or a time is in. */
  setDay(date: string): void {
    const [from, to] = dayOf(date, utc.value);
    if (Number.isFinite(from)) this.setSpan(from, to);
  }

  /** The day that is shown; null if the span is no day. */
  get date(): string | null {
    return dateOfSpan(this.clock, utc.value);
  }

  /** Back to the present. */
  live(): void {
    this.#show(null);
  }

  toggle(): void {
    this.#search.abort();
    if (this.clock.playing) this.clock.pause();
    else {
      if (this.clock.t >= this.clock.to) this.seek(this.clock.from);
      this.clock.play();
    }
    this.#changed();
    this.#address();
  }

  seek(t: number): void {
    const before = this.clock.t;
    this.clock.seek(t);
    if (this.clock.t === before) return;
    this.#leap();
    this.#address();
  }

  setSpeed(speed: number): void {
    this.clock.speed = speed;
    this.#buffer.setSpeed(speed);
    this.#loader.dropChunk();
    this.#changed();
    this.#address();
  }

  /** Goes to the next or the last event that the filter lets pass. Another step, or a leap, ends the search for it. */
  async step(direction: 1 | -1): Promise<void> {
    this.clock.pause();
    this.#changed();
    this.#search.abort();
    const search = new AbortController();
    this.#search = search;
    const { t, from, to } = this.clock;
    const end = direction > 0 ? to : from;
    try {
      const found = await this.#find(t, direction, end, search.signal);
      if (!search.signal.aborted) this.seek(found ?? end);
    } catch (error) {
      if (search.signal.aborted) return;
      this.status.set({ ...this.status.value, error: error instanceof Error ? error.message : String(error) });
    }
  }

  /** The time of an event, or how far the search for one has come; null if there is none. */
  async #find(t: number, direction: 1 | -1, end: number, signal: AbortSignal): Promise<number | null> {
    const { filter } = this.#app.view.value;
    const passes = (event: FenceEvent): boolean => matches(event, filter, (fleet, id) => this.#scene.objects.find(fleet, id)?.state);
    // What is before is known only once all of it has been read.
    const known = direction > 0 || !this.#book.isBehind(t) ? this.#book.step(t, direction, passes) : null;
    if (known !== null) return known;
    const { set, fleet, events } = filter;
    const event = events.length === 1 ? events.find(isKind) : undefined;
    const read = (start: EventStart): Promise<EventPage> => fetchEventPage(start, { set, fleet, event, limit: searchEvents }, signal);
    const search = { t, end, passes, read };
    try {
      return await (direction > 0 ? searchOn(search, this.#book.start) : searchBack(search));
    } catch (error) {
      // Events that this key may not see, or that are kept no more.
      if (error instanceof ApiError && [403, 410].includes(error.status)) return null;
      throw error;
    }
  }

  #show(past: PastView | null): void {
    this.#app.view.update((view) => ({ ...view, past }));
  }

  /** Brings the player to what the view says. */
  #follow(past: PastView | null): void {
    if (!past) {
      if (this.active) this.#leave();
      return;
    }
    const { from, to, t, speed } = this.clock;
    const enters = !this.active;
    const leaps = enters || past.from !== from || past.to !== to || Math.abs(past.t - t) >= 1;
    if (!leaps && past.speed === speed) return;
    this.clock.set(past);
    if (enters) this.#enter();
    this.#buffer.setSpeed(past.speed);
    if (leaps) this.#leap();
    this.#changed();
  }

  #enter(): void {
    this.#loader = this.#newLoader();
    this.#loader.open();
    this.#buffer.clear();
    // What the last playback has read may be of another filter.
    this.#book.restart(this.clock.t - leadMs);
    this.status.set({ ...quiet, loading: true });
    this.#app.show(this.#scene);
    this.#look();
    this.#last = performance.now();
    this.#animation = requestAnimationFrame((now) => this.#run(now));
  }

  #leave(): void {
    cancelAnimationFrame(this.#animation);
    this.#search.abort();
    this.#loader.close();
    this.#buffer.clear();
    this.clock.pause();
    this.track.set(null);
    this.visits.set([]);
    this.status.set(quiet);
    this.#app.show(this.#app.live);
    this.#changed();
  }

  #newLoader(): Loader {
    return new Loader(this.#buffer, this.#book, this.#handles, {
      loaded: () => {
        this.#stale = true;
        const { status } = this;
        if (status.value.error !== "") status.set({ ...status.value, error: "" });
      },
      late: (events) => {
        this.#scene.feed.addPast(events);
        this.#app.feedTick.update((n) => n + 1);
      },
      failed: (error, gone) => {
        this.status.set({ ...this.status.value, loading: false, error: error.message, gone });
        if (gone) this.#loader.close();
      },
    });
  }

  /** The time is another one, and not the next one. */
  #leap(): void {
    this.#search.abort();
    const { t } = this.clock;
    const known = this.#book.size > 0 && this.#book.frontier >= t && (this.#book.last(t, 1).length > 0 || this.#told <= t);
    this.#scene.renew(this.#app.view.value.filter);
    this.#app.paused.set(false);
    if (known) this.#scene.feed.addPast(this.#book.last(t, leadEvents));
    else {
      this.#loader.dropEvents();
      this.#book.restart(t - leadMs);
    }
    this.#told = t;
    this.#app.feedTick.update((n) => n + 1);
    this.#changed();
  }

  /** The map shows another part of the world, or the filter another fleet. */
  #look(): void {
    const bounds = this.#app.bounds.value;
    if (!bounds) return;
    const { fleet } = objectFilter(this.#app.view.value.filter);
    this.#stale = true;
    const { scope } = this.#buffer;
    if (scope.fleet === fleet && this.#buffer.at(this.clock.t).chunk && serves(scope, bounds, this.status.value.partial)) return;
    this.#buffer.setScope({ box: boxAround(bounds), fleet });
    this.#loader.dropChunk();
  }

  #refilter(now: Filter, before: Filter): void {
    this.#scene.feed.setFilter(now);
    this.#search.abort();
    if (!this.active) return;
    if (now.set !== before.set || now.fleet !== before.fleet) {
      this.#loader.dropEvents();
      this.#book.restart(this.clock.t - leadMs);
      this.#scene.renew(now);
    }
    this.#look();
    this.#changed();
  }

  #changed(): void {
    this.#stale = true;
    this.tick.update((n) => n + 1);
  }

  #load(): void {
    this.#loader.load(this.clock, this.#app.view.value.filter, this.#app.bounds.value !== null);
  }

  #run(now: number): void {
    if (!this.active) return;
    this.#animation = requestAnimationFrame((next) => this.#run(next));
    if (now - this.#drawn < frameMs) return;
    this.#drawn = now;
    const { exact } = this.#buffer.at(this.clock.t);
    // It waits for what it is about to show, rather than to show nothing. Without a map there is nothing to wait for.
    const went = (exact || this.#app.bounds.value === null) && this.clock.advance(now - this.#last);
    this.#last = now;
    if (went) {
      this.#tellEvents();
      this.#changed();
      if (now - this.#addressed >= addressMs || !this.clock.playing) this.#address();
    }
    this.#load();
    if (this.#stale) this.#draw();
  }

  #draw(): void {
    this.#stale = false;
    const { chunk, next, exact } = this.#buffer.at(this.clock.t);
    const { filter } = this.#app.view.value;
    const frame = frameAt(chunk, next, this.clock.t, { bounds: this.#app.bounds.value, states: filter.states, text: filter.text });
    const { objects } = this.#scene;
    for (const handle of frame.handles) {
      if (objects.name(handle)) continue;
      const series = chunk!.series.get(handle)!;
      objects.learn({ type: "names", names: [[handle, series.fleet, series.id]] });
    }
    objects.show(frame);
    this.#app.frame.set(frame);
    const before = this.status.value;
    const loading = !exact && !before.gone && before.error === "";
    const partial = chunk?.partial ?? false;
    if (before.loading !== loading || before.partial !== partial || before.objects !== frame.count) {
      this.status.set({ ...before, loading, partial, objects: frame.count });
    }
  }

  /** Tells the page of the events between the last picture and this one. */
  #tellEvents(): void {
    const { t, speed } = this.clock;
    if (this.#book.isBehind(t - laggingS * 1000 * speed)) {
      this.#loader.dropEvents();
      this.#book.restart(t);
      this.#scene.feed.addGap(0, "played faster than events can be read", Date.now(), t);
    }
    const events = this.#book.between(this.#told, t);
    this.#told = t;
    if (events.length === 0) return;
    this.#app.fleets.learnEvents(events);
    const fresh = this.#scene.feed.add(events, Date.now());
    this.#app.events.set(fresh.slice(-mostAtOnce));
  }

  #address(): void {
    this.#addressed = performance.now();
    if (this.active) this.#show({ ...this.clock.view, t: Math.round(this.clock.t) });
  }
}

/** The events of an object among those that the feed has seen. */
export function eventsOf(events: readonly FenceEvent[], fleet: string, id: string): FenceEvent[] {
  return events.filter(({ data: { object } }) => object?.fleet === fleet && object.id === id);
}
