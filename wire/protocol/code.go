// Package protocol has the values that the two peers of a wire connection exchange: codes, errors,
// HELLO and metadata. Package wire has them under the same names.
package protocol

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// Code is the reason of a failure, on the wire as in Go. 1 to 16 are those of gRPC, 64 to 73 belong
// to the protocol, those from 4,096 to the application.
type Code uint16

// The codes of SPEC section 10.
const (
	Cancelled          Code = 1
	Unknown            Code = 2
	InvalidArgument    Code = 3
	DeadlineExceeded   Code = 4
	NotFound           Code = 5
	AlreadyExists      Code = 6
	PermissionDenied   Code = 7
	ResourceExhausted  Code = 8
	FailedPrecondition Code = 9
	Aborted            Code = 10
	OutOfRange         Code = 11
	Unimplemented      Code = 12
	Internal           Code = 13
	Unavailable        Code = 14
	DataLoss           Code = 15
	Unauthenticated    Code = 16

	Protocol     Code = 64
	Version      Code = 65
	FlowControl  Code = 66
	FrameSize    Code = 67
	Flood        Code = 68
	Unsupported  Code = 69
	StreamClosed Code = 70
	PeerDead     Code = 71
	StaleEpoch   Code = 72
	Timeout      Code = 73

	// FirstApplicationCode and all above it have the meaning that the application gives them.
	FirstApplicationCode Code = 4096
)

var codeNames = map[Code]string{
	Cancelled: "CANCELLED", Unknown: "UNKNOWN", InvalidArgument: "INVALID_ARGUMENT",
	DeadlineExceeded: "DEADLINE_EXCEEDED", NotFound: "NOT_FOUND", AlreadyExists: "ALREADY_EXISTS",
	PermissionDenied: "PERMISSION_DENIED", ResourceExhausted: "RESOURCE_EXHAUSTED",
	FailedPrecondition: "FAILED_PRECONDITION", Aborted: "ABORTED", OutOfRange: "OUT_OF_RANGE",
	Unimplemented: "UNIMPLEMENTED", Internal: "INTERNAL", Unavailable: "UNAVAILABLE",
	DataLoss: "DATA_LOSS", Unauthenticated: "UNAUTHENTICATED",
	Protocol: "PROTOCOL", Version: "VERSION", FlowControl: "FLOW_CONTROL", FrameSize: "FRAME_SIZE",
	Flood: "FLOOD", Unsupported: "UNSUPPORTED", StreamClosed: "STREAM_CLOSED", PeerDead: "PEER_DEAD",
	StaleEpoch: "STALE_EPOCH", Timeout: "TIMEOUT",
}

// String is the code's name, or its number.
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return strconv.Itoa(int(c))
}

// Error is the failure of a call, a stream or a connection as the peer has sent it; a handler
// returns one to send it. Of Msg 1,024 bytes are sent, and Details if they are one CBOR item of the
// protocol and a frame holds them.
type Error struct {
	Code       Code
	Msg        string
	NotStarted bool          // nothing has run: it is safe to try again
	RetryAfter time.Duration // do not try again before; 0: nothing is said
	Details    []byte        // a CBOR item, or nil
}

// Error is the code's name with Msg.
func (e *Error) Error() string {
	if e.Msg == "" {
		return "wire: " + e.Code.String()
	}
	return "wire: " + e.Code.String() + ": " + e.Msg
}

// Is makes a deadline that the peer has noticed equal to one of our own:
// context.DeadlineExceeded, and likewise context.Canceled.
func (e *Error) Is(target error) bool {
	return e.Code == DeadlineExceeded && target == context.DeadlineExceeded ||
		e.Code == Cancelled && target == context.Canceled
}

// Errors for states that callers branch on.
var (
	// ErrClosed means that the connection has been closed, by either side, or has
	// drained.
	ErrClosed = errors.New("wire: connection closed")
	// ErrDraining is returned for new work after a GOAWAY of either side.
	ErrDraining = errors.New("wire: connection draining")
	// ErrNoCredit means that nothing can be sent until the peer has taken more. Of a
	// Conn only TryPost and PostKeyed return it; the others wait.
	ErrNoCredit = errors.New("wire: no credit")
	// ErrNoSlot means that as many requests and streams are open as the peer allows. A
	// Machine returns it; a Conn waits.
	ErrNoSlot = errors.New("wire: no free slot")
	// ErrTooLarge means that a body is longer than the peer takes, and was not sent;
	// or that an answer or a message is longer than Config.MaxMessage.
	ErrTooLarge = errors.New("wire: message exceeds limit")
	// ErrSlot is returned for a slot that has ended, or whose state does not allow the call: a
	// second answer to a request, or Accept for a stream that was opened without Confirm.
	ErrSlot = errors.New("wire: slot is not open for this")
	// ErrStopped is returned for writes after the peer's STOP or RESET.
	ErrStopped = errors.New("wire: peer stopped reading")
	// ErrKind is returned for a kind that is not bound, or cannot be.
	ErrKind = errors.New("wire: kind is not bound")
	// ErrPeerDead means that the peer was silent, or took nothing, for too long. It is
	// a net.Error that says Timeout.
	ErrPeerDead error = peerDead{}
	// ErrMaybeSent means that the connection ended after a call was sent and before
	// it was answered: it may have run.
	ErrMaybeSent = errors.New("wire: sent but not answered")
	// ErrNotSent means that the connection ended before a call was sent.
	ErrNotSent = errors.New("wire: not sent")
	// ErrHelloLate means that the peer's HELLO has not come in time.
	ErrHelloLate = errors.New("wire: no HELLO from peer")
)

type peerDead struct{}

func (peerDead) Error() string   { return "wire: no bytes from peer" }
func (peerDead) Timeout() bool   { return true }
func (peerDead) Temporary() bool { return false }
