// Package message is the tunnel's protocol as bytes, without I/O: sections 3, 4, 6 and 10 of its
// SPEC. It holds the openings of exchanges and raw connections with their answers, the ticket of a
// direct channel, and the hint. Each has an Append function and a Parse function, which inverts it
// for valid bytes and returns an error that wraps [ErrMalformed] for all others.
//
// Parsed values borrow the given bytes. The requests of section 2, by which a client binds its
// tunnels, are CBOR: see binding.go.
package message
