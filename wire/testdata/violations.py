"""Holds that the judge of judge.py is strict: each case is frames that a peer must
not send, and what is said of the last one. Prints "ok NAME" for each. Standard
library only."""

import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer  # noqa: E402
from frames import Frame, cbor, with_meta  # noqa: E402
from judge import ACCEPTOR, Judge, Slot, Violation  # noqa: E402
from peer import (ACK, BIND, CANCEL, CREDIT, DATA, GOAWAY, HELLO, OPEN, PING, POST, POSTS, REQ,  # noqa: E402
                  RES, RESET)

LIMITS = {3: 16384, 4: 64, 5: 262144, 6: 65536, 7: 65536}
END = STOP = ERR = FLAG_ACK = PONG = 1
MORE = CONFIRM = 2


class Deaf(Judge):
    """A judge that runs no handlers, and only notes what it would send."""

    def __init__(self):
        super().__init__(ACCEPTOR, LIMITS, {"known": print}, {"known": print})
        self.sent = []

    def frame(self, kind, bits, ident, payload):
        self.sent.append(kind)

    def go(self, function, *arguments):
        pass

    serve = None

    def ours(self, stream):
        """A slot of ours, as request and open make them."""
        index = len(self.used[self.role]) + 1
        self.used[self.role][index] = 1
        slot = Slot(self.role << 31 | index << 12 | 1, "known", True, stream)
        slot.window = slot.in_credit = self.mine[6]
        slot.out = slot.into = slot.was_in = stream
        slot.sent_last = not stream
        self.live[slot.id & ~0xFFF] = slot
        self.opened += 1


def raw(kind, bits, ident, payload=b""):
    return struct.pack("<II", len(payload) | bits << 24 | kind << 28, ident) + payload


def u32(*numbers):
    return struct.pack("<%dI" % len(numbers), *numbers)


def d(index, generation=1):
    return index << 12 | generation


def a(index, generation=1):
    return 1 << 31 | d(index, generation)


hello = raw(HELLO, 0, 0, cbor({1: [1, 1], 13: {"known": 1}}))
ping = raw(PING, 0, 0, b"12345678")
req = raw(REQ, 0, d(1), u32(1))
opened = raw(OPEN, 0, d(1), u32(1, 0))
code = struct.pack("<H", 1)
half = bytes(16384)
ASK, STREAM = "ask", "stream"  # a slot of ours: a request, a stream

CASES = {
    "not-hello": ([ping], "the first frame is PING"),
    "hello-again": ([hello, hello], "a second HELLO"),
    "bad-hello": ([raw(HELLO, 0, 0, b"\xa0")], "bad-hello"),
    "bind-again": ([hello, raw(BIND, 0, 1, cbor(["x"]))], "bound again"),
    "unbound": ([hello, raw(POST, 0, 2, b"x")], "not bound"),
    "post-credit": ([hello] + [raw(POST, 0, 1, half)] * 5, "over the lane's credit"),
    "new-side": ([hello, raw(REQ, 0, a(1), u32(1))], "of our side"),
    "new-index": ([hello, raw(REQ, 0, d(65), u32(1))], "over max_inflight"),
    "new-gap": ([hello, raw(REQ, 0, d(2), u32(1))], "before a lower one"),
    "new-generation": ([hello, raw(REQ, 0, d(1, 2), u32(1))], "generation 2 after 0"),
    "new-live": ([hello, req, raw(REQ, 0, d(1, 2), u32(1))], "is live"),
    "res-unknown": ([hello, raw(RES, 0, a(1))], "which is unknown"),
    "res-theirs": ([hello, req, raw(RES, 0, d(1))], "which is live"),
    "res-again": ([hello, ASK, raw(RES, MORE, a(1)), raw(RES, 0, a(1))], "a second RES"),
    "res-stale": ([hello, ASK, raw(RES, 0, a(1)), raw(RES, 0, a(1))], "which is stale"),
    "res-plain": ([hello, STREAM, raw(RES, 0, a(1))], "a plain RES"),
    "res-late": ([hello, STREAM, raw(DATA, 0, a(1), b"x"), raw(RES, MORE, a(1))], "not its first frame"),
    "data-request": ([hello, req, raw(DATA, 0, d(1), b"x")], "carries no bytes"),
    "data-answer": ([hello, ASK, raw(DATA, 0, a(1), b"x")], "carries no bytes"),
    "data-ended": ([hello, opened, raw(DATA, END, d(1)), raw(DATA, 0, d(1))], "has ended"),
    "data-unknown": ([hello, raw(DATA, 0, d(1))], "which is unknown"),
    "data-stream-over": ([hello, opened] + [raw(DATA, 0, d(1), half)] * 5, "over the credit of d1/1"),
    "data-conn-over": ([hello] + [raw(OPEN, 0, d(i), u32(1, 0)) for i in range(1, 6)] + [
        raw(DATA, 0, d(1 + i // 4), half) for i in range(17)], "over the connection's credit"),
    "open-over": ([hello] + [raw(OPEN, 0, d(i), u32(1, 0) + bytes(16376)) for i in range(1, 18)], "OPEN over the connection"),
    "reset-request": ([hello, req, raw(RESET, 0, d(1), code)], "not promoted"),
    "reset-unknown": ([hello, raw(RESET, 0, d(1), code)], "which is unknown"),
    "reset-again": ([hello, opened, raw(RESET, 0, d(1), code), raw(RESET, 0, d(1), code)], "RESET after RESET"),
    "stop-request": ([hello, req, raw(RESET, STOP, d(1), code)], "without an answer"),
    "cancel-stream": ([hello, opened, raw(CANCEL, 0, d(1))], "a stream"),
    "cancel-owner": ([hello, ASK, raw(CANCEL, 0, a(1))], "ours"),
    "credit-unknown": ([hello, raw(CREDIT, 0, d(1), u32(1))], "which is unknown"),
    "credit-over": ([hello, opened, raw(CREDIT, 0, d(1), u32(2**31 - 1))], "over 2^31-1"),
    "credit-conn": ([hello, raw(CREDIT, 0, 0, u32(1))], "more credit for the connection than was used"),
    "credit-posts": ([hello, raw(CREDIT, 0, 1, u32(1))], "more credit for posts than was used"),
    "pong-other": ([hello, raw(PING, PONG, 0, b"12345678")], "never sent"),
    "ack-ahead": ([hello, raw(ACK, 0, 0, struct.pack("<Q", 1))], "ACK 1 after 0"),
    "goaway-count": ([hello, raw(GOAWAY, 0, 1, bytes(12))], "of 0"),
    "goaway-error": ([hello, raw(GOAWAY, 0, 0, struct.pack("<HHII", 64, 0, 0, 0))], "the peer closed: code 64"),
    "compressed": ([hello, raw(POST, 8, 1, b"x")], "compressed"),
    # Legal, so that the judge is not one who refuses all.
    "legal-reuse": ([hello, opened, raw(DATA, END, d(1)), raw(RESET, 0, d(1), code)], None),
    "legal-res": ([hello, ASK, raw(RES, 0, a(1)), ping, STREAM, raw(DATA, END, a(2), b"x")], None),
    "legal-late": ([hello, ASK, raw(RES, 0, a(1)), raw(CREDIT, 0, a(1), u32(9)), raw(RESET, STOP, a(1), code)], None),
    "legal-posts": ([hello, raw(POSTS, FLAG_ACK, 1, b"\x01a\x00"), raw(BIND, 0, 2, cbor(["x"])), raw(POST, 0, 2)], None),
    "legal-refusal": ([hello, STREAM, raw(RES, ERR, a(1), struct.pack("<HBBI", 5, 0, 0, 0) + b"\0")], None),
    "legal-meta": ([hello, raw(REQ, 4, d(1), u32(1) + with_meta({1: 9}, b"x")[1]), raw(CANCEL, 0, d(1))], None),
    "legal-undecided": ([hello, raw(OPEN, CONFIRM, d(1), u32(1, 0)), raw(DATA, END, d(1))], None),
}


def outcome(steps):
    judge = Deaf()
    for i, step in enumerate(steps):
        if step in (ASK, STREAM):
            judge.ours(step == STREAM)
            continue
        peer.frame_text(step, LIMITS[3])  # the codec has nothing against it
        try:
            judge.receive(Frame(step))
        except Violation as violation:
            return "%s%s" % (violation, "" if i == len(steps) - 1 else " (too early: frame %d)" % i)
    return None


if __name__ == "__main__":
    failed = 0
    for name, (steps, want) in CASES.items():
        got = outcome(steps)
        good = got is None if want is None else got is not None and want in got and "too early" not in got
        failed += not good
        print("ok %s" % name if good else "FAIL %s: got %r, want %r" % (name, got, want))
    sys.exit(1 if failed else 0)
