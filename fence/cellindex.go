package fence

import "slices"

// cellIndex is a cellmap, and what has changed since it was built. It is immutable.
type cellIndex struct {
	base  *cellmap
	edits *cellEdits // nil = nothing has changed
	t     *table
	kind  string
}

var _ index = (*cellIndex)(nil)

// cellEdits is what has changed since a cellmap was built: mostly cells. A fence that these
// cannot take is in an R-tree, and apart if cells hold what it was before.
type cellEdits struct {
	patch *cellPatch
	apart []Ref       // ascending; cells do not count for them
	over  *rtreeIndex // nil = it has no fences, and none is apart
}

func (x *cellIndex) Append(dst []Ref, lon, lat float64) []Ref {
	if lon == 180 {
		lon = -180
	}
	p := Point{lon, lat} // what is not finite is in no cell
	if x.edits == nil && !x.twice(p) {
		return x.base.append(dst, p)
	}
	return x.appendEdited(dst, p)
}

// twice says whether p is asked for at the longitude 180 too, where it may be on an edge.
func (x *cellIndex) twice(p Point) bool { return p.Lon == -180 && x.base.rule == closed }

// appendEdited is Append where fences have changed, or p is to be asked for twice.
func (x *cellIndex) appendEdited(dst []Ref, p Point) []Ref {
	if x.twice(p) {
		from := len(dst)
		return sortTail(x.appendOnce(x.appendOnce(dst, p), Point{180, p.Lat}), from)
	}
	return x.appendOnce(dst, p)
}

func (x *cellIndex) appendOnce(dst []Ref, p Point) []Ref {
	switch {
	case x.edits == nil:
		return x.base.append(dst, p)
	case x.edits.over == nil:
		return x.edits.patch.append(dst, p)
	}
	return x.edits.appendBoth(dst, p)
}

// appendBoth appends what the cells and the R-tree have.
func (x *cellEdits) appendBoth(dst []Ref, p Point) []Ref {
	from := len(dst)
	dst = x.patch.append(dst, p)
	kept := dst[:from]
	for _, r := range dst[from:] {
		if _, apart := slices.BinarySearch(x.apart, r); !apart {
			kept = append(kept, r)
		}
	}
	return sortTail(x.over.find(kept, p), from)
}

func antimeridian(lon float64) bool { return lon == 180 || lon == -180 }

func (x *cellIndex) AppendBatch(dst *answers, lon, lat []float64) {
	switch {
	case x.edits != nil && x.edits.over != nil, x.base.rule == closed && slices.ContainsFunc(lon, antimeridian):
		dst.appendEach(lon, lat, x.Append)
	case x.edits != nil:
		dst.begin(lon, lat)
		x.edits.patch.appendBatch(dst, lon, lat)
	default:
		dst.begin(lon, lat)
		x.base.appendBatch(dst, lon, lat)
	}
}

func (x *cellIndex) Stats() indexStats {
	bytes := x.base.bytes()
	if e := x.edits; e != nil {
		bytes += e.patch.bytes + int64(4*len(e.apart))
		if e.over != nil {
			bytes += e.over.bytes()
		}
	}
	return x.t.stats(x.kind, bytes)
}
