// A micro service.

import { Svcm } from "@nats-io/services";
import { asked, sayHeaders } from "./messages.js";
import { connect, patience, say } from "./program.js";

export async function service() {
  const server = await connect();
  const nc = await connect();
  const s = await new Svcm(server).add({ name: "calc", version: "1.2.3", description: "doubles", metadata: { unit: "one" } });
  s.addGroup("v1").addEndpoint("double", (_, m) => {
    const n = Number(m.string());
    if (Number.isNaN(n)) {
      m.respondError(400, "not a number", "sorry");
    } else {
      m.respond(String(2 * n));
    }
  });
  await server.flush();
  const { id } = s.info();
  for (const text of ["21", "many"]) {
    sayHeaders(await nc.request("v1.double", text, { timeout: patience }), "answer");
  }
  for (const verb of ["PING", "INFO", "STATS"]) {
    for (const who of ["", ".calc", `.calc.${id}`]) {
      const a = (await nc.request(`$SRV.${verb}${who}`, "", { timeout: patience })).json();
      say(`${verb}: ${a.type} ${a.name} ${a.version}, its id: ${a.id === id}`);
      for (const e of a.endpoints ?? []) {
        say(`  ${e.name} on ${e.subject} in ${e.queue_group}: ${e.num_requests ?? 0} requests, ${e.num_errors ?? 0} errors`);
      }
    }
  }
  await asked(nc, "$SRV.PING.other");
  await s.stop();
  await server.flush();
  await asked(nc, "v1.double");
  await server.close();
  await nc.close();
}
