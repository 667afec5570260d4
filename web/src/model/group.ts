// Grouping: when events come faster than the eye follows, a moment of them becomes a few rows.
//
// A stream is one kind of event in one set, of one rule if rules ask for it. A stream of at most `few` events keeps them as rows of their own: what is
// rare stays visible beside what is common. In the others a fence gets a row ("142 enters in Harlem South") that has at
// least `many` events and a share of `much` of the stream, the busiest first and at most `busiest` of them; the rest of
// the stream is one row.

import type { FenceEvent } from "../api";
import { eventKind } from "./kinds";

export type Row =
  | { type: "event"; event: FenceEvent }
  | {
      type: "group";
      kind: string;
      /** "" of events about two objects. */
      set: string;
      /** The fence, if all of it happened in one. */
      fence: FenceEvent["data"]["fence"];
      /** How many there are; 0 if all of it is about no fence in particular. */
      fences: number;
      rule: string;
      count: number;
      /** The last ones, oldest first, at most keptPerGroup. */
      events: FenceEvent[];
    };

/** Hundreds of rows of hundreds of events each would be all that the page's memory holds after a day. */
export const keptPerGroup = 30;

const few = 2;
const many = 4;
const much = 0.08;
const busiest = 2;

/** The rows for events in order of time; rows are in order of their last event. */
export function group(events: readonly FenceEvent[]): Row[] {
  const rows: { row: Row; last: number }[] = [];
  const order = new Map(events.map((event, i) => [event, i]));
  const add = (row: Row, last: FenceEvent): void => {
    rows.push({ row, last: order.get(last) ?? 0 });
  };

  for (const stream of partition(events, (event) => `${eventKind(event)} ${event.data.set ?? ""} ${ruleOf(event)}`)) {
    if (stream.length <= few) {
      for (const event of stream) add({ type: "event", event }, event);
      continue;
    }
    for (const members of splitStream(stream)) add(groupRow(members), members.at(-1)!);
  }
  return rows.sort((a, b) => a.last - b.last).map(({ row }) => row);
}

function splitStream(stream: readonly FenceEvent[]): FenceEvent[][] {
  const byFence = partition(stream, fenceOf);
  const busy = byFence
    .filter((members) => members.length >= Math.max(many, stream.length * much))
    .sort((a, b) => b.length - a.length)
    .slice(0, busiest);
  const own = new Set(busy.map((members) => fenceOf(members[0]!)));
  const rest = stream.filter((event) => !own.has(fenceOf(event)));
  return rest.length > 0 ? [...busy, rest] : busy;
}

function groupRow(members: FenceEvent[]): Row {
  if (members.length === 1) return { type: "event", event: members[0]! };
  const first = members[0]!;
  const fences = new Set(members.map(fenceOf).filter((id) => id !== "")).size;
  const { set, fence } = first.data;
  return {
    type: "group",
    kind: eventKind(first),
    set: set ?? "",
    fence: fences === 1 ? fence : null,
    fences,
    rule: ruleOf(first),
    count: members.length,
    events: members.slice(-keptPerGroup),
  };
}

/** The id of the event's fence, "" of one that is about all fences of its set. */
function fenceOf(event: FenceEvent): string {
  return event.data.fence?.id ?? "";
}

function ruleOf(event: FenceEvent): string {
  return event.data.rule ?? "";
}

function partition(events: readonly FenceEvent[], key: (event: FenceEvent) => string): FenceEvent[][] {
  const parts = new Map<string, FenceEvent[]>();
  for (const event of events) {
    const k = key(event);
    const part = parts.get(k);
    if (part) part.push(event);
    else parts.set(k, [event]);
  }
  return [...parts.values()];
}
