package geojson

import (
	"fmt"
	"math"
	"slices"

	"paddock/fence/geometry"
)

// pairBudget bounds the edges that are looked at for holes and parts within one another, per
// fence. It is spent only by thousands of rings whose boxes are stacked; the sweep, which
// finds all crossings, has no such bound.
const pairBudget = 20_000_000

// area is a geometry with what was found in it. Only a line that is no corridor has no parts.
type area struct {
	parts    geometry.MultiPolygon
	lines    geometry.MultiLine
	findings []Finding
}

// inspect drops rings without area, and returns all defects of a geometry whose coordinates are in
// range. written lists the defects that the geometry no longer shows. w is lent.
func inspect(mp geometry.MultiPolygon, written []ringDefect, w *workspace) area {
	in := inspector{many: len(mp) > 1, simple: true, budget: pairBudget, workspace: w}
	for _, d := range written {
		in.found(d.code, d.part, d.ring, d.at, "%s", d.reason)
	}
	in.tidy(mp)
	in.clear = in.join.clear(in.areas)
	rings := in.tidied
	for i, part := range mp {
		in.part(i, part, rings[:len(part)])
		rings = rings[len(part):]
	}
	if len(in.kept) == 0 {
		in.findings = append(in.findings, Finding{
			Feature: -1, Code: CodeNoArea, Fatal: true, Reason: "no ring with an area is left",
		})
	} else if in.simple && len(in.rings) > 1 {
		in.between()
	}
	return area{parts: in.kept, findings: in.findings}
}

// workspace is memory that inspections use one after the other. Nothing that they return
// points into it.
type workspace struct {
	join    boxJoin
	sweeper sweeper
	tidied  []geometry.Tidied // each ring of the fence in hand
	areas   []geometry.Ring   // of tidied, the rings that have an area
}

// inspector looks at the rings of one fence.
type inspector struct {
	*workspace
	many     bool // the fence has several parts
	clear    bool // no ring meets itself or another: there is nothing to sweep for
	simple   bool // no ring crosses itself
	budget   int
	findings []Finding

	kept  geometry.MultiPolygon // as given, without the rings that were dropped
	rings []tidyRing            // of kept
}

// tidyRing is a ring as tidy leaves it, with its place in the geometry as given.
type tidyRing struct {
	part, ring int
	vertices   geometry.Ring
}

func (in *inspector) found(c Code, part, ring int, at *geometry.Point, format string, args ...any) {
	if at != nil {
		at = &geometry.Point{Lon: at.Lon, Lat: at.Lat} // theirs may be in the workspace
	}
	where := fmt.Sprintf("ring %d: ", ring)
	if in.many {
		where = fmt.Sprintf("part %d ", part) + where
	}
	in.findings = append(in.findings, Finding{
		Feature: -1, Code: c, Reason: where + fmt.Sprintf(format, args...), At: at,
	})
}

func (in *inspector) tidy(mp geometry.MultiPolygon) {
	in.tidied, in.areas = in.tidied[:0], in.areas[:0]
	for _, part := range mp {
		for _, r := range part {
			t := geometry.TidyShared(r)
			in.tidied = append(in.tidied, t)
			if t.HasArea() {
				in.areas = append(in.areas, t.Ring)
			}
		}
	}
}

func (in *inspector) part(i int, part geometry.Polygon, rings []geometry.Tidied) {
	kept := part
	for j, r := range part {
		has := in.ring(i, j, r, &rings[j])
		switch {
		case !has && len(kept) == len(part): // the first to be dropped
			kept = slices.Clone(part[:j])
		case has && len(kept) < len(part):
			kept = append(kept, r)
		}
	}
	if len(kept) > 0 {
		in.kept = append(in.kept, kept)
	}
}

// ring looks at one ring by itself, and reports whether it has an area.
func (in *inspector) ring(part, index int, r geometry.Ring, t *geometry.Tidied) bool {
	if at, ok := longEdge(r); ok {
		in.found(CodeLongEdge, part, index, &at, "an edge spans over 180 degrees of longitude; it does not cross the antimeridian")
	}
	if !t.HasArea() {
		in.found(CodeDroppedRing, part, index, first(r), "%d vertices without an area: the ring is dropped", len(r))
		return false
	}
	if t.Repeats > 0 {
		in.found(CodeRepeatedVertex, part, index, &t.Repeat, "%d repeated", t.Repeats)
	}
	if t.Spikes > 0 {
		in.found(CodeSpike, part, index, &t.Spike, "%d, where the ring turns back over itself", t.Spikes)
	}
	in.rings = append(in.rings, tidyRing{part, index, t.Ring})
	if in.clear {
		return true
	}
	switch f := in.sweeper.run([]geometry.Ring{t.Ring}); f.kind {
	case faultCrossing:
		in.simple = false
		in.found(CodeSelfCrossing, part, index, &f.at, "two of its edges cross")
	case faultOverlap:
		in.simple = false
		in.found(CodeSelfCrossing, part, index, &f.at, "two of its edges overlap")
	case faultTouch:
		in.found(CodeSelfTouch, part, index, &f.at, "it touches itself")
	}
	return true
}

func first(r geometry.Ring) *geometry.Point {
	if len(r) == 0 {
		return nil
	}
	return &geometry.Point{Lon: r[0].Lon, Lat: r[0].Lat}
}

// longEdge gives the beginning of the first edge that spans over half the world. One along a pole
// is as it should be: so a ring around the pole is closed.
func longEdge(r geometry.Ring) (geometry.Point, bool) {
	for i, from := range r {
		to := r[(i+1)%len(r)]
		if math.Abs(to.Lon-from.Lon) > 180 && (from.Lat != to.Lat || math.Abs(to.Lat) != 90) {
			return from, true
		}
	}
	return geometry.Point{}, false
}

// between looks for rings that meet others, and if none crosses, for rings that are where
// they should not be.
func (in *inspector) between() {
	if in.clear {
		in.nesting()
		return
	}
	f := in.sweeper.run(in.areas)
	if f.kind != faultCrossing && f.kind != faultOverlap {
		in.nesting()
		return
	}
	verb := map[faultKind]string{faultCrossing: "crosses", faultOverlap: "shares an edge with"}[f.kind]
	a, b := in.rings[max(f.a, f.b)], in.rings[min(f.a, f.b)]
	if a.part == b.part {
		in.found(CodeRingsCross, a.part, a.ring, &f.at, "it %s ring %d", verb, b.ring)
		return
	}
	in.found(CodePartsOverlap, a.part, a.ring, &f.at, "it %s part %d ring %d", verb, b.part, b.ring)
}
