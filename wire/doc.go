// Package wire is a symmetric binary protocol: two equal peers share one
// connection, and either of them may send a post (no answer), a request (one
// answer) or open a stream (bytes or messages both ways). The format and what every
// frame does are laid down in docs/wire/SPEC.md, with vectors and histories in
// testdata that any implementation can read; docs/guides/wire.md shows how programs
// use it, docs/GUARANTEES.md what it promises and what bounds its memory.
//
// # In use
//
// A Mux holds handlers by kind: HandlePost, Handle, Mux.HandleStream. A Server
// accepts connections, Dial makes one, and a Client makes a new one whenever one
// ends; each side may have a Mux. On a Conn, any number of goroutines Post, Call and
// Open at once. Nothing waits to be sent together with something else, and no timer
// is in the way: what is said while a write goes on leaves with the next.
//
// Contexts bound the wait of a call. A deadline of Call travels to the handler, and
// so does giving up. Errors are for errors.Is and errors.As: *Error is what the peer
// has said, ErrNotSent and ErrMaybeSent tell whether a call that the end of its
// connection has cut off may have run, and Conn.Err why it ended.
//
// # Who owns the bytes
//
//  1. What is sent is the caller's again when the call returns. Small bytes are
//     copied.
//  2. Stream.Write of more than 4 KiB does not copy: it returns when the bytes have
//     left the slice, or were not sent.
//  3. A handler borrows what it gets as []byte: until it returns. So it is with
//     Request.Body, Posts.All and the slice that Stream.WriteTo hands to its writer.
//     What Call returns, and what CallAppend, ReadMsg and Read have filled, is the
//     caller's.
//  4. Values are encoded by appending to a buffer of the package: an
//     encoding.BinaryAppender must not keep it, and an encoding.BinaryUnmarshaler
//     must copy what it keeps. What a handler returns is copied before it is called
//     again; it may be what the handler was given.
//  5. Under the race detector memory that was lent is filled with 0xCC when it is
//     given back, so that a test shows who has kept it.
//
// # Inside
//
//   - Header, Frame and Hello are the codec: bytes in, values out. It is pure,
//     keeps nothing, and takes no memory for bytes that have not come.
//   - Machine is one side of a connection as a plain value: frames and the
//     application's wishes go in; events and output bytes come out. It has no
//     I/O, no clock and no goroutine, and is not safe for concurrent use.
//   - Conn is a Machine with a socket: a reader, a writer, handlers and time.
//
// A slice in a decoded Frame, Meta or Event is borrowed from the input: it is
// valid until the caller reuses the buffer that it gave.
package wire
