// A real tunnel for tests of its pages: a server, clients with tunnels, visitors.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { startClient, startWith } from "./server.mjs";

const secret = "of the test alone";
const hash = createHash("sha256").update(secret).digest("hex");

/** Starts a server with two clients listed, bus-17 and depot, none of which is there yet. */
export async function startTunnel() {
  const directory = await mkdtemp(path.join(tmpdir(), "tunnel-page-"));
  const file = async (name, text) => {
    const at = path.join(directory, name);
    await writeFile(at, text);
    return at;
  };
  const settings = await file(
    "paddock.yaml",
    `tunnel:
  serve: {http: "127.0.0.1:0", control: "off"}
  clients:
    - {name: bus-17, token_sha256: ${hash}, hosts: [bus-17.example, "*.bus-17.example", shared.example], groups: [web]}
    - {name: depot, token_sha256: ${hash}, hosts: ["*.depot.example", shared.example], groups: [web]}
`,
  );
  const stand = {
    server: await startWith(settings),

    /** A client with tunnels, each a host and a target, and a group if it is of one; connect is what else its file says of the connection. */
    async client(name, tunnels, connect = "") {
      const token = await file(`${name}.token`, `${name}:${secret}`);
      const lines = tunnels.map(([host, target, group], i) => `    t${i}: {proto: http, addr: "${target}", host: ${host}${group ? `, group: ${group}` : ""}}\n`);
      const wire = stand.server.said(/wire listening.*addr=(\S+)/);
      return startClient(
        await file(`${name}.yaml`, `tunnel:\n  connect: {server: "${wire}", plaintext: true, token_file: ${token}${connect}}\n  tunnels:\n${lines.join("")}`),
        tunnels.length,
      );
    },

    /** The status of a visitor's request; options are those of http.request. */
    async visit(host, target = "/", { headers, body, ...options } = {}) {
      const url = new URL(target, stand.server.said(/tunnel listening for visitors.*url=(\S+)/));
      const request = http.request(url, { headers: { host, ...headers }, agent: false, ...options });
      request.end(body);
      const [response] = await once(request, "response");
      response.resume();
      await once(response, "end");
      return response.statusCode;
    },

    /** Starts the server again, at the same addresses, after it was killed. */
    async restart() {
      stand.server = await startWith(settings, stand.server);
    },

    async stop() {
      await stand.server.stop();
      await rm(directory, { recursive: true });
    },
  };
  return stand;
}
