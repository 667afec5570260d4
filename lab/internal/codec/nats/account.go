package nats

import (
	"sync"
	"sync/atomic"

	"paddock/lab/internal/numbers"
)

// maxStreams bounds the publishers that are told apart. Messages of others count as foreign.
const maxStreams = 1 << 16

// source is a publisher of a run.
type source struct{ run, publisher uint32 }

// account is which messages a listener has got, or the members of a queue together.
type account struct {
	delivered atomic.Int64 // different ones

	mu      sync.Mutex // guards the following fields; held for the messages of one read
	streams map[source]*numbers.Set
	last    source // of the stream that was used last
	at      *numbers.Set
	doubled int64
}

func newAccount() *account { return &account{streams: map[source]*numbers.Set{}} }

// of gives the numbers of a publisher's messages, which begin with 1; nil if there are too many.
func (a *account) of(from source) *numbers.Set {
	if a.at != nil && a.last == from {
		return a.at
	}
	s := a.streams[from]
	if s == nil {
		if len(a.streams) == maxStreams {
			return nil
		}
		s = &numbers.Set{}
		a.streams[from] = s
	}
	a.last, a.at = from, s
	return s
}

// gaps returns the number of messages missing between those received.
func (a *account) gaps() (n int64) {
	for _, s := range a.streams {
		n += int64(s.Spans[len(s.Spans)-1].Last) - s.Count()
	}
	return n
}

// order is the greatest number that one listener got of each publisher. It belongs to the
// listener's session.
type order struct {
	greatest  map[source]uint64
	last      source
	of        uint64
	reordered int64
}

// take enters a number.
func (o *order) take(from source, n uint64) {
	if o.greatest == nil {
		o.greatest = map[source]uint64{}
	}
	if o.last != from {
		o.greatest[o.last] = o.of
		o.last, o.of = from, o.greatest[from]
	}
	if n < o.of {
		o.reordered++
	}
	o.of = max(o.of, n)
}
