import { describe, expect, it } from "vitest";
import { facts, joinPieces, placeName, sentence } from "../src/model/sentence";
import { counted, event, met } from "./events";

const at = Date.UTC(2026, 10, 25, 12);
const text = (e: ReturnType<typeof event>): string => joinPieces(sentence(e, placeName(e.data, (_, { id }) => id.toUpperCase())));

describe("sentence", () => {
  it.each([
    ["enter", "v1 enters D-1"],
    ["exit", "v1 exits D-1"],
    ["inside", "v1 is inside D-1"],
    ["outside", "v1 is outside of D-1"],
    ["cross", "v1 crosses D-1"],
    ["dwell", "v1 dwells in D-1"],
    ["door_opened", "v1 door opened D-1"],
  ])("%s: %s", (kind, want) => expect(text(event({ kind }))).toBe(want));

  it("names the rule of a condition", () => {
    const data = { rule: "over-the-limit" };
    expect(text(event({ kind: "condition_begin", data }))).toBe("v1 meets over-the-limit in D-1");
    expect(text(event({ kind: "condition_end", data }))).toBe("v1 no longer meets over-the-limit in D-1");
    expect(text(event({ kind: "condition_begin" }))).toBe("v1 meets a condition in D-1");
  });

  it("says how many objects are in a fence", () => {
    expect(text(counted("count_begin"))).toBe("D-1 fills to 4 objects");
    expect(text(counted("count_end", { count: 1 }))).toBe("D-1 empties to 1 object");
    expect(facts(counted("count_end", { duration_ms: 42_000 }))).toEqual(["after 42 s", "crowded"]);
  });

  it("names both objects of a meeting", () => {
    expect(text(met("near_begin"))).toBe("v1 meets v2");
    expect(text(met("near_end"))).toBe("v1 parts from v2");
    expect(facts(met("near_begin"))).toEqual(["48 m", "meeting"]);
    expect(facts(met("near_end", { duration_ms: 42_000, reason: "ttl" }))).toEqual(["after 42 s", "48 m", "meeting", "ttl"]);
  });

  it("names the set where there is no fence", () => {
    expect(text(event({ kind: "outside", set: "harbour", fence: null }))).toBe("v1 is outside of all fences of harbour");
  });
});

describe("facts", () => {
  it.each([
    ["nothing of a plain enter", { kind: "enter" }, []],
    ["how long a visit was", { kind: "exit", data: { duration_ms: 42_000 } }, ["after 42 s"]],
    ["how long a dwell has been, and its rule", { kind: "dwell", data: { duration_ms: 300_000, rule: "overstay" } }, ["for 5 min", "overstay"]],
    ["how long a condition held", { kind: "condition_end", data: { duration_ms: 90_000, rule: "fast" } }, ["after 1 min 30 s"]],
    ["how long a crossing took", { kind: "cross", at, data: { left: new Date(at + 12_000).toISOString() } }, ["in 12 s"]],
    ["to which side of a line", { kind: "cross", at, data: { left: new Date(at).toISOString(), direction: "left" } }, ["to the left"]],
    ["how far along a corridor", { kind: "exit", data: { duration_ms: 60_000, progress: 1234 } }, ["after 1 min", "at 1.2 km"]],
    ["a reason that is no move", { kind: "enter", data: { reason: "rule_added" } }, ["rule added"]],
    ["that it was the first position", { kind: "enter", data: { reason: "initial" } }, ["first position"]],
    ["nothing of an outside that begins", { kind: "outside" }, []],
  ])("tell %s", (_, change, want) => expect(facts(event(change))).toEqual(want));
});
