import { describe, expect, it } from "vitest";
import type { Policy } from "../src/api";
import { parseDuration, pendingProgress, pendingVerb, policySentences } from "../src/model/policy";

/** Fields as the server writes those of the preset raw. */
const raw: Policy = {
  fixes: 1, metres: 0, sure: 0, accuracy_factor: 0, max_accuracy: 0, enter_after: "0s", exit_after: "0s", max_speed: 0, ttl: "0s",
  late: "drop", initial: "enter",
};
const steady: Policy = { ...raw, fixes: 3, metres: 25, sure: 100, accuracy_factor: 1, max_accuracy: 100, max_speed: 100, ttl: "15m0s" };

/** The sentences without that of the origin. */
const told = (change: Policy): string[] => policySentences({ policy: { ...raw, ...change }, own: true }).slice(0, -1);

describe("policySentences", () => {
  it.each<[string, Policy, string[]]>([
    ["raw", {}, ["Each position counts at once."]],
    [
      "steady",
      steady,
      [
        "3 positions in a row confirm a change, each 25 m beyond the boundary, or its accuracy if that is more; a single one does 100 m beyond it.",
        "Positions less accurate than 100 m change nothing.",
        "Jumps faster than 360 km/h are left out.",
        "An object leaves after a silence of 15 min.",
      ],
    ],
    ["accuracy", { accuracy_factor: 1 }, ["One position confirms a change if it is at least its accuracy beyond the boundary."]],
    ["dwell", { enter_after: "5m0s", exit_after: "5m0s" }, ["A change is confirmed when it has lasted 5 min."]],
    ["different times", { exit_after: "1m30s" }, ["A change is confirmed: an enter at once, an exit after 1 min 30 s."]],
    ["positions and a time", { fixes: 2, enter_after: "20s", exit_after: "20s" }, ["2 positions in a row confirm a change.", "A change is confirmed when it has lasted 20 s."]],
    ["late positions", { late: "reorder:5s" }, ["Each position counts at once.", "Positions wait 5 s for earlier ones."]],
    ["a quiet first position", { initial: "none" }, ["Each position counts at once.", "An object's first position causes no event."]],
  ])("%s", (_, policy, want) => expect(told(policy)).toEqual(want));

  it("end with where it comes from", () => {
    const origin = (own: boolean, file?: string): string | undefined => policySentences({ policy: raw, own, ...(file ? { file } : {}) }).at(-1);
    expect(origin(false)).toBe("As all sets without a policy of their own.");
    expect(origin(true)).toBe("Set over HTTP.");
    expect(origin(true, "zones.policy.yaml")).toBe("From the file zones.policy.yaml.");
  });
});

it.each([
  ["0s", 0], ["1h30m0s", 5_400_000], ["250ms", 250], ["1.5s", 1500], ["reorder:1m5s", 65_000], ["soon", 0], [undefined, 0],
])("parseDuration(%j) = %d", (text, want) => expect(parseDuration(text)).toBe(want));

it("tells how far a pending change is", () => {
  const pending = { set: "depots", fence: "d-3", event: "enter", at: "2026-11-25T12:00:00Z", fixes: 2 };
  expect([pendingVerb(pending), pendingProgress(pending)]).toEqual(["entering", "2 positions so far"]);
  expect(pendingProgress({ ...pending, fixes: 1 })).toBe("1 position so far");
  expect(pendingProgress({ ...pending, fixes: 0 })).toBe("too close to the boundary to count");
  expect([pendingVerb({ ...pending, event: "exit" }), pendingVerb({ ...pending, event: "split" })]).toEqual(["leaving", "split"]);
});
