// The page of the cluster: its nodes, and beside them the log with the servers that keep it.

import { fill, h, icon, setText } from "../../dom";
import type { Frame } from "../../frame/frame";
import { overviewCard } from "../../frame/overview";
import { watch } from "../../frame/watch";
import { formatBytes, formatCount, formatDuration } from "../../format";
import { everyMs } from "../../live/poll";
import { judgeLog, judgeNodes, nodeHealth, roleText, type Verdict } from "../../model/cluster";
import { Meter } from "../../model/meter";
import { createFigureList, type FigureSpec } from "../../ui/figure";
import { Table } from "../../ui/table";
import { fetchCluster, type Cluster, type ClusterLog, type ClusterNode } from "./api";

interface Seen {
  t: number;
  cluster: Cluster;
  meter: Meter;
}

const specs: FigureSpec<Seen>[] = [
  { label: "nodes", title: "Nodes that are heard of", value: ({ cluster }) => cluster.nodes.filter(({ alive }) => alive).length, format: formatCount },
  { label: "term", title: "Grows with each change of the leader", value: ({ cluster }) => cluster.term, format: formatCount },
  { label: "log/s", title: "Messages of the log a second", value: ({ meter }) => meter.orZero("log"), format: formatCount },
  { label: "behind", title: "The largest time that a node is behind the others, of those that are heard of", value: ({ cluster }) => Math.max(0, ...cluster.nodes.map(({ alive, lag_seconds }) => (alive ? lag_seconds : 0))), format: (seconds) => `${seconds.toFixed(1)} s` },
  { label: "passed/s", title: "Positions that this node passes to the leader, a second", value: ({ meter }) => meter.orZero("passed"), format: formatCount },
  { label: "refused/s", title: "Positions that this node refuses for want of a leader, or of room, a second", value: ({ meter }) => meter.orZero("refused"), format: formatCount, fault: true },
  { label: "retries/s", title: "Messages and requests that are sent again, a second", value: ({ meter }) => meter.orZero("retries"), format: formatCount, fault: true },
];

export function open(frame: Frame): void {
  const meter = new Meter();
  const figures = createFigureList(specs);
  const nodes = nodeTable();
  const servers = serverTable();
  const facts = new Table<[string, string]>("The log", [{ name: "Of the log", text: ([name]) => name }, { name: "Value", number: true, text: ([, value]) => value }], ([name]) => name);
  const nodesSentence = sentence();
  const logSentence = sentence();
  const nodeCard = overviewCard("Nodes", nodesSentence.element, nodes.element);
  watch(frame, fetchCluster, (cluster) => {
    const t = Date.parse(cluster.t);
    meter.add(t, counters(cluster));
    figures.add({ t, cluster, meter });
    nodes.show(cluster.nodes);
    servers.show(cluster.log?.replicas ?? []);
    facts.show(cluster.log ? factsOf(cluster.log) : []);
    nodesSentence.show(judgeNodes(cluster));
    logSentence.show(judgeLog(cluster));
    setText(nodeCard.count, formatCount(cluster.nodes.length));
  }, none, everyMs);
  frame.figures.append(figures.element);
  frame.main.classList.add("overview");
  frame.main.append(
    h("div", { class: "overview-wide" }, nodeCard.element, overviewCard("Servers of the log", logSentence.element, servers.element).element),
    h("div", { class: "overview-side" }, overviewCard("The log", facts.element).element),
  );
}

/** What a platform on its own says. */
function none(): (string | Node)[] {
  return [
    h("strong", {}, "This platform is on its own."),
    " Several nodes can be one platform, of which each takes over from another: ",
    h("a", { href: "docs/guides/growing" }, "growing"),
    " tells how.",
  ];
}

/** A sentence with a sign of its health. A change is announced. */
function sentence(): { element: HTMLElement; show: (verdict: Verdict) => void } {
  const text = h("span", {});
  const sign = h("span", { "aria-hidden": "true" });
  const element = h("p", { class: "note verdict", role: "status" }, sign, text);
  const show = ({ health, text: words }: Verdict): void => {
    if (element.dataset.health !== health) fill(sign, icon(health === "good" ? "check" : "gap"));
    element.dataset.health = health;
    setText(text, words);
  };
  return { element, show };
}

function counters({ log, counters: c }: Cluster): Map<string, number> {
  const sum = (counts: Record<string, number>): number => Object.values(counts).reduce((a, b) => a + b, 0);
  const counts = new Map([["passed", c.forwarded_positions], ["refused", sum(c.refused_positions)], ["retries", c.forward_retries + sum(c.append_retries)]]);
  if (log) counts.set("log", log.last);
  return counts;
}

function factsOf({ stream, first, last, messages, bytes }: ClusterLog): [string, string][] {
  return [["Stream", stream], ["Messages", formatCount(messages)], ["Bytes", formatBytes(bytes)], ["Oldest sequence", formatCount(first)], ["Newest sequence", formatCount(last)]];
}

function nodeTable(): Table<ClusterNode> {
  return new Table<ClusterNode>(
    "Nodes",
    [
      { name: "Node", text: ({ name }) => name, hint: ({ process }) => `process ${process}` },
      { name: "Role", text: roleText, state: (node) => `cluster-${nodeHealth(node)}` },
      { name: "Behind", title: "Time since another node had applied what this one has not", number: true, text: ({ lag_seconds }) => `${lag_seconds.toFixed(1)} s` },
      { name: "Lag", title: "Messages of the log that another node has applied and this one has not", number: true, text: ({ lag }) => formatCount(lag) },
      { name: "Applied", title: "Sequence of the log", number: true, text: ({ applied }) => formatCount(applied) },
      { name: "Heard of for", number: true, text: ({ since, seen }) => formatDuration(Math.max(0, Date.parse(seen) - Date.parse(since))) },
      { name: "Version", text: ({ version }) => version },
      { name: "Address", text: ({ url }) => url },
    ],
    ({ process }) => process,
    true,
  );
}

function serverTable(): Table<ClusterLog["replicas"][number]> {
  return new Table<ClusterLog["replicas"][number]>(
    "Servers of the log",
    [
      { name: "Server", text: ({ name }) => name },
      { name: "State", text: ({ state }) => state, state: ({ state }) => `cluster-${state === "offline" ? "bad" : state === "behind" ? "behind" : "good"}` },
      { name: "Lag", title: "Messages that it does not have yet", number: true, text: ({ lag }) => formatCount(lag) },
    ],
    ({ name }) => name,
    true,
  );
}
