package frame

import (
	"fmt"

	"paddock/wire/protocol"
)

// Reason names the rule that a frame broke. SPEC section 10 and the vectors use
// the same words.
type Reason string

// The reasons of the codec.
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

// The reasons of the machine.
const (
	NotHello       Reason = "not-hello"
	SecondHello    Reason = "second-hello"
	NoVersion      Reason = "no-common-version"
	NoCompression  Reason = "no-compression"
	UnboundKind    Reason = "unbound-kind"
	BoundTwice     Reason = "bound-twice"
	OverPosts      Reason = "over-post-credit"
	OverConnection Reason = "over-connection-credit"
	CreditOverflow Reason = "credit-overflow"
	AckBack        Reason = "ack-back"
	AckAhead       Reason = "ack-ahead"
	NoWork         Reason = "no-work"
	WrongSide      Reason = "wrong-side"
	IndexHigh      Reason = "index-high"
	IndexGap       Reason = "index-gap"
	NotNext        Reason = "not-next-generation"
	SlotLive       Reason = "slot-live"
	NotSentYet     Reason = "last-frame-not-sent"
	NeverOpened    Reason = "never-opened"
	AnsweredTwice  Reason = "answered-twice"
	LateAnswer     Reason = "late-answer"
	PlainAnswer    Reason = "plain-answer-to-open"
	NotAStream     Reason = "not-a-stream"
	Undecided      Reason = "undecided"
)

// ProtocolError is a broken rule of the peer, for which the connection is closed with Code.
type ProtocolError struct {
	Frame  Type
	ID     uint32 // of the frame
	Code   protocol.Code
	Reason Reason
}

// Error names the code, the frame and the reason.
func (e *ProtocolError) Error() string {
	if HasSlot(e.Frame) && Slot(e.ID).Valid() {
		return fmt.Sprintf("wire: %v in %v %v: %s", e.Code, e.Frame, Slot(e.ID), e.Reason)
	}
	return fmt.Sprintf("wire: %v in %v: %s", e.Code, e.Frame, e.Reason)
}
