"""An exchange over a real socket, in which both sides serve the same kinds and
each checks the other at the same time.

    exchange.py listen HOST:PORT   accepts one connection; prints "listening HOST:PORT"
    exchange.py dial HOST:PORT
    exchange.py self               both, Python against Python, in both orders of the end

--end says that this side begins the end: it keeps a stream open, asks the other
one to drain, and looks at how that is done. The other side drains. Prints "ok NAME"
for each check and "done" at the end; anything else is a failure, with exit code 1.

The kinds. Those with * are bound by BIND, the others in HELLO.

    echo     request   the same body
    fail     request   NOT_FOUND "no such vehicle", details {1: 2}
    wait     request   nothing until it is cancelled or its deadline comes
    left     request   the deadline that is left, in ms, or "none"
    sum   *  request   length and CRC-32 of a body that may go on
    pour  *  request   a promoted answer: so many bytes of pattern() as the body says
    note     post      a number u32 that counts from 0, and filling
    noted    request   how many notes have come, how many were not the next
    mirror   stream    every byte comes back; ends after the other half
    refuse   stream    refused with PERMISSION_DENIED
    drip  *  stream    pattern() until writing fails; END or RESET then
    dripped  request   the code with which that has failed
    hang     stream    RESET 4100 when the first bytes have come
    done     request   the caller's checks are over
    drain    request   answered; then the receiver drains
"""

import faulthandler
import os
import socket
import struct
import sys
import threading
import time
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from frames import RemoteError  # noqa: E402
from judge import (ACCEPTOR, CANCELLED, DEADLINE_EXCEEDED, DIALER, UNAVAILABLE,  # noqa: E402
                   UNIMPLEMENTED, rule)
from live import Closed, Peer  # noqa: E402

NOT_FOUND, PERMISSION_DENIED = 5, 7
WATCHDOG = 100  # seconds for the whole exchange

# The least that SPEC allows, so that every limit is met.
LIMITS = {3: 16384, 4: 64, 5: 262144, 6: 65536, 7: 65536}
IN_HELLO = "echo fail wait left note noted mirror refuse dripped hang done drain nobody".split()
BY_BIND = "sum pour drip".split()


def pattern(n, at=0):
    """Bytes that tell their place: a lost or doubled block of 256 shows."""
    return bytes((i * 7 + (i >> 8)) & 255 for i in range(at, at + n))


class Service:
    """What a side serves, and what it remembers."""

    def __init__(self):
        self.peer = None
        self.notes = self.wrong = 0
        self.code = 0
        self.done, self.drain = threading.Event(), threading.Event()
        self.requests = {
            "echo": self.body, "fail": self.fail, "wait": self.wait, "left": self.left,
            "sum": lambda s: self.summary(self.body(s)), "pour": self.pour,
            "noted": lambda s: b"%d %d" % (self.notes, self.wrong), "dripped": lambda s: b"%d" % self.code,
            "done": lambda s: self.done.set() or b"", "drain": lambda s: self.drain.set() or b"",
        }
        self.streams = {"mirror": self.mirror, "refuse": self.refuse, "drip": self.drip, "hang": self.hang}

    def post(self, name, body):
        number = struct.unpack_from("<I", body)[0] if name == "note" else -1
        self.wrong += number != self.notes
        self.notes += 1

    def body(self, slot):
        """The whole body of a request."""
        return slot.body + (self.peer.read_all(slot) if slot.was_in else b"")

    @staticmethod
    def summary(body):
        return b"%d %08x" % (len(body), zlib.crc32(body))

    def fail(self, slot):
        raise RemoteError(NOT_FOUND, "no such vehicle", False, b"\xa1\x01\x02")

    def wait(self, slot):
        until = slot.started + slot.meta[1] / 1000 if 1 in slot.meta else None
        with self.peer.lock:
            while not slot.cancelled and not self.peer.closed:
                left = None if until is None else until - time.monotonic()
                if left is not None and left <= 0:
                    raise RemoteError(DEADLINE_EXCEEDED)
                self.peer.lock.wait(left)
        raise RemoteError(CANCELLED)

    def left(self, slot):
        if 1 not in slot.meta:
            return b"none"
        return b"%d" % max(0, slot.meta[1] - (time.monotonic() - slot.started) * 1000)

    def pour(self, slot):
        count = int(self.body(slot))
        self.peer.promote(slot, b"%d" % count)
        for at in range(0, count, 10000):
            self.peer.write(slot, pattern(min(10000, count - at), at))

    def mirror(self, slot):
        if slot.undecided:
            self.peer.accept(slot, b"welcome")
        while True:
            data = self.peer.read(slot)
            if not data:
                return
            self.peer.write(slot, data)

    def refuse(self, slot):
        raise RemoteError(PERMISSION_DENIED, "not for you")

    def drip(self, slot):
        block, at = pattern(65536), 0
        try:
            while True:
                self.peer.write(slot, block[:4096])
                at += 4096
        except RemoteError as failed:
            self.code = failed.code
            raise

    def hang(self, slot):
        self.peer.read(slot)
        self.peer.reset(slot, 4100)


class Suite:
    """The checks that a side makes of the other one."""

    def __init__(self, peer):
        self.peer = peer
        self.noted = 0

    def expect(self, code, action, not_started=None):
        try:
            result = action()
        except RemoteError as failed:
            rule(failed.code == code, "code %d, want %d" % (failed.code, code))
            rule(not_started is None or failed.not_started == not_started, "not started: %s" % failed.not_started)
            return failed
        raise AssertionError("no failure but %r, want code %d" % (result, code))

    def early(self):
        """Queues what rides behind HELLO; returns what looks at the outcome."""
        slot = self.peer.request("echo", b"early")
        stream = self.peer.open("mirror", pattern(8000))
        self.note(3)
        rule(not self.peer.greeted, "HELLO came before anything was sent")

        def check_early():
            rule(self.peer.answer(slot) == b"early", "the early request")
            self.peer.write(stream, b"", end=True)
            rule(self.peer.read_all(stream) == pattern(8000), "the early stream")
        return check_early

    def note(self, count, size=0, ack=False):
        bodies = [struct.pack("<I", self.noted + i) + bytes(size) for i in range(count)]
        self.noted += count
        return self.peer.send_posts("note", bodies, ack)

    def check_echo(self):
        for size in (0, 1, 100, 10000, 40000):
            rule(self.peer.call("echo", pattern(size)) == pattern(size), "echo of %d" % size)

    def check_reuse(self):
        """Many calls at once: indexes are used again, generations go up."""
        failures = []

        def caller(n):
            try:
                for i in range(100):
                    body = b"%d/%d" % (n, i)
                    rule(self.peer.call("echo", body) == body, "another's answer")
            except BaseException as failure:
                failures.append(failure)
        threads = [threading.Thread(target=caller, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def check_errors(self):
        failed = self.expect(NOT_FOUND, lambda: self.peer.call("fail", b""), False)
        rule(failed.text == "no such vehicle" and failed.details == b"\xa1\x01\x02", "error %r" % vars(failed))
        self.expect(UNIMPLEMENTED, lambda: self.peer.call("nobody", b""), True)
        self.expect(UNIMPLEMENTED, lambda: self.peer.read(self.peer.open("nobody")), True)

    def check_deadline(self):
        left = int(self.peer.call("left", b"", {1: 60000}))
        rule(30000 < left <= 60000, "%d ms left of 60,000" % left)
        rule(self.peer.call("left", b"") == b"none", "a deadline from nowhere")
        self.expect(DEADLINE_EXCEEDED, lambda: self.peer.call("left", b"", {1: 0}), True)
        self.expect(DEADLINE_EXCEEDED, lambda: self.peer.call("wait", b"", {1: 50}))

    def check_cancel(self):
        slots = [self.peer.request("wait", b"") for _ in range(5)]
        self.peer.ping()
        for slot in slots:
            self.peer.cancel(slot)
        for slot in slots:
            self.expect(CANCELLED, lambda: self.peer.answer(slot))
        self.peer.wait_slots(0)

    def check_body(self):
        """A request whose body goes on for longer than every window."""
        body = pattern(700000)
        slot = self.peer.request("sum", body[:1000], more=True)
        self.peer.write(slot, body[1000:], end=True)
        rule(self.peer.answer(slot) == Service.summary(body), "sum")
        slot = self.peer.request("fail", body[:1000], more=True)  # answered before the body ends
        self.expect(NOT_FOUND, lambda: self.peer.answer(slot))
        self.peer.wait_slots(0)

    def check_promotion(self):
        slot = self.peer.request("pour", b"700000")
        rule(self.peer.answer(slot) == b"700000", "the head")
        rule(self.peer.read_all(slot) == pattern(700000), "the answer that goes on")
        slot = self.peer.request("pour", b"100000000")
        self.peer.answer(slot)
        for _ in range(20):
            self.peer.read(slot)
        self.peer.cancel(slot)
        self.peer.wait_slots(0)

    def check_streams(self):
        """Two streams at once, each with more than the windows in both directions."""
        failures = []

        def mirror(size, options):
            try:
                data = pattern(size)
                slot = self.peer.open("mirror", **options)
                writer = threading.Thread(target=lambda: self.peer.write(slot, data, end=True), daemon=True)
                writer.start()
                rule(self.peer.read_all(slot) == data, "the mirror")
                writer.join()
            except BaseException as failure:
                failures.append(failure)
        threads = [threading.Thread(target=mirror, args=a) for a in ((800000, {}), (500000, {"credit": 20000}))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        slot = self.peer.open("mirror", b"all at once", end=True)
        rule(self.peer.read_all(slot) == b"all at once", "a stream in one frame")
        self.peer.wait_slots(0)

    def check_confirm(self):
        slot = self.peer.open("mirror", confirm=True)
        self.peer.answer(slot)
        self.peer.write(slot, b"decided", end=True)
        rule(self.peer.read_all(slot) == b"decided", "a confirmed stream")
        slot = self.peer.open("refuse", confirm=True)
        self.expect(PERMISSION_DENIED, lambda: self.peer.write(slot, b"x"))
        slot = self.peer.open("refuse")
        self.expect(PERMISSION_DENIED, lambda: self.peer.read(slot))
        self.peer.wait_slots(0)

    def check_stop_and_reset(self):
        for code, end in ((4101, self.peer.stop), (4102, self.peer.reset)):
            slot = self.peer.open("drip")
            got = 0
            while got < 200000:
                got += len(self.peer.read(slot))
            end(slot, code)
            if end == self.peer.stop:
                self.peer.write(slot, b"", end=True)
            self.peer.wait_slots(0)
            rule(self.peer.call("dripped", b"") == b"%d" % code, "what the writer has seen")
        slot = self.peer.open("hang", b"x")
        self.expect(4100, lambda: self.peer.read(slot))
        self.peer.wait_slots(0)

    def check_posts(self):
        """More than the lane holds, alone and in batches, with and without ACK."""
        for _ in range(300):
            self.note(1, 3000)
            self.note(7, 100)
        for _ in range(20):
            self.note(1, ack=True)
            last = self.note(3, 50, ack=True)
        self.peer.wait_acked(last)
        rule(self.peer.call("noted", b"") == b"%d 0" % self.noted, "notes: %s" % self.peer.call("noted", b""))

    def run(self, early):
        checks = [("early", early)] + [(name[6:], getattr(self, name)) for name in (
            "check_echo check_reuse check_errors check_deadline check_cancel check_body check_promotion "
            "check_streams check_confirm check_stop_and_reset check_posts").split()]
        for name, check in checks:
            check()
            self.peer.ping()
            print("ok", name, flush=True)

    def begin_the_end(self):
        slot = self.peer.open("mirror", b"still ")
        self.peer.call("drain", b"")
        with self.peer.lock:
            self.peer.wait("GOAWAY", lambda: self.peer.drains[1])
        late = self.peer.request("echo", b"too late", forced=True)
        self.expect(UNAVAILABLE, lambda: self.peer.answer(late), True)
        self.peer.write(slot, b"here", end=True)
        rule(self.peer.read_all(slot) == b"still here", "a stream during the drain")
        print("ok end", flush=True)


def exchange(sock, role, begins):
    service = Service()
    peer = service.peer = Peer(sock, role, LIMITS, IN_HELLO, BY_BIND, service.requests, service.streams, service.post)
    suite = Suite(peer)
    early = suite.early()
    peer.start()
    suite.run(early)
    peer.call("done", b"")
    rule(service.done.wait(WATCHDOG), "the peer's checks do not end")
    rule(service.wrong == 0, "%d notes out of order" % service.wrong)
    if begins:
        suite.begin_the_end()
    else:
        rule(service.drain.wait(WATCHDOG), "nobody asks for the end")
        peer.drain()
    peer.close()
    print("done", flush=True)


def main(words):
    begins = "--end" in words
    words = [w for w in words if w != "--end"]
    if words == ["self"]:
        return against_itself()
    if len(words) != 2 or words[0] not in ("listen", "dial"):
        sys.exit(__doc__)
    host, _, port = words[1].rpartition(":")
    faulthandler.dump_traceback_later(WATCHDOG, exit=True)
    if words[0] == "dial":
        sock = socket.create_connection((host, int(port)), 10)
        sock.settimeout(None)
        return exchange(sock, DIALER, begins)
    with socket.create_server((host, int(port))) as listener:
        print("listening %s:%d" % listener.getsockname()[:2], flush=True)
        listener.settimeout(WATCHDOG)
        sock, _ = listener.accept()
    sock.settimeout(None)
    return exchange(sock, ACCEPTOR, begins)


def against_itself():
    faulthandler.dump_traceback_later(WATCHDOG, exit=True)
    for dialer_begins in (True, False):
        near, far = socket.socketpair()
        failures = []

        def run(sock, role, begins):
            try:
                exchange(sock, role, begins)
            except BaseException as failure:
                failures.append(failure)
                raise
        thread = threading.Thread(target=run, args=(far, ACCEPTOR, not dialer_begins), daemon=True)
        thread.start()
        run(near, DIALER, dialer_begins)
        thread.join()
        if failures:
            sys.exit(1)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Closed as closed:
        sys.exit("failed: %r" % (closed.__cause__ or closed))
