"""Limits of the server."""

from messages import asked
from program import *


async def payload():
    nc = await connect()
    say(f"max payload: {nc.max_payload}")
    sub = await nc.subscribe("p")
    most = b"x" * nc.max_payload
    await nc.publish("p", most)
    try:
        await nc.publish("p", most + b"x")
        say("one byte more: no error")
    except Exception as e:
        say(f"one byte more: {words(e)}")
    await asked(nc, "p", most + b"x")
    await flush(nc)
    m = await sub.next_msg(timeout=PATIENCE)
    say(f"got {len(m.data)} bytes, more: {await count(sub)}")
    await nc.close()
    # This client does not count the header: the server does.
    events = Events()
    nc = await connect(**events.options(allow_reconnect=False))
    await nc.publish("p", most, headers={"A": "b"})
    # By the server's words or by reset: the kernel's choice.
    await events.until("closed", silent=["error: "])


async def max_connections():
    nc = await connect()
    await refused("second")
    await nc.publish("still", b"here")
    await flush(nc)
    await nc.close()
    # The server may see the end of the first a moment later.
    for _ in range(1000):
        try:
            third = await connect()
        except Exception:
            await asyncio.sleep(0.01)
            continue
        say("third")
        await third.close()
        return
    say("never third")


async def max_subscriptions():
    events = Events()
    nc = await connect(**events.options())
    for subject in ("s.1", "s.2"):
        await nc.subscribe(subject)
    await flush(nc)
    await events.none()
    await nc.subscribe("s.3")
    # This client takes the error for the end of the connection.
    await events.until("closed")
