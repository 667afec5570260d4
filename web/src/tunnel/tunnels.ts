// The tunnels: the names that clients hold, and their traffic.

import type { TunnelLine } from "../api";
import { formatCount } from "../format";
import { counter, type Rates } from "./rates";
import { Table } from "../ui/table";

export function createTunnels(rates: Rates): Table<TunnelLine> {
  return new Table<TunnelLine>(
    "Tunnels",
    [
      { name: "Tunnel", text: ({ at }) => at, hint: ({ at }) => at },
      { name: "Kind", text: ({ protocol }) => protocol },
      { name: "Client", text: ({ client }) => client },
      { name: "Group", title: "Whose members have the name together, and how many of them are connected", text: groupOf, state: ({ group, members, here }) => (group !== undefined && here < members ? "away" : "") },
      { name: "State", text: stateOf, state: ({ away }) => (away ? "away" : ""), hint: ({ away }) => (away ? "Its client is away; the name is kept for it" : "") },
      { name: "Per second", title: "Exchanges and connections that were let in", number: true, text: (t) => formatCount(rates.of(counter.tunnel(t.protocol, t.at, t.client))) },
      { name: "In flight", title: "Requests under way, of as many as may be now", number: true, text: (t) => (t.limit > 0 ? `${formatCount(t.in_flight)} / ${formatCount(t.limit)}` : formatCount(t.in_flight)) },
      { name: "Streams", title: "Upgraded, raw and long exchanges", number: true, text: ({ streams }) => formatCount(streams) },
      { name: "Queued", title: "Requests that wait for room", number: true, text: ({ queued }) => formatCount(queued) },
      { name: "In all", title: "Let in since it is held", number: true, text: ({ begun }) => formatCount(begun) },
      { name: "Refused", title: "Asked for it, and were not served", number: true, text: ({ refused }) => formatCount(refused), state: ({ refused }) => (refused > 0 ? "refused" : "") },
    ],
    ({ protocol, at, client }) => `${protocol} ${at} ${client}`,
    true,
  );
}

/** "web, 2 of 3"; nothing where the client has it alone. */
export function groupOf({ group, members, here }: Pick<TunnelLine, "group" | "members" | "here">): string {
  return group === undefined ? "" : `${group}, ${formatCount(here)} of ${formatCount(members)}`;
}

export function stateOf({ away, waiting }: Pick<TunnelLine, "away" | "waiting">): string {
  if (!away) return "connected";
  return waiting > 0 ? `away, ${formatCount(waiting)} wait` : "away";
}
