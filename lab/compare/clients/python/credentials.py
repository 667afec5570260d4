"""Every way to say who one is, and what one may do then."""

from messages import asked
from program import *


def at(credentials):
    return URL.replace("://", f"://{credentials}@", 1)


async def token():
    await attempt("right", token="a token, with spaces")
    await attempt("wrong", token="a token")
    await attempt("user instead", user="a token, with spaces", password="")
    await attempt("none")
    await attempt("in the url", at("a%20token%2C%20with%20spaces"))


async def password():
    await attempt("right", user="alice", password="wonder'land")
    await attempt("wrong password", user="alice", password="wonderland")
    await attempt("wrong user", user="Alice", password="wonder'land")
    await attempt("token instead", token="wonder'land")
    await attempt("none")
    await attempt("in the url", at("alice:wonder%27land"))


async def bcrypt():
    await attempt("right", user="alice", password="correct horse")
    await attempt("wrong", user="alice", password="correct horses")
    await attempt("empty", user="alice", password="")


async def nkey():
    await attempt("right", nkeys_seed="alice.nk")
    await attempt("a stranger's", nkeys_seed="stranger.nk")
    await attempt("none")
    nc = await connect(nkeys_seed="alice.nk")
    sub = await nc.subscribe("n")
    await nc.publish("n", b"signed in")
    await flush(nc)
    await take(sub, 1)
    await nc.close()


async def anonymous():
    events = Events()
    guest = await connect(**events.options())
    alice = await connect(user="alice", password="alice")
    everything, public = await alice.subscribe(">"), await guest.subscribe("public.>")
    await flush(alice)
    await flush(guest)
    await guest.publish("public.a", b"from a guest")
    await guest.publish("private.a", b"from a guest")
    await flush(guest)
    await events.until("error")
    await guest.subscribe("private.>")
    await flush(guest)
    await events.until("error")
    await take(everything, 1)
    await take(public, 1)
    await attempt("wrong", user="alice", password="bob")
    await guest.close()
    await alice.close()


async def permissions():
    events = Events()
    root = await connect(user="root", password="root")
    worker = await connect(**events.options(user="worker", password="worker"))
    done = await root.subscribe("jobs.*.done")
    jobs = await worker.subscribe("jobs.>")
    await flush(root)
    await flush(worker)
    for subject in ["jobs.1.done", "jobs.secret.done", "jobs.1", "other"]:
        await worker.publish(subject, b"from a worker")
        await flush(worker)
    for _ in range(3):
        await events.until("error")
    await take(done, 1)
    await take(jobs, 1)
    for subject in ["jobs.secret.a", "audit", "other.*", ">"]:
        await worker.subscribe(subject)
        await flush(worker)
        await events.until("error")
    await worker.subscribe("audit", queue="others")
    await flush(worker)
    await events.until("error")
    audit = await worker.subscribe("audit", queue="workers")
    await flush(worker)
    await events.none()
    for subject in ["jobs.secret.plan", "jobs.open.plan", "audit"]:
        await root.publish(subject, b"from root")
    await flush(root)
    await take(jobs, 1)
    await take(audit, 1)
    await asked(worker, "other", b"", timeout=QUIET)
    await events.until("error")
    limited = Events()
    by_default = await connect(**limited.options(user="admin", password="admin"))
    await by_default.publish("jobs.1", b"not public")
    await flush(by_default)
    await limited.until("error")
    await by_default.subscribe("jobs.>")
    await flush(by_default)
    await limited.until("error")
    for nc in (worker, root, by_default):
        await nc.close()


async def responses():
    asker = await connect(user="asker", password="asker")
    for user, subject, answers in [("helper", "help.me", 2), ("once", "once", 1)]:
        events = Events()
        nc = await connect(**events.options(user=user, password=user))
        sub, replies = await nc.subscribe(subject), await asker.subscribe("reply." + user)
        await flush(nc)
        await flush(asker)
        await asker.publish(subject, b"please", reply="reply." + user)
        await flush(asker)
        m = await sub.next_msg(timeout=PATIENCE)
        for text in ["1", "2", "3"]:
            await nc.publish(m.reply, text.encode())
            await flush(nc)
        await events.until("error")
        await take(replies, answers)
        await nc.publish("reply.other", b"not asked")
        await flush(nc)
        for _ in range(3 - answers):
            await events.until("error")
        await nc.close()
    await asker.close()
