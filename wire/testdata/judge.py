"""What a strict peer of the wire protocol holds against the frames that come: the
tables of docs/wire/SPEC.md section 11, and what SPEC forbids a sender. Standard
library only."""

import collections
import struct
import time

import peer
from frames import RemoteError, error_block
from peer import (ACK, BIND, CANCEL, CREDIT, DATA, EXTENSION, GOAWAY, HELLO, OPEN, PING, POST, POSTS,
                  REQ, RES, RESET)

DIALER, ACCEPTOR = 0, 1
MOST_CREDIT = 2**31 - 1
CANCELLED, DEADLINE_EXCEEDED, UNIMPLEMENTED, UNAVAILABLE = 1, 4, 12, 14
# Limits before the peer's HELLO, by its keys.
BEFORE = {3: 16384, 4: 64, 5: 262144, 6: 65536, 7: 65536}
DEFAULTS = {key: default for key, _, default, _, _ in peer.LIMITS}


class Violation(Exception):
    """The peer did what SPEC forbids."""


def rule(kept, what):
    if not kept:
        raise Violation(what)


class Slot:
    """A request or stream. `out` is our half, `into` the peer's: True while it
    carries bytes and is open."""

    def __init__(self, ident, kind, ours, stream):
        self.id, self.kind, self.ours, self.stream = ident, kind, ours, stream
        self.sent_last = self.got_last = False
        self.out = self.into = False
        self.out_credit = self.in_credit = self.window = self.owed = 0
        self.inbox = collections.deque()
        self.ended = False       # the peer's half, by END
        self.answer = None       # RES of the peer, for a slot of ours
        self.answered = False    # by us, for a slot of theirs
        self.undecided = False   # CONFIRM, and no RES yet
        self.cancelled = False   # CANCEL was sent (ours) or came (theirs)
        self.failure = None      # RESET came: both halves fail
        self.stopped = None      # STOP came: our half fails
        self.discard = False     # we reset, stopped or cancelled
        self.was_in = False      # the peer's half has carried bytes
        self.heard = False       # the peer has sent a frame of a slot of ours
        self.sent_data = False
        self.meta, self.body, self.started = {}, b"", time.monotonic()

    def __str__(self):
        return peer.slot_text(self.id)


class Judge:
    """The state of one side of a connection, and what frames do to it. `mine` and
    `theirs` are the limits of both HELLOs by their keys. Whoever completes it gives
    frame (sends one), go (runs a function on a thread) and serve (runs a handler)."""

    def __init__(self, role, hello, requests, streams):
        self.role = role
        self.mine, self.theirs = {**DEFAULTS, **hello}, dict(BEFORE)
        self.greeted = False
        self.peer_kinds = {}
        self.requests, self.streams = requests, streams
        self.live = {}        # slots by their id without the generation
        self.used = ({}, {})  # by side: the last generation of each index
        self.free = []        # our indexes that may be used again
        # Credit that is left: `out` binds us, `in` the peer; `owed` is to be given back.
        self.conn_out, self.post_out = BEFORE[5], BEFORE[7]
        self.conn_in, self.post_in = self.mine[5], self.mine[7]
        self.conn_owed = self.post_owed = 0
        self.posts = collections.deque()
        self.sent_acked, self.acked, self.done_acked = 0, 0, 0
        self.pings = collections.deque()
        self.opened, self.accepted = 0, 0  # requests and streams: ours, theirs
        self.drains = [False, False]       # GOAWAY sent, GOAWAY got

    # --- What comes: SPEC section 11 ---

    def receive(self, f):
        rule(self.greeted or f.type in (HELLO, GOAWAY), "the first frame is " + peer.TYPES[f.type])
        rule("COMP" not in f.flags, "compressed, and we announced no compression")
        handler = {
            HELLO: self.on_hello, BIND: self.on_bind, POST: self.on_post, POSTS: self.on_post,
            REQ: self.on_new, OPEN: self.on_new, RES: self.on_res, DATA: self.on_data,
            RESET: self.on_reset, CREDIT: self.on_credit, CANCEL: self.on_cancel, PING: self.on_ping,
            ACK: self.on_ack, GOAWAY: self.on_goaway, EXTENSION: lambda f: None,
        }[f.type]
        handler(f)

    def on_hello(self, f):
        rule(not self.greeted, "a second HELLO")
        try:
            peer.hello_text(f.body)
        except peer.Broken as broken:
            raise Violation(str(broken)) from None
        said = dict(peer.cbor(f.body))
        before, self.theirs = self.theirs, {key: said.get(key, default) for key, default in DEFAULTS.items()}
        self.conn_out += self.theirs[5] - before[5]
        self.post_out += self.theirs[7] - before[7]
        for slot in self.live.values():
            if slot.ours and slot.out:  # before HELLO only these have a half of ours
                slot.out_credit += self.theirs[6] - before[6]
        for name, number in said.get(13, []):
            self.peer_kinds[number] = name
        self.greeted = True

    def on_bind(self, f):
        rule(f.id not in self.peer_kinds, "kind %d is bound again" % f.id)
        self.peer_kinds[f.id] = peer.cbor(f.body)[0]

    def kind(self, number):
        rule(number in self.peer_kinds, "kind %d is not bound" % number)
        return self.peer_kinds[number]

    def on_post(self, f):
        name = self.kind(f.id)
        rule(f.size <= self.mine[7] // 2, "a post of %d bytes, over half of the lane" % f.size)
        self.post_in -= f.size
        rule(self.post_in >= 0, "posts over the lane's credit by %d bytes" % -self.post_in)
        bodies, rest = [], f.body
        if f.type == POST:
            bodies = [bytes(rest)]
        while f.type == POSTS and rest:
            length, rest = peer.uvarint(rest)
            bodies, rest = bodies + [bytes(rest[:length])], rest[length:]
        self.posts.append((name, bodies, f.size, "ACK" in f.flags))

    def on_new(self, f):
        side, index, generation = f.id >> 31, f.id >> 12 & 0x7FFFF, f.id & 0xFFF
        used = self.used[side]
        rule(side != self.role, "a new slot of our side: %s" % peer.slot_text(f.id))
        rule(index <= self.mine[4], "index %d over max_inflight" % index)
        rule(index in used or index == len(used) + 1, "index %d before a lower one" % index)
        rule(f.id & ~0xFFF not in self.live, "slot %s is live" % peer.slot_text(f.id))
        rule(generation == (used.get(index, 0) + 1) % 4096, "generation %d after %d" % (generation, used.get(index, 0)))
        used[index] = generation
        slot = Slot(f.id, self.kind(f.kind), False, f.type == OPEN)
        slot.meta, slot.body = f.meta, bytes(f.body)
        self.live[f.id & ~0xFFF] = slot
        slot.window = slot.in_credit = self.mine[6]
        slot.into = slot.was_in = slot.stream or "MORE" in f.flags
        if slot.stream:
            slot.out, slot.out_credit = True, f.credit or self.theirs[6]
            slot.undecided = "CONFIRM" in f.flags
            self.arrived(slot, f.body)
        if "END" in f.flags or not slot.into:
            slot.into, slot.ended, slot.got_last = False, True, True
        if self.drains[0]:
            return self.refuse(slot, RemoteError(UNAVAILABLE, "draining", True))
        self.accepted += 1
        if f.meta.get(1) == 0:
            return self.refuse(slot, RemoteError(DEADLINE_EXCEEDED, "", True))
        handler = (self.streams if slot.stream else self.requests).get(slot.kind)
        if handler is None:
            return self.refuse(slot, RemoteError(UNIMPLEMENTED, slot.kind, True))
        self.go(self.serve, slot, handler)

    def on_res(self, f):
        slot, state = self.find(f.id)
        rule(slot is not None and slot.ours, "RES on %s, which is %s" % (peer.slot_text(f.id), state))
        rule(slot.answer is None, "a second RES on %s" % slot)
        rule(not slot.got_last, "RES on %s after the last frame" % slot)
        more = "MORE" in f.flags
        if slot.stream:
            rule(more or "ERR" in f.flags, "a plain RES on stream %s" % slot)
            rule(not slot.heard, "RES on %s is not its first frame" % slot)
        slot.answer, slot.undecided, slot.heard = f, False, True
        slot.was_in = slot.into = more
        if not more:
            slot.got_last, slot.ended = True, True
            if not slot.sent_last and slot.stream:
                self.last(slot, RESET, struct.pack("<H", CANCELLED))
            elif not slot.sent_last:
                self.last(slot, CANCEL, b"")
        self.settle(slot)

    def on_data(self, f):
        slot, state = self.find(f.id)
        rule(slot is not None, "DATA on %s, which is %s" % (peer.slot_text(f.id), state))
        self.conn_in -= f.size
        rule(self.conn_in >= 0, "DATA over the connection's credit by %d bytes" % -self.conn_in)
        rule(not (slot.ours and slot.undecided), "DATA on %s before it is decided" % slot)
        slot.heard = True
        rule(slot.into, "DATA on %s, whose half %s" % (slot, "has ended" if slot.was_in else "carries no bytes"))
        slot.in_credit -= f.size
        rule(slot.in_credit >= 0, "DATA over the credit of %s by %d bytes" % (slot, -slot.in_credit))
        self.arrived(slot, f.body, charged=True)
        if "END" in f.flags:
            slot.into, slot.ended, slot.got_last = False, True, True
        self.settle(slot)

    def arrived(self, slot, body, charged=False):
        """Keeps bytes for the application, or drops them."""
        if not charged:
            self.conn_in -= len(body)
            slot.in_credit -= len(body)
            rule(self.conn_in >= 0, "OPEN over the connection's credit")
            rule(slot.in_credit >= 0, "OPEN over the credit of %s" % slot)
        if slot.discard:
            self.return_credit(None, len(body))
        elif body:
            slot.inbox.append(bytes(body))

    def on_reset(self, f):
        slot, state = self.find(f.id)
        code, text = struct.unpack_from("<H", f.body)[0], bytes(f.body[2:]).decode()
        if slot is None:
            rule(state == "stale", "RESET on %s, which is %s" % (peer.slot_text(f.id), state))
            return
        promoted = slot.out if not slot.ours else slot.was_in
        if "STOP" in f.flags:
            rule(slot.stream or slot.out or slot.answered, "STOP on %s, a request without an answer" % slot)
            if slot.out:
                slot.stopped = RemoteError(code, text)
            return
        rule(slot.stream or promoted or slot.answered, "RESET on %s, a request that is not promoted" % slot)
        rule(not slot.got_last or slot.ended, "RESET after RESET on %s" % slot)
        slot.failure = RemoteError(code, text)
        slot.into, slot.got_last = False, True
        self.drop_inbox(slot)
        if slot.ours and not slot.sent_last:
            self.last(slot, RESET, struct.pack("<H", CANCELLED))
        slot.out = False
        self.settle(slot)

    def on_credit(self, f):
        delta = struct.unpack("<I", f.body)[0]
        if f.id == 0:
            self.conn_out += delta
            rule(self.conn_out <= self.theirs[5], "more credit for the connection than was used, by %d bytes" % (self.conn_out - self.theirs[5]))
        elif f.id == 1:
            self.post_out += delta
            rule(self.post_out <= self.theirs[7], "more credit for posts than was used, by %d bytes" % (self.post_out - self.theirs[7]))
        else:
            slot, state = self.find(f.id)
            rule(slot is not None or state == "stale", "CREDIT on %s, which is %s" % (peer.slot_text(f.id), state))
            if slot is not None and slot.out:
                slot.out_credit += delta
                rule(slot.out_credit <= MOST_CREDIT, "CREDIT on %s over 2^31-1" % slot)

    def on_cancel(self, f):
        slot, state = self.find(f.id)
        rule(slot is not None or state == "stale", "CANCEL on %s, which is %s" % (peer.slot_text(f.id), state))
        if slot is None:
            return
        rule(not slot.ours and not slot.stream, "CANCEL on %s, which is %s" % (slot, "a stream" if slot.stream else "ours"))
        slot.cancelled, slot.into, slot.got_last = True, False, True
        if slot.out:  # promoted
            slot.failure = RemoteError(CANCELLED)
            slot.out = False
        self.drop_inbox(slot)
        self.settle(slot)

    def on_ping(self, f):
        if "PONG" not in f.flags:
            return self.frame(PING, 1, 0, bytes(f.body))
        while self.pings:  # a newer PING takes the place of one not answered yet
            if self.pings.popleft() == f.body:
                return
        raise Violation("PONG of what was never sent: %s" % f.body.hex())

    def on_ack(self, f):
        count = struct.unpack("<Q", f.body)[0]
        rule(self.acked <= count <= self.sent_acked, "ACK %d after %d, with %d sent" % (count, self.acked, self.sent_acked))
        self.acked = count

    def on_goaway(self, f):
        code = struct.unpack_from("<H", f.body)[0]
        rule(code == 0, "the peer closed: code %d %s" % (code, bytes(f.body[12:]).decode()))
        rule(f.id <= self.opened, "GOAWAY counts %d of our requests and streams, of %d" % (f.id, self.opened))
        self.drains[1] = True

    def find(self, ident):
        """The live slot, or None and stale or unknown: the table of section 3."""
        index, generation = ident >> 12 & 0x7FFFF, ident & 0xFFF
        last = self.used[ident >> 31].get(index)
        if last is None:
            return None, "unknown"
        slot, behind = self.live.get(ident & ~0xFFF), (last - generation) % 4096
        if behind == 0 and slot is not None:
            return slot, "live"
        return None, "stale" if behind <= 2047 else "unknown"

    # --- Ends of slots, and credit. All under the lock. ---

    def last(self, slot, kind, payload, bits=0):
        """Sends our last frame."""
        rule(not slot.sent_last, "two last frames of our own on %s" % slot)
        slot.sent_last, slot.out, slot.discard = True, False, slot.discard or kind in (RESET, CANCEL)
        self.frame(kind, bits, slot.id, payload)
        if slot.discard:
            self.drop_inbox(slot)
        self.settle(slot)

    def settle(self, slot):
        """Frees a slot when both sides have sent their last frame."""
        if slot.sent_last and slot.got_last and self.live.get(slot.id & ~0xFFF) is slot:
            del self.live[slot.id & ~0xFFF]
            if slot.ours:
                self.free.append(slot.id >> 12 & 0x7FFFF)

    def grant(self, ident, delta):
        self.frame(CREDIT, 0, ident, struct.pack("<I", delta))

    def return_credit(self, slot, n):
        self.conn_owed += n
        if self.conn_owed >= self.mine[5] // 2:
            self.grant(0, self.conn_owed)
            self.conn_in, self.conn_owed = self.conn_in + self.conn_owed, 0
        if slot is not None and slot.into:
            slot.owed += n
            if slot.owed >= slot.window // 2:
                self.grant(slot.id, slot.owed)
                slot.in_credit, slot.owed = slot.in_credit + slot.owed, 0

    def drop_inbox(self, slot):
        self.return_credit(None, sum(map(len, slot.inbox)))
        slot.inbox.clear()

    def refuse(self, slot, error):
        """Answers RES ERR; what the peer still sends is dropped."""
        slot.discard, slot.answered = True, True
        self.drop_inbox(slot)
        self.last(slot, RES, error_block(error), 1)
