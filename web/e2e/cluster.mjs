// A cluster for the test of its page: three nats-servers and two platforms.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { binary, startNode } from "./server.mjs";

/** The server program, which `make browser` builds beside paddock. */
export const natsServer = process.env.PADDOCK_NATS_SERVER ?? path.join(path.dirname(binary), "nats-server");

/** Whether there is one. PADDOCK_REQUIRE_BROWSER makes its absence an error. */
export const hasServer = existsSync(natsServer) || process.env.PADDOCK_REQUIRE_BROWSER === "1";

async function freePorts(count) {
  const listeners = await Promise.all(
    Array.from({ length: count }, async () => {
      const listener = net.createServer().listen(0, "127.0.0.1");
      await once(listener, "listening");
      return listener;
    }),
  );
  const ports = listeners.map((listener) => listener.address().port);
  for (const listener of listeners) listener.close();
  return ports;
}

export async function startCluster() {
  const directory = await mkdtemp(path.join(tmpdir(), "paddock-cluster-"));
  const ports = await freePorts(6);
  const routes = ports.slice(3).map((port) => `nats-route://127.0.0.1:${port}`).join(",");
  const servers = ports.slice(0, 3).map((port, i) => {
    const name = `nats-${i + 1}`;
    const args = ["-a", "127.0.0.1", "-p", port, "-n", name, "-js", "-sd", path.join(directory, name)];
    args.push("--cluster_name", "page", "--cluster", `nats://127.0.0.1:${ports[3 + i]}`, "--routes", routes);
    return spawn(natsServer, args.map(String), { stdio: "ignore" });
  });
  const url = ports.slice(0, 3).map((port) => `nats://127.0.0.1:${port}`).join(",");
  const nodes = [];
  const stand = {
    nodes,

    /** The node that leads, and then the other one, once both are followers or leaders. */
    async ranked() {
      for (;;) {
        const cluster = await (await fetch(new URL("v1/cluster", nodes[0].url))).json();
        if (cluster.nodes.length === 2 && cluster.nodes.every(({ role }) => role !== "starting") && cluster.leader !== "")
          return nodes.toSorted((a, b) => (b.name === cluster.leader) - (a.name === cluster.leader));
        await delay(100);
      }
    },

    /** Ends a server, as a loss of power does. */
    async killServer(i) {
      const exited = once(servers[i], "exit");
      servers[i].kill("SIGKILL");
      await exited;
    },

    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
      for (const server of servers) server.kill("SIGKILL");
      await rm(directory, { recursive: true, force: true });
    },
  };
  const made = spawnSync(binary, ["cluster", "init", "--bus", url, "--timeout", "60s"], { encoding: "utf8" });
  if (made.status !== 0) {
    await stand.stop();
    throw new Error(`paddock cluster init: ${made.stdout}${made.stderr}`);
  }
  for (const name of ["north", "south"]) nodes.push({ name, ...(await startNode(name, url, path.join(directory, name))) });
  return stand;
}
