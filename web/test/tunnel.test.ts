import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Tunnel } from "../src/api";
import type { Link } from "../src/live/poll";

vi.stubGlobal("document", { baseURI: "http://127.0.0.1:8080/tunnel" });
vi.stubGlobal("window", globalThis);
const { counter, Rates } = await import("../src/tunnel/rates");
const { everyMs, Poll } = await import("../src/live/poll");
const { ApiError } = await import("../src/api");
const { connections, inFlight, kickCommand, names, shortId } = await import("../src/tunnel/clients");
const { groupOf, stateOf } = await import("../src/tunnel/tunnels");
const { share } = await import("../src/tunnel/bounds");

/** What the server says at a time, of one client and one tunnel. */
function answer(t: number, begun = 0, refused = 0): Tunnel {
  return {
    t,
    figures: {
      sessions: 1, sessions_limit: 10, names: 1, away: 0, waiting: 0, visitors: 0, visitors_limit: 10, requests: 0, requests_limit: 10,
      streams: 0, streams_limit: 10, queued: 0, bytes: 0, bytes_limit: 10, begun, served: begun, cancelled: 0, takeovers: 0, resent: 0, received: begun * 100, sent: 0,
    },
    refused: refused > 0 ? [{ stage: "route", reason: "no_route", count: refused }] : [],
    overloads: [],
    sessions: [
      { name: "bus-17", id: "q", address: "", age_ms: 0, rtt_us: 0, in_flight: 0, streams: 0, bytes_in: begun * 100, bytes_out: 0, names: ["a.example"], names_all: 1, connections: 1, direct: 0 },
    ],
    sessions_all: 1,
    tunnels: [{ at: "a.example", protocol: "http", client: "bus-17", members: 1, here: 1, away: false, waiting: 0, in_flight: 0, limit: 8, streams: 0, queued: 0, begun, refused }],
    tunnels_all: 1,
  };
}

/** A poll whose server refuses each question. */
function refusedPoll(status: number, why: string) {
  const ask = vi.fn(() => Promise.reject(new ApiError(status, why)));
  return { poll: new Poll(() => undefined, ask), ask };
}

describe("rates", () => {
  it("are what counters grow by in a second, over the last five", () => {
    const rates = new Rates();
    rates.add(answer(1_000, 10));
    expect(rates.of(counter.figure("begun"))).toBeNaN();
    rates.add(answer(2_000, 30));
    expect(rates.of(counter.figure("begun"))).toBe(20);
    expect(rates.of(counter.tunnel("http", "a.example", "bus-17"))).toBe(20);
    expect(rates.of(counter.received("bus-17"))).toBe(2_000);
    for (let t = 3_000; t <= 20_000; t += 1_000) rates.add(answer(t, 30));
    expect(rates.of(counter.figure("begun"))).toBe(0);
  });

  it("tell nothing of a counter that was set back, or has come only now", () => {
    const rates = new Rates();
    rates.add(answer(1_000, 10));
    rates.add(answer(2_000, 5, 3));
    expect(rates.of(counter.figure("begun"))).toBeNaN();
    expect(rates.of(counter.refused("route", "no_route"))).toBeNaN();
    expect(rates.of(counter.refusedAll)).toBe(3);
    expect(rates.of(counter.tunnel("http", "a.example", "depot"))).toBeNaN();
  });

  it("take the same answer once, and begin anew with another clock", () => {
    const rates = new Rates();
    rates.add(answer(5_000, 10));
    rates.add(answer(6_000, 20));
    rates.add(answer(6_000, 20));
    expect(rates.of(counter.figure("begun"))).toBe(10);
    rates.add(answer(1_000, 20));
    expect(rates.of(counter.figure("begun"))).toBeNaN();
  });
});

describe("the poll", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    return () => vi.useRealTimers();
  });

  it("asks again after a second, and after a wait when the server is away", async () => {
    const answers: (Tunnel | Error)[] = [answer(1), answer(2), new TypeError("no connection"), new ApiError(503, "not now"), answer(3)];
    let asked = 0;
    const shown: number[] = [];
    const ask = (): Promise<Tunnel> => {
      asked++;
      const next = answers.shift()!;
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    };
    const poll = new Poll(({ t }) => shown.push(t), ask);
    const links: Link[] = [];
    poll.link.watch((link) => links.push(link));
    poll.now();
    await vi.advanceTimersByTimeAsync(0);
    await vi.advanceTimersByTimeAsync(everyMs);
    expect(shown).toEqual([1, 2]);
    await vi.advanceTimersByTimeAsync(everyMs);
    const lost = links.at(-1);
    expect(lost).toMatchObject({ state: "lost", why: "" });
    await vi.advanceTimersByTimeAsync(500);
    expect(links.at(-1)).toMatchObject({ state: "lost", why: "not now", since: lost?.state === "lost" ? lost.since : 0 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(links.at(-1)).toMatchObject({ state: "live" });
    expect(shown).toEqual([1, 2, 3]);
    expect(asked).toBe(5);
  });

  it("asks a server without a tunnel once", async () => {
    const { poll, ask } = refusedPoll(404, "there is no tunnel here");
    poll.now();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(poll.link.value).toEqual({ state: "none" });
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it("ends with the session", async () => {
    const { poll, ask } = refusedPoll(401, "send a key as Authorization: Bearer KEY");
    poll.now();
    await vi.advanceTimersByTimeAsync(60_000);
    poll.now();
    expect(poll.link.value).toMatchObject({ state: "ended" });
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it("asks a server that refuses the key once, and says why", async () => {
    const { poll, ask } = refusedPoll(403, "it needs admin");
    poll.now();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(poll.link.value).toEqual({ state: "denied", why: "it needs admin" });
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it("shows nothing of a question that was replaced", async () => {
    const waiting: ((tunnel: Tunnel) => void)[] = [];
    const poll = new Poll<Tunnel>(({ t }) => shown.push(t), () => new Promise((resolve) => waiting.push(resolve)));
    const shown: number[] = [];
    poll.now();
    poll.now();
    waiting[1]!(answer(2));
    waiting[0]!(answer(1));
    await vi.advanceTimersByTimeAsync(0);
    expect(shown).toEqual([2]);
  });
});

describe("what the tables say", () => {
  it("names", () => {
    expect(names({ names: ["a", "b", "c"], names_all: 40 })).toBe("a, b and 38 more");
    expect(names({ names: ["a"], names_all: 1 })).toBe("a");
    expect(names({ names: [], names_all: 0 })).toBe("");
    expect(connections({ connections: 1, direct: 0 })).toBe("");
    expect(connections({ connections: 3, direct: 0 })).toBe("3 connections");
    expect(connections({ connections: 1, direct: 2 })).toBe("1 connection, and 2 of visitors");
  });
  it("ids", () => expect([shortId("abcdefghijklmnop"), shortId("token:ci-of-everything")]).toEqual(["abcdefghijkl", "token:ci-of-everything"]));
  it("what is in flight", () => expect([inFlight(3, 0), inFlight(3, 2)]).toEqual(["3", "3 + 2"]));
  it("states", () => {
    expect(stateOf({ away: false, waiting: 0 })).toBe("connected");
    expect(stateOf({ away: true, waiting: 0 })).toBe("away");
    expect(stateOf({ away: true, waiting: 3 })).toBe("away, 3 wait");
  });
  it("groups", () => {
    expect(groupOf({ members: 1, here: 1 })).toBe("");
    expect(groupOf({ group: "web", members: 3, here: 2 })).toBe("web, 2 of 3");
  });
  it("parts of a bound", () => expect([share(5, 10), share(11, 10), share(1, 0)]).toEqual([0.5, 1, 0]));
  it("the command that sends a client away", () =>
    expect([kickCommand("bus-17"), kickCommand("a; rm b")]).toEqual(["paddock tunnel kick bus-17", "paddock tunnel kick 'a; rm b'"]));
});
