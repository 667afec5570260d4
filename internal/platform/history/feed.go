package history

import (
	"math"
	"sync"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

// The bounds of what is fed and not taken, in positions and visits. Some 16 MB.
const (
	maxFedPositions = 64 << 10
	maxFedVisits    = 64 << 10
)

// Applied implements [ingest.Follower].
func (h *History) Applied(number uint64, at track.Millis, batches [][]track.Position) {
	n := 0
	for _, b := range batches {
		n += len(b)
	}
	h.positions.push(number, number+1, at, n, func(to []track.Position) []track.Position {
		for _, b := range batches {
			to = append(to, b...)
		}
		return to
	})
}

// Committed implements [ingest.Follower].
func (h *History) Committed(first uint64, records []events.Record) {
	h.visits.push(first, first+uint64(len(records)), 0, len(records), func(to []Visit) []Visit {
		for i := range records {
			if v, ok := visitOf(&records[i]); ok {
				to = append(to, v)
			}
		}
		return to
	})
}

// feed passes on what the pipeline has just written to the journal, so that it need not be read
// from there. It is bounded: what does not fit, and what came before the feed, has to be read.
type feed[T any] struct {
	bound int // of size

	mu    sync.Mutex
	queue []fed[T] // by ascending numbers, with gaps
	size  int      // of the room for all items
	free  []T      // memory for one fed
}

// fed is what has the numbers from one on, before another one.
type fed[T any] struct {
	from, next uint64
	at         track.Millis
	items      []T
	room       int // for items
}

// push adds up to n items, which fill appends, or leaves them out if there is no room for n.
func (f *feed[T]) push(from, next uint64, at track.Millis, n int, fill func([]T) []T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.size+n > f.bound {
		return
	}
	to := f.free
	if f.free = nil; cap(to) < n {
		to = make([]T, 0, n)
	}
	f.queue = append(f.queue, fed[T]{from, next, at, fill(to[:0]), n})
	f.size += n
}

// pop returns what begins with a number. If that was left out, it returns false and the first later
// number that there is, or the largest number.
func (f *feed[T]) pop(from uint64) (found fed[T], until uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) > 0 {
		found = f.queue[0]
		if found.from > from {
			return fed[T]{}, found.from, false
		}
		f.queue[0] = fed[T]{}
		if f.queue = f.queue[1:]; len(f.queue) == 0 {
			f.queue = nil
		}
		f.size -= found.room
		if found.from == from {
			return found, 0, true
		}
	}
	return fed[T]{}, math.MaxUint64, false
}

// release gives the memory of items back.
func (f *feed[T]) release(items []T) {
	clear(items)
	f.mu.Lock()
	defer f.mu.Unlock()
	if cap(items) > cap(f.free) && cap(items) <= maxKept {
		f.free = items
	}
}

// maxKept bounds the items whose memory a feed keeps.
const maxKept = 16 << 10
