// Poll: asks the server again and again for the same thing, until the session has ended. It holds no picture: it hands
// what arrives to its listener, and says whether the server is there.

import { ApiError, sessionOver } from "../api";
import { Signal } from "../signal";
import { backoffMs } from "./backoff";

export type Link =
  | { state: "connecting" }
  | { state: "live" }
  /** Lost since a time; the next attempt is at another. Both Unix ms. */
  | { state: "lost"; since: number; retryAt: number; why: string }
  /** The server has no such thing (404): it is not asked again. */
  | { state: "none" }
  /** The key of this browser may not see it (403): it is not asked again. */
  | { state: "denied"; why: string }
  /** The session has ended (401), as was known at a time, Unix ms: nothing is asked again. */
  | { state: "ended"; since: number };

export const everyMs = 1_000;
/** A server that does not answer within this is taken for away. */
const patienceMs = 5_000;

export class Poll<T> {
  readonly link = new Signal<Link>({ state: "connecting" });
  readonly #listener: (answer: T) => void;
  readonly #ask: (signal: AbortSignal) => Promise<T>;
  readonly #everyMs: number;
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;

  constructor(listener: (answer: T) => void, ask: (signal: AbortSignal) => Promise<T>, every = everyMs) {
    this.#listener = listener;
    this.#ask = ask;
    this.#everyMs = every;
    sessionOver.watch(() => this.#end());
  }

  /** Asks at once, and drops the answer to the pending request. */
  now(): void {
    if (this.link.value.state === "ended") return;
    clearTimeout(this.#timer);
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const timeout = setTimeout(() => asking.abort(new Error("no answer")), patienceMs);
    this.#ask(asking.signal)
      .then(
        (answer) => {
          if (asking !== this.#asking) return;
          this.#attempt = 0;
          this.link.set({ state: "live" });
          this.#listener(answer);
          this.#again(this.#everyMs);
        },
        (error: unknown) => {
          if (asking === this.#asking) this.#failed(error);
        },
      )
      .finally(() => clearTimeout(timeout));
  }

  #failed(error: unknown): void {
    if (error instanceof ApiError && error.status === 404) {
      this.link.set({ state: "none" });
      return;
    }
    if (error instanceof ApiError && error.status === 403) {
      this.link.set({ state: "denied", why: error.message });
      return;
    }
    if (error instanceof ApiError && error.status === 401) return this.#end();
    const before = this.link.value;
    const wait = backoffMs(this.#attempt++);
    // What the server says about it helps; what a browser says about a connection does not.
    const why = error instanceof ApiError ? error.message : "";
    this.link.set({ state: "lost", since: before.state === "lost" ? before.since : Date.now(), retryAt: Date.now() + wait, why });
    this.#again(wait);
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#asking = undefined;
    const before = this.link.value;
    if (before.state !== "ended") this.link.set({ state: "ended", since: before.state === "lost" ? before.since : Date.now() });
  }

  #again(afterMs: number): void {
    this.#timer = setTimeout(() => this.now(), afterMs);
  }
}
