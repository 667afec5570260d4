// Rates: the growth of the server's counters in a second, over the last few answers. Pure.

import type { Tunnel } from "../api";

/** Rates are over this long, so that they do not jump with each answer. */
const spanMs = 5_000;

/** Counters by name, at one moment. */
interface Reading {
  t: number;
  counts: Map<string, number>;
}

export class Rates {
  #readings: Reading[] = [];

  /** Takes an answer in. An answer older than the last is of another clock: everything starts over. */
  add(tunnel: Tunnel): void {
    const last = this.#readings.at(-1);
    if (tunnel.t === last?.t) return;
    if (last && tunnel.t < last.t) this.#readings = [];
    this.#readings.push({ t: tunnel.t, counts: counters(tunnel) });
    while (this.#readings.length > 2 && this.#readings[1]!.t <= tunnel.t - spanMs) this.#readings.shift();
  }

  /** A second's growth of a counter; NaN until it has been there for two answers, and when it was set back. */
  of(name: string): number {
    const last = this.#readings.at(-1);
    const value = last?.counts.get(name);
    if (last === undefined || value === undefined) return NaN;
    const first = this.#readings.find(({ counts }) => counts.has(name))!;
    const grown = value - first.counts.get(name)!;
    return first === last || grown < 0 ? NaN : (grown * 1000) / (last.t - first.t);
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
