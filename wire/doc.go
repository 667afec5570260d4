// Package wire implements a symmetric binary protocol: two equal peers share one connection.
// Either peer sends posts (no answer) and requests (one answer), and opens streams (bytes or
// messages both ways). Each of them names a kind, which selects the handler at the other peer.
// Credit limits the amount of data in flight, so a slow receiver slows its sender down.
//
// docs/wire/SPEC.md specifies the format and the effect of every frame; its vectors and histories
// are for any implementation. docs/guides/wire.md shows how programs use the package.
// docs/GUARANTEES.md lists its promises and the bounds of its memory.
//
// # Use
//
// A Mux holds handlers by kind: HandlePost, Handle, Mux.HandleStream. A Server accepts
// connections, Dial makes one, and a Client replaces its connections when they end. Each side may
// have a Mux. Any number of goroutines may call Post, Call and Open on a Conn at once. No output
// is delayed by a timer: output that is produced during a write leaves with the next write.
//
// A context bounds the wait of a call. The deadline of a Call travels to the handler, and so does
// its cancellation. Errors are made for errors.Is and errors.As: an *Error comes from the peer;
// ErrNotSent and ErrMaybeSent tell whether a call that lost its connection may have run; Conn.Err
// returns the reason for which the connection ended.
//
// # Ownership of bytes
//
//  1. A slice passed to a sending method belongs to the caller again when the method returns.
//     Short slices are copied.
//  2. Stream.Write does not copy more than 4 KiB: it returns when the bytes have left the slice,
//     or were not sent.
//  3. A handler borrows its []byte arguments until it returns. The same holds for Request.Body,
//     Posts.All and the slice that Stream.WriteTo passes to its writer. The results of Call,
//     CallAppend, ReadMsg and Read belong to the caller.
//  4. Values are encoded by appending to a buffer of the package: an encoding.BinaryAppender must
//     not keep it, and an encoding.BinaryUnmarshaler must copy the bytes that it keeps. The
//     result of a handler may be its argument. It is copied when the handler has returned; calls
//     that run at the same time must not share it.
//  5. Under the race detector, lent memory is filled with 0xCC when it is given back, so that a
//     test exposes code that has kept it.
//
// # Inside
//
//   - internal/wire/frame is the codec: bytes in, values out. It does no I/O, keeps no state, and
//     allocates nothing for bytes that have not arrived.
//   - internal/wire/machine is one side of a connection as a plain value. Frames and the
//     application's calls go in; events and output bytes come out. It has no I/O, no clock and no
//     goroutine, and is not safe for concurrent use.
//   - Conn is a machine with a socket. Its dispatcher reads: it feeds the machine and starts
//     handlers. Its outbox writes. Its slotTable has the calls and streams of both sides, its
//     postSender and postLane the posts of each direction, and its windows the credit of streams.
//
// Package protocol has the values that both peers exchange: codes, errors, HELLO and metadata. The
// programs that load and show connections use codec and machine too, so these are not below this
// directory.
package wire

import (
	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// The values that both peers exchange are those of package protocol.
type (
	Code    = protocol.Code
	Error   = protocol.Error
	Hello   = protocol.Hello
	Auth    = protocol.Auth
	Session = protocol.Session
	Meta    = protocol.Meta
)

// The codes of SPEC section 10.
const (
	Cancelled            = protocol.Cancelled
	Unknown              = protocol.Unknown
	InvalidArgument      = protocol.InvalidArgument
	DeadlineExceeded     = protocol.DeadlineExceeded
	NotFound             = protocol.NotFound
	AlreadyExists        = protocol.AlreadyExists
	PermissionDenied     = protocol.PermissionDenied
	ResourceExhausted    = protocol.ResourceExhausted
	FailedPrecondition   = protocol.FailedPrecondition
	Aborted              = protocol.Aborted
	OutOfRange           = protocol.OutOfRange
	Unimplemented        = protocol.Unimplemented
	Internal             = protocol.Internal
	Unavailable          = protocol.Unavailable
	DataLoss             = protocol.DataLoss
	Unauthenticated      = protocol.Unauthenticated
	Protocol             = protocol.Protocol
	Version              = protocol.Version
	FlowControl          = protocol.FlowControl
	FrameSize            = protocol.FrameSize
	Flood                = protocol.Flood
	Unsupported          = protocol.Unsupported
	StreamClosed         = protocol.StreamClosed
	PeerDead             = protocol.PeerDead
	StaleEpoch           = protocol.StaleEpoch
	Timeout              = protocol.Timeout
	FirstApplicationCode = protocol.FirstApplicationCode
)

// Errors for states that callers branch on.
var (
	// ErrClosed means that the connection has been closed, by either side, or has
	// drained.
	ErrClosed = protocol.ErrClosed
	// ErrDraining is returned for new work after a GOAWAY of either side.
	ErrDraining = protocol.ErrDraining
	// ErrNoCredit means that nothing can be sent until the peer has taken more. Of a
	// Conn only TryPost and PostKeyed return it; the others wait.
	ErrNoCredit = protocol.ErrNoCredit
	// ErrNoSlot means that as many requests and streams are open as the peer allows. A machine
	// returns it; a Conn waits.
	ErrNoSlot = protocol.ErrNoSlot
	// ErrTooLarge means that a body is longer than the peer takes, and was not sent;
	// or that an answer or a message is longer than Config.MaxMessage.
	ErrTooLarge = protocol.ErrTooLarge
	// ErrSlot is returned for a slot that has ended, or whose state does not allow the call: a
	// second answer to a request, or Accept for a stream that was opened without Confirm.
	ErrSlot = protocol.ErrSlot
	// ErrStopped is returned for writes after the peer's STOP or RESET.
	ErrStopped = protocol.ErrStopped
	// ErrKind is returned for a kind that is not bound, or cannot be.
	ErrKind = protocol.ErrKind
	// ErrPeerDead means that the peer was silent, or took nothing, for too long. It is
	// a net.Error that says Timeout.
	ErrPeerDead = protocol.ErrPeerDead
	// ErrMaybeSent means that the connection ended after a call was sent and before
	// it was answered: it may have run.
	ErrMaybeSent = protocol.ErrMaybeSent
	// ErrNotSent means that the connection ended before a call was sent.
	ErrNotSent = protocol.ErrNotSent
	// ErrHelloLate means that the peer's HELLO has not come in time.
	ErrHelloLate = protocol.ErrHelloLate
	// ErrHello is wrapped by the errors of a Hello that SPEC does not allow.
	ErrHello = frame.ErrHello
	// ErrMeta is wrapped by the errors of a Meta that SPEC does not allow, which is not sent.
	ErrMeta = frame.ErrMeta
	// ErrNotWire is wrapped by errors about a peer that speaks another protocol.
	ErrNotWire = frame.ErrNotWire
)
