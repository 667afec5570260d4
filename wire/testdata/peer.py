"""The wire protocol's codec as docs/wire/SPEC.md has it, in plain Python.

It shares nothing with the Go side but that document. Standard library only.

    peer.py vectors FILE...   checks vectors; prints "ok NAME" for each
"""

import struct
import sys

TYPES = (
    "POST POSTS REQ RES OPEN DATA RESET CREDIT CANCEL PING ACK HELLO GOAWAY BIND "
    "EXTENSION CRITICAL"
).split()
(POST, POSTS, REQ, RES, OPEN, DATA, RESET, CREDIT, CANCEL, PING, ACK, HELLO, GOAWAY,
 BIND, EXTENSION, CRITICAL) = range(16)

ANY, ZERO, SLOT, SLOT_OR_LANE, KIND = range(5)
MOST = (1 << 24) - 1

# The table of section 2: flags by bit (None is reserved), id, least and most payload.
RULES = {
    POST: (("ACK", None, None, "COMP"), KIND, 0, MOST),
    POSTS: (("ACK", None, None, "COMP"), KIND, 0, MOST),
    REQ: ((None, "MORE", "META", "COMP"), SLOT, 4, MOST),
    RES: (("ERR", "MORE", "META", "COMP"), SLOT, 0, MOST),
    OPEN: (("END", "CONFIRM", "META", None), SLOT, 8, MOST),
    DATA: (("END", "MORE", None, "COMP"), SLOT, 0, MOST),
    RESET: (("STOP", None, None, None), SLOT, 2, 258),
    CREDIT: ((None, None, None, None), SLOT_OR_LANE, 4, 4),
    CANCEL: ((None, None, None, None), SLOT, 0, 0),
    PING: (("PONG", None, None, None), ZERO, 8, 8),
    ACK: ((None, None, None, None), ZERO, 8, 8),
    HELLO: ((None, None, None, None), ZERO, 1, 4096),
    GOAWAY: ((None, None, None, None), ANY, 12, 268),
    BIND: ((None, None, None, None), KIND, 1, 320),
    EXTENSION: (("1", "2", "4", "8"), ANY, 0, MOST),
    CRITICAL: (("1", "2", "4", "8"), ANY, 0, MOST),
}


class Broken(Exception):
    """The connection is closed with code; reason is a word of section 10."""

    def __init__(self, reason, code="PROTOCOL"):
        super().__init__("%s %s" % (code, reason))


class Incomplete(Exception):
    """More bytes are needed."""


# --- CBOR, the subset of SPEC. Maps become lists of pairs, text becomes str. ---

def cbor(data):
    try:
        value, end = item(data, 0, 0)
    except (IndexError, UnicodeDecodeError, struct.error):
        raise Broken("bad-cbor") from None
    if end != len(data):
        raise Broken("bad-cbor")
    return value


def item(data, at, depth):
    major, info = data[at] >> 5, data[at] & 31
    at += 1
    if info < 24:
        arg = info
    elif info < 28:
        size = 1 << (info - 24)
        arg = struct.unpack_from(">" + {1: "B", 2: "H", 4: "I", 8: "Q"}[size], data, at)[0]
        at += size
        if arg < (24 if size == 1 else 1 << (4 * size)):
            raise Broken("bad-cbor")
    else:
        raise Broken("bad-cbor")
    if major == 0:
        return arg, at
    if major == 1:
        if arg >= 2**63:
            raise Broken("bad-cbor")
        return -1 - arg, at
    if major in (2, 3):
        if arg > len(data) - at:
            raise Broken("bad-cbor")
        raw = bytes(data[at:at + arg])
        return (raw if major == 2 else raw.decode("utf-8")), at + arg
    if major in (4, 5):
        if depth == 4 or arg > len(data) - at:
            raise Broken("bad-cbor")
        return container(data, at, arg, major == 5, depth + 1)
    if major == 7 and info in (20, 21, 22):
        return {20: False, 21: True, 22: None}[info], at
    raise Broken("bad-cbor")


class Pairs(list):
    """A map, as (key, value)s in order."""


def container(data, at, count, is_map, depth):
    values, last = (Pairs() if is_map else []), None
    for _ in range(count):
        start = at
        value, at = item(data, at, depth)
        if is_map:
            key = bytes(data[start:at])
            if last is not None and key <= last:
                raise Broken("bad-cbor")
            if type(value) not in (int, str):
                raise Broken("bad-cbor")
            last, name = key, value
            value, at = item(data, at, depth)
            value = (name, value)
        values.append(value)
    return values, at


def need(ok, reason):
    if not ok:
        raise Broken(reason)


def is_uint(value, low=0, high=2**64 - 1):
    return type(value) is int and low <= value <= high


# --- Frames ---

def slot_text(slot):
    return "%s%d/%d" % ("ad"[slot >> 31 == 0], slot >> 12 & 0x7FFFF, slot & 0xFFF)


def bytes_text(raw):
    if all(32 <= c <= 126 and c not in b'"\\' for c in raw):
        return '"%s"' % raw.decode()
    return "h'%s'" % raw.hex()


def check_header(kind, flags, ident, length, max_frame):
    names, id_rule, least, most = RULES[kind]
    if length > max_frame or kind == HELLO and length > 4096:
        raise Broken("too-long", "FRAME_SIZE")
    if kind == CRITICAL:
        raise Broken("critical", "UNSUPPORTED")
    need(all(names[bit] or not flags >> bit & 1 for bit in range(4)), "reserved-flag")
    need(kind != RES or flags & 3 != 3, "flags-together")
    has_index = ident >> 12 & 0x7FFFF != 0
    need({ANY: True, ZERO: ident == 0, SLOT: has_index, SLOT_OR_LANE: ident < 2 or has_index,
          KIND: 1 <= ident <= 1024}[id_rule], "bad-id")
    need(length >= least, "short")
    need(length <= most, "trailing")


def uvarint(data):
    value = 0
    for i, c in enumerate(data):
        need(not (i == 4 and c > 15), "bad-varint")
        value |= (c & 127) << 7 * i
        if c < 128:
            need(not (c == 0 and i), "bad-varint")
            return value, data[i + 1:]
    raise Broken("short")


def utf8(raw, most):
    need(len(raw) <= most, "bad-text")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Broken("bad-text") from None
    return bytes_text(raw)


def meta(flags, data):
    """Returns the fields as text, and what follows the block."""
    if not flags & 4:
        return "", data
    length, data = uvarint(data)
    need(length <= 8192, "bad-meta")
    need(length <= len(data), "short")
    pairs = cbor(data[:length])
    need(isinstance(pairs, Pairs), "bad-meta")
    text = ""
    for key, value in pairs:
        need(is_uint(key), "bad-meta")
        if key == 1:
            need(is_uint(value), "bad-meta")
            text += " deadline=%d" % min(value, (2**63 - 1) // 10**6)
        elif key in (2, 3):
            need(isinstance(value, str), "bad-meta")
            text += " %s=%s" % ({2: "traceparent", 3: "codec"}[key], bytes_text(value.encode()))
        elif key == 4:
            need(is_uint(value, 0, 255), "bad-meta")
            text += " priority=%d" % value
        elif key == 5:
            need(isinstance(value, bytes) and len(value) <= 64, "bad-meta")
            text += " key=" + bytes_text(value)
    return text, data[length:]


def error_block(data):
    need(len(data) >= 8, "short")
    code, bits, zero, retry = struct.unpack_from("<HBBI", data)
    need(code, "zero-code")
    need(bits < 2 and zero == 0, "reserved-field")
    length, data = uvarint(data[8:])
    need(length > 1024 or length <= len(data), "short")
    need(length <= 1024, "bad-text")
    message, details = data[:length], data[length:]
    if details:
        cbor(details)
    return " code=%d%s retry=%d text=%s %s" % (
        code, " not-started" if bits else "", retry, utf8(message, 1024), bytes_text(details))


def kind_number(data):
    kind = struct.unpack_from("<I", data)[0]
    need(1 <= kind <= 1024, "bad-kind")
    return " kind=%d" % kind


def kind_name(name):
    return isinstance(name, str) and 1 <= len(name) <= 255 and all(
        c in "abcdefghijklmnopqrstuvwxyz0123456789._-" for c in name)


def payload_text(kind, flags, data):
    if kind == POSTS:
        need(data, "empty-batch")
        text = ""
        while data:
            length, data = uvarint(data)
            need(length <= len(data), "short")
            text, data = text + " " + bytes_text(data[:length]), data[length:]
        return text
    if kind == REQ:
        number = kind_number(data)
        fields, body = meta(flags, data[4:])
        return number + fields + " " + bytes_text(body)
    if kind == OPEN:
        number = kind_number(data) + " credit=%d" % struct.unpack_from("<I", data, 4)
        fields, body = meta(flags, data[8:])
        need(not (flags & 2 and body), "confirm-with-data")
        return number + fields + " " + bytes_text(body)
    if kind == RES:
        fields, body = meta(flags, data)
        return fields + (error_block(body) if flags & 1 else " " + bytes_text(body))
    if kind == RESET:
        code = struct.unpack_from("<H", data)[0]
        need(code, "zero-code")
        return " code=%d text=%s" % (code, utf8(data[2:], 256))
    if kind == CREDIT:
        delta = struct.unpack("<I", data)[0]
        need(delta, "zero-delta")
        return " %d" % delta
    if kind == ACK:
        return " %d" % struct.unpack("<Q", data)
    if kind == GOAWAY:
        code, zero, retry, jitter = struct.unpack_from("<HHII", data)
        need(zero == 0, "reserved-field")
        return " code=%d retry=%d text=%s jitter=%d" % (code, retry, utf8(data[12:], 256), jitter)
    if kind == BIND:
        names = cbor(data)
        need(type(names) is list and len(names) in (1, 2) and kind_name(names[0]), "bad-bind")
        text = " name=" + bytes_text(names[0].encode())
        if len(names) == 2:
            need(isinstance(names[1], str) and names[1], "bad-bind")
            text += " codec=" + bytes_text(names[1].encode())
        return text
    if kind == CANCEL:
        return ""
    return " " + bytes_text(data)


def id_text(kind, ident):
    rule = RULES[kind][1]
    if rule == ZERO:
        return ""
    if rule == KIND:
        return " kind=%d" % ident
    if rule == ANY:
        return " %d" % ident
    if rule == SLOT_OR_LANE and ident < 2:
        return " " + ("connection", "posts")[ident]
    return " " + slot_text(ident)


def frame_text(data, max_frame=65536):
    """The first frame of data as text, and what follows it."""
    if len(data) < 8:
        raise Incomplete
    word, ident = struct.unpack_from("<II", data)
    length, flags, kind = word & MOST, word >> 24 & 15, word >> 28
    check_header(kind, flags, ident, length, max_frame)
    if len(data) < 8 + length:
        raise Incomplete
    names = "".join(" " + RULES[kind][0][bit] for bit in range(4) if flags >> bit & 1)
    body = payload_text(kind, flags, bytes(data[8:8 + length]))
    return TYPES[kind] + id_text(kind, ident) + names + body, data[8 + length:]


# --- HELLO ---

# The table of section 4: key, name, default, least, most.
LIMITS = (
    (3, "max_frame", 65536, 16384, 16777215),
    (4, "max_inflight", 4096, 64, 524287),
    (5, "conn_budget", 16777216, 262144, 2**31 - 1),
    (6, "stream_initial", 262144, 65536, 16777216),
    (7, "post_initial", 1048576, 65536, 2**31 - 1),
    (8, "idle_ms", 30000, 1000, 3600000),
)


def hello_text(data):
    pairs = cbor(data)
    need(isinstance(pairs, Pairs) and all(is_uint(key) for key, _ in pairs), "bad-hello")
    known = dict(pairs)

    def check(ok):
        need(ok, "bad-hello")

    def listed(key, default, most, legal):
        values = known.get(key, default)
        check(type(values) is list and len(values) <= most and all(legal(v) for v in values))
        return values

    versions = listed(1, [], 2, lambda v: is_uint(v, 1, 255))
    check(len(versions) == 2 and versions[0] <= versions[1])
    agent = known.get(2, "")
    check(isinstance(agent, str) and len(agent.encode()) <= 128)
    text = "versions=%d-%d agent=%s" % (versions[0], versions[1], bytes_text(agent.encode()))
    for key, name, default, least, most in LIMITS:
        value = known.get(key, default)
        check(is_uint(value, least, most))
        text += " %s=%d" % (name, value)
    is_text = lambda v: isinstance(v, str)
    text += " compression=" + ",".join(listed(9, [], 8, is_text))
    text += " codecs=" + ",".join(listed(10, ["raw", "cbor"], 16, is_text))
    features = known.get(11, 0)
    check(is_uint(features))
    text += " features=%d" % features
    if 12 in known:
        auth = known[12]
        check(isinstance(auth, Pairs) and [k for k, _ in auth] == [1, 2])
        scheme, secret = (value for _, value in auth)
        check(isinstance(scheme, str) and isinstance(secret, bytes))
        text += " auth=%s:%d" % (scheme, len(secret))
    if 13 in known:
        kinds = known[13]
        check(isinstance(kinds, Pairs))
        check(all(kind_name(name) and is_uint(n, 1, 1024) for name, n in kinds))
        check(len({n for _, n in kinds}) == len(kinds))
        text += "".join(" kind=%s:%d" % pair for pair in sorted(kinds))
    if 14 in known:
        session = known[14]
        check(isinstance(session, Pairs) and [k for k, _ in session] == [1, 2, 3, 4])
        ident, epoch, index, base = (value for _, value in session)
        check(isinstance(ident, bytes) and len(ident) == 16)
        check(is_uint(epoch) and is_uint(index, 0, 2**32 - 1) and is_uint(base))
        text += " session=%s:%d:%d:%d" % (ident.hex(), epoch, index, base)
    text += "".join(" dictionary=%d" % n for n in listed(15, [], 16, is_uint))
    return text


# --- Vectors ---

def read_vectors(path):
    """Yields (name, bytes, expected line)."""
    name, raw, want = None, b"", ""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            word, _, rest = line.rstrip("\n").partition(" ")
            if word == "name":
                if name:
                    yield name, raw, want
                name, raw, want = rest, b"", ""
            elif word == "hex" and name:
                raw += bytes.fromhex(rest)
            elif word in ("text", "error", "incomplete") and name:
                want = line.rstrip("\n")
    yield name, raw, want


def outcome(path, raw):
    try:
        if path.endswith("hello.txt"):
            return "text " + hello_text(raw)
        text, rest = frame_text(raw)
        return "text " + text if not rest else "%d bytes left" % len(rest)
    except Broken as broken:
        return "error %s" % broken
    except Incomplete:
        return "incomplete"


def check_vectors(paths):
    failed = 0
    for path in paths:
        for name, raw, want in read_vectors(path):
            got = outcome(path, raw)
            if got == want:
                print("ok", name)
            else:
                failed += 1
                print("FAIL %s\n  got  %s\n  want %s" % (name, got, want))
    return failed


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "vectors":
        sys.exit(__doc__)
    sys.exit(1 if check_vectors(sys.argv[2:]) else 0)
