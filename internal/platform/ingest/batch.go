package ingest

import (
	"cmp"
	"slices"

	"paddock/fence/track"
)

// Batch is what one request or message brought: the positions that can be
// applied, and the rest with reasons.
type Batch struct {
	Positions []track.Position
	Indexes   []int // of each position in the batch as sent; nil if they are the same
	Rejected  []Rejection
	Omitted   int // rejections beyond maxListed
	Renamed   int // positions that name another object than their subject
	Ignored   Ignored
}

// maxListed bounds the rejections that an answer lists. Those beyond are only
// counted: a body of a few bytes an element would otherwise be answered with a
// hundred times its size.
const maxListed = 1000

func (b *Batch) index(i int) int {
	if b.Indexes == nil {
		return i
	}
	return b.Indexes[i]
}

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
