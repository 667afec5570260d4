"""Messages: subjects, queues, requests, headers."""

from program import *


async def pubsub():
    nc, other = await connect(), await connect(no_echo=True)
    patterns = ["fleet", "fleet.*", "fleet.a.pos", "fleet.*.pos", "*.a.*", "fleet.>", ">"]
    subs = [await nc.subscribe(pattern) for pattern in patterns]
    own = await other.subscribe("fleet.>")
    await flush(nc)
    await flush(other)
    for subject in ["fleet", "fleet.a", "fleet.a.pos", "fleet.b.pos", "fleet.a.pos.x", "Fleet.a.pos"]:
        await other.publish(subject, f"to {subject}".encode())
    await other.publish("fleet.a.pos", b"")
    await flush(other)
    for sub, n in zip(subs, [1, 1, 2, 3, 3, 5, 7]):
        await take(sub, n)
    await nc.publish("fleet.a", b"from the other")
    await flush(nc)
    await take(own, 1)
    await subs[0].unsubscribe()
    await other.publish("fleet", b"after unsubscribe")
    await flush(other)
    try:
        await subs[0].next_msg(timeout=QUIET)
    except Exception as e:
        say(f"after unsubscribe: {words(e)}")
    await nc.close()
    await other.close()


async def queue():
    nc, other = await connect(), await connect()
    workers = [await c.subscribe("jobs.*", queue="workers") for c in (nc, other, other)]
    audit = await nc.subscribe("jobs.>", queue="audit")
    plain = await nc.subscribe("jobs.new")
    await flush(nc)
    await flush(other)
    for _ in range(300):
        await nc.publish("jobs.new", b"work")
    await flush(nc)
    await flush(other)
    counts = [await count(sub) for sub in workers]
    say(f"workers: {sum(counts)}, idle: {counts.count(0)}")
    say(f"audit: {await count(audit)}")
    say(f"plain: {await count(plain)}")
    await nc.close()
    await other.close()


async def request():
    server, nc = await connect(), await connect(inbox_prefix="_INBOX.own")

    async def answer(subject, text):
        async def respond(m):
            if subject != "silent":
                await m.respond(text.encode() + m.data.upper())

        await server.subscribe(subject, cb=respond)

    await answer("upper", "")
    await answer("silent", "")
    await answer("both", "one of both: ")
    await answer("both", "one of both: ")
    inbox = await server.subscribe("_INBOX.own.>")
    await flush(server)
    for subject in ["upper", "both", "nobody", "silent"]:
        await asked(nc, subject, b"hello", timeout=0.3)
    say(f"answers seen: {await count(inbox)}")
    await asked(nc, "upper", b"with an inbox of its own", old_style=True)
    await asked(nc, "nobody", b"", old_style=True)
    await server.close()
    await nc.close()


async def asked(nc, subject, data, timeout=PATIENCE, **options):
    try:
        m = await nc.request(subject, data, timeout=timeout, **options)
        say(f"{subject}: {quoted(m.data)}")
    except Exception as e:
        say(f"{subject}: {words(e)}")


async def headers():
    nc = await connect()
    sub, reply = await nc.subscribe("h"), await nc.subscribe("reply")
    await nc.publish("h", b"two", headers={"Fleet": "north", "Key": "one"})
    await nc.publish("h", b"", headers={"Empty": ""})
    await nc.publish("h", b"none")
    await nc.publish("h", b"text", headers={"Colon": "a: b: c", "Umlaut": "größer"})
    for _ in range(4):
        say_headers(await sub.next_msg(timeout=PATIENCE))
    await nc.publish("nobody.here", b"", reply="reply")
    say_headers(await reply.next_msg(timeout=PATIENCE))
    await nc.close()


def say_headers(m, name=None):
    fields = m.headers or {}
    say(f"{name or m.subject} {quoted(m.data)}, {len(fields)} headers")
    for key in sorted(fields):
        say(f"  {getattr(key, 'value', key)}: {fields[key]!r}")


async def autounsub():
    nc = await connect()
    before, after, reached = [await nc.subscribe("a") for _ in range(3)]
    await before.unsubscribe(limit=3)
    await nc.publish("a", b"1")
    await nc.publish("a", b"2")
    await flush(nc)
    await after.unsubscribe(limit=4)
    await reached.unsubscribe(limit=2)
    for text in ["3", "4", "5"]:
        await nc.publish("a", text.encode())
    await flush(nc)
    for sub in (before, after, reached):
        say(f"got {await count(sub)}")
    await nc.close()


async def info():
    events = Events()
    nc = await connect(**events.options())
    await flush(nc)
    say(f"round trip: {await nc.rtt() > 0}")
    say(f"client id: {nc.client_id > 0}")
    say(f"max payload: {nc.max_payload}")
    say(f"version: {nc.connected_server_version.major > 1}")
    say(f"servers: {len(nc.servers)}, discovered: {len(nc.discovered_servers)}")
    say(f"url: {nc.connected_url.geturl()}")
    fields = dict(nc._server_info)
    server_id = fields.pop("server_id")
    say(f"server id: {len(server_id)} characters, {server_id[0]}")
    for name in ("server_name", "version", "git_commit", "go", "xkey", "api_lvl"):  # the last is JetStream's
        fields.pop(name, None)
    for name in sorted(fields):
        shown = "any" if name == "client_id" else fields[name]
        say(f"{name}: {shown}")
    sub = await nc.subscribe("stats")
    await nc.publish("stats", b"12345")
    await flush(nc)
    await take(sub, 1)
    s = nc.stats
    say(f"in: {s['in_msgs']} of {s['in_bytes']} bytes, out: {s['out_msgs']} of {s['out_bytes']} bytes")
    await events.none()
    await nc.close()
    await events.until("closed")
