"""Follows the events of a platform with nats-py, an implementation of its own.

Usage: events.py ADDRESS
Writes "ready" when it has subscribed to fence.>, and when a message has come on
the subject test.end, a line for each event before it: subject, tab, payload.
"""

import asyncio
import sys

import nats

TIMEOUT = 60


async def settle(nc):
    """Returns when the server has handled all that nc did so far."""
    inbox = nc.new_inbox()
    sub = await nc.subscribe(inbox)
    await nc.publish(inbox, b"")
    await sub.next_msg(TIMEOUT)


async def main(address):
    events = []
    end = asyncio.Event()

    async def keep(msg):
        events.append(msg)

    async def stop(msg):
        end.set()

    nc = await nats.connect(address, allow_reconnect=False)
    await nc.subscribe("fence.>", cb=keep)
    await nc.subscribe("test.end", cb=stop)
    await settle(nc)
    print("ready", flush=True)
    await asyncio.wait_for(end.wait(), TIMEOUT)
    await nc.drain()  # what came before the end may still wait for its callback
    for msg in events:
        sys.stdout.buffer.write(msg.subject.encode() + b"\t" + msg.data + b"\n")


asyncio.run(main("nats://" + sys.argv[1]))
