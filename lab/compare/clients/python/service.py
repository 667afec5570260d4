"""A micro service."""

import json

from nats.micro import add_service
from nats.micro.request import ServiceError

from messages import asked, say_headers
from program import *


async def service():
    server, nc = await connect(), await connect()

    async def double(request):
        try:
            n = int(request.data)
        except ValueError:
            await request.respond_error("400", "not a number", data=b"sorry")
            return
        await request.respond(str(2 * n).encode())

    s = await add_service(
        server, name="calc", version="1.2.3", description="doubles", metadata={"unit": "one"}
    )
    await s.add_group(name="v1").add_endpoint(name="double", handler=double)
    await flush(server)
    for text in [b"21", b"many"]:
        say_headers(await nc.request("v1.double", text, timeout=PATIENCE), "answer")
    for verb in ["PING", "INFO", "STATS"]:
        for who in ["", ".calc", ".calc." + s.id]:
            await ask_service(nc, verb, verb + who, s.id)
    await asked(nc, "$SRV.PING.other", b"")
    await s.stop()
    await flush(server)
    await asked(nc, "v1.double", b"")
    await server.close()
    await nc.close()


async def ask_service(nc, verb, subject, id):
    m = await nc.request("$SRV." + subject, b"", timeout=PATIENCE)
    a = json.loads(m.data)
    say(f"{verb}: {a['type']} {a['name']} {a['version']}, its id: {a['id'] == id}")
    for e in a.get("endpoints", []):
        say(
            f"  {e['name']} on {e['subject']} in {e['queue_group']}: "
            f"{e.get('num_requests', 0)} requests, {e.get('num_errors', 0)} errors"
        )
