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
	// ErrNoSlot means that as many requests and streams are open as the peer allows. A
	// Machine returns it; a Conn waits.
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
	// ErrNotWire is wrapped by errors about a peer that speaks another protocol.
	ErrNotWire = frame.ErrNotWire
)
