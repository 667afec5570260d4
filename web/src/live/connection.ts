// Connection: the one WebSocket of the page. It reconnects until the session has ended, resumes the events by cursor and
// tells the server which part of the map is in view. It holds no picture: it hands the messages to its listener.

import { liveURL, type LiveMessage, type LiveRequest } from "../api";
import { Signal } from "../signal";
import { backoffMs } from "./backoff";
import { decodeFrame, type Frame } from "./frame";
import { sessionHasEnded } from "./session";

export type Link =
  | { state: "connecting" }
  | { state: "live"; since: number }
  /** Lost since a time; the next attempt is at another. Both Unix ms. */
  | { state: "lost"; since: number; retryAt: number; attempt: number }
  /** The key of this browser has ended: the server would refuse each further attempt. */
  | { state: "ended"; since: number };

export interface Listener {
  message(message: LiveMessage): void;
  frame(frame: Frame): void;
}

/** Stats come every second: a connection that says nothing for this long is taken for dead. */
const quietMs = 6_000;
/** The code of a close because the key has ended, or was changed. */
const keyEnded = 1008;

export class Connection {
  readonly link = new Signal<Link>({ state: "connecting" });
  readonly #listener: Listener;
  readonly #hasEnded: () => Promise<boolean>;
  #socket: WebSocket | undefined;
  #retry: number | undefined;
  #watchdog: number | undefined;
  #cursor = "";
  /** What the server has been asked to show. */
  #wanted: Omit<LiveRequest, "cursor"> = {};
  #attempt = 0;

  constructor(listener: Listener, hasEnded = sessionHasEnded) {
    this.#listener = listener;
    this.#hasEnded = hasEnded;
  }

  open(): void {
    clearTimeout(this.#retry);
    this.#socket?.close();
    const socket = new WebSocket(liveURL());
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.#onOpen();
    };
    socket.onmessage = (event: MessageEvent<string | ArrayBuffer>) => {
      if (socket === this.#socket) this.#onMessage(event.data);
    };
    socket.onclose = ({ code }) => {
      if (socket !== this.#socket) return;
      this.#onClose();
      // A page is not told why its connection was refused.
      if (code === keyEnded || !opened) void this.#askSession();
    };
    this.#expectSomething();
  }

  /** Objects are wanted so from now on; absent fields stay as they are. */
  want(wanted: Omit<LiveRequest, "cursor">): void {
    this.#wanted = { ...this.#wanted, ...wanted };
    this.#send(wanted);
  }

  #onOpen(): void {
    // The server waits a little for the first request. It is the cursor, so that it starts with what this page has
    // missed; a page without one says that it wants nothing in particular.
    this.#send(this.#cursor === "" ? this.#wanted : { ...this.#wanted, cursor: this.#cursor });
  }

  #send(request: LiveRequest): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(request));
  }

  #onMessage(data: string | ArrayBuffer): void {
    this.#expectSomething();
    try {
      if (typeof data === "string") this.#onText(JSON.parse(data) as LiveMessage);
      else this.#onBinary(data);
    } catch (error) {
      // One bad message costs itself only; the picture goes on with the next.
      console.error("live message dropped:", error);
    }
  }

  #onBinary(data: ArrayBuffer): void {
    const frame = decodeFrame(data);
    if (frame) this.#listener.frame(frame);
  }

  #onText(message: LiveMessage): void {
    if (message.type === "hello") {
      this.#attempt = 0;
      this.#listener.message(message);
      // A page that resumes keeps its own cursor until the first events after it arrive.
      if (this.#cursor === "") this.#cursor = message.cursor;
      this.link.set({ state: "live", since: Date.now() });
      return;
    }
    this.#listener.message(message);
    if (message.type === "events" || message.type === "gap") this.#cursor = message.cursor;
  }

  #onClose(): void {
    clearTimeout(this.#watchdog);
    this.#socket = undefined;
    const before = this.link.value;
    const wait = backoffMs(this.#attempt++);
    const since = before.state === "lost" ? before.since : Date.now();
    this.link.set({ state: "lost", since, retryAt: Date.now() + wait, attempt: this.#attempt });
    this.#retry = window.setTimeout(() => this.open(), wait);
  }

  /** Gives up if the session has ended. */
  async #askSession(): Promise<void> {
    const before = this.link.value;
    if (before.state !== "lost" || !(await this.#hasEnded()) || this.link.value.state !== "lost") return;
    this.end();
  }

  /** Asks for nothing more: the session has ended. */
  end(): void {
    const before = this.link.value;
    if (before.state === "ended") return;
    clearTimeout(this.#retry);
    clearTimeout(this.#watchdog);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
    this.link.set({ state: "ended", since: before.state === "lost" ? before.since : Date.now() });
  }

  #expectSomething(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = window.setTimeout(() => {
      const socket = this.#socket;
      if (!socket) return;
      // A dead network answers no close handshake: let go of the socket at once.
      socket.onclose = null;
      socket.close();
      this.#onClose();
    }, quietMs);
  }
}
