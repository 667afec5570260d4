package ingest

import (
	"cmp"
	"slices"
	"sync"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

// maxLate bounds the late positions that an answer lists. The others are only counted.
const maxLate = 100

// lateList gathers why positions of a batch are late: those with the smallest indexes, from
// all shards.
type lateList struct {
	mu    sync.Mutex
	first []lateness // by index
}

// lateness is a late position, and the fix that its object has.
type lateness struct {
	member int32
	than   track.Millis
}

// note lists a position of t's objects that was late just now, if there is room for it.
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

// rejections are those that are listed, once no shard notes any more.
func (l *lateList) rejections(b *Batch) (all []Rejection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, late := range l.first {
		reason := "not newer than " + events.FormatTime(late.than.Time()) + ", which this object has"
		all = append(all, Rejection{Index: b.index(int(late.member)), Reason: reason})
	}
	return all
}
