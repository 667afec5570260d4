// The real binary, as a child process of the test.

import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";

const root = path.resolve(import.meta.dirname, "../..");
/** The program that is tested. */
export const binary = process.env.PADDOCK_BIN ?? path.join(root, "bin/paddock");
const startTimeout = 60_000;

/** Where screenshots go. */
export const artifacts = process.env.PADDOCK_ARTIFACTS ?? path.join(root, "artifacts");

/** Starts `paddock demo` on a port, 0 for a free one. */
export function startServer(port = 0, vehicles = 2000) {
  return start(port, "demo", "--vehicles", String(vehicles));
}

/** Starts `paddock up` with the sets of a directory, on a free port. It keeps nothing of them. */
export function startPlatform(directory) {
  return start(0, "up", "--sets", directory, "--snapshots", "off");
}

/** Resolves when the server has said where its dashboard is. */
async function start(port, ...command) {
  const listen = ["--listen", `127.0.0.1:${port}`, "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0"];
  const child = spawn(binary, [...command, ...listen], { stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  const output = [];
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no dashboard after ${startTimeout} ms:\n${output.join("\n")}`)), startTimeout);
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on("line", (line) => {
        if (output.length < 200) output.push(line);
        const found = /Dashboard:\s*(http:\S+)/.exec(line);
        if (!found) return;
        clearTimeout(timer);
        resolve(found[1]);
      });
    }
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`${binary} ended with ${code}:\n${output.join("\n")}`)));
  });
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid,
    /** As when the machine loses power. */
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      await exited;
    },
  };
}
