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
	Renamed   int // positions that name another object than their subject
}

func (b *Batch) index(i int) int {
	if b.Indexes == nil {
		return i
	}
	return b.Indexes[i]
}

func (b *Batch) reject(index int, reason string) {
	b.Rejected = append(b.Rejected, Rejection{Index: index, Reason: reason})
}

func (b *Batch) accept(index int, p track.Position) {
	b.Positions = append(b.Positions, p)
	b.Indexes = append(b.Indexes, index)
}

func (r *Result) reject(index int, reason string) {
	r.Rejected = append(r.Rejected, Rejection{Index: index, Reason: reason})
}

func (r *Result) sort() {
	slices.SortStableFunc(r.Rejected, func(a, b Rejection) int { return cmp.Compare(a.Index, b.Index) })
}
