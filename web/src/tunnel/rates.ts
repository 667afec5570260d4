// Rates: the growth of the tunnel's counters in a second, over the last few answers. Pure.

import type { Tunnel } from "../api";
import { Meter } from "../model/meter";

export class Rates {
  readonly #meter = new Meter();

  /** Takes an answer in. */
  add(tunnel: Tunnel): void {
    this.#meter.add(tunnel.t, counters(tunnel));
  }

  /** A second's growth of a counter; NaN while it is unknown. */
  of(name: string): number {
    return this.#meter.of(name);
  }
}

/** The names of the counters that an answer has. */
export const counter = {
  figure: (name: "begun" | "served" | "received" | "sent"): string => name,
  refused: (stage: string, reason: string): string => `refused ${stage} ${reason}`,
  refusedAll: "refused",
  tunnel: (protocol: string, at: string, client: string): string => `tunnel ${protocol} ${at} ${client}`,
  received: (client: string): string => `received ${client}`,
  sent: (client: string): string => `sent ${client}`,
};

function counters({ figures, refused, sessions, tunnels }: Tunnel): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of ["begun", "served", "received", "sent"] as const) counts.set(counter.figure(name), figures[name]);
  // A reason is there once it has occurred; that it was not there meant 0.
  counts.set(counter.refusedAll, refused.reduce((sum, { count }) => sum + count, 0));
  for (const { stage, reason, count } of refused) counts.set(counter.refused(stage, reason), count);
  for (const { protocol, at, client, begun } of tunnels) counts.set(counter.tunnel(protocol, at, client), begun);
  for (const { name, bytes_in, bytes_out } of sessions) {
    counts.set(counter.received(name), bytes_in);
    counts.set(counter.sent(name), bytes_out);
  }
  return counts;
}
