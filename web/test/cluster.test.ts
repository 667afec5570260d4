import { describe, expect, it } from "vitest";
import { judgeLog, judgeNodes, nodeHealth, roleText } from "../src/model/cluster";
import type { Cluster, ClusterNode } from "../src/pages/cluster/api";

const node = (name: string, more: Partial<ClusterNode> = {}): ClusterNode => ({
  name, process: name, role: "follower", alive: true, version: "v1", url: "", applied: 1, lag: 0, lag_seconds: 0,
  since: "2026-03-12T09:00:00Z", seen: "2026-03-12T09:00:00Z", ...more,
});

const server = (name: string, state: "leader" | "current" | "behind" | "offline") => ({ name, state, lag: 0 });

const cluster = (more: Partial<Cluster> = {}): Cluster => ({
  t: "2026-03-12T09:00:00Z", name: "paddock", node: "a", connected: true, leader: "a", term: 1, nodes: [node("a"), node("b"), node("c")],
  log: { stream: "S", first: 1, last: 2, messages: 2, bytes: 3, replicas_wanted: 3, replicas: [server("x", "leader"), server("y", "current"), server("z", "current")] },
  counters: { claims_won: 0, claims_lost: 0, log_gaps: 0, append_retries: {}, forwarded_batches: 0, forwarded_positions: 0, forward_retries: 0, refused_positions: {}, reconnects: 0 },
  ...more,
});

describe("nodes", () => {
  it.each([
    ["sound", {}, "good", "a leads, 2 other nodes follow."],
    ["one follows", { nodes: [node("a"), node("b")] }, "good", "a leads, 1 other node follows."],
    ["alone", { nodes: [node("a")] }, "behind", "a is alone: no other node takes over from it."],
    ["no leader", { leader: "" }, "bad", "No node leads at present"],
    ["no servers", { connected: false }, "bad", "a does not reach the servers"],
    ["silent", { nodes: [node("a"), node("b", { alive: false })] }, "behind", "a leads. b is silent."],
    ["two silent", { nodes: [node("a"), node("b", { alive: false }), node("c", { alive: false })] }, "behind", "b and c are silent."],
    ["late", { nodes: [node("a"), node("b", { lag_seconds: 5 })] }, "behind", "b is behind."],
    ["versions", { nodes: [node("a"), node("b", { version: "v2" })] }, "behind", "different versions"],
  ] as [string, Partial<Cluster>, string, string][])("are judged: %s", (_, more, health, text) => {
    const verdict = judgeNodes(cluster(more));
    expect(verdict.health).toBe(health);
    expect(verdict.text).toContain(text);
  });

  it("have a role, or are silent", () => {
    expect(roleText(node("a", { role: "leader" }))).toBe("leader");
    expect(roleText(node("a", { alive: false }))).toMatch(/^silent since \d/);
    expect(nodeHealth(node("a", { alive: false }))).toBe("bad");
    expect(nodeHealth(node("a", { lag_seconds: 4.9 }))).toBe("good");
  });
});

describe("the log", () => {
  const log = (wanted: number, ...replicas: ReturnType<typeof server>[]): Cluster => cluster({ log: { ...cluster().log!, replicas_wanted: wanted, replicas } });

  const lost = cluster({ log_error: "timeout" });
  delete lost.log;

  it.each([
    [cluster(), "good", "All 3 servers have the log."],
    [log(3, server("x", "leader"), server("y", "current"), server("z", "offline")), "behind", "2 of 3 servers have the log."],
    [log(3, server("x", "leader"), server("y", "behind"), server("z", "offline")), "bad", "that is no majority"],
    [log(1, server("x", "leader")), "behind", "One server has the log"],
    [lost, "bad", "do not answer for the log: timeout"],
  ])("is judged", (state, health, text) => {
    const verdict = judgeLog(state);
    expect(verdict.health).toBe(health);
    expect(verdict.text).toContain(text);
  });
});
