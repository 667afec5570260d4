// The page of the wire door: its connections, and beside them what was refused.

import { h, setText } from "../../dom";
import type { Frame } from "../../frame/frame";
import { countText, createFind, overviewCard } from "../../frame/overview";
import { watch } from "../../frame/watch";
import { formatBytes, formatCount, formatDuration, formatLatency } from "../../format";
import { everyMs } from "../../live/poll";
import { Meter } from "../../model/meter";
import { createFigureList, type FigureSpec } from "../../ui/figure";
import { Table } from "../../ui/table";
import { fetchWire, type Wire, type WireConnection, type WireFigures } from "./api";

/** An answer with the rates that follow from earlier answers. */
interface Seen extends Wire {
  meter: Meter;
}

const specs: FigureSpec<Seen>[] = [
  { label: "connections", title: "Peers that are connected", value: ({ figures }) => figures.connections, format: formatCount },
  { label: "positions/s", title: "Posts of positions a second, good and bad", value: ({ meter }) => meter.orZero("positions"), format: formatCount },
  { label: "streams", title: "Streams that are open", value: ({ figures }) => figures.streams, format: formatCount },
  { label: "followers", title: "Streams of events that are open", value: ({ figures }) => figures.subscribers, format: formatCount },
  { label: "received", title: "Bytes a second", value: ({ meter }) => meter.orZero("received"), format: (rate) => `${formatBytes(rate)}/s` },
  { label: "sent", title: "Bytes a second", value: ({ meter }) => meter.orZero("sent"), format: (rate) => `${formatBytes(rate)}/s` },
  { label: "waiting", title: "Connections that are not authenticated yet", value: ({ figures }) => figures.opening + figures.waiting, format: formatCount, fault: true },
  { label: "refused/s", title: "Connections refused a second, at a bound or without a valid key", value: ({ meter }) => meter.orZero("refused"), format: formatCount, fault: true },
];

interface Refusal {
  name: string;
  hint: string;
  count: (figures: WireFigures) => number;
}

const refusals: Refusal[] = [
  { name: "At a bound", hint: "There were wire.max_connections, or too many were opening", count: ({ refused }) => refused },
  { name: "Without a valid key", hint: "They proved no key that this server has", count: ({ denied }) => denied },
  { name: "Not wire, or too late", hint: "They did not speak wire, or not in time", count: ({ failed, denied }) => Math.max(0, failed - denied) },
  { name: "Paused addresses", hint: "Others from their address had failed before", count: ({ paused }) => paused },
  { name: "Large look-ups", hint: "Large answers had used up their memory", count: ({ refused_large }) => refused_large },
  { name: "Dropped by agents", hint: "Positions that agents dropped at a bound before they could be sent", count: ({ skipped }) => skipped },
];

export function open(frame: Frame): void {
  const meter = new Meter();
  const figures = createFigureList(specs);
  const connections = connectionTable(meter);
  let last: WireFigures | undefined;
  const refused = new Table<Refusal>("Refused", [{ name: "Reason", text: ({ name }) => name, hint: ({ hint }) => hint }, { name: "In all", number: true, text: ({ count }) => formatCount(last ? count(last) : 0) }], ({ name }) => name);
  const noConnections = h("p", { class: "note" });
  const noRefusals = h("p", { class: "note" }, "None so far.");
  const connectionCard = overviewCard("Connections", connections.element, noConnections);
  let find = "";
  const poll = watch(frame, (signal) => fetchWire(find, signal), (wire) => {
    last = wire.figures;
    meter.add(wire.t, counters(wire));
    figures.add({ ...wire, meter });
    connections.show(wire.connections);
    const occurred = refusals.filter(({ count }) => count(wire.figures) > 0);
    refused.show(occurred);
    noRefusals.hidden = occurred.length > 0;
    setText(connectionCard.count, countText(wire.connections.length, wire.connections_all));
    setText(noConnections, find === "" ? "No peer is connected. Agents, clients of the tunnel and programs speak wire." : "No connection has this.");
    noConnections.hidden = wire.connections.length > 0;
  }, () => ["This server has no wire door."], everyMs);
  const setFind = (text: string): void => {
    find = text;
    poll.now();
  };
  frame.figures.append(figures.element);
  frame.main.classList.add("overview");
  frame.main.append(
    h("div", { class: "overview-wide" }, createFind("Find a connection", setFind), connectionCard.element),
    h("div", { class: "overview-side" }, overviewCard("Refused", refused.element, noRefusals).element),
  );
}

function counters({ figures, connections }: Wire): Map<string, number> {
  const { positions, received, sent, refused, failed } = figures;
  const counts = new Map([["positions", positions], ["received", received], ["sent", sent], ["refused", refused + failed]]);
  for (const each of connections) counts.set(`posts ${each.name}`, each.posts);
  return counts;
}

function connectionTable(meter: Meter): Table<WireConnection> {
  return new Table<WireConnection>(
    "Open connections",
    [
      { name: "Connection", text: ({ identity, name }) => identity ?? name, hint: ({ name, agent }) => `${name}${agent === undefined ? "" : `, ${agent}`}` },
      { name: "Address", text: ({ address }) => address },
      { name: "Connected", number: true, text: ({ age_ms }) => formatDuration(age_ms) },
      { name: "Round trip", number: true, text: ({ rtt_us }) => (rtt_us > 0 ? formatLatency(rtt_us / 1000) : "–") },
      { name: "Posts/s", title: "Posts received a second", number: true, text: ({ name }) => formatCount(meter.of(`posts ${name}`)) },
      { name: "Requests", title: "Received in all", number: true, text: ({ requests }) => formatCount(requests) },
      { name: "Streams", number: true, text: ({ streams }) => formatCount(streams) },
      { name: "In flight", number: true, text: ({ in_flight }) => formatCount(in_flight) },
      { name: "Received", number: true, text: ({ received }) => formatBytes(received) },
      { name: "Sent", number: true, text: ({ sent }) => formatBytes(sent) },
      { name: "Queued", title: "Bytes that wait to be sent", number: true, text: ({ queued_bytes }) => formatBytes(queued_bytes) },
    ],
    ({ name }) => name,
    true,
  );
}
