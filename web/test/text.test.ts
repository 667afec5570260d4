import { describe, expect, it, vi } from "vitest";
import { backoffMs } from "../src/live/backoff";
import { compass, formatBoth, formatBytes, formatClock, formatCompact, formatCount, formatDistance, formatDuration, formatLatency, formatPlace, formatUTC, plural, roundLength } from "../src/format";

vi.stubGlobal("document", { baseURI: "http://127.0.0.1:8080/" });
const { curlCommand, natsCommand, quoteForShell, subjectToken } = await import("../src/model/commands");
const { event } = await import("./events");

describe("numbers", () => {
  it.each([
    [0, "0"], [7, "7"], [0.42, "0.4"], [1234, "1,234"], [19999, "19,999"], [56789, "56.8 k"], [123456, "123 k"], [1234567, "1.23 M"], [999_499_999, "999 M"], [999_500_000, "1.00 G"], [1_234_567_890, "1.23 G"], [56e9, "56.0 G"], [3e12, "3.00 T"], [4e15, "4,000 T"], [NaN, "–"],
  ])("formatCount(%d) = %s", (n, want) => expect(formatCount(n)).toBe(want));

  it.each([
    [400, "0.4 s"], [42_000, "42 s"], [59_700, "1 min"], [405_250, "6 min 45 s"], [3_600_000, "1 h"], [7_800_000, "2 h 10 min"], [200_000_000, "2 d 7 h"],
  ])("formatDuration(%d) = %s", (ms, want) => expect(formatDuration(ms)).toBe(want));

  it.each([[0.42, "0.42 ms"], [4.2, "4.2 ms"], [42, "42 ms"], [4200, "4.2 s"]])("formatLatency(%d) = %s", (ms, want) =>
    expect(formatLatency(ms)).toBe(want));

  it.each([[512, "512 B"], [1536, "1.5 KiB"], [73_400_320, "70 MiB"], [5 * 2 ** 30, "5.0 GiB"]])("formatBytes(%d) = %s", (n, want) =>
    expect(formatBytes(n)).toBe(want));

  it.each([[0.4, "0.4 m"], [25, "25 m"], [999, "999 m"], [1000, "1 km"], [1234, "1.2 km"]])("formatDistance(%d) = %s", (n, want) =>
    expect(formatDistance(n)).toBe(want));

  it.each([[0, "N"], [47, "NE"], [350, "N"], [270, "W"], [-90, "W"], [360, "N"]])("compass(%d) = %s", (degrees, want) =>
    expect(compass(degrees)).toBe(want));

  it("plural", () => expect([plural(1, "event"), plural(2, "event")]).toEqual(["1 event", "2 events"]));
});

describe("commands", () => {
  it.each([
    ["v42", "v42"], ["", "_"], ["_", "%5F"], ["a_b-C", "a_b-C"], ["a.b", "a%2Eb"], ["a b>*", "a%20b%3E%2A"], ["é", "%C3%A9"], ["100%", "100%25"],
  ])("token of %j is %s", (id, want) => expect(subjectToken(id)).toBe(want));

  it("quotes for the shell", () => expect(quoteForShell("it's")).toBe(`'it'\\''s'`));

  it("subscribes to the event's like", () => {
    const e = event({ set: "low emission", fence: "d.1&x", kind: "exit" });
    expect(curlCommand(e)).toBe("curl -N 'http://127.0.0.1:8080/v1/events?set=low+emission&fence=d.1%26x&event=exit'");
    expect(natsCommand(e, "nats://h:4222")).toBe("nats --server nats://h:4222 sub 'fence.low%20emission.d%2E1%26x.exit.>'");
  });

  it("subscribes to events about no fence", () => {
    const e = event({ set: "harbour", fence: null, kind: "outside" });
    expect(curlCommand(e)).toBe("curl -N 'http://127.0.0.1:8080/v1/events?set=harbour&event=outside'");
    expect(natsCommand(e, "nats://h:4222")).toBe("nats --server nats://h:4222 sub 'fence.harbour._.outside.>'");
  });
});

describe("backoff", () => {
  it("grows, stays under its bound, and is random in its upper half", () => {
    const bounds = (attempt: number): [number, number] => [backoffMs(attempt, () => 0), backoffMs(attempt, () => 1)];
    expect(bounds(0)).toEqual([250, 500]);
    expect(bounds(1)).toEqual([500, 1000]);
    expect(bounds(5)).toEqual([7500, 15000]);
    expect(bounds(1000)).toEqual([7500, 15000]);
  });
});

describe("lengths, places and instants", () => {
  it("rounds a scale bar down", () => {
    expect([0.3, 1, 4.9, 5, 99, 450, 30_000].map((m) => roundLength(m))).toEqual([0.2, 1, 2, 5, 50, 200, 20_000]);
  });

  it("writes a place as maps do", () => expect(formatPlace(40.7128, -74.006, 5)).toBe("40.71280, -74.00600"));

  it("writes numbers for little room", () => {
    expect([7, 950, 1_234, 9_990, 56_789, 999_600, 1_234_567, 1_234_567_890].map(formatCompact)).toEqual(["7", "950", "1.2k", "10k", "57k", "1M", "1.2M", "1.2G"]);
  });

  it("begins a day at 00:00", () => expect(formatClock(Date.UTC(2026, 2, 12), true)).toBe("00:00:00"));

  it("tells UTC exactly", () => {
    expect(formatUTC(1_795_202_210_250)).toBe("2026-11-20 19:16:50.250 UTC");
    expect(formatBoth(1_795_202_210_250)).toContain("UTC");
  });
});
