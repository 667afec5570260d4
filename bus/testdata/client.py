"""What nats-py, an implementation of its own, must find true of the broker.

Usage: client.py OPEN_ADDRESS ADDRESS_WITH_AUTHENTICATION ADDRESS_WITH_TLS CA_FILE
The second server has the user ann with the password secret. The third has a
certificate that the authority in CA_FILE has signed. Every check is an assertion;
the program ends with 0 if all of them hold.
"""

import asyncio
import ssl
import sys

import nats
from nats import errors

TIMEOUT = 20


async def settle(nc):
    """Returns when the server has handled all that nc did so far.

    flush() is not enough: nats-py writes its PING past the commands that wait
    to be sent, so that the PONG may come before they were even on their way.
    """
    inbox = nc.new_inbox()
    sub = await nc.subscribe(inbox)
    await nc.publish(inbox, b"")
    await sub.next_msg(TIMEOUT)
    await sub.unsubscribe()


async def publish_and_subscribe(nc):
    sub = await nc.subscribe("pos.*.>")
    for i in range(5000):
        await nc.publish(f"pos.fleet.{i % 7}", str(i).encode())
    for i in range(5000):
        msg = await sub.next_msg(TIMEOUT)
        assert msg.data == str(i).encode(), (i, msg)
        assert msg.subject == f"pos.fleet.{i % 7}", msg
    await sub.unsubscribe()


async def queue_group(nc, other):
    got = []
    everything = asyncio.Event()

    async def work(msg):
        got.append(msg.data)
        if len(got) == 300:
            everything.set()

    members = [await c.subscribe("work", queue="q", cb=work) for c in (nc, other, nc)]
    await settle(nc)
    await settle(other)
    for i in range(300):
        await nc.publish("work", str(i).encode())
    await settle(nc)
    await settle(other)
    await asyncio.wait_for(everything.wait(), TIMEOUT)
    for member in members:
        await member.drain()
    assert len(got) == len(set(got)) == 300, len(got)


async def request_with_headers(nc, other):
    async def echo(msg):
        await msg._client.publish(msg.reply, b"re:" + msg.data, headers={"Seen": msg.headers["Trace"]})

    sub = await other.subscribe("echo", cb=echo)
    await settle(other)
    for i in range(100):
        msg = await nc.request("echo", b"hi", TIMEOUT, headers={"Trace": str(i)})
        assert msg.data == b"re:hi" and msg.headers["Seen"] == str(i), msg
    await sub.unsubscribe()


async def no_responders(nc):
    try:
        await nc.request("nobody", b"", TIMEOUT)
    except errors.NoRespondersError:
        return
    raise AssertionError("somebody answered")


async def auto_unsubscribe(nc):
    sub = await nc.subscribe("few")
    await sub.unsubscribe(limit=3)
    for i in range(6):
        await nc.publish("few", str(i).encode())
    await settle(nc)
    got = [(await sub.next_msg(TIMEOUT)).data for _ in range(3)]
    assert got == [b"0", b"1", b"2"], got


async def permissions(address):
    failures = asyncio.Queue()

    async def failed(err):
        await failures.put(str(err))

    nc = await nats.connect(address, error_cb=failed)
    await nc.publish("fence.zones.a", b"forged")
    text = await asyncio.wait_for(failures.get(), TIMEOUT)
    assert "permissions violation for publish to \"fence.zones.a\"" in text.lower(), text
    assert nc.is_connected
    await settle(nc)
    await nc.close()


async def limits(nc):
    assert nc.max_payload == 1 << 16, nc.max_payload
    try:
        await nc.publish("a", b"x" * ((1 << 16) + 1))
    except errors.MaxPayloadError:
        return
    raise AssertionError("a message above max_payload was taken")


async def drain(address, publisher):
    nc = await nats.connect(address)
    got = []
    everything = asyncio.Event()

    async def take(msg):
        got.append(msg)
        if len(got) == 1000:
            everything.set()

    await nc.subscribe("last", cb=take)
    await settle(nc)
    for _ in range(1000):
        await publisher.publish("last", b"")
    await settle(publisher)
    await asyncio.wait_for(everything.wait(), TIMEOUT)
    await nc.drain()
    assert nc.is_closed and len(got) == 1000, len(got)


async def authentication(address):
    nc = await nats.connect(address, user="ann", password="secret")
    await settle(nc)
    await nc.close()
    for wrong in ({"user": "ann", "password": "x"}, {"token": "secret"}, {}):
        try:
            await nats.connect(address, allow_reconnect=False, **wrong)
        except errors.Error as err:
            assert "authorization violation" in str(err).lower(), err
        else:
            raise AssertionError(f"let in with {wrong}")


async def over_tls(address, authority):
    context = ssl.create_default_context(cafile=authority)
    nc = await nats.connect(address.replace("nats:", "tls:"), tls=context)
    await publish_and_subscribe(nc)
    sub = await nc.subscribe("large")
    for size in (0, 1, 16384, 65536, 1 << 20):
        await nc.publish("large", b"x" * size)
        assert len((await sub.next_msg(TIMEOUT)).data) == size
    await nc.close()


async def main(address, secured, tls, authority):
    nc = await nats.connect(address, name="checks")
    other = await nats.connect(address)
    await publish_and_subscribe(nc)
    await queue_group(nc, other)
    await request_with_headers(nc, other)
    await no_responders(nc)
    await auto_unsubscribe(nc)
    await permissions(address)
    await limits(nc)
    await drain(address, other)
    await authentication(secured)
    await over_tls(tls, authority)
    await nc.close()
    await other.close()


asyncio.run(main(*("nats://" + address for address in sys.argv[1:4]), sys.argv[4]))
