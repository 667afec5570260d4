"""How connections end and begin again."""

from messages import asked
from program import *


async def drain():
    events = Events()
    nc, other = await connect(**events.options()), await connect()
    got = 0

    async def slowly(_):
        nonlocal got
        await asyncio.sleep(0.005)
        got += 1

    first = await nc.subscribe("first", cb=slowly)
    await nc.subscribe("second", cb=slowly)
    await flush(nc)
    for _ in range(20):
        await other.publish("first", b"x")
    await flush(other)
    await flush(nc)
    await first.drain()
    say(f"got {got}")
    await asked(other, "first", b"")
    for _ in range(20):
        await other.publish("second", b"x")
    await flush(other)
    await flush(nc)
    await nc.drain()
    await events.until("closed")
    say(f"got {got}")
    await asked(other, "second", b"")
    try:
        await nc.publish("second", b"")
    except Exception as e:
        say(f"publish when closed: {words(e)}")
    await other.close()


async def reconnect():
    events = Events()
    nc = await connect(**events.options())
    sub, short = await nc.subscribe("news.*"), await nc.subscribe("short")
    await short.unsubscribe(limit=2)
    await nc.publish("news.first", b"before")
    await nc.publish("short", b"before")
    await flush(nc)
    await take(sub, 1)
    await ask("stop")
    await events.until("disconnected")
    await nc.publish("news.away", b"while away")
    await ask("start")
    # How often it tries in vain is a matter of time.
    await events.until("reconnected", silent=["error: ConnectionRefusedError"])
    await nc.publish("news.back", b"after")
    await nc.publish("short", b"after")
    await nc.publish("short", b"too much")
    await flush(nc)
    await take(sub, 2)
    say(f"short: {await count(short)}")
    say(f"reconnects: {nc.stats['reconnects']}")
    await nc.close()
    await events.until("closed")


async def lameduck():
    events = Events()
    nc = await connect(**events.options())
    sub = await nc.subscribe("still")
    await flush(nc)
    await ask("lameduck")
    await events.until("lame duck")
    await nc.publish("still", b"delivered in lame duck mode")
    await flush(nc)
    await take(sub, 1)
    await refused("a new client")
    await nc.close()
    await events.until("closed")


async def stale():
    events = Events()
    nc = await connect(**events.options())
    sub = await nc.subscribe("again")
    await flush(nc)
    await ask("pause")
    await events.until("reconnected")
    await nc.publish("again", b"after")
    await flush(nc)
    await take(sub, 1)
    await nc.close()
    await events.until("closed")


async def slow_server():
    events = Events()
    nc = await connect(**events.options())

    async def ignore(_):
        pass

    sub = await nc.subscribe("flood", cb=ignore)
    await flush(nc)
    await ask("flood flood")
    # By EOF or by reset: the kernel's choice.
    await events.until("reconnected", silent=["error: "])
    await sub.unsubscribe()
    again = await nc.subscribe("again")
    await nc.publish("again", b"after")
    await flush(nc)
    await take(again, 1)
    await nc.close()
    await events.until("closed", silent=["error: "])


async def slow_client():
    events = Events()
    nc, other = await connect(**events.options()), await connect()
    sub = await nc.subscribe("much", pending_msgs_limit=10)
    await flush(nc)
    for i in range(25):
        await other.publish("much", str(i).encode())
    await flush(other)
    await flush(nc)
    for _ in range(15):
        await events.until("error")
    say(f"then: {await count(sub)}")
    await nc.close()
    await other.close()
    await events.until("closed")


async def reload():
    bobs, eves = Events(), Events()
    bob = await connect(**bobs.options(user="bob", password="bob"))
    eve = await connect(**eves.options(user="eve", password="eve", allow_reconnect=False))
    news, sport = await bob.subscribe("news.>"), await bob.subscribe("sport")
    await flush(bob)
    await eve.publish("news.a", b"before")
    await eve.publish("sport", b"before")
    await flush(eve)
    await take(news, 1)
    await take(sport, 1)
    await ask("reload")
    await bobs.until("error")
    await eves.until("closed")
    await bob.publish("news.a", b"after")
    await bob.publish("sport", b"after")
    await flush(bob)
    await take(news, 1)
    say(f"sport: {await count(sport)}")
    await attempt("eve again", user="eve", password="eve")
    await bob.close()
    await bobs.until("closed")
