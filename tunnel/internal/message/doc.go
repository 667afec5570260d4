// Package message is the tunnel's protocol as bytes, without I/O: sections 3, 4, 6 and 10
// of its SPEC. What begins an exchange or a raw connection, and what answers it; a ticket
// for a direct channel; a hint. Each has an Append function and a Parse function, which is
// its opposite for any bytes and gives an error that wraps [ErrMalformed] for all others.
//
// What is parsed is borrowed from the bytes that were given. The requests of section 2,
// by which a client binds its tunnels, are CBOR and stand in binding.go of package tunnel.
package message
