import type { FenceEvent } from "../src/api";

let seq = 0;

export interface EventChange {
  kind?: string;
  set?: string;
  /** Null: about all fences of the set. */
  fence?: string | null;
  object?: string;
  at?: number;
  properties?: Record<string, unknown> | null;
  data?: Partial<FenceEvent["data"]>;
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

export function many(n: number, change: (i: number) => EventChange): FenceEvent[] {
  return Array.from({ length: n }, (_, i) => event(change(i)));
}
