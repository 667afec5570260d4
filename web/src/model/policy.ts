// Policy: how much it takes to enter or leave the fences of a set, in plain sentences.

import type { Pending, Policy, SetPolicy } from "../api";
import { formatDistance, formatDuration, formatSpeed, plural } from "../format";

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** Milliseconds of a duration as the server writes it: "1h30m0s"; 0 for what is none. */
export function parseDuration(text = ""): number {
  let total = 0;
  for (const [, number, unit] of text.matchAll(/([\d.]+)(ms|h|m|s)/g)) total += Number(number) * units[unit!]!;
  return Number.isFinite(total) ? total : 0;
}

/** A duration of a policy, which is a round one: "5 s". */
function span(ms: number): string {
  return formatDuration(ms).replace(".0 s", " s");
}

/** The sentences of a policy, and the last of them where it comes from. */
export function policySentences({ policy, own, file }: SetPolicy): string[] {
  const origin = file ? `From the file ${file}.` : own ? "Set over HTTP." : "As all sets without a policy of their own.";
  return [...confirmation(policy), ...limits(policy), origin];
}

function confirmation(policy: Policy): string[] {
  const { fixes = 1, sure = 0 } = policy;
  const [where, lasts] = [margin(policy), duration(policy)];
  if (fixes <= 1 && where === "") return [lasts === "" ? "Each position counts at once." : lasts];
  let first = fixes > 1 ? `${fixes} positions in a row confirm a change` : "One position confirms a change";
  if (where !== "") first += fixes > 1 ? `, each ${where}` : ` if it is ${where}`;
  if (sure > 0 && fixes > 1) first += `; a single one does ${formatDistance(sure)} beyond it`;
  return [`${first}.`, lasts].filter(Boolean);
}

function margin({ metres = 0, accuracy_factor: factor = 0 }: Policy): string {
  const circle = factor === 1 ? "its accuracy" : `${factor} × its accuracy`;
  if (metres > 0) return `${formatDistance(metres)} beyond the boundary${factor > 0 ? `, or ${circle} if that is more` : ""}`;
  return factor > 0 ? `at least ${circle} beyond the boundary` : "";
}

function duration(policy: Policy): string {
  const [enter, exit] = [parseDuration(policy.enter_after), parseDuration(policy.exit_after)];
  if (enter === 0 && exit === 0) return "";
  if (enter === exit) return `A change is confirmed when it has lasted ${span(enter)}.`;
  const part = (what: string, ms: number): string => (ms === 0 ? `${what} at once` : `${what} after ${span(ms)}`);
  return `A change is confirmed: ${part("an enter", enter)}, ${part("an exit", exit)}.`;
}

function limits({ max_accuracy: accuracy = 0, max_speed: speed = 0, ttl, late = "drop", initial = "none" }: Policy): string[] {
  const all: string[] = [];
  if (accuracy > 0) all.push(`Positions less accurate than ${formatDistance(accuracy)} change nothing.`);
  if (speed > 0) all.push(`Jumps faster than ${formatSpeed(speed)} are left out.`);
  if (parseDuration(ttl) > 0) all.push(`An object leaves after a silence of ${span(parseDuration(ttl))}.`);
  if (late === "history") all.push("Late positions are kept as past ones.");
  if (late.startsWith("reorder:")) all.push(`Positions wait ${span(parseDuration(late))} for earlier ones.`);
  if (initial === "none") all.push("An object's first position causes no event.");
  return all;
}

/** "entering", of a change that waits for its confirmation. */
export function pendingVerb({ event }: Pending): string {
  return { enter: "entering", exit: "leaving" }[event] ?? event;
}

/** How far the confirmation is; the time at which it comes without another position is told apart. */
export function pendingProgress({ fixes }: Pending): string {
  return fixes === 0 ? "too close to the boundary to count" : `${plural(fixes, "position")} so far`;
}
