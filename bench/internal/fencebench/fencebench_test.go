package fencebench

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/bench/internal/measure"
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

func TestWrksSummary(t *testing.T) {
	var m measure.Measurement
	out := "Requests/sec: 1\nsummary requests=2000 duration=1000000 bytes=99 errors=0 mean=1500 p50=1000 p90=2000 p99=3000 p999=4000 max=5000\n"
	if err := parseSummary(out, &m); err != nil {
		t.Fatal(err)
	}
	if m.Ops != 2000 || m.Elapsed != time.Second || m.Bytes != 99 || m.Latency.P50 != time.Millisecond || m.Latency.Max != 5*time.Millisecond {
		t.Errorf("got %+v", m)
	}
	for bad, want := range map[string]string{
		"wrk: unable to connect":                          "no summary",
		strings.Replace(out, "errors=0", "errors=3", 1):   "3 of 2000 requests failed",
		strings.Replace(out, "requests=2000", "two=2", 1): "wrk's summary",
		strings.Replace(out, "2000 d", "0 d", 1):          "no answer",
	} {
		if err := parseSummary(bad, &m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", bad, err, want)
		}
	}
}
