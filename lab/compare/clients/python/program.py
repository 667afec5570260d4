"""What the scenarios share: lines, the runner, connections, events."""

import asyncio
import json
import os
import sys

import nats
from nats.errors import SlowConsumerError, TimeoutError

# How long something may take that is expected, and how long nothing must come
# where nothing is expected.
PATIENCE = 10
QUIET = 0.1

URL = os.environ["NATS_URL"]
PLAIN_URL = os.environ["PLAIN_URL"]


def say(line):
    print(line, flush=True)


def quoted(data):
    return json.dumps(data.decode(), ensure_ascii=False)


async def ask(what):
    """Has the runner do something, and waits until it is done."""
    say("@" + what)
    line = await asyncio.to_thread(sys.stdin.readline)
    if line != "done\n":
        sys.exit("the runner has gone")


def words(error):
    """The text of an error, without what differs from run to run."""
    if isinstance(error, SlowConsumerError):
        return f"slow consumer on {error.subject}"
    return f"{type(error).__name__}: {error}"


async def connect(url=URL, **options):
    options.setdefault("allow_reconnect", False)
    options.setdefault("connect_timeout", PATIENCE)
    # A server that does not answer is tried again, whatever allow_reconnect says.
    options.setdefault("max_reconnect_attempts", 1)
    options.setdefault("reconnect_time_wait", 0.01)

    async def ignore(_):
        pass

    options.setdefault("error_cb", ignore)
    return await nats.connect(url, **options)


async def flush(nc):
    """Returns when the server has everything. This client's PING may go out before
    what was sent first; that has gone when the PING is answered."""
    await nc.flush()
    await nc.flush()


async def attempt(what, url=URL, **options):
    """Says whether a connection comes about, and closes it."""
    try:
        nc = await connect(url, **options)
    except Exception as e:
        say(f"{what}: {words(e)}")
        return
    say(f"{what}: connected")
    await nc.close()


async def refused(what, url=URL, **options):
    """Says that a connection is refused, without the words: what the server says
    comes in the middle of the client's own writes, and may be lost to them."""
    try:
        nc = await connect(url, **options)
    except Exception:
        say(f"{what}: refused")
        return
    say(f"{what}: connected")
    await nc.close()


async def take(sub, n):
    """Says which n messages come, and whether more do."""
    for _ in range(n):
        try:
            m = await sub.next_msg(timeout=PATIENCE)
        except Exception as e:
            say(f"{sub.subject}: {words(e)}")
            return
        say(f"{sub.subject}: {m.subject} {quoted(m.data)}")
    try:
        m = await sub.next_msg(timeout=QUIET)
        say(f"{sub.subject}: one too many, {m.subject} {quoted(m.data)}")
    except TimeoutError:
        pass


async def count(sub):
    n = 0
    while True:
        try:
            await sub.next_msg(timeout=QUIET)
        except Exception:
            return n
        n += 1


class Events:
    """Collects what the client tells of a connection."""

    def __init__(self):
        self.queue = asyncio.Queue()

    def options(self, **more):
        def event(name):
            async def told():
                self.queue.put_nowait(name)

            return told

        async def error(e):
            self.queue.put_nowait("error: " + words(e))

        return {
            "allow_reconnect": True,
            "reconnect_time_wait": 0.02,
            "max_reconnect_attempts": -1,
            "error_cb": error,
            "disconnected_cb": event("disconnected"),
            "reconnected_cb": event("reconnected"),
            "closed_cb": event("closed"),
            "lame_duck_mode_cb": event("lame duck"),
            **more,
        }

    async def until(self, prefix, silent=()):
        """Says what happens up to the event that begins so, but for events that
        begin like one of those that may come or not."""
        while True:
            try:
                event = await asyncio.wait_for(self.queue.get(), PATIENCE)
            except asyncio.TimeoutError:
                say(f"no event {prefix}")
                return
            if not event.startswith(tuple(silent)):
                say(event)
            if event.startswith(prefix):
                return

    async def none(self):
        try:
            say("unexpected: " + await asyncio.wait_for(self.queue.get(), QUIET))
        except asyncio.TimeoutError:
            pass
