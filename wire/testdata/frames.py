"""Frames of the wire protocol as values, and values as bytes, over the codec of
peer.py. Standard library only."""

import struct

import peer
from peer import OPEN, REQ


class RemoteError(Exception):
    """RES ERR, RESET or STOP, as the peer sent it or as a handler wants it sent."""

    def __init__(self, code, text="", not_started=False, details=b""):
        super().__init__("%d %s%s" % (code, text, " (not started)" if not_started else ""))
        self.code, self.text, self.not_started, self.details = code, text, not_started, details


class Frame:
    """One whole frame. peer.frame_text has judged the bytes before."""

    def __init__(self, raw):
        word, self.id = struct.unpack_from("<II", raw)
        self.type, self.bits, data = word >> 28, word >> 24 & 15, raw[8:]
        self.flags = {name for bit, name in enumerate(peer.RULES[self.type][0]) if self.bits >> bit & 1}
        self.size = len(data)
        self.meta = {}
        if self.type == REQ:
            self.kind, data = struct.unpack_from("<I", data)[0], data[4:]
        elif self.type == OPEN:
            (self.kind, self.credit), data = struct.unpack_from("<II", data), data[8:]
        if "META" in self.flags:
            length, data = peer.uvarint(data)
            self.meta, data = dict(peer.cbor(data[:length])), data[length:]
        self.body = data


def error_of(frame):
    """The error block of RES ERR."""
    code, bits = struct.unpack_from("<HB", frame.body)
    length, rest = peer.uvarint(frame.body[8:])
    return RemoteError(code, rest[:length].decode(), bits == 1, bytes(rest[length:]))


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def head(major, n):
    if n < 24:
        return bytes([major << 5 | n])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if n < 1 << 8 * size:
            return bytes([major << 5 | info]) + n.to_bytes(size, "big")
    raise ValueError(n)


def cbor(value):
    """Deterministic CBOR of numbers from 0, bytes, text, lists and dicts."""
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    pairs = sorted((cbor(key), cbor(item)) for key, item in value.items())
    return head(5, len(pairs)) + b"".join(key + item for key, item in pairs)


def with_meta(meta, body):
    if meta is None:
        return 0, body
    block = cbor(meta)
    return 4, varint(len(block)) + block + body


def error_block(error):
    text = error.text.encode()[:1024]
    return struct.pack("<HBBI", error.code, error.not_started, 0, 0) + varint(len(text)) + text + error.details
