package fence

import "slices"

// index finds the fences that hold a point. It is immutable and safe for any number of
// goroutines. Every kind gives the same answers.
type index interface {
	// Append appends to dst the refs of the fences that hold the point, ascending and
	// without duplicates. lon, lat in degrees WGS84. It does not allocate if dst has room.
	Append(dst []Ref, lon, lat float64) []Ref

	// AppendBatch appends one answer for each point to dst. It panics if lon and lat differ
	// in length. It does not allocate if dst has room.
	AppendBatch(dst *answers, lon, lat []float64)

	// Stats describes the index.
	Stats() indexStats
}

// indexStats describes an index. bytes is an estimate of what it holds beside the fences' own
// geometry and properties.
type indexStats struct {
	kind   string
	fences int
	parts  int
	edges  int
	bytes  int64
}

// indexOptions are the settings of a writer. All have been checked.
type indexOptions struct {
	kind    string // for Stats
	zoom    int    // the level of the tiles or cells
	parents []MultiPolygon
	rule    rule
}

// answers is fence.Batch.
type answers struct {
	Offsets []uint32
	Refs    []Ref
}

// appendEach fills the batch by one call of find for each point.
func (b *answers) appendEach(lon, lat []float64, find func(dst []Ref, lon, lat float64) []Ref) {
	b.begin(lon, lat)
	for i := range lon {
		b.Refs = find(b.Refs, lon[i], lat[i])
		b.Offsets = append(b.Offsets, uint32(len(b.Refs)))
	}
}

// begin makes the batch ready for the answers for columns of one length.
func (b *answers) begin(lon, lat []float64) {
	if len(lon) != len(lat) {
		panic("fence: AppendBatch: lon and lat differ in length")
	}
	if len(b.Offsets) == 0 {
		b.Offsets = append(b.Offsets, 0)
	}
}

// writer builds the indexes of one set, one after the other. It belongs to the set's writer;
// what it publishes is immutable, however the writer goes on.
type writer interface {
	// replace takes out old and puts in its successor. Either may be nil. Entries are
	// put in by ascending ref at first, in any order later.
	replace(old, successor *entry)
	// publish gives the index of what is in now. t holds the same entries.
	publish(t *table) index
}

// filter finds the fences that hold a point by discarding most of the others and asking the
// one exact predicate about the rest. It is immutable.
type filter interface {
	// find appends the refs of fences that hold p, in any order and with repetitions. p is
	// finite and as given: there may be no fence that far out.
	find(dst []Ref, p Point) []Ref
	Stats() indexStats
}

// filtered makes an index of a filter.
type filtered struct {
	filter
	rule rule
}

var _ index = filtered{}

// Append implements index.
//
// hot: guarded by BenchmarkAppend and the conformance suite's "does not allocate".
func (x filtered) Append(dst []Ref, lon, lat float64) []Ref {
	p, ok := normalize(lon, lat)
	if !ok {
		return dst
	}
	from := len(dst)
	dst = x.find(dst, p)
	if x.rule == closed && p.Lon == -180 {
		p.Lon = 180 // no part holds it, but it may be on an edge
		dst = x.find(dst, p)
	}
	return sortTail(dst, from)
}

func (x filtered) AppendBatch(dst *answers, lon, lat []float64) { dst.appendEach(lon, lat, x.Append) }

// sortTail makes dst[from:] ascending and drops repetitions from it.
func sortTail(dst []Ref, from int) []Ref {
	if len(dst)-from < 2 {
		return dst
	}
	slices.Sort(dst[from:])
	return dst[:from+len(slices.Compact(dst[from:]))]
}
