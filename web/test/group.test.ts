import { describe, expect, it } from "vitest";
import type { FenceEvent } from "../src/api";
import { group, keptPerGroup, type Row } from "../src/model/group";
import { event, many } from "./events";

const summary = (rows: Row[]): string[] =>
  rows.map((row) =>
    row.type === "event"
      ? `${row.event.data.object?.id} ${row.event.type.split(".").at(-1)} ${row.event.data.fence?.id}`
      : `${row.count} ${row.kind} ${row.set}/${row.fence?.id ?? "*"} in ${row.fences}`,
  );

const members = (rows: Row[]): FenceEvent[] => rows.flatMap((row) => (row.type === "event" ? [row.event] : row.events));
const total = (rows: Row[]): number => rows.reduce((sum, row) => sum + (row.type === "event" ? 1 : row.count), 0);

describe("group", () => {
  it("keeps a rare stream's events beside a common one", () => {
    const rows = group([...many(30, (i) => ({ fence: `d-${i}`, object: `v${i}` })), event({ set: "zones", fence: "depot", object: "bus" })]);
    expect(summary(rows)).toEqual(["30 enter districts/* in 30", "bus enter depot"]);
  });

  it("names a fence where much of it happens", () => {
    const rows = group([...many(142, () => ({ fence: "harlem" })), ...many(9, (i) => ({ fence: `d-${i}` }))]);
    expect(summary(rows)).toEqual(["142 enter districts/harlem in 1", "9 enter districts/* in 9"]);
  });

  it("names at most two fences of a stream, the busiest", () => {
    const rows = group([4, 6, 5].flatMap((n, i) => many(n, () => ({ fence: `d-${i}` }))));
    expect(summary(rows)).toEqual(["4 enter districts/d-0 in 1", "6 enter districts/d-1 in 1", "5 enter districts/d-2 in 1"]);
    // d-0 is what remained of the stream, and the remainder happens to be one fence.
    const more = group([4, 6, 5, 4].flatMap((n, i) => many(n, () => ({ fence: `d-${i}` }))));
    expect(summary(more)).toEqual(["6 enter districts/d-1 in 1", "5 enter districts/d-2 in 1", "8 enter districts/* in 2"]);
  });

  it("keeps kinds apart", () => {
    const rows = group(many(40, (i) => ({ kind: i % 2 ? "exit" : "enter", fence: `d-${i}` })));
    expect(summary(rows)).toEqual(["20 enter districts/* in 20", "20 exit districts/* in 20"]);
  });

  it("keeps rules apart, and counts no fence where there is none", () => {
    const rows = group([
      ...many(9, (i) => ({ kind: "outside", fence: null, object: `v${i}`, data: { rule: i < 4 ? "bounds" : "at-sea" } })),
      ...many(3, (i) => ({ kind: "dwell", fence: `d-${i}`, data: { rule: "overstay" } })),
    ]);
    expect(summary(rows)).toEqual(["4 outside districts/* in 0", "5 outside districts/* in 0", "3 dwell districts/* in 3"]);
    expect(rows.map((row) => row.type === "group" && row.rule)).toEqual(["bounds", "at-sea", "overstay"]);
  });

  it("loses and repeats no event", () => {
    const events = many(500, (i) => ({
      kind: ["enter", "exit", "dwell"][i % 3]!,
      set: ["districts", "zones", "rare"][i % 97 === 0 ? 2 : i % 2]!,
      fence: `d-${(i * i) % 23}`,
    }));
    const rows = group(events);
    expect(total(rows)).toBe(events.length);
    const kept = members(rows);
    expect(new Set(kept).size).toBe(kept.length);
    expect(kept.filter((e) => !events.includes(e))).toEqual([]);
  });

  it("keeps the last events of a large group only", () => {
    const events = many(1000, () => ({ fence: "harlem" }));
    expect(members(group(events))).toEqual(events.slice(-keptPerGroup));
  });

  it("makes nothing of nothing", () => {
    expect(group([])).toEqual([]);
  });
});
