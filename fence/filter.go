package fence

import "unsafe"

// filter finds the fences that hold a point by discarding most of the others and asking the
// one exact predicate about the rest. It is immutable.
type filter interface {
	// find appends the refs of fences that hold p, in any order and with repetitions. p is
	// finite and as given: there may be no fence that far out.
	find(dst []Ref, p Point) []Ref
	Stats() Stats
}

// filtered makes an Index of a filter.
type filtered struct {
	filter
	rule rule
}

var _ Index = filtered{}

// Append implements Index.
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

func (x filtered) AppendBatch(dst *Batch, lon, lat []float64) { dst.appendEach(lon, lat, x.Append) }

// preparedBytes estimates the memory of the parts' chains.
func (t *table) preparedBytes() int64 {
	return int64(t.edges/chainEdges+t.parts) * int64(unsafe.Sizeof(chain{}))
}
