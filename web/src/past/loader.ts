// Loader: asks for the chunks and the pages of events that a playback needs, one of each at a time, in the background.

import { ApiError, type FenceEvent } from "../api";
import type { Filter } from "../view";
import { fetchEventPage, fetchSample } from "./api";
import type { Buffer } from "./buffer";
import type { Chunk, Handles } from "./chunk";
import { pageEvents, type EventBook } from "./events";
import { lookBackMs } from "./picture";

/** How long to wait after a failure. */
const againMs = 3_000;
/** Events from a little before the time, so that the feed is not empty. */
export const leadMs = 5 * 60_000;

export interface Needs {
  t: number;
  from: number;
  to: number;
}

export interface LoaderEvents {
  /** A chunk or a page is there. */
  loaded(): void;
  /** Events came that are late for the playback. */
  late(events: FenceEvent[]): void;
  /** The server said no; gone is true if it keeps no past, or if the key may not see it. */
  failed(error: Error, gone: boolean): void;
}

export class Loader {
  readonly #buffer: Buffer;
  readonly #book: EventBook;
  readonly #handles: Handles;
  readonly #tell: LoaderEvents;
  #filling: AbortController | null = null;
  #reading: AbortController | null = null;
  #waitUntil = 0;
  #closed = true;

  constructor(buffer: Buffer, book: EventBook, handles: Handles, tell: LoaderEvents) {
    this.#buffer = buffer;
    this.#book = book;
    this.#handles = handles;
    this.#tell = tell;
  }

  open(): void {
    this.#closed = false;
    this.#waitUntil = 0;
  }

  /** Drops what is under way. */
  close(): void {
    this.#closed = true;
    this.dropChunk();
    this.dropEvents();
  }

  dropChunk(): void {
    this.#filling?.abort();
    this.#filling = null;
  }

  dropEvents(): void {
    this.#reading?.abort();
    this.#reading = null;
  }

  get filling(): boolean {
    return this.#filling !== null;
  }

  /** Asks for what is needed most, unless that is under way; for chunks only if it is known which part of the map is meant. */
  load(needs: Needs, filter: Filter, placed: boolean): void {
    if (this.#closed || performance.now() < this.#waitUntil) return;
    const chunk = this.#filling || !placed ? null : this.#buffer.wanted(needs.t, needs.from, needs.to);
    if (chunk) void this.#fill(chunk, needs);
    if (!this.#reading && this.#book.wants(needs.t)) void this.#read(needs, filter);
  }

  async #fill(chunk: Chunk, needs: Needs): Promise<void> {
    const abort = new AbortController();
    this.#filling = abort;
    const { from, to, level, scope } = chunk;
    try {
      let after: string | undefined;
      do {
        const { box, fleet } = scope;
        const page = await fetchSample({ from, to, every: level.every, back: lookBackMs, box, fleet, after: after ?? "" }, abort.signal);
        if (abort.signal.aborted) return;
        after = chunk.add(page, this.#handles) ? page.next : undefined;
      } while (after !== undefined);
      this.#filling = null;
      this.#buffer.put(chunk, needs.t);
      this.#tell.loaded();
    } catch (error) {
      if (abort.signal.aborted) return;
      this.#filling = null;
      this.#fail(error);
    }
  }

  async #read(needs: Needs, filter: Filter): Promise<void> {
    const abort = new AbortController();
    this.#reading = abort;
    try {
      const { set, fleet } = filter;
      const asked = Date.now();
      const page = await fetchEventPage(this.#book.start, { set, fleet, limit: pageEvents }, abort.signal);
      if (abort.signal.aborted) return;
      this.#reading = null;
      const late = this.#book.put(page, needs.t, asked);
      if (late.length > 0) this.#tell.late(late);
      this.#tell.loaded();
    } catch (error) {
      if (abort.signal.aborted) return;
      this.#reading = null;
      // Events that are kept no more, or that this key may not see, are no reason to show no objects.
      if (error instanceof ApiError && [403, 410].includes(error.status)) this.#book.refuse();
      else this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#waitUntil = performance.now() + againMs;
    const gone = error instanceof ApiError && (error.status === 404 || error.status === 403);
    this.#tell.failed(error instanceof Error ? error : new Error(String(error)), gone);
  }
}
