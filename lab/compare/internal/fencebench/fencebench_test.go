package fencebench

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"paddock/fence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wrong gives the answers of a set, but for one fence that it never finds.
type wrong struct {
	index
	without fence.Ref
}

func (w wrong) find(dst []fence.Ref, lon, lat float64) []fence.Ref {
	for _, ref := range w.index.find(nil, lon, lat) {
		if ref != w.without {
			dst = append(dst, ref)
		}
	}
	return dst
}

// An index that answers otherwise is not timed.
func TestAnswersAreCompared(t *testing.T) {
	b := &Bench{Dir: t.TempDir()}
	s, err := b.scene()
	if err != nil {
		t.Fatal(err)
	}
	x, err := b.index(leading)
	if err != nil {
		t.Fatal(err)
	}
	p := s.points[buses][0]
	at := x.find(nil, p.Lon, p.Lat)
	if len(at) != 1 {
		t.Fatalf("%v is in %v", p, at)
	}
	for _, name := range []string{leading, golangGeo} {
		if err := b.agree(s, name, wrong{x, at[0]}); err == nil || !strings.Contains(err.Error(), "the answer for ") {
			t.Errorf("as %s: %v", name, err)
		}
	}
	// Near an edge another program may answer otherwise.
	onEdge := s.fences[at[0]].Geometry[0][0][0]
	if !s.excused(nil, at, onEdge) {
		t.Errorf("%v, a vertex of %d, is not excused", onEdge, at[0])
	}
}
