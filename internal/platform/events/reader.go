package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"paddock/fence/track"
)

// ErrEnded is returned when the log has ended and the reader has seen all of it.
var ErrEnded = errors.New("event log ended")

// PageBytes bounds an answer of GET /v1/events that does not wait, but for one batch of events. An
// answer with fewer bytes, and fewer events than its limit, is the last one.
const PageBytes = 16 << 20

// Gap reports records that were dropped before the reader came to them.
type Gap struct {
	From, To uint64 // cursors of the first and the last missed record; zeros are no gap
	Lost     *Loss  // nil: the reader fell behind what the log keeps
}

// Reason returns why the records are missing.
func (g Gap) Reason() string {
	if g.Lost != nil {
		return g.Lost.Reason
	}
	return "the subscriber fell behind what the log keeps"
}

// Describe adds the number of missed records, if it is known, and the reason to a JSON object.
func (g Gap) Describe(object map[string]any) {
	object["reason"] = g.Reason()
	if g.Lost == nil || g.Lost.Counted {
		object["count"] = g.Count()
	}
}

// Count returns the number of missed records, or 1 if it is not known. It includes records that the
// reader's filter would have dropped.
func (g Gap) Count() uint64 {
	if g.From == 0 {
		return 0
	}
	return g.To - g.From + 1
}

// GapJSON returns the record that reports a gap to a subscriber.
func (l *Log) GapJSON(g Gap) []byte {
	object := map[string]any{"type": "paddock.gap", "from": l.Cursor(g.From), "to": l.Cursor(g.To)}
	g.Describe(object)
	b, _ := json.Marshal(object) // these values always encode
	return b
}

// Reader follows the log from a position in it. It belongs to one goroutine.
type Reader struct {
	log   *Log
	match func(*Record) bool // selects records, under the log's lock
	next  uint64             // cursor of the next record to look at
	watch *Subscription      // nil: none
}

// Latest returns the cursor of the newest record, 0 if there was none yet.
func (l *Log) Latest() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next - 1
}

// Oldest returns the cursor of the oldest record, or of the next one if there is none. With a
// journal it is the oldest one there.
func (l *Log) Oldest() uint64 {
	if l.journal != nil {
		return l.journal.OldestEvent()
	}
	return l.oldestInMemory()
}

func (l *Log) oldestInMemory() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.oldest
}

// Reader returns a reader of the records after a cursor: after Latest(), only new ones; after 0,
// all kept ones, preceded by a gap if some were dropped. A cursor beyond the log counts as the
// latest, unless the log is shared.
func (l *Log) Reader(after uint64, f Filter) *Reader {
	return l.ReaderOf(after, f.Match)
}

// ReaderOf is Reader for any condition, which is short: it is called under the log's lock.
func (l *Log) ReaderOf(after uint64, match func(*Record) bool) *Reader {
	if !l.common {
		after = min(after, l.Latest())
	}
	return &Reader{log: l, match: match, next: min(after, math.MaxUint64-1) + 1}
}

// Tail returns the cursor after which the log keeps the newest n records that f selects, or all of
// them if there are fewer. In a journal it looks at no more than MaxTail records. The error is that
// of ctx, or one of the journal.
func (l *Log) Tail(ctx context.Context, n int, f Filter) (uint64, error) {
	for at := l.Latest(); ; {
		var done bool
		if at, n, done = l.tail(at, n, &f); done {
			if n > 0 && l.journal != nil {
				return l.tailStored(ctx, at+1, n, f.Match)
			}
			return at, nil
		}
	}
}

// tail looks back over at most scanLimit records, from the one at this cursor on, until n are
// found.
func (l *Log) tail(at uint64, n int, f *Filter) (before uint64, left int, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range scanLimit {
		if n == 0 || at < l.oldest {
			return at, n, true
		}
		if f.Match(l.at(at)) {
			n--
		}
		at--
	}
	return at, n, false
}

// Position returns the cursor of the last record that the reader has examined, selected or not.
func (r *Reader) Position() uint64 { return r.next - 1 }

const (
	// scanLimit bounds the records examined under the log's lock at a time, so that a reader with a
	// narrow filter does not delay the writers.
	scanLimit = 512
	// batchBytes ends a batch, in bytes of JSON: fences may have properties of any length, and each
	// subscriber writes a batch at once.
	batchBytes = 1 << 20
)

// Next appends selected records to dst, at most its capacity, and ends a batch after 1 MiB. It
// waits if there are none. A non-zero gap reports records missed before them. The error is ErrEnded
// at the end, or the context's error.
//
// dst must have capacity left.
func (r *Reader) Next(ctx context.Context, dst []Record) ([]Record, Gap, error) {
	for {
		if err := ctx.Err(); err != nil { // however many records wait
			return dst, Gap{}, err
		}
		out, gap, more, wait, ended := r.advance(dst)
		switch {
		case len(out) > len(dst) || gap.Count() > 0:
			return out, gap, nil
		case more:
			continue
		case ended:
			return dst, Gap{}, ErrEnded
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return dst, Gap{}, ctx.Err()
		}
	}
}

// TryNext is like Next, but returns without records instead of waiting.
func (r *Reader) TryNext(dst []Record) ([]Record, Gap) {
	for {
		out, gap, more, _, _ := r.advance(dst)
		if len(out) > len(dst) || gap.Count() > 0 || !more {
			return out, gap
		}
	}
}

// TrySome is like TryNext, but examines at most scanLimit records. more reports that it stopped
// before the newest one.
func (r *Reader) TrySome(dst []Record) (out []Record, gap Gap, more bool) {
	out, gap, more, _, _ = r.advance(dst)
	return out, gap, more
}

// advance is step, of which a subscription is told.
func (r *Reader) advance(dst []Record) (out []Record, gap Gap, more bool, wait <-chan struct{}, ended bool) {
	r.watch.note(r.next)
	out, gap, more, wait, ended = r.step(dst)
	if len(out) == len(dst) { // nothing is left to be sent
		r.watch.note(r.next)
	}
	r.watch.gap(gap)
	return out, gap, more, wait, ended
}

// step is scan, preceded by records that only the journal has.
func (r *Reader) step(dst []Record) (out []Record, gap Gap, more bool, wait <-chan struct{}, ended bool) {
	if r.log.journal != nil {
		if until := r.log.oldestInMemory(); r.next < until {
			out, gap = r.older(dst, until)
			return out, gap, true, nil, false
		}
	}
	return r.scan(dst)
}

// scan examines up to scanLimit records. more reports that it stopped before the end of the log.
func (r *Reader) scan(dst []Record) (out []Record, gap Gap, more bool, wait <-chan struct{}, ended bool) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.next > l.next {
		return dst, Gap{}, false, l.grown, l.ended
	}
	if r.next < l.oldest {
		gap = Gap{From: r.next, To: l.oldest - 1}
		r.next = l.oldest
	}
	size := 0
	for range scanLimit {
		if r.next == l.next || len(dst) == cap(dst) || size >= batchBytes {
			break
		}
		if rec := l.at(r.next); r.match(rec) {
			dst = append(dst, *rec)
			size += rec.JSON.Len()
		}
		r.next++
	}
	return dst, gap, r.next < l.next, l.grown, l.ended
}

// Filter selects events; an empty field selects all. It compares whole names with the ids, not with
// their tokens.
type Filter struct {
	Set    string `json:"set"`
	Fence  string `json:"fence"`
	Event  string `json:"event"` // the name of a track.Kind
	Fleet  string `json:"fleet"`
	Object string `json:"object"`

	// Sees, if set, reports whether the reader may see events of a set and a fleet. An event about
	// two objects has two fleets.
	Sees func(set, fleet string) bool `json:"-"`
}

// Validate refuses an unknown kind of event, for which a filter would wait for ever.
func (f *Filter) Validate() error {
	if f.Event == "" {
		return nil
	}
	if _, err := track.ParseKind(f.Event); err != nil {
		return fmt.Errorf("event: %w", err)
	}
	return nil
}

// sees reports whether the reader may see a record.
func (f *Filter) sees(r *Record) bool {
	if !f.Sees(r.Set, r.Fleet) {
		return false
	}
	if r.Kind != track.NearBegin && r.Kind != track.NearEnd {
		return true
	}
	var e struct {
		Data struct {
			Other struct {
				Fleet string `json:"fleet"`
			} `json:"other"`
		} `json:"data"`
	}
	return json.Unmarshal(r.JSON.Bytes(), &e) == nil && f.Sees(r.Set, e.Data.Other.Fleet)
}

// Match reports whether the filter selects the record.
func (f *Filter) Match(r *Record) bool {
	return (f.Set == "" || f.Set == r.Set) &&
		(f.Fence == "" || f.Fence == r.Fence) &&
		(f.Event == "" || f.Event == r.Kind.String()) &&
		(f.Fleet == "" || f.Fleet == r.Fleet) &&
		(f.Object == "" || f.Object == r.Object) &&
		(f.Sees == nil || f.sees(r))
}
