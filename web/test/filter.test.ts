import { describe, expect, it } from "vitest";
import { isFiltering, matches, noteStates, objectFilter } from "../src/model/filter";
import { noFilter } from "../src/view";
import { counted, event, met } from "./events";

const e = event({ kind: "exit", set: "zones", fence: "depot-1", object: "Bus-42", properties: { name: "Greyhurst Depot", floors: 3, x: null } });

describe("matches", () => {
  it.each([
    [{}, true],
    [{ set: "zones" }, true],
    [{ set: "zone" }, false],
    [{ events: ["exit"] }, true],
    [{ events: ["enter", "exit"] }, true],
    [{ events: ["enter"] }, false],
    [{ text: "bus-42" }, true],
    [{ text: "GREYHURST" }, true],
    [{ text: "depot bus" }, true],
    [{ text: "depot tram" }, false],
    [{ text: "  " }, true],
    [{ text: "3" }, true],
    [{ set: "zones", events: ["exit"], text: "grey" }, true],
    [{ set: "zones", events: ["enter"], text: "grey" }, false],
  ])("%j: %s", (filter, want) => {
    expect(matches(e, { ...noFilter, ...filter })).toBe(want);
  });

  it("does not mind absent properties", () => {
    const bare = event({ properties: null, data: { object: { id: "v1", fleet: "default", properties: null } } });
    expect(matches(bare, { ...noFilter, text: "d-1" })).toBe(true);
  });

  it("finds both objects of a meeting, and a count by its fence", () => {
    expect(["v1", "v2", "vans", "meeting", "d-1"].map((text) => matches(met("near_begin"), { ...noFilter, text }))).toEqual([true, true, true, true, false]);
    expect(["d-1", "crowded", "v1"].map((text) => matches(counted("count_begin"), { ...noFilter, text }))).toEqual([true, true, false]);
    expect(matches(met("near_begin"), { ...noFilter, set: "districts" })).toBe(false);
  });

  it("selects the events of a rule", () => {
    const dwell = event({ kind: "dwell", data: { rule: "overstay" } });
    expect(matches(dwell, { ...noFilter, rule: "overstay" })).toBe(true);
    expect(matches(dwell, { ...noFilter, rule: "over" })).toBe(false);
    expect(matches(event(), { ...noFilter, rule: "overstay" })).toBe(false);
    expect(matches(dwell, { ...noFilter, text: "overs" })).toBe(true);
  });

  it("selects the events of a fleet, of meetings by either object", () => {
    const fleets = (e: Parameters<typeof matches>[0]): boolean[] => ["default", "vans", "van"].map((fleet) => matches(e, { ...noFilter, fleet }));
    expect(fleets(event())).toEqual([true, false, false]);
    expect(fleets(met("near_end"))).toEqual([true, true, false]);
    expect(fleets(counted("count_begin"))).toEqual([false, false, false]);
  });

  it("selects by the state of the object at the event, else by its state now", () => {
    const [told, known, strange] = [event({ object: "a" }), event({ object: "b" }), event({ object: "c" })];
    noteStates([told], [2]);
    const now = (_fleet: string, id: string): number | undefined => ({ a: 0, b: 1 })[id];
    const by = (state: string): boolean[] => [told, known, strange].map((e) => matches(e, { ...noFilter, states: [state] }, now));
    expect(by("silent")).toEqual([true, false, false]);
    expect(by("dwelling")).toEqual([false, true, false]);
    expect(by("unknown")).toEqual([false, false, true]);
  });

  it("asks the server for what is about objects, in a short message", () => {
    const filter = { ...noFilter, set: "zones", fleet: "red", states: ["silent"], text: ` ${"x".repeat(5_000)}` };
    expect(objectFilter({ ...filter, text: " a b " })).toEqual({ fleet: "red", states: ["silent"], text: "a b" });
    expect(JSON.stringify(objectFilter(filter)).length).toBeLessThan(1_000);
    const long = "f".repeat(256); // as the server allows
    expect(objectFilter({ ...noFilter, fleet: long }).fleet).toBe(long);
    expect(JSON.stringify(objectFilter({ ...filter, fleet: "\u0001".repeat(9_000) })).length).toBeLessThan(4_000);
  });

  it("finds an event without a fence by its set", () => {
    const outside = event({ kind: "outside", set: "harbour", fence: null });
    expect(matches(outside, { ...noFilter, set: "harbour", text: "harb v1" })).toBe(true);
  });
});

it("knows whether anything is filtered", () => {
  expect(isFiltering(noFilter)).toBe(false);
  expect(isFiltering({ ...noFilter, text: " " })).toBe(false);
  expect(isFiltering({ ...noFilter, rule: "overstay" })).toBe(true);
  expect(isFiltering({ ...noFilter, set: "zones" })).toBe(true);
});
