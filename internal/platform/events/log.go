// Package events encodes the tracker's events for subscribers: one CloudEvents JSON text for each
// event, its bus subject, and a log that any number of subscribers follow.
//
// An event is encoded once. The [Log] keeps the most recent events in memory. A subscriber is not a
// queue but a position in the log (see [Reader]), so a slow one costs the others nothing and holds
// no memory. A subscriber that falls behind the oldest kept record receives the number of missed
// records.
package events

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// Record is one encoded event. It is immutable, and all subscribers share its bytes.
type Record struct {
	Cursor  uint64 // position in the log, counting from 1
	Subject string // on the bus
	JSON    Text

	Set, Fence, Fleet, Object string // "" where the event has none, see Subject
	Kind                      track.Kind
	Arrived                   track.Millis // when the cause of the event arrived
	Visit                     Visit
}

// Visit is what an event tells about the visit of a fence that it begins, ends or states.
type Visit struct {
	Number    uint64       // see VisitID
	Since, At track.Millis // when the object entered, and the time of the event
	Reason    track.Reason
}

// NewRecord encodes an event. The log assigns the cursor. A run, unless it is "", is part of the
// event's source: events of two runs with the same id are two events.
func NewRecord(e *track.Event, run string) Record {
	return Record{
		Subject: Subject(e),
		JSON:    encode(e, run),
		Set:     e.Set, Fence: fenceKey(e), Fleet: e.Fleet, Object: e.ID,
		Kind: e.Kind, Arrived: e.Arrived,
		Visit: Visit{Number: e.Visit, Since: e.Since, At: e.At, Reason: e.Reason},
	}
}

// Log holds the most recent records, bounded by count and by bytes. JSON that records share counts
// once. It is safe for concurrent use.
type Log struct {
	maxRecords int
	maxBytes   int64
	epoch      string
	earlier    map[string]uint64 // epochs before a loss, see Lose
	journal    journal.Journal   // holds older records, and these; nil: none
	common     bool              // see Share

	mu     sync.Mutex
	ring   []Record // the record with cursor c is ring[(c-1) % len(ring)]
	next   uint64   // cursor of the next record
	oldest uint64   // smallest cursor kept; next if the log is empty
	bytes  int64
	shared map[*byte]int // by the first byte of shared JSON: the number of records with it
	grown  chan struct{} // closed and replaced when the log grows or ends
	ended  bool
	end    chan struct{} // closed by End

	subscriptions subscriptions
}

// NewLog returns an empty log. It keeps at most maxRecords records and, except for the newest
// record, maxBytes bytes of JSON. The epoch distinguishes its cursors from those of another
// process: it is part of each cursor's text.
func NewLog(maxRecords int, maxBytes int64, epoch string) *Log {
	return &Log{
		maxRecords: maxRecords, maxBytes: maxBytes, epoch: epoch,
		ring: make([]Record, min(maxRecords, 1024)), next: 1, oldest: 1, shared: map[*byte]int{},
		grown: make(chan struct{}), end: make(chan struct{}),
	}
}

// Share tells the log that other nodes have it too: one that is ahead may have given a reader a
// cursor of records that are still to come here. The reader waits for them. It is called before
// readers are.
func (l *Log) Share() { l.common = true }

// Append adds records, assigns their cursors in order, and wakes waiting readers. Nothing should be
// appended after End; such records are kept for readers that have not finished.
func (l *Log) Append(records []Record) {
	if len(records) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range records {
		records[i].Cursor = l.next
		l.makeRoom(l.size(&records[i]))
		*l.at(l.next) = records[i]
		l.hold(&records[i])
		l.next++
	}
	l.wakeLocked()
}

// End marks the end of the log. Readers receive the remaining records, and then ErrEnded.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.ended = true
		close(l.end)
		l.wakeLocked()
	}
}

// Ended reports whether End was called. A reader that finds no record after that has read all.
func (l *Log) Ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// Done returns a channel that End closes, for readers that wait for other things too.
func (l *Log) Done() <-chan struct{} { return l.end }

// Stats holds the size of the log.
type Stats struct {
	Records int
	Bytes   int64
	Total   uint64 // records ever appended
}

// Stats returns the size of the log.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{Records: int(l.next - l.oldest), Bytes: l.bytes, Total: l.next - 1}
}

func (l *Log) wakeLocked() {
	close(l.grown)
	l.grown = make(chan struct{})
}

func (l *Log) at(cursor uint64) *Record { return &l.ring[(cursor-1)%uint64(len(l.ring))] }

// makeRoom drops the oldest records until one of this size fits, or grows the ring while it is
// below its bound.
func (l *Log) makeRoom(size int64) {
	for l.oldest < l.next && l.bytes+size > l.maxBytes {
		l.drop()
	}
	if int(l.next-l.oldest) < len(l.ring) {
		return
	}
	if len(l.ring) == l.maxRecords {
		l.drop()
		return
	}
	old := l.ring
	l.ring = make([]Record, min(l.maxRecords, 2*len(old)))
	for c := l.oldest; c < l.next; c++ {
		*l.at(c) = old[(c-1)%uint64(len(old))]
	}
}

func (l *Log) drop() {
	r := l.at(l.oldest)
	l.letGo(r)
	*r = Record{}
	l.oldest++
}

// size returns the number of bytes that r adds to the log.
func (l *Log) size(r *Record) int64 {
	n := len(r.JSON.own)
	for _, p := range r.JSON.shared {
		if l.shared[&p.json[0]] == 0 {
			n += len(p.json)
		}
	}
	return int64(n)
}

// hold adds the bytes of r to the log's size.
func (l *Log) hold(r *Record) {
	l.bytes += l.size(r)
	for _, p := range r.JSON.shared {
		l.shared[&p.json[0]]++
	}
}

// letGo subtracts the bytes of r from the log's size.
func (l *Log) letGo(r *Record) {
	for _, p := range r.JSON.shared {
		if first := &p.json[0]; l.shared[first] > 1 {
			l.shared[first]--
		} else {
			delete(l.shared, first)
		}
	}
	l.bytes -= l.size(r)
}

// Errors of a cursor that a client gives back.
var (
	// ErrBadCursor: the text is not a cursor.
	ErrBadCursor = errors.New("not a cursor")
	// ErrGone: the cursor belongs to an earlier run of the process, whose events
	// are not kept.
	ErrGone = errors.New("cursor is of an earlier run")
)

// Cursor returns a position in the log as text for clients. The text is opaque to them, and unique
// to this log.
func (l *Log) Cursor(c uint64) string { return l.epoch + "-" + strconv.FormatUint(c, 10) }

// ParseCursor parses a text of Cursor. The error is ErrBadCursor or ErrGone.
func (l *Log) ParseCursor(s string) (uint64, error) {
	epoch, count, ok := strings.Cut(s, "-")
	if !ok {
		return 0, fmt.Errorf("%q: %w", s, ErrBadCursor)
	}
	c, err := strconv.ParseUint(count, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", s, ErrBadCursor)
	}
	if last, ok := l.earlier[epoch]; ok {
		return min(c, last), nil
	}
	if epoch != l.epoch {
		return 0, fmt.Errorf("%q: %w", s, ErrGone)
	}
	return c, nil
}
