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

/** Starts `paddock demo` on a port, 0 for a free one. Each position counts at once, so that a test causes events at will. */
export function startServer(port = 0, vehicles = 2000) {
  return start(port, "demo", "--vehicles", String(vehicles), "--policy", "raw");
}

/** Starts `paddock up` with the sets of a directory, on a free port. Each position counts at once, and nothing is kept. */
export function startPlatform(directory) {
  return start(0, "up", "--data", "off", "--policy", "raw", "--sets", directory, "--snapshots", "off");
}

/** The same, with a directory for what is kept. */
export function startKeeping(directory, data) {
  return start(0, "up", "--data", data, "--policy", "raw", "--sets", directory, "--snapshots", "off");
}

/** Starts `paddock up` with a file of settings. Ports are free ones, or those of one that was there before. */
export function startWith(file, before) {
  return start(before?.port ?? 0, "up", "--data", "off", "-c", file, "--snapshots", "off", "--log-format", "text", "--wire-listen", before?.said(/wire listening.*addr=(\S+)/) ?? "127.0.0.1:0");
}

/** Starts `paddock up` with a file of settings, sets and a data directory, on free ports. Each position counts at once. */
export function startKept({ file, sets, data }) {
  return start(0, "up", "-c", file, "--sets", sets, "--data", data, "--policy", "raw", "--initial", "enter", "--snapshots", "off", "--log-format", "text");
}

/** Starts a node of a cluster, whose servers have this address, on free ports. */
export function startNode(name, url, data) {
  return start(0, "up", "--bus", url, "--node", name, "--data", data, "--snapshots", "off");
}

/** Starts a client of the tunnel; resolves when it has said that its tunnels are bound. */
export async function startClient(file, tunnels) {
  const child = spawn(binary, ["tunnel", "start", "-c", file], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const output = [];
  await new Promise((resolve, reject) => {
    let bound = 0;
    createInterface(child.stdout).on("line", (line) => {
      if (output.length < 200) output.push(line);
      if (line.includes(" -> ") && ++bound === tunnels) resolve();
    });
    child.on("exit", (code) => reject(new Error(`the client ended with ${code}`)));
  });
  return {
    /** What the client has said, as far as a pattern's group holds it. */
    said: (pattern) => pattern.exec(output.join("\n"))?.[1],
    async stop() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

/** Resolves when the server has said where its dashboard is. */
async function start(port, ...command) {
  const listen = ["--listen", `127.0.0.1:${port}`, "--bus-listen", "127.0.0.1:0"];
  if (!command.includes("--wire-listen")) listen.push("--wire-listen", "127.0.0.1:0");
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
    /** What the server has said, as far as a pattern's group holds it. */
    said: (pattern) => pattern.exec(output.join("\n"))?.[1],
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
