// Runs of the lab in words, and two of them beside each other.

import { formatCount, formatLatency, plural } from "../format";
import type { Run, RunSummary } from "../pages/runs/api";

/** The names of the runs that are compared; "" is none. */
export type Pair = readonly [a: string, b: string];

/** The selection after a click on a run: it leaves the pair, or joins it in the place of the second. */
export function choose([a, b]: Pair, name: string): Pair {
  if (name === a) return [b, ""];
  if (name === b) return [a, ""];
  return a === "" ? [name, ""] : [a, name];
}

/** "closed, 4 connections", or "poisson 2000/s, 50 connections". */
export function loadText({ arrivals, model, conns }: RunSummary): string {
  return `${arrivals ?? model}, ${plural(conns, "connection")}`;
}

/** A time that is given in nanoseconds: "0.42 ms", and below 0.1 ms "42 µs". */
export function timeText(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return "–";
  return ns < 100_000 ? `${+(ns / 1000).toPrecision(2)} µs` : formatLatency(ns / 1e6);
}

/** A share in percent, "<0.01 %" for the least ones. */
export function shareText(share: number | null | undefined): string {
  if (share === null || share === undefined) return "–";
  if (share > 0 && share < 0.0001) return "<0.01 %";
  return `${+(100 * share).toPrecision(share < 0.1 ? 2 : 3)} %`;
}

export const rateText = (rate: number | null | undefined): string => (rate === null || rate === undefined ? "–" : formatCount(rate));

/** "2 met", or "1 missed, 1 met"; the worst first. */
export function objectivesText({ objectives }: RunSummary): string {
  const counts = ["missed", "unknown", "met"].map((outcome) => [outcome, objectives.filter((each) => each.outcome === outcome).length] as const);
  return counts.filter(([, n]) => n > 0).map(([outcome, n]) => `${formatCount(n)} ${outcome}`).join(", ") || "–";
}

/** What a colour tells beside the word, as in other tables. */
export function outcomeState({ objectives }: RunSummary): string {
  return objectives.some(({ outcome }) => outcome === "missed") ? "refused" : objectives.some(({ outcome }) => outcome === "unknown") ? "away" : "";
}

export const verdictState = ({ verdict }: RunSummary): string => ({ red: "refused", amber: "away" })[verdict] ?? "";

/** How much more b is than a: "+3.2 %". */
export function differenceText(a: number | null | undefined, b: number | null | undefined): string {
  if (a === null || a === undefined || b === null || b === undefined) return "–";
  if (a === b) return "0 %";
  if (a === 0) return "–";
  const percent = (100 * (b - a)) / Math.abs(a);
  const size = Math.abs(percent);
  return `${percent < 0 ? "−" : "+"}${size < 0.05 ? "<0.1" : size < 10 ? size.toFixed(1) : formatCount(Math.round(size))} %`;
}

/** A line of the comparison; a difference is only of numbers. */
export interface Line {
  name: string;
  a: string;
  b: string;
  difference: string;
}

interface Measure {
  name: string;
  value: (summary: RunSummary) => number | null;
  text: (value: number | null | undefined) => string;
}

const measures: Measure[] = [
  { name: "Good answers a second", value: ({ rate }) => rate, text: rateText },
  { name: "p50", value: ({ p50_ns }) => p50_ns, text: timeText },
  { name: "p99", value: ({ p99_ns }) => p99_ns, text: timeText },
  { name: "Max", value: ({ max_ns }) => max_ns, text: timeText },
  { name: "Errors", value: ({ errors }) => errors, text: shareText },
  { name: "Generator's CPU per answer", value: ({ generator_cpu_ns }) => generator_cpu_ns, text: timeText },
];

const facts: [name: string, text: (summary: RunSummary) => string][] = [
  ["Load", loadText],
  ["Target", ({ driver, target }) => `${driver} ${target}`],
  ["Objectives", ({ objectives }) => objectives.map(({ objective, outcome, text }) => `${outcome} ${objective}${text === "" ? "" : `: ${text}`}`).join("\n") || "–"],
  ["Generator", ({ verdict_text }) => verdict_text],
  ["Machine", ({ cpu_model, cpus }) => `${cpu_model ?? "unknown"}, ${plural(cpus, "CPU")}`],
  ["Version", ({ version, revision }) => version + (revision === null ? "" : ` ${revision.slice(0, 12)}`)],
  ["Command", ({ command }) => command],
];

/** The lines of two runs: their numbers with the difference in percent, and the rest with whether it differs. */
export function compare(a: Run, b: Run): { numbers: Line[]; facts: Line[] } {
  const both = <T>(of: (run: Run) => T): [T, T] => [of(a), of(b)];
  return {
    numbers: measures.map(({ name, value, text }) => {
      const [left, right] = both(({ summary }) => (summary ? value(summary) : null));
      return { name, a: text(left), b: text(right), difference: differenceText(left, right) };
    }),
    facts: facts.map(([name, text]) => {
      const [left, right] = both(({ summary, error }) => (summary ? text(summary) : (error ?? "–")));
      return { name, a: left, b: right, difference: left === right ? "" : "differs" };
    }),
  };
}
