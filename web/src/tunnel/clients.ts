// The clients that are connected.

import type { TunnelSession } from "../api";
import { formatBytes, formatCount, formatDuration, formatLatency } from "../format";
import { quoteForShell } from "../model/commands";
import { copyButton } from "../ui/parts";
import { counter, type Rates } from "./rates";
import { Table } from "../ui/table";

/** How much of an id a table shows; `paddock tunnel kick` takes it for the whole. */
const shownId = 12;

export function createClients(rates: Rates): Table<TunnelSession> {
  const rate = (name: string): string => {
    const now = rates.of(name);
    return Number.isNaN(now) ? "" : `${formatBytes(now)}/s`;
  };
  return new Table<TunnelSession>(
    "Clients",
    [
      { name: "Client", text: ({ name }) => name, hint: ({ agent }) => agent ?? "" },
      { name: "Id", text: ({ id }) => shortId(id), hint: ({ id }) => id },
      { name: "Address", text: ({ address }) => address, hint: connections },
      { name: "Connected", number: true, text: ({ age_ms }) => formatDuration(age_ms) },
      { name: "Round trip", number: true, text: ({ rtt_us }) => (rtt_us > 0 ? formatLatency(rtt_us / 1000) : "–") },
      { name: "In flight", title: "Requests under way, and streams that are open", number: true, text: (s) => inFlight(s.in_flight, s.streams) },
      { name: "Received", title: "Bytes that the client has sent", number: true, text: (s) => formatBytes(s.bytes_in), hint: (s) => rate(counter.received(s.name)) },
      { name: "Sent", title: "Bytes that were sent to the client", number: true, text: (s) => formatBytes(s.bytes_out), hint: (s) => rate(counter.sent(s.name)) },
      { name: "Holds", text: names, hint: ({ names: all }) => all.join("\n") },
      { name: "Kick", element: ({ name }) => copyButton(`Copy the command that sends ${name} away`, () => kickCommand(name)) },
    ],
    ({ name }) => name,
    true,
  );
}

/** Details of a client beyond the address of one connection. */
export function connections({ connections: all, direct }: Pick<TunnelSession, "connections" | "direct">): string {
  const own = direct > 0 ? `, and ${formatCount(direct)} of visitors` : "";
  return all > 1 || own ? `${formatCount(all)} ${all === 1 ? "connection" : "connections"}${own}` : "";
}

/** The page disconnects no client itself: it may be open to readers without that permission. */
export function kickCommand(client: string): string {
  return `paddock tunnel kick ${/^[\w.-]+$/.test(client) ? client : quoteForShell(client)}`;
}

export function shortId(id: string): string {
  return id.startsWith("token:") ? id : id.slice(0, shownId);
}

export function inFlight(requests: number, streams: number): string {
  return streams > 0 ? `${formatCount(requests)} + ${formatCount(streams)}` : formatCount(requests);
}

/** The first two names, and how many there are beside them. */
export function names({ names: all, names_all }: Pick<TunnelSession, "names" | "names_all">): string {
  const shown = all.slice(0, 2);
  const more = names_all - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${formatCount(more)} more` : "");
}
