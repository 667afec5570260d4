package nats

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// maxStreams bounds the publishers that are told apart. Messages of others count
	// as foreign.
	maxStreams = 1 << 16
	// maxHoles bounds the gaps that are kept of one publisher. When there are more, the oldest is
	// given up: a message that would fill it counts as doubled.
	maxHoles = 4096
)

// source is a publisher of a run.
type source struct{ run, publisher uint32 }

// account is which messages a listener has got, or the members of a queue together.
type account struct {
	delivered atomic.Int64 // different ones

	mu      sync.Mutex // guards the following fields; held for the messages of one read
	streams map[source]*stream
	last    source // of the stream that was used last
	at      *stream
	doubled int64
}

func newAccount() *account { return &account{streams: map[source]*stream{}} }

// of gives the stream of a publisher; nil if there are too many.
func (a *account) of(from source) *stream {
	if a.at != nil && a.last == from {
		return a.at
	}
	s := a.streams[from]
	if s == nil {
		if len(a.streams) == maxStreams {
			return nil
		}
		s = &stream{next: 1}
		a.streams[from] = s
	}
	a.last, a.at = from, s
	return s
}

// gaps returns the number of messages missing between those received.
func (a *account) gaps() (n int64) {
	for _, s := range a.streams {
		for _, h := range s.holes {
			n += int64(h.to - h.from)
		}
	}
	return n
}

// stream is the numbers of one publisher: all below next have come, but for the holes.
type stream struct {
	next  uint64
	holes []hole // in order
}

// hole is the numbers from one until another.
type hole struct{ from, to uint64 }

// take enters a number; false if it has been there.
func (s *stream) take(n uint64) (fresh bool) {
	switch {
	case n == s.next:
		s.next++
		return true
	case n > s.next:
		s.holes = append(s.holes, hole{s.next, n})
		s.bound()
		s.next = n + 1
		return true
	}
	i, in := slices.BinarySearchFunc(s.holes, n, func(h hole, n uint64) int {
		switch {
		case n < h.from:
			return 1
		case n >= h.to:
			return -1
		}
		return 0
	})
	if !in {
		return false
	}
	h := s.holes[i]
	rest := make([]hole, 0, 2)
	if h.from < n {
		rest = append(rest, hole{h.from, n})
	}
	if n+1 < h.to {
		rest = append(rest, hole{n + 1, h.to})
	}
	s.holes = slices.Replace(s.holes, i, i+1, rest...)
	s.bound()
	return true
}

// bound gives up the oldest hole if there is one too many.
func (s *stream) bound() {
	if len(s.holes) > maxHoles {
		s.holes = slices.Delete(s.holes, 0, 1)
	}
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
