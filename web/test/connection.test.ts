import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Link } from "../src/live/connection";

/** A socket whose other end is the test. */
class Socket {
  static readonly OPEN = 1;
  static all: Socket[] = [];
  readyState = 0;
  onopen?: () => void;
  onmessage?: (event: { data: string }) => void;
  onclose?: (event: { code: number }) => void;

  constructor() {
    Socket.all.push(this);
  }

  greet(): void {
    this.readyState = Socket.OPEN;
    this.onopen?.();
    this.onmessage?.({ data: JSON.stringify({ type: "hello", cursor: "1" }) });
  }

  send(): void {
    // The server's part is the test's.
  }

  close(code = 1005): void {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

let ended: boolean;

beforeEach(() => {
  [Socket.all, ended] = [[], false];
  vi.useFakeTimers();
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("document", { baseURI: "http://localhost/" });
  vi.stubGlobal("WebSocket", Socket);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

async function connect() {
  const { Connection } = await import("../src/live/connection");
  const connection = new Connection({ message: () => undefined, frame: () => undefined }, () => Promise.resolve(ended));
  connection.open();
  const state = (): Link["state"] => connection.link.value.state;
  return { connection, state };
}

const hourMs = 3_600_000;

describe("a connection", () => {
  it("comes back after a loss, and after a change of its key", async () => {
    const { state } = await connect();
    for (const code of [1006, 1008]) {
      Socket.all.at(-1)!.greet();
      expect(state()).toBe("live");
      Socket.all.at(-1)!.close(code);
      expect(state()).toBe("lost");
      await vi.advanceTimersByTimeAsync(2_000);
    }
    Socket.all.at(-1)!.greet();
    expect([state(), Socket.all.length]).toEqual(["live", 3]);
  });

  it("ends with its key", async () => {
    const { state } = await connect();
    Socket.all.at(-1)!.greet();
    ended = true;
    Socket.all.at(-1)!.close(1008);
    await vi.advanceTimersByTimeAsync(hourMs);
    expect([state(), Socket.all.length]).toEqual(["ended", 1]);
  });

  it("ends where the key has ended while it was away", async () => {
    const { state } = await connect();
    Socket.all.at(-1)!.greet();
    Socket.all.at(-1)!.close(1006);
    await vi.advanceTimersByTimeAsync(1_000);
    ended = true;
    Socket.all.at(-1)!.close(1006); // refused
    await vi.advanceTimersByTimeAsync(hourMs);
    expect([state(), Socket.all.length]).toEqual(["ended", 2]);
  });
});
