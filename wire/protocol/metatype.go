package protocol

import "time"

// Meta is what REQ, RES and OPEN may say besides kind and body. Its slices are
// borrowed from the frame. The zero value says nothing.
type Meta struct {
	HasDeadline bool
	HasPriority bool
	Priority    uint8
	Deadline    time.Duration // from now, in whole milliseconds
	Traceparent []byte        // W3C trace context, text
	Codec       []byte        // of the body, text
	Key         []byte        // idempotency key
	Raw         []byte        // the CBOR map as it came, unknown keys included
}
