"""TLS and WebSocket."""

import ssl

from messages import asked
from program import *


def trusting(ca="ca.pem", certificate=None):
    context = ssl.create_default_context(cafile=ca)
    if certificate:
        context.load_cert_chain(certificate + ".pem", certificate + "-key.pem")
    return context


async def tls():
    await attempt("with the authority", tls=trusting())
    await attempt("without", tls=ssl.create_default_context())
    await attempt("with another", tls=trusting("other-ca.pem"))
    await attempt("by tls://", URL.replace("nats://", "tls://", 1), tls=trusting())
    await echo(tls=trusting())


async def echo(**options):
    """Says that messages go through this door."""
    nc = await connect(**options)
    sub = await nc.subscribe("echo")
    await nc.publish("echo", b"through this door")
    await flush(nc)
    await take(sub, 1)
    await nc.close()


async def tls_verify():
    await attempt("with a certificate", tls=trusting(certificate="client"))
    await refused("without", tls=trusting())
    await echo(tls=trusting(certificate="client"))


async def tls_first():
    await attempt("at once", tls=trusting(), tls_handshake_first=True)
    await attempt("after INFO", tls=trusting(), connect_timeout=0.5)
    await echo(tls=trusting(), tls_handshake_first=True)


async def tls_mixed():
    await echo()
    await echo(tls=trusting())


async def tls_map():
    await attempt("a user", tls=trusting(certificate="client"))
    await attempt("nobody", tls=trusting(certificate="unknown"))
    await refused("without", tls=trusting())
    events = Events()
    nc = await connect(**events.options(tls=trusting(certificate="client")))
    sub = await nc.subscribe("fleet.>")
    await nc.publish("fleet.a", b"permitted")
    await nc.publish("other", b"not permitted")
    await flush(nc)
    await take(sub, 1)
    await events.until("error")
    await nc.close()


async def websocket():
    nc = await connect()
    sub = await nc.subscribe("web.>")
    for n in [0, 1, 125, 126, 65_535, 65_536, 300_000]:
        await nc.publish("web.size", b"w" * n)
    await flush(nc)
    for _ in range(7):
        m = await sub.next_msg(timeout=PATIENCE)
        say(f"{m.subject}: {len(m.data)} bytes, all: {m.data.count(b'w') == len(m.data)}")
    plain = await connect(PLAIN_URL)
    await plain.publish("web.plain", b"from the other door")
    await flush(plain)
    await take(sub, 1)

    async def yes(m):
        await m.respond(b"yes")

    await plain.subscribe("answer", cb=yes)
    await flush(plain)
    await asked(nc, "answer", b"")
    await asked(nc, "nobody", b"")
    await plain.close()
    await nc.close()


async def websocket_tls():
    alice, bob = {"user": "alice", "password": "alice"}, {"user": "bob", "password": "bob"}
    await attempt("alice by the web", tls=trusting(), **alice)
    await attempt("bob by the web", tls=trusting(), **bob)
    await attempt("alice plain", PLAIN_URL, **alice)
    await attempt("bob plain", PLAIN_URL, **bob)
    await refused("without the authority", tls=ssl.create_default_context(), **alice)
    await echo(tls=trusting(), **alice)
