package fence

import (
	"encoding/json"
	"io"
	"iter"
	"slices"
)

// Snapshot is a set at one moment. It is immutable, and safe for any number of goroutines.
type Snapshot struct {
	generation uint64
	index      index
	table      *table
	keys       *keys
	bounds     Box
	findings   []Finding // of the file and of features that gave no fence
}

// Generation counts the publications of the set: 0 is the empty set at its beginning.
func (s *Snapshot) Generation() uint64 { return s.generation }

// Len is the number of fences.
func (s *Snapshot) Len() int { return s.table.fences }

// Bounds is the smallest box around all fences; Empty if there is none.
func (s *Snapshot) Bounds() Box { return s.bounds }

// Stats describes the index.
func (s *Snapshot) Stats() Stats {
	x := s.index.Stats()
	return Stats{Kind: Kind(x.kind), Fences: x.fences, Parts: x.parts, Edges: x.edges, Bytes: x.bytes}
}

// Append appends to dst the refs of the fences that hold the point, ascending and without
// duplicates. lon, lat in degrees WGS84. It does not allocate if dst has room.
func (s *Snapshot) Append(dst []Ref, lon, lat float64) []Ref { return s.index.Append(dst, lon, lat) }

// AppendBatch appends one answer for each point to dst. It panics if lon and lat differ in
// length. It does not allocate if dst has room.
func (s *Snapshot) AppendBatch(dst *Batch, lon, lat []float64) {
	s.index.AppendBatch((*answers)(dst), lon, lat)
}

// Fence is the fence of r; nil if it was deleted or never existed. It must not be changed.
func (s *Snapshot) Fence(r Ref) *Fence {
	if e := s.table.get(r); e != nil {
		return e.fence
	}
	return nil
}

// Lookup is the ref of the fence with the key.
func (s *Snapshot) Lookup(key string) (Ref, bool) { return s.keys.get(key) }

// All yields the fences by ascending ref. They must not be changed.
func (s *Snapshot) All() iter.Seq2[Ref, *Fence] {
	return func(yield func(Ref, *Fence) bool) {
		for e := range s.table.all() {
			if !yield(e.ref, e.fence) {
				return
			}
		}
	}
}

// Findings lists the defects found in the data that the set was made of: first those of
// files and of features that gave no fence, then those of the fences by ascending ref. The
// findings of a fence go when it is replaced or deleted.
func (s *Snapshot) Findings() []Finding {
	all := slices.Clone(s.findings)
	for e := range s.table.all() {
		all = append(all, e.findings...)
	}
	return all
}

// WriteGeoJSON writes a FeatureCollection of the set by ascending ref, in which the id of
// each Feature is its key. It passes on the errors of w.
func (s *Snapshot) WriteGeoJSON(w io.Writer) error {
	return WriteGeoJSON(w, func(yield func(*Fence) bool) {
		for e := range s.table.all() {
			f := *e.fence
			f.ID, _ = json.Marshal(f.Key) // a string always marshals
			if !yield(&f) {
				return
			}
		}
	})
}
