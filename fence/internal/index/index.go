// Package index has the table of a set's fences, and the kinds of index that filter them: brute
// force, boxes, groups of boxes, quadtrees, R-tree and S2. A filter proposes fences, and the exact
// predicate of package geometry decides. Package cellmap has the default kind.
package index

import (
	"slices"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// Index finds the fences that hold a point. It is immutable and safe for any number of
// goroutines. Every kind gives the same answers.
type Index interface {
	// Append appends to dst the refs of the fences that hold the point, ascending and
	// without duplicates. lon, lat in degrees WGS84. It does not allocate if dst has room.
	Append(dst []geojson.Ref, lon, lat float64) []geojson.Ref

	// AppendBatch appends one answer for each point to dst. It panics if lon and lat differ
	// in length. It does not allocate if dst has room.
	AppendBatch(dst *Answers, lon, lat []float64)

	// Stats describes the index.
	Stats() Stats
}

// Stats describes an index. bytes is an estimate of what it holds beside the fences' own
// geometry and properties.
type Stats struct {
	Kind   string
	Fences int
	Parts  int
	Edges  int
	Bytes  int64
}

// Options are the settings of a writer. All have been checked.
type Options struct {
	Kind    string // for Stats
	Zoom    int    // the level of the tiles or cells
	Parents []geometry.MultiPolygon
	Rule    geometry.Rule
}

// Answers is fence.Batch.
type Answers struct {
	Offsets []uint32
	Refs    []geojson.Ref
}

// AppendEach fills the batch by one call of find for each point.
func (b *Answers) AppendEach(lon, lat []float64, find func(dst []geojson.Ref, lon, lat float64) []geojson.Ref) {
	b.Begin(lon, lat)
	for i := range lon {
		b.Refs = find(b.Refs, lon[i], lat[i])
		b.Offsets = append(b.Offsets, uint32(len(b.Refs)))
	}
}

// Begin makes the batch ready for the answers for columns of one length.
func (b *Answers) Begin(lon, lat []float64) {
	if len(lon) != len(lat) {
		panic("fence: AppendBatch: lon and lat differ in length")
	}
	if len(b.Offsets) == 0 {
		b.Offsets = append(b.Offsets, 0)
	}
}

// Writer builds the indexes of one set, one after the other. It belongs to the set's writer;
// what it publishes is immutable, however the writer goes on.
type Writer interface {
	// Replace takes out old and puts in its successor. Either may be nil. Entries are
	// put in by ascending ref at first, in any order later.
	Replace(old, successor *Entry)
	// Publish gives the index of what is in now. t holds the same entries.
	Publish(t *Table) Index
}

// filter finds the fences that hold a point by discarding most of the others and asking the
// one exact predicate about the rest. It is immutable.
type filter interface {
	// Find appends the refs of fences that hold p, in any order and with repetitions. p is
	// finite and as given: there may be no fence that far out.
	Find(dst []geojson.Ref, p geometry.Point) []geojson.Ref
	Stats() Stats
}

// filtered makes an index of a filter.
type filtered struct {
	filter
	rule geometry.Rule
}

var _ Index = filtered{}

// Append implements index.
//
// hot: guarded by BenchmarkAppend and the conformance suite's "does not allocate".
func (x filtered) Append(dst []geojson.Ref, lon, lat float64) []geojson.Ref {
	p, ok := geometry.Normalize(lon, lat)
	if !ok {
		return dst
	}
	from := len(dst)
	dst = x.Find(dst, p)
	if x.rule == geometry.Closed && p.Lon == -180 {
		p.Lon = 180 // no part holds it, but it may be on an edge
		dst = x.Find(dst, p)
	}
	return SortTail(dst, from)
}

func (x filtered) AppendBatch(dst *Answers, lon, lat []float64) { dst.AppendEach(lon, lat, x.Append) }

// SortTail makes dst[from:] ascending and drops repetitions from it.
func SortTail(dst []geojson.Ref, from int) []geojson.Ref {
	if len(dst)-from < 2 {
		return dst
	}
	slices.Sort(dst[from:])
	return dst[:from+len(slices.Compact(dst[from:]))]
}
