"""The comparison's program in nats-py: it plays one scenario against the server
of NATS_URL and prints what its user would notice."""

import asyncio
import sys

import credentials
import doors
import lifecycle
import limits
import messages
import service

PARTS = (messages, service, lifecycle, limits, credentials, doors)


def find(name):
    for part in PARTS:
        play = getattr(part, name.replace("-", "_"), None)
        if play is not None and play.__module__ == part.__name__:
            return play
    sys.exit("no such scenario")


asyncio.run(find(sys.argv[1])())
