package ingest

import (
	"cmp"
	"slices"
	"sync"

	"paddock/fence/track"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/events"
)

// Batch is the content of one request or message: the positions that can be applied, and the
// rejections of the others.
type Batch struct {
	Positions []track.Position
	Indexes   []int // index in the request of each position; nil if they are the same
	Rejected  []Rejection
	Omitted   int // rejections beyond maxListed
	Renamed   int // positions that name another object than their subject
	Ignored   Ignored
	Handled   *Handled    // progress of the sender's session with this batch; nil: none
	Door      *doors.Door // counts what becomes of the positions; nil: none
	Again     bool        // it found no room before, which is counted: it is not counted again

	Trace *track.Trace // of the request; nil: none
}

// maxListed bounds the rejections in an answer; further ones are only counted. Without the bound,
// an answer could be a hundred times as large as a body with a few bytes an element.
const maxListed = 1000

func (b *Batch) index(i int) int {
	if b.Indexes == nil {
		return i
	}
	return b.Indexes[i]
}

// Empty reports whether nothing of the batch needs a record.
func (b *Batch) Empty() bool { return len(b.Positions) == 0 && b.Handled == nil }

func (b *Batch) reject(index int, reason string) {
	if len(b.Rejected) == maxListed {
		b.Omitted++
		return
	}
	b.Rejected = append(b.Rejected, Rejection{Index: index, Reason: reason})
}

func (b *Batch) accept(index int, p track.Position) {
	b.Positions = append(b.Positions, p)
	b.Indexes = append(b.Indexes, index)
}

func (r *Result) reject(index int, reason string) {
	r.Rejected = append(r.Rejected, Rejection{Index: index, Reason: reason})
}

// list orders the rejections and keeps those with the smallest indexes.
func (r *Result) list() {
	slices.SortStableFunc(r.Rejected, func(a, b Rejection) int { return cmp.Compare(a.Index, b.Index) })
	if n := len(r.Rejected) - maxListed; n > 0 {
		r.Rejected = r.Rejected[:maxListed]
		r.Omitted += n
	}
}

// maxLate bounds the late positions in an answer; further ones are only counted.
const maxLate = 100

// lateList gathers the late positions of a batch with the smallest indexes, from all shards.
type lateList struct {
	mu    sync.Mutex
	first []lateness // by index
}

// lateness is a late position, and the time of its object's last fix.
type lateness struct {
	member int32
	than   track.Millis
}

// note adds a position of t's objects that was just found late, if there is room for it.
func (l *lateList) note(member int32, p *track.Position, t *track.Shard) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.first); n == maxLate {
		if l.first[n-1].member < member {
			return
		}
		l.first = l.first[:n-1]
	}
	at, _ := slices.BinarySearchFunc(l.first, member, func(a lateness, m int32) int { return cmp.Compare(a.member, m) })
	l.first = slices.Insert(l.first, at, lateness{member, t.LastFix(p.Fleet, p.ID)})
}

// rejections returns the listed positions, after the last call of note.
func (l *lateList) rejections(b *Batch) (all []Rejection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, late := range l.first {
		reason := "not newer than " + events.FormatTime(late.than.Time()) + ", which this object has"
		all = append(all, Rejection{Index: b.index(int(late.member)), Reason: reason})
	}
	return all
}
