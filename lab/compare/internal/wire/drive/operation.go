// Package drive runs one operation over one connection for a given time, and
// measures it: how many, how fast, how much processor time at both ends.
//
// A message that is sent one way counts only once the other process has it: each window ends when
// the receiver's count has reached the sender's.
package drive

import (
	"context"
	"fmt"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/peers"
)

const (
	// Requests: Callers goroutines, each sending its next request of 64 bytes
	// when it has the answer to the last.
	Requests measure.Operation = "requests"
	// RoundTrip: one goroutine, likewise; each request is timed.
	RoundTrip measure.Operation = "roundtrip"
	// Posts: Callers goroutines sending one-way messages of 64 bytes.
	Posts measure.Operation = "posts"
	// Bulk: one goroutine sending writes of 64 KiB on one stream.
	Bulk measure.Operation = "bulk"
	// Paced: requests of 64 bytes at a fixed rate, alone on the connection.
	Paced measure.Operation = "paced"
	// Beside: the same, beside BulkStreams streams of bulk.
	Beside measure.Operation = "beside"
)

const (
	// Callers is how many goroutines share the connection.
	Callers = 100
	// BulkStreams is how many bulk streams run beside the small requests.
	BulkStreams = 8
	// PacedCallers share the requests at a fixed rate.
	PacedCallers = 50
	// Pace is the time from one intended start of a small request to the next.
	Pace = 500 * time.Microsecond
)

// settle is how long the last messages may take to arrive after a window.
const settle = 20 * time.Second

// Remote is the server's process, as far as a measurement asks it.
type Remote interface {
	measure.User
	// Received returns how much has come in.
	Received() (messages, bytes int64, err error)
	// Await returns when so many bytes have come in, or an error that says how far it came within
	// the limit.
	Await(bytes int64, limit time.Duration) error
}

// Run measures op over the session.
func Run(ctx context.Context, op measure.Operation, s peers.Session, r Remote, o measure.Options) (*measure.Measurement, error) {
	// Not WithTimeout: a deadline would travel with every call of some peers.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(o.Warmup+o.Duration+settle, cancel).Stop()
	switch op {
	case Requests:
		return requests(ctx, s, r, o, Callers, timedEvery)
	case RoundTrip:
		return requests(ctx, s, r, o, 1, 1)
	case Posts:
		return oneWay(ctx, s.Poster, r, o, Callers, peers.SmallSize)
	case Bulk:
		return oneWay(ctx, s.Bulk, r, o, 1, peers.BulkSize)
	case Paced:
		return paced(ctx, s, r, o, 0)
	case Beside:
		return paced(ctx, s, r, o, BulkStreams)
	}
	return nil, fmt.Errorf("no operation %q", op)
}
