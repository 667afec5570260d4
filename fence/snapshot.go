package fence

import (
	"encoding/json"
	"io"
	"iter"
	"slices"
	"time"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
	"paddock/fence/internal/outline"
)

// Fence is a named area or line, and Ref its number in a set.
type (
	Fence = geojson.Fence
	Ref   = geojson.Ref
)

// Snapshot is a set at one moment. It is immutable, and safe for any number of goroutines.
type Snapshot struct {
	generation uint64
	next       int64 // refs below it have been used
	index      index.Index
	outline    *outline.Lazy
	table      *index.Table
	keys       *keys
	bounds     geometry.Box
	findings   []geojson.Finding // of the file and of features that gave no fence
}

// Generation counts the publications of the set: 0 is the empty set at its beginning.
func (s *Snapshot) Generation() uint64 { return s.generation }

// Len is the number of fences.
func (s *Snapshot) Len() int { return s.table.Fences }

// Bounds is the smallest box around all fences; Empty if there is none.
func (s *Snapshot) Bounds() geometry.Box { return s.bounds }

// HasSettings reports whether a fence has settings: see geojson.Settings.
func (s *Snapshot) HasSettings() bool { return s.table.Settings > 0 }

// NextExpiry returns when the first fence expires; zero if none does. It looks at every fence of a
// set in which one expires.
func (s *Snapshot) NextExpiry() (first time.Time) {
	if s.table.Expiring == 0 {
		return first
	}
	for e := range s.table.All() {
		own := e.Fence.Settings()
		if own != nil && !own.Expires.IsZero() && (first.IsZero() || own.Expires.Before(first)) {
			first = own.Expires
		}
	}
	return first
}

// Stats describes the index.
func (s *Snapshot) Stats() Stats {
	x := s.index.Stats()
	return Stats{Kind: Kind(x.Kind), Fences: x.Fences, Parts: x.Parts, Edges: x.Edges + s.table.Lines, Bytes: x.Bytes}
}

// Append appends to dst the refs of the fences that hold the point, ascending and without
// duplicates. lon, lat in degrees WGS84. It does not allocate if dst has room.
func (s *Snapshot) Append(dst []Ref, lon, lat float64) []Ref {
	return s.index.Append(dst, lon, lat)
}

// AppendBatch appends one answer for each point to dst. It panics if lon and lat differ in
// length. It does not allocate if dst has room.
func (s *Snapshot) AppendBatch(dst *Batch, lon, lat []float64) {
	s.index.AppendBatch((*index.Answers)(dst), lon, lat)
}

// Fence is the fence of r; nil if it was deleted or never existed. It must not be changed.
func (s *Snapshot) Fence(r Ref) *Fence {
	if e := s.table.Get(r); e != nil {
		return e.Fence
	}
	return nil
}

// Lookup is the ref of the fence with the key.
func (s *Snapshot) Lookup(key string) (Ref, bool) { return s.keys.get(key) }

// All yields the fences by ascending ref. They must not be changed.
func (s *Snapshot) All() iter.Seq2[Ref, *Fence] {
	return func(yield func(Ref, *Fence) bool) {
		for e := range s.table.All() {
			if !yield(e.Ref, e.Fence) {
				return
			}
		}
	}
}

// Findings lists the defects found in the data that the set was made of: first those of
// files and of features that gave no fence, then those of the fences by ascending ref. The
// findings of a fence go when it is replaced or deleted.
func (s *Snapshot) Findings() []geojson.Finding {
	all := slices.Clone(s.findings)
	for e := range s.table.All() {
		all = append(all, e.Findings...)
	}
	return all
}

// WriteGeoJSON writes a FeatureCollection of the set by ascending ref, in which the id of
// each Feature is its key. It passes on the errors of w.
func (s *Snapshot) WriteGeoJSON(w io.Writer) error {
	return geojson.WriteGeoJSON(w, func(yield func(*Fence) bool) {
		for e := range s.table.All() {
			f := *e.Fence
			f.ID, _ = json.Marshal(f.Key) // a string always marshals
			if !yield(&f) {
				return
			}
		}
	})
}

// Batch holds answers in compressed sparse rows: answer i is Refs[Offsets[i]:Offsets[i+1]].
// The zero Batch is ready to use. One holds at most 2^32-1 refs.
type Batch struct {
	Offsets []uint32
	Refs    []Ref
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.Offsets, b.Refs = b.Offsets[:0], b.Refs[:0] }

// Len is the number of answers.
func (b *Batch) Len() int { return max(len(b.Offsets)-1, 0) }

// Answer is the i-th answer, borrowed until the batch changes.
func (b *Batch) Answer(i int) []Ref { return b.Refs[b.Offsets[i]:b.Offsets[i+1]] }

// Stats describes an index. Edges are those of areas and of lines. Bytes is an estimate of what it
// holds beside the fences' own geometry and properties.
type Stats struct {
	Kind   Kind
	Fences int
	Parts  int
	Edges  int
	Bytes  int64
}
