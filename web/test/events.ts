import type { FenceEvent } from "../src/api";

let seq = 0;

/** An event like the server's; each call gives one with an id of its own. */
export function event(change: { kind?: string; set?: string; fence?: string; object?: string; at?: number; properties?: Record<string, unknown> } = {}): FenceEvent {
  const { kind = "enter", set = "districts", fence = "d-1", object = "v1", at = 1_795_202_210_000, properties = {} } = change;
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
      fence: { id: fence, properties },
      object: { id: object, fleet: "default", properties: {} },
      point: { type: "Point", coordinates: [0, 0] },
      at: time,
      t: time,
      since: time,
      duration_ms: 0,
      seq,
      visit: `${object}/1`,
      reason: "move",
    },
  };
}

export function many(n: number, change: (i: number) => Parameters<typeof event>[0]): FenceEvent[] {
  return Array.from({ length: n }, (_, i) => event(change(i)));
}
