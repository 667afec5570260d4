// Poll: asks the server about once a second what goes on, for ever. It holds no picture: it hands what arrives to its
// listener, and says whether the server is there.

import { ApiError, fetchTunnel, type Tunnel } from "../api";
import { backoffMs } from "../live/backoff";
import { Signal } from "../signal";

export type Link =
  | { state: "connecting" }
  | { state: "live" }
  /** Lost since a time; the next attempt is at another. Both Unix ms. */
  | { state: "lost"; since: number; retryAt: number; why: string }
  /** The server has no tunnel: it is not asked again. */
  | { state: "none" };

export const everyMs = 1_000;
/** A server that does not answer within this is taken for away. */
const patienceMs = 5_000;

export class Poll {
  readonly link = new Signal<Link>({ state: "connecting" });
  readonly #listener: (tunnel: Tunnel) => void;
  readonly #ask: typeof fetchTunnel;
  #find = "";
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: AbortController | undefined;

  constructor(listener: (tunnel: Tunnel) => void, ask = fetchTunnel) {
    this.#listener = listener;
    this.#ask = ask;
  }

  /** Shows only rows with this text in their names, from now on. */
  setFind(find: string): void {
    if (find === this.#find) return;
    this.#find = find;
    this.now();
  }

  /** Asks at once, and drops the answer to the pending request. */
  now(): void {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const timeout = setTimeout(() => asking.abort(new Error("no answer")), patienceMs);
    this.#ask(this.#find, asking.signal)
      .then(
        (tunnel) => {
          if (asking !== this.#asking) return;
          this.#attempt = 0;
          this.link.set({ state: "live" });
          this.#listener(tunnel);
          this.#again(everyMs);
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
    const before = this.link.value;
    const wait = backoffMs(this.#attempt++);
    // What the server says about it helps; what a browser says about a connection does not.
    const why = error instanceof ApiError ? error.message : "";
    this.link.set({ state: "lost", since: before.state === "lost" ? before.since : Date.now(), retryAt: Date.now() + wait, why });
    this.#again(wait);
  }

  #again(afterMs: number): void {
    this.#timer = setTimeout(() => this.now(), afterMs);
  }
}
