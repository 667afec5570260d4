package events

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

const (
	// recent is the number of events that a log takes from its journal into memory at the start:
	// what a page shows first. Older ones are read from the journal.
	recent = 1000
	// MaxTail is the number of events in a journal that Tail looks at: a filter may select few.
	MaxTail = 1_000_000
	// mostTail is the number of events that it looks at in one walk.
	mostTail = 1 << 16
	// epochName is the journal's value that holds the epoch.
	epochName = "epoch"
)

// NewEpoch returns a text that no other run and no other journal has.
func NewEpoch() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// OpenLog returns a log that goes on where a journal ends. Its cursors are those of the events in
// the journal, and readers get older events than the log keeps from there. The error is one of the
// journal.
func OpenLog(maxRecords int, maxBytes int64, j journal.Journal) (*Log, error) {
	epoch, err := j.Get(epochName)
	if errors.Is(err, journal.ErrNotFound) {
		epoch = []byte(NewEpoch())
		err = j.Put(journal.Value{Name: epochName, Bytes: epoch})
	}
	if err != nil {
		return nil, err
	}
	l := NewLog(maxRecords, maxBytes, string(epoch))
	newest := j.Committed()
	from := max(j.OldestEvent(), newest.Next()-min(newest.Next(), recent))
	l.next, l.oldest = from, from
	var records []Record
	err = l.walk(j, from, func(r *Record) bool {
		records = append(records, *r)
		return true
	}, func(g Gap) bool { // the records in memory are those behind it
		records, l.next, l.oldest = nil, g.To+1, g.To+1
		return true
	})
	if err != nil {
		return nil, err
	}
	if l.earlier, err = earlierEpochs(j); err != nil {
		return nil, err
	}
	l.Append(records)
	l.journal = j
	return l, nil
}

// walk calls f for each event of a journal from a cursor on, and lost for lost ones, until they
// return false.
func (l *Log) walk(j journal.Journal, from uint64, f func(r *Record) bool, lost func(Gap) bool) error {
	err := j.Pieces(from, func(p journal.Piece) error {
		if p.Gap {
			g, err := gapOf(&p)
			if g.From = max(g.From, from); err == nil && !lost(g) {
				err = journal.ErrEnough
			}
			return err
		}
		rest := p.Events
		for cursor := p.First; cursor < p.Next(); cursor++ {
			r, after, err := ParseRecord(rest)
			if err != nil {
				return fmt.Errorf("event %d: %w", cursor, err)
			}
			if rest = after; cursor < from {
				continue
			}
			if r.Cursor = cursor; !f(&r) {
				return journal.ErrEnough
			}
		}
		return nil
	})
	if errors.Is(err, journal.ErrEnough) {
		return nil
	}
	return err
}

// older appends selected records that the log keeps no more, from the reader's next one on. What
// cannot be read is a gap.
func (r *Reader) older(dst []Record, until uint64) ([]Record, Gap) {
	if oldest := min(r.log.journal.OldestEvent(), until); r.next < oldest {
		gap := Gap{From: r.next, To: oldest - 1}
		r.next = oldest
		return dst, gap
	}
	var gap Gap
	size, examined := 0, 0
	missed := func(first uint64) bool { // events may be removed at any time
		if r.next < first {
			gap = Gap{From: r.next, To: first - 1}
		}
		return r.next < first
	}
	_ = r.log.walk(r.log.journal, r.next, func(rec *Record) bool {
		if rec.Cursor >= until || examined == scanLimit || len(dst) == cap(dst) || size >= batchBytes || missed(rec.Cursor) {
			return false
		}
		if r.match(rec) {
			dst = append(dst, *rec)
			size += rec.JSON.Len()
		}
		r.next = rec.Cursor + 1
		examined++
		return true
	}, func(g Gap) bool {
		if !missed(g.From) {
			gap = g
		}
		return false
	})
	switch {
	case examined > 0: // the next call meets the gap or the error again
		return dst, Gap{}
	case gap.Count() > 0:
		r.next = gap.To + 1
	default:
		gap = Gap{From: r.next, To: until - 1}
		r.next = until
	}
	return dst, gap
}

// tailStored looks for n records that the journal holds before a cursor: in spans that double, from
// the newest to the oldest one.
func (l *Log) tailStored(ctx context.Context, before uint64, n int, match func(*Record) bool) (uint64, error) {
	oldest := max(l.journal.OldestEvent(), before-min(before, MaxTail))
	for to, step := before, uint64(scanLimit); to > oldest; step = min(2*step, mostTail) {
		from := max(oldest, to-min(to, step))
		var found []uint64
		err := l.walk(l.journal, from, func(r *Record) bool {
			if r.Cursor >= to || ctx.Err() != nil {
				return false
			}
			if match(r) {
				found = append(found, r.Cursor)
			}
			return true
		}, func(Gap) bool { return true })
		if err = errors.Join(err, ctx.Err()); err != nil {
			return 0, err
		}
		if len(found) >= n {
			return found[len(found)-n] - 1, nil
		}
		n -= len(found)
		to = from
	}
	return oldest - 1, nil
}

// Since returns the cursor after which the kept events are that arrived at a time or later.
func (l *Log) Since(t track.Millis) (uint64, error) {
	if l.journal != nil {
		return l.sinceStored(t)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.oldest
	for at < l.next && l.at(at).Arrived < t {
		at++
	}
	return at - 1, nil
}

// sinceStored finds the first piece of that time: times of pieces never decrease.
func (l *Log) sinceStored(t track.Millis) (uint64, error) {
	newest := l.journal.Committed()
	low, high := l.journal.OldestEvent(), newest.Next()
	for low < high {
		var p journal.Piece // that holds the event in the middle
		middle := low + (high-low)/2
		err := l.journal.Pieces(middle, func(found journal.Piece) error {
			p = found
			return journal.ErrEnough
		})
		if !errors.Is(err, journal.ErrEnough) {
			return low - 1, err // nil: all of them were removed meanwhile
		}
		if p.First > middle { // earlier ones were removed meanwhile
			low = p.First
		}
		if track.Millis(p.Time) >= t {
			high = max(p.First, low)
		} else {
			low = p.Next()
		}
	}
	return low - 1, nil
}

// AppendRecord appends the stored form of a record, without its cursor: the names, the kind, the
// time of arrival, the visit and the JSON. Texts follow their length, times the one before.
func AppendRecord(b []byte, r *Record) []byte {
	for _, s := range []string{r.Subject, r.Set, r.Fence, r.Fleet, r.Object} {
		b = journal.AppendText(b, s)
	}
	b = append(b, byte(r.Kind), byte(r.Visit.Reason))
	b = binary.AppendVarint(b, int64(r.Arrived))
	b = binary.AppendVarint(b, int64(r.Visit.At-r.Arrived))
	b = binary.AppendVarint(b, int64(r.Visit.Since-r.Visit.At))
	b = binary.AppendUvarint(b, r.Visit.Number)
	b = binary.AppendUvarint(b, uint64(r.JSON.Len()))
	return r.JSON.Append(b)
}

var errStored = errors.New("events: not a stored record")

// ParseRecord reads a record of AppendRecord from the beginning of b, and returns the rest of b.
// The record does not share memory with b.
func ParseRecord(b []byte) (r Record, rest []byte, err error) {
	f := journal.Fields{Rest: b}
	r.Subject, r.Set, r.Fence, r.Fleet, r.Object = f.Text(), f.Text(), f.Text(), f.Text(), f.Text()
	r.Kind, r.Visit.Reason = track.Kind(f.Byte()), track.Reason(f.Byte())
	r.Arrived = track.Millis(f.Int())
	r.Visit.At = r.Arrived + track.Millis(f.Int())
	r.Visit.Since = r.Visit.At + track.Millis(f.Int())
	r.Visit.Number = f.Uint()
	r.JSON = Plain([]byte(f.Text()))
	if f.Failed {
		return Record{}, nil, errStored
	}
	return r, f.Rest, nil
}
