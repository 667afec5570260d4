// Package http1 is HTTP/1.1 and HTTP/1.0 from the client's side, without I/O: a
// load.Codec.
//
// Requests are made before the run: [Request] describes one, an [Arena] holds the bytes of many,
// and a send is a slice of it. Answers are parsed by RFC 9112: [Codec] finds where each answer
// ends, skips its body, and counts it under the class of its failure.
package http1
