package wire

import (
	"fmt"
	"strconv"
)

// Code says why something failed, on the wire as in Go. 1 to 16 are those of
// gRPC, 64 to 73 belong to the protocol, those from 4,096 to the application.
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

	// FirstApplicationCode and all above it mean what the application says.
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

// Reason names the rule that a frame broke. SPEC section 10 and the vectors use
// the same words.
type Reason string

// What the codec finds.
const (
	TooLong       Reason = "too-long"
	Critical      Reason = "critical"
	ReservedFlag  Reason = "reserved-flag"
	FlagsTogether Reason = "flags-together"
	BadID         Reason = "bad-id"
	Short         Reason = "short"
	Trailing      Reason = "trailing"
	BadVarint     Reason = "bad-varint"
	BadCBOR       Reason = "bad-cbor"
	BadMeta       Reason = "bad-meta"
	BadHello      Reason = "bad-hello"
	BadBind       Reason = "bad-bind"
	BadKind       Reason = "bad-kind"
	BadText       Reason = "bad-text"
	ZeroCode      Reason = "zero-code"
	ZeroDelta     Reason = "zero-delta"
	ReservedField Reason = "reserved-field"
	EmptyBatch    Reason = "empty-batch"
	ConfirmData   Reason = "confirm-with-data"
)

// ProtocolError says that the peer broke a rule for which the connection is
// closed with Code.
type ProtocolError struct {
	Frame  Type
	ID     uint32 // of the frame
	Code   Code
	Reason Reason
}

func (e *ProtocolError) Error() string {
	if hasSlot(e.Frame) && Slot(e.ID).Valid() {
		return fmt.Sprintf("wire: %v in %v %v: %s", e.Code, e.Frame, Slot(e.ID), e.Reason)
	}
	return fmt.Sprintf("wire: %v in %v: %s", e.Code, e.Frame, e.Reason)
}
