import type { CountEventData, FenceEvent, FenceEventData, NearEventData } from "../src/api";

let seq = 0;

export interface EventChange {
  kind?: string;
  set?: string;
  /** Null: about all fences of the set. */
  fence?: string | null;
  object?: string;
  at?: number;
  properties?: Record<string, unknown> | null;
  data?: Partial<FenceEventData>;
}

/** An event like the server's; each call gives one with an id of its own. */
export function event(change: EventChange = {}): FenceEvent {
  const { kind = "enter", set = "districts", fence = "d-1", object = "v1", at = 1_795_202_210_000, properties = {}, data } = change;
  const time = new Date(at).toISOString();
  return {
    specversion: "1.0",
    id: `${object}/${++seq}`,
    source: `/sets/${set}`,
    type: `paddock.fence.${kind}`,
    subject: object,
    time,
    datacontenttype: "application/json",
    data: {
      set,
      fence: fence === null ? null : { id: fence, properties },
      object: { id: object, fleet: "default", properties: {} },
      point: { type: "Point", coordinates: [0, 0] },
      at: time,
      t: time,
      since: time,
      duration_ms: 0,
      seq,
      visit: `${object}/1`,
      reason: "move",
      ...data,
    },
  };
}

/** An event of how many objects are in a fence. */
export function counted(kind: "count_begin" | "count_end", change: Partial<CountEventData> = {}): FenceEvent {
  const e = event({ kind });
  const { fence, at, t, since, duration_ms, reason } = e.data;
  const set = e.data.set ?? "";
  return { ...e, data: { set, fence: fence!, object: null, count: 4, at_least: 4, at, t, since, duration_ms, visit: e.id, reason, rule: "crowded", ...change } };
}

/** An event of two objects that meet or part. */
export function met(kind: "near_begin" | "near_end", change: Partial<NearEventData> = {}): FenceEvent {
  const e = event({ kind });
  const { at, t, since, duration_ms, reason } = e.data;
  const object = { id: "v1", fleet: "default", properties: {} };
  const point: NearEventData["point"] = { type: "Point", coordinates: [0, 0] };
  const other = { id: "v2", fleet: "vans", properties: {} };
  const data: NearEventData = { set: null, fence: null, object, point, other, other_point: point, metres: 48.2, at, t, since, duration_ms, visit: e.id, reason, rule: "meeting" };
  return { ...e, data: { ...data, ...change } };
}

export function many(n: number, change: (i: number) => EventChange): FenceEvent[] {
  return Array.from({ length: n }, (_, i) => event(change(i)));
}
