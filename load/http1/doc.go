// Package http1 is HTTP/1.1 and HTTP/1.0 from the client's side, without I/O: a
// load.Codec.
//
// What is sent is made before the run: [Request] describes a request, an [Arena] holds the
// bytes of many, and a send is a slice of it. What comes back is taken apart as RFC 9112
// has it: [Codec] finds where each answer ends, skips its body, and counts it under the
// class that says what was wrong with it.
package http1
