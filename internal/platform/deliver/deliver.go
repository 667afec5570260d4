// Package deliver sends events to other programs: webhooks, brokers and files.
//
// A [Follower] is a cursor into the log of events, not a queue. It reads the next events that its
// selection names, gives them to its [End], and moves its cursor once the end has taken them. The
// cursor is stored after that, without waiting for the disk: a crash may repeat the events of the
// last moments, and loses none. Events keep their order, and one batch is under way at a time.
//
// An end that fails gets the same events again, after the times of a [Schedule]. That costs no
// other end anything, and no memory: while a follower waits it holds no event. An end that refuses
// a batch three times gets the next one, and the refused events become dead letters.
package deliver

import (
	"context"
	"time"

	"paddock/internal/platform/events"
)

// Item is an event to deliver, or a gap before later events.
type Item struct {
	events.Record             // with a gap only its Cursor is set: that of the last missing event
	Gap           *events.Gap // nil: an event
}

// Batch is what an end takes at once: at least one item, by ascending cursors.
type Batch struct {
	Items  []Item
	Replay bool // the items were delivered before, or are dead letters
}

// End takes events. One goroutine uses it.
type End interface {
	// Send delivers a batch within a time of its own, or earlier if ctx ends.
	Send(ctx context.Context, b *Batch) Result
	// Close gives back what the end holds.
	Close()
}

// Verdict says what follows from an attempt.
type Verdict uint8

// The verdicts.
const (
	// Delivered: the end has taken the batch.
	Delivered Verdict = iota
	// Failed: the end cannot take anything now. The same batch comes again later.
	Failed
	// Refused: the end does not take this batch. It comes again, three times in all.
	Refused
	// Gone: the end takes nothing any more.
	Gone
	verdicts
)

var verdictNames = [verdicts]string{"delivered", "failed", "refused", "gone"}

func (v Verdict) String() string { return verdictNames[v] }

// Result is the outcome of an attempt.
type Result struct {
	Verdict Verdict
	Status  int           // of HTTP; 0: none
	Reason  string        // why it was not delivered; ""
	After   time.Duration // the end asks for this pause; 0: it does not
	// Taken is the number of items that the end has taken before the one of the verdict.
	Taken int
	// First says that a refusal is about that item alone.
	First bool
}

// Attempt is the last attempt of a follower, for people.
type Attempt struct {
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome"` // the name of a verdict
	Status  int       `json:"status,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Events  int       `json:"events"`
	Millis  int64     `json:"took_ms"`
}
