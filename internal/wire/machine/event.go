package machine

import (
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// Op is the kind of an Event.
type Op uint8

// The meanings of a frame to the application.
const (
	OpNone     Op = iota // nothing: the machine has dealt with the frame
	OpHello              // the connection is open; Machine.Peer is known
	OpPost               // Frame is POST or POSTS; give its credit back with PostsDone
	OpRequest            // answer it with Respond or Fail, and end with Done
	OpOpen               // a stream; it ends with Done
	OpResponse           // RES to a request or stream of ours
	OpData               // Frame.Body for Slot; give its credit back with Consume
	OpReset              // both halves of Slot have failed with Code
	OpStop               // the peer reads no more of Slot; writes fail
	OpCancel             // the answer to the request in Slot is not wanted any more
	OpCredit             // more may be sent: on Slot, or on the connection or the post lane
	OpGoaway             // the peer drains (see Frame)
	OpPong               // RTT was measured
	OpAck                // the posts up to Frame.Count are done
	OpBind               // the peer has bound a kind
)

var opNames = [...]string{
	"none", "hello", "post", "request", "open", "response", "data", "reset",
	"stop", "cancel", "credit", "goaway", "pong", "ack", "bind",
}

// String is the name that histories use.
func (o Op) String() string { return opNames[o] }

// Event is the result of Feed. It is valid, with all that it borrows, until the next Feed or until
// the bytes given to Feed change.
type Event struct {
	Op    Op
	Slot  frame.Slot
	Code  protocol.Code // OpReset, OpStop
	Skip  int           // OpPost: so many bodies at the front are known already
	Last  uint64        // OpPost with FlagAck: the number of the last body
	RTT   time.Duration // OpPong
	Frame *frame.Frame  // the frame itself
}
