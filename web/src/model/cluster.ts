// What is wrong with a cluster, in words.

import type { Cluster, ClusterLog, ClusterNode } from "../pages/cluster/api";
import { formatClock, plural } from "../format";

/** From this lag on a node counts as behind. */
export const behindSeconds = 5;

export type Health = "good" | "behind" | "bad";

/** How a node is: silent nodes are bad, and late ones behind. */
export function nodeHealth({ alive, lag_seconds }: ClusterNode): Health {
  return !alive ? "bad" : lag_seconds >= behindSeconds ? "behind" : "good";
}

/** The role of a node, or since when it is silent. */
export function roleText({ alive, role, seen }: ClusterNode): string {
  return alive ? role : `silent since ${formatClock(Date.parse(seen))}`;
}

/** Servers that have all of the log. */
export function healthyServers({ replicas }: ClusterLog): number {
  return replicas.filter(({ state }) => state === "leader" || state === "current").length;
}

export interface Verdict {
  health: Health;
  text: string;
}

/** One sentence about the nodes. */
export function judgeNodes({ connected, leader, nodes, node }: Cluster): Verdict {
  if (!connected) return { health: "bad", text: `${node} does not reach the servers: this is what it knew before. It takes no positions.` };
  if (leader === "") return { health: "bad", text: "No node leads at present: positions wait for some seconds, and are refused then." };
  const silent = nodes.filter(({ alive }) => !alive).map(({ name }) => name);
  if (silent.length > 0) return { health: "behind", text: `${leader} leads. ${silent.join(" and ")} ${silent.length === 1 ? "is" : "are"} silent.` };
  const late = nodes.filter(({ lag_seconds }) => lag_seconds >= behindSeconds).map(({ name }) => name);
  if (late.length > 0) return { health: "behind", text: `${leader} leads. ${late.join(" and ")} ${late.length === 1 ? "is" : "are"} behind.` };
  if (new Set(nodes.map(({ version }) => version)).size > 1) return { health: "behind", text: `${leader} leads. The nodes have different versions.` };
  if (nodes.length === 1) return { health: "behind", text: `${leader} is alone: no other node takes over from it.` };
  return { health: "good", text: `${leader} leads, ${plural(nodes.length - 1, "other node follows", "other nodes follow")}.` };
}

/** One sentence about the servers. */
export function judgeLog({ log, log_error }: Cluster): Verdict {
  if (!log) return { health: "bad", text: `The servers do not answer for the log: ${log_error ?? "no reason"}. Without a majority of them nothing is stored.` };
  const healthy = healthyServers(log);
  if (2 * healthy <= log.replicas_wanted) return { health: "bad", text: `${healthy} of ${log.replicas_wanted} servers have the log: that is no majority, so nothing is stored.` };
  if (healthy < log.replicas_wanted) return { health: "behind", text: `${healthy} of ${log.replicas_wanted} servers have the log.` };
  if (log.replicas_wanted === 1) return { health: "behind", text: "One server has the log: its loss is the loss of the cluster." };
  return { health: "good", text: `All ${log.replicas_wanted} servers have the log.` };
}
