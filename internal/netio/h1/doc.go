// Package h1 is HTTP/1.1 as a tunnel speaks it, as bytes and without I/O: what the head of
// a message may be (RFC 9110, RFC 9112 and section 7 of the tunnel's SPEC), where it ends,
// how it is written anew for the next hop, and how it is known where a body ends.
//
// A head comes from three sides, and each is judged by rules of its own, which a [Form]
// names: from the other side of the link, where it is one that we have written and nothing
// is forgiven; from a visitor, who may send what RFC 9112 allows and nothing that two
// readers take for two requests; and from a target, whose mistakes of old are borne.
// [Head.Parse] and [Head.ParseVisitor] judge one in one pass and without allocations;
// [Forward] and [AppendAnswerHead] write one.
//
// Nothing of this package is safe for concurrent use unless it is constant. Whatever is
// parsed is borrowed from the bytes that were given.
package h1
