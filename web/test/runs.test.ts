import { describe, expect, it } from "vitest";
import { inOrder } from "../src/model/order";
import { choose, compare, differenceText, loadText, objectivesText, outcomeState, shareText, timeText } from "../src/model/runs";
import { presentPages } from "../src/nav/pages";
import type { Run, RunSummary } from "../src/pages/runs/api";

const summary = (more: Partial<RunSummary> = {}): RunSummary => ({
  began: "2026-03-12T09:00:00Z", command: "paddock bench http URL", version: "v1", revision: null, cpu_model: "EPYC", cpus: 2,
  driver: "http/1.1", target: "10.0.0.2:80", model: "closed", arrivals: null, conns: 4, interrupted: false, good: 100, rate: 1000,
  p50_ns: 1_000_000, p99_ns: 2_000_000, max_ns: 3_000_000, errors: 0, generator_cpu_ns: 9000, verdict: "green", verdict_text: "fine", objectives: [], ...more,
});

const run = (name: string, more?: Partial<RunSummary>): Run => ({ name, modified: "2026-03-12T09:00:00Z", report: true, summary: summary(more) });

const objectives = (...outcomes: string[]) => ({ objectives: outcomes.map((outcome) => ({ objective: "p99<1s", outcome, text: "2ms" })) });

describe("the selection", () => {
  it("has two runs at most: the second is replaced", () => {
    expect(choose(["", ""], "x")).toEqual(["x", ""]);
    expect(choose(["x", ""], "y")).toEqual(["x", "y"]);
    expect(choose(["x", "y"], "z")).toEqual(["x", "z"]);
    expect(choose(["x", "y"], "x")).toEqual(["y", ""]);
    expect(choose(["x", "y"], "y")).toEqual(["x", ""]);
    expect(choose(["x", ""], "x")).toEqual(["", ""]);
  });
});

describe("the words of a run", () => {
  it.each([[null, "–"], [0, "0 µs"], [9_120, "9.1 µs"], [33_400, "33 µs"], [99_990, "100 µs"], [420_000, "0.42 ms"], [42_000_000, "42 ms"], [4.2e9, "4.2 s"]])("%s ns", (ns, text) => expect(timeText(ns)).toBe(text));
  it.each([[null, "–"], [0, "0 %"], [0.00001, "<0.01 %"], [0.0123, "1.2 %"], [0.5, "50 %"], [1, "100 %"]])("a share of %s", (share, text) => expect(shareText(share)).toBe(text));
  it.each([[100, 103.2, "+3.2 %"], [100, 50, "−50 %"], [100, 100, "0 %"], [100, 100.01, "+<0.1 %"], [0, 5, "–"], [0, 0, "0 %"], [null, 5, "–"], [5, null, "–"], [1, 31, "+3,000 %"]])("from %s to %s", (a, b, text) => expect(differenceText(a, b)).toBe(text));

  it("tell load and objectives", () => {
    expect(loadText(summary())).toBe("closed, 4 connections");
    expect(loadText(summary({ arrivals: "poisson 100/s", model: "open", conns: 1 }))).toBe("poisson 100/s, 1 connection");
    expect([objectives(), objectives("met", "met"), objectives("met", "missed"), objectives("unknown", "met")].map((more) => objectivesText(summary(more)))).toEqual(["–", "2 met", "1 missed, 1 met", "1 unknown, 1 met"]);
    expect([objectives("met"), objectives("unknown", "missed"), objectives("unknown")].map((more) => outcomeState(summary(more)))).toEqual(["", "refused", "away"]);
  });
});

describe("two runs", () => {
  const line = (a: Run, b: Run, name: string) => {
    const { numbers, facts } = compare(a, b);
    return [...numbers, ...facts].find((each) => each.name === name);
  };

  it("stand beside each other", () => {
    expect(line(run("a"), run("b", { rate: 1100 }), "Good answers a second")).toEqual({ name: "Good answers a second", a: "1,000", b: "1,100", difference: "+10 %" });
    expect(line(run("a"), run("b", { p99_ns: null }), "p99")).toMatchObject({ a: "2.0 ms", b: "–", difference: "–" });
    expect(line(run("a"), run("b"), "Machine")).toMatchObject({ a: "EPYC, 2 CPUs", difference: "" });
    expect(line(run("a"), run("b", { cpus: 4 }), "Machine")).toMatchObject({ difference: "differs" });
  });

  it("may be broken", () => {
    const broken: Run = { name: "b", modified: "", report: false, error: "run.json: cut" };
    expect(line(run("a"), broken, "p50")).toMatchObject({ a: "1.0 ms", b: "–", difference: "–" });
    expect(line(run("a"), broken, "Load")).toEqual({ name: "Load", a: "closed, 4 connections", b: "run.json: cut", difference: "differs" });
  });
});

describe("the order of rows", () => {
  it("has what is unknown last in either direction", () => {
    const rows = [3, null, 1, 2];
    expect(inOrder(rows, (row) => row, false)).toEqual([1, 2, 3, null]);
    expect(inOrder(rows, (row) => row, true)).toEqual([3, 2, 1, null]);
    expect(inOrder(["run-10", "Run-9", "a"], (row) => row, false)).toEqual(["a", "Run-9", "run-10"]);
  });
});

describe("the navigation", () => {
  it("has an optional page if the server names it", () => {
    expect(presentPages(undefined).some(({ name }) => name === "runs")).toBe(false);
    expect(presentPages("runs").some(({ name }) => name === "runs")).toBe(true);
    expect(presentPages("").length).toBe(presentPages("runs").length - 1);
  });
});
