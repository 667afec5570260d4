// The page of the bus: its connections, and beside them traffic by prefix, busy subjects and ended connections.

import { h, setText } from "../../dom";
import type { Frame } from "../../frame/frame";
import { countText, createFind, overviewCard } from "../../frame/overview";
import { watch } from "../../frame/watch";
import { formatBytes, formatCount, formatDuration, formatLatency } from "../../format";
import { everyMs } from "../../live/poll";
import { bridgeState, droppedMessages, droppedText } from "../../model/bridges";
import { Meter } from "../../model/meter";
import { createFigureList, type FigureSpec } from "../../ui/figure";
import { Table } from "../../ui/table";
import { fetchBus, type Bus, type BusBridge, type BusClosed, type BusConnection, type BusPrefix, type BusSubject } from "./api";

/** An answer with the rates that follow from earlier answers. */
interface Seen extends Bus {
  meter: Meter;
}

const specs: FigureSpec<Seen>[] = [
  { label: "connections", title: "Clients that are connected over the network", value: ({ figures }) => figures.connections, format: formatCount },
  { label: "subscriptions", title: "Of clients and of the platform itself", value: ({ figures }) => figures.subscriptions, format: formatCount },
  { label: "published/s", title: "Messages published a second", value: ({ meter }) => meter.orZero("in"), format: formatCount },
  { label: "delivered/s", title: "Messages delivered a second, once for each subscription", value: ({ meter }) => meter.orZero("out"), format: formatCount },
  { label: "out", title: "Bytes delivered a second", value: ({ meter }) => meter.orZero("bytes"), format: (rate) => `${formatBytes(rate)}/s` },
  { label: "pending", title: "Bytes that wait for slow subscribers", value: ({ figures }) => figures.pending_bytes, format: formatBytes },
  { label: "dropped/s", title: "Messages a second that slow subscribers did not get", value: ({ meter }) => meter.orZero("dropped"), format: formatCount, fault: true },
  { label: "refused/s", title: "Publications and subscriptions refused by permission a second", value: ({ meter }) => meter.orZero("refused"), format: formatCount, fault: true },
];

export function open(frame: Frame): void {
  const meter = new Meter();
  const figures = createFigureList(specs);
  const connections = connectionTable(meter);
  const bridges = bridgeTable(meter);
  const bridgeCard = overviewCard("Bridges", bridges.element).element;
  const prefixes = prefixTable(meter);
  const subjects = new Table<BusSubject>("Subjects that are busy", [{ name: "Subject", text: ({ subject }) => subject, hint: ({ subject }) => subject }, { name: "Recent messages", title: "At least so many, and older ones count less", number: true, text: ({ messages }) => formatCount(messages) }], ({ subject }) => subject);
  const closed = new Table<BusClosed>("Ended connections by reason", [{ name: "Reason", text: ({ reason }) => reason }, { name: "In all", number: true, text: ({ count }) => formatCount(count), state: ({ reason }) => (reason.startsWith("Slow") ? "refused" : "") }], ({ reason }) => reason);
  const [noConnections, noPrefixes, noSubjects, noClosed] = ["No connection has this.", "No message yet.", "No subject is busy.", "None so far."].map((text) => h("p", { class: "note" }, text));
  const connectionCard = overviewCard("Connections", connections.element, noConnections!);
  let find = "";
  const poll = watch(frame, (signal) => fetchBus(find, signal), (bus) => {
    meter.add(bus.t, counters(bus));
    figures.add({ ...bus, meter });
    connections.show(bus.connections);
    bridges.show(bus.bridges);
    bridgeCard.hidden = bus.bridges.length === 0;
    prefixes.show(bus.prefixes.filter((line) => line.in + line.out > 0).sort((a, b) => b.in + b.out - (a.in + a.out)));
    subjects.show(bus.subjects);
    closed.show(bus.closed);
    setText(connectionCard.count, countText(bus.connections.length, bus.connections_all));
    noConnections!.hidden = bus.connections.length > 0;
    noPrefixes!.hidden = !prefixes.element.hidden;
    noSubjects!.hidden = bus.subjects.length > 0;
    noClosed!.hidden = bus.closed.length > 0;
  }, () => ["This server has no bus."], everyMs);
  const setFind = (text: string): void => {
    find = text;
    poll.now();
  };
  frame.figures.append(figures.element);
  frame.main.classList.add("overview");
  frame.main.append(
    h("div", { class: "overview-wide" }, createFind("Find a connection", setFind), bridgeCard, connectionCard.element),
    h("div", { class: "overview-side" }, overviewCard("Traffic by prefix", prefixes.element, noPrefixes!).element, overviewCard("Busiest subjects", subjects.element, noSubjects!).element, overviewCard("Ended connections", closed.element, noClosed!).element),
  );
}

function counters({ figures, prefixes, connections, bridges }: Bus): Map<string, number> {
  const counts = new Map([["in", figures.messages_in], ["out", figures.messages_out], ["bytes", figures.bytes_out], ["dropped", figures.dropped], ["refused", figures.refused]]);
  for (const { prefix, in: published, out } of prefixes) counts.set(`prefix in ${prefix}`, published).set(`prefix out ${prefix}`, out);
  for (const { id, messages_in, messages_out } of connections) counts.set(`connection in ${id}`, messages_in).set(`connection out ${id}`, messages_out);
  for (const { name, messages_in, messages_out } of bridges) counts.set(`bridge in ${name}`, messages_in).set(`bridge out ${name}`, messages_out);
  return counts;
}

function bridgeTable(meter: Meter): Table<BusBridge> {
  return new Table<BusBridge>(
    "Bridges to other servers",
    [
      { name: "Bridge", text: ({ name }) => name },
      { name: "State", wide: true, text: bridgeState, hint: ({ error }) => error ?? "", state: ({ connected }) => (connected ? "" : "refused") },
      { name: "Server", wide: true, text: ({ url }) => url ?? "–", hint: ({ url }) => url ?? "" },
      { name: "In/s", title: "Messages of the other server, published here a second", number: true, text: ({ name }) => formatCount(meter.of(`bridge in ${name}`)) },
      { name: "Out/s", title: "Messages of this bus, published at the other server a second", number: true, text: ({ name }) => formatCount(meter.of(`bridge out ${name}`)) },
      { name: "Waiting", title: "Bytes that wait for the other server", number: true, text: ({ waiting_bytes }) => formatBytes(waiting_bytes), state: ({ waiting_bytes }) => (waiting_bytes > 1 << 20 ? "away" : "") },
      { name: "Dropped", title: "Messages that were not passed, without the ones that had been at the other server already", number: true, text: (bridge) => formatCount(droppedMessages(bridge)), hint: droppedText },
    ],
    ({ name }) => name,
    true,
  );
}

function connectionTable(meter: Meter): Table<BusConnection> {
  return new Table<BusConnection>(
    "Open connections",
    [
      { name: "Connection", text: ({ name, id }) => name ?? `client ${id}`, hint: ({ id, client }) => `${id}${client === undefined ? "" : `, ${client}`}` },
      { name: "User", text: ({ user }) => user ?? "", hint: ({ user }) => user ?? "" },
      { name: "Address", text: ({ address }) => address ?? "in the process" },
      { name: "Connected", number: true, text: ({ age_ms }) => formatDuration(age_ms) },
      { name: "Round trip", number: true, text: ({ rtt_us }) => (rtt_us > 0 ? formatLatency(rtt_us / 1000) : "–") },
      { name: "In/s", title: "Messages published a second", number: true, text: ({ id }) => formatCount(meter.of(`connection in ${id}`)) },
      { name: "Out/s", title: "Messages delivered a second", number: true, text: ({ id }) => formatCount(meter.of(`connection out ${id}`)) },
      { name: "Pending", title: "Bytes that wait to be written", number: true, text: ({ pending_bytes }) => formatBytes(pending_bytes), state: ({ pending_bytes }) => (pending_bytes > 1 << 20 ? "away" : "") },
      { name: "Dropped", title: "Messages that it did not get, as it is slow", number: true, text: ({ dropped }) => formatCount(dropped), state: ({ dropped }) => (dropped > 0 ? "refused" : "") },
      { name: "Subscribes to", wide: true, text: subjectsText, hint: ({ subjects }) => subjects.join("\n") },
    ],
    ({ id }) => String(id),
    true,
  );
}

/** The first two subjects, and how many subscriptions there are beside them. */
export function subjectsText({ subjects, subscriptions }: Pick<BusConnection, "subjects" | "subscriptions">): string {
  const shown = subjects.slice(0, 2);
  const more = subscriptions - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${formatCount(more)} more` : "");
}

function prefixTable(meter: Meter): Table<BusPrefix> {
  return new Table<BusPrefix>(
    "Traffic by prefix of the subject",
    [
      { name: "Prefix", text: ({ prefix }) => prefix, hint: ({ prefix }) => prefix },
      { name: "In/s", number: true, text: ({ prefix }) => formatCount(meter.of(`prefix in ${prefix}`)) },
      { name: "Out/s", number: true, text: ({ prefix }) => formatCount(meter.of(`prefix out ${prefix}`)) },
    ],
    ({ prefix }) => prefix,
  );
}
