"""A peer of the wire protocol that is strict, in plain Python.

It speaks what docs/wire/SPEC.md says and shares nothing with the Go side but that
document and the codec of peer.py. It keeps to every rule itself, and fails with
Violation for whatever the other side does against one: see judge.py. Standard
library only. exchange.py is what it is used for.

One thread reads and judges, one writes what is queued, one runs the handler of
posts, and each request and stream has its own. All state is under one lock; who
waits for something waits on its condition, and for at most PATIENCE.
"""

import collections
import os
import socket
import struct
import threading
import time
import traceback

import peer
from frames import Frame, RemoteError, cbor, error_of, varint, with_meta
from judge import CANCELLED, Judge, Slot, Violation, rule
from peer import ACK, BIND, CANCEL, DATA, GOAWAY, HELLO, OPEN, PING, POST, POSTS, REQ, RES, RESET

PREFACE = b"\x89WIRE\r\n\x01"
PATIENCE = 20


class Closed(Exception):
    """The connection is over, while something waits."""


class Peer(Judge):
    """One side of a connection. requests and streams are the handlers by the kind's
    name; post is called for each post. hello overrides limits by their key. The
    kinds in bound are bound in HELLO, those in late by BIND."""

    def __init__(self, sock, role, hello, bound, late, requests, streams, post):
        super().__init__(role, hello, requests, streams)
        self.sock, self.post_handler = sock, post
        self.lock = threading.Condition()
        self.failure, self.closed, self.prefaced = None, False, False
        self.out, self.queued_end = collections.deque(), False
        self.kinds = {name: i + 1 for i, name in enumerate(bound + late)}
        self.bound = set(bound)
        self.queue(PREFACE)
        first = {1: [1, 1], 2: "strict python", 13: {name: self.kinds[name] for name in bound}}
        self.frame(HELLO, 0, 0, cbor({**first, **hello}))

    def start(self):
        """Lets bytes flow. What was queued before goes right behind HELLO."""
        for loop in (self.read_loop, self.write_loop, self.post_loop):
            self.go(loop)

    # --- Threads ---

    def go(self, function, *arguments):
        def run():
            try:
                function(*arguments)
            except BaseException as failure:  # every one of them is a bug or a violation
                self.fail(failure)
        threading.Thread(target=run, daemon=True).start()

    def fail(self, failure):
        with self.lock:
            if self.failure is None and not isinstance(failure, Closed):
                self.failure = failure
                traceback.print_exception(type(failure), failure, failure.__traceback__)
            self.closed = True
            self.lock.notify_all()
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def wait(self, what, ready):
        """Waits, under the lock, until ready() is true."""
        until = time.monotonic() + PATIENCE
        while not ready():
            if self.failure is not None:
                raise Closed("the connection failed") from self.failure
            if self.closed:
                raise Closed("closed while waiting for " + what)
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("no %s within %d s" % (what, PATIENCE))
            self.lock.wait(left)

    def queue(self, raw):
        with self.lock:
            self.out.append(raw)
            self.lock.notify_all()

    def frame(self, kind, bits, ident, payload):
        """Queues a frame; what we send is judged as what we receive."""
        most = 4096 if kind == HELLO else self.theirs[3]
        raw = struct.pack("<II", len(payload) | bits << 24 | kind << 28, ident) + payload
        peer.frame_text(raw, most)
        self.queue(raw)

    def write_loop(self):
        while True:
            with self.lock:
                while not self.out and not self.queued_end and not self.closed:
                    self.lock.wait()
                raw = b"".join(self.out)
                self.out.clear()
                if not raw:
                    if self.queued_end and not self.closed:
                        self.sock.shutdown(socket.SHUT_WR)
                    return
            try:
                self.sock.sendall(raw)
            except OSError:
                return  # the reader sees why

    def read_loop(self):
        data = b""
        while True:
            try:
                chunk = self.sock.recv(65536)
            except ConnectionError:
                chunk = b""
            if not chunk:
                return self.at_end(data)
            data += chunk
            if not self.prefaced:
                rule(PREFACE.startswith(data[:8]), "preface %r" % data[:8])
                if len(data) < 8:
                    continue
                self.prefaced, data = True, data[8:]
            data = self.take(data)

    def take(self, data):
        while True:
            try:
                _, rest = peer.frame_text(data, self.mine[3])
            except peer.Incomplete:
                return data
            except peer.Broken as broken:
                raise Violation("%s in %s" % (broken, data[:16].hex())) from None
            frame = Frame(data[:len(data) - len(rest)])
            data = rest
            with self.lock:
                self.receive(frame)
                self.lock.notify_all()

    def at_end(self, data):
        with self.lock:
            rule(not data, "closed within a frame")
            rule(self.greeted, "closed before HELLO")
            rule(any(self.drains), "closed without GOAWAY")
            rule(not self.live, "closed while slots are live: %s" % [str(s) for s in self.live.values()])
            self.closed = True
            self.lock.notify_all()

    def post_loop(self):
        while True:
            with self.lock:
                while not self.posts:
                    if self.closed:
                        return
                    self.lock.wait()
                name, bodies, size, ack = self.posts.popleft()
            for body in bodies:
                self.post_handler(name, body)
            with self.lock:
                self.post_owed += size
                if self.post_owed >= self.mine[7] // 2:
                    self.grant(1, self.post_owed)
                    self.post_in, self.post_owed = self.post_in + self.post_owed, 0
                if ack:
                    self.done_acked += len(bodies)
                    self.frame(ACK, 0, 0, struct.pack("<Q", self.done_acked))

    def serve(self, slot, handler):
        """Runs a handler, and sends the last frame that we owe when it returns."""
        try:
            result, error = handler(slot), None
        except RemoteError as failed:
            result, error = None, failed
        with self.lock:
            if slot.sent_last:
                return
            if not slot.stream and not slot.answered:
                if error is not None:
                    self.refuse(slot, error)
                    return
                slot.discard = True
                self.drop_inbox(slot)
                if len(result) <= self.theirs[3]:
                    self.last(slot, RES, result)
                    return
            elif slot.failure is not None or error is not None:
                if slot.stream and slot.failure is None and not slot.answered and not slot.sent_data:
                    self.refuse(slot, error)
                else:
                    self.last(slot, RESET, struct.pack("<H", error.code if error else CANCELLED))
                return
            else:
                self.last(slot, DATA, b"", 1)
                slot.discard = True
                self.drop_inbox(slot)
                if slot.into:
                    self.frame(RESET, 1, slot.id, struct.pack("<H", CANCELLED))
                return
        self.serve(slot, lambda slot: self.long_answer(slot, result))

    def long_answer(self, slot, result):
        """Sends an answer that is longer than a frame may be."""
        most = self.theirs[3]
        self.promote(slot, result[:most])
        self.write(slot, result[most:])

    # --- What is sent ---

    def number(self, name):
        """The number of a kind of ours, bound by BIND if it has not been."""
        number = self.kinds[name]
        if name not in self.bound:
            self.bound.add(name)
            self.frame(BIND, 0, number, cbor([name]))
        return number

    def new(self, name, stream, forced):
        rule(forced or not any(self.drains), "new work of our own while draining")
        if not self.free:
            index = len(self.used[self.role]) + 1
            self.wait("free slot", lambda: self.free or index <= self.theirs[4])
        used = self.used[self.role]
        index = self.free.pop() if self.free else len(used) + 1
        used[index] = (used.get(index, 0) + 1) % 4096
        slot = Slot(self.role << 31 | index << 12 | used[index], name, True, stream)
        slot.window = slot.in_credit = self.mine[6]
        self.live[slot.id & ~0xFFF] = slot
        self.opened += 1
        return slot

    def request(self, name, body, meta=None, more=False, forced=False):
        bits, payload = with_meta(meta, body)
        with self.lock:
            number = self.number(name)
            slot = self.new(name, False, forced)
            slot.out, slot.out_credit, slot.sent_last = more, self.theirs[6], not more
            self.frame(REQ, bits | 2 * more, slot.id, struct.pack("<I", number) + payload)
        return slot

    def answer(self, slot):
        """Waits for RES; returns its body, or raises what it says."""
        with self.lock:
            self.wait("answer to %s" % slot.kind, lambda: slot.answer is not None or slot.failure is not None)
            if slot.answer is None:
                raise slot.failure
            if "ERR" in slot.answer.flags:
                raise error_of(slot.answer)
            return bytes(slot.answer.body)

    def call(self, name, body, meta=None):
        most = self.theirs[3] - 4096  # leaves room for kind and meta
        slot = self.request(name, body[:most], meta, len(body) > most)
        if len(body) > most:
            self.write(slot, body[most:], end=True)
        result = self.answer(slot)
        return result + (self.read_all(slot) if "MORE" in slot.answer.flags else b"")

    def cancel(self, slot):
        with self.lock:
            slot.cancelled = slot.discard = True
            if slot.sent_last:
                self.frame(CANCEL, 0, slot.id, b"")
            else:
                self.last(slot, CANCEL, b"")
            self.drop_inbox(slot)

    def open(self, name, first=b"", meta=None, confirm=False, credit=0, end=False):
        bits, payload = with_meta(meta, first)
        with self.lock:
            number = self.number(name)
            slot = self.new(name, True, False)
            slot.out, slot.out_credit, slot.undecided = not end, self.theirs[6] - len(first), confirm
            slot.into = slot.was_in = not confirm
            if credit:
                slot.window = slot.in_credit = credit
            self.conn_out -= len(first)
            slot.sent_last = end
            self.frame(OPEN, bits | 2 * confirm | end, slot.id, struct.pack("<II", number, credit) + payload)
        return slot

    def promote(self, slot, first):
        """The answer goes on as a stream."""
        with self.lock:
            slot.answered, slot.out, slot.out_credit = True, not slot.cancelled, self.theirs[6]
            if slot.cancelled:
                slot.failure = RemoteError(CANCELLED)
            self.frame(RES, 2, slot.id, first)

    def accept(self, slot, first=b""):
        with self.lock:
            slot.answered, slot.undecided = True, False
            self.frame(RES, 2, slot.id, first)

    def write(self, slot, data, end=False):
        """Sends bytes as credit comes; raises what RESET or STOP said."""
        at = 0
        while True:
            with self.lock:
                self.wait("credit for %s (%d, connection %d)" % (slot, slot.out_credit, self.conn_out), lambda: (
                    slot.failure or slot.stopped or not slot.out or not slot.undecided and (
                        at == len(data) or slot.out_credit > 0 and self.conn_out > 0)))
                if slot.failure or slot.stopped:
                    raise slot.failure or slot.stopped
                if slot.answer is not None and "ERR" in slot.answer.flags:
                    raise error_of(slot.answer)
                if not slot.out:
                    raise RemoteError(CANCELLED, "our half is over")
                n = min(len(data) - at, slot.out_credit, self.conn_out, self.theirs[3])
                slot.out_credit, self.conn_out = slot.out_credit - n, self.conn_out - n
                slot.sent_data, at = True, at + n
                if end and at == len(data):
                    return self.last(slot, DATA, data[at - n:at], 1)
                if n:
                    self.frame(DATA, 0, slot.id, data[at - n:at])
                if at == len(data):
                    return None

    def read(self, slot):
        """The next bytes, b"" at the end; raises what RESET said."""
        with self.lock:
            self.wait("bytes of %s" % slot, lambda: slot.inbox or slot.ended or slot.failure or (
                slot.answer is not None and "ERR" in slot.answer.flags))
            if slot.failure:
                raise slot.failure
            if slot.inbox:
                data = slot.inbox.popleft()
                self.return_credit(slot, len(data))
                return data
            if slot.answer is not None and "ERR" in slot.answer.flags:
                raise error_of(slot.answer)
            return b""

    def read_all(self, slot):
        parts = []
        while not parts or parts[-1]:
            parts.append(self.read(slot))
        return b"".join(parts)

    def reset(self, slot, code):
        with self.lock:
            if not slot.sent_last:
                self.last(slot, RESET, struct.pack("<H", code))

    def stop(self, slot, code):
        with self.lock:
            slot.discard = True
            self.drop_inbox(slot)
            self.frame(RESET, 1, slot.id, struct.pack("<H", code))

    def send_posts(self, name, bodies, ack=False):
        """POST for one body, POSTS for several. Returns the last one's number."""
        payload = bodies[0] if len(bodies) == 1 else b"".join(varint(len(b)) + b for b in bodies)
        with self.lock:
            number = self.number(name)
            self.wait("credit for posts (%d)" % self.post_out, lambda: self.post_out >= len(payload))
            rule(len(payload) <= self.theirs[7] // 2, "a post of our own over half of the lane")
            self.post_out -= len(payload)
            self.sent_acked += len(bodies) * ack
            self.frame(POST if len(bodies) == 1 else POSTS, int(ack), number, payload)
            return self.sent_acked

    def wait_acked(self, number):
        with self.lock:
            self.wait("ACK of %d" % number, lambda: self.acked >= number)

    def ping(self):
        data = os.urandom(8)
        with self.lock:
            self.pings.append(data)
            self.frame(PING, 0, 0, data)
            self.wait("PONG", lambda: data not in self.pings)

    def wait_slots(self, count):
        """Waits until so many of our slots are live."""
        with self.lock:
            self.wait("slots to be freed", lambda: sum(s.ours for s in self.live.values()) == count)

    def drain(self):
        """GOAWAY; the count is of what was accepted."""
        with self.lock:
            self.drains[0] = True
            self.frame(GOAWAY, 0, self.accepted, struct.pack("<HHII", 0, 0, 0, 0))

    def close(self):
        """Ends our direction when no slot is live, and waits for the peer's end."""
        with self.lock:
            self.wait("slots to end", lambda: not self.live)
            self.queued_end = True
            self.lock.notify_all()
            try:
                self.wait("end of the connection", lambda: self.closed)
            except Closed:
                pass
            if self.failure is not None:
                raise Closed("failed") from self.failure
        self.sock.close()
