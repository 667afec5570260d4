// Package wire is a symmetric binary protocol: two equal peers share one
// connection, and either of them may send a post (no answer), a request (one
// answer) or open a stream (bytes both ways).
//
// The format and what every frame does are laid down in docs/wire/SPEC.md, with
// vectors and histories in testdata that any implementation can read. This
// package is built in the same layers:
//
//   - Header, Frame and Hello are the codec: bytes in, values out. It is pure,
//     keeps nothing, and takes no memory for bytes that have not come.
//   - Machine is one side of a connection as a plain value: frames and the
//     application's wishes go in; events and output bytes come out. It has no
//     I/O, no clock and no goroutine, and is not safe for concurrent use.
//
// A slice in a decoded Frame, Meta or Event is borrowed from the input: it is
// valid until the caller reuses the buffer that it gave. Whatever is given to be
// sent is copied before the call returns.
package wire
