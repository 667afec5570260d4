package report

import (
	"bytes"
	"io"
	"runtime"
	"testing"
	"time"

	"paddock/internal/histogram"
	"paddock/internal/lab/live"
	"paddock/internal/lab/runfile"
	"paddock/load"
)

// Whatever is kept of a run while it goes on takes as much memory after a day of intervals
// of two minutes as after half of it: the bounds are reached by then. The report and the
// document stay small too.
func TestDay(t *testing.T) {
	const length, day = 2 * time.Minute, 720
	plan := &load.Plan{Address: "host:80", Codec: &load.Raw{}, Arrivals: load.Constant{PerSecond: 100}, Duration: day * length}
	series, recorder, view := &Series{}, runfile.NewRecorder(*plan, nil), &live.View{Out: io.Discard}
	v := &load.Interval{
		Length: length, Target: 100, Sent: 100, Done: 100, InFlight: 1, MaxInFlight: 2,
		Response: histogram.New(), Service: histogram.New(), Lag: histogram.New(),
	}
	v.Failed[load.ClassOK] = 100
	total := histogram.New()
	heap := func(from, to int) uint64 {
		for s := from; s < to; s++ {
			v.Start = time.Duration(s) * length
			v.Response.Reset()
			for i := range int64(100) {
				ns := (1 + 5*i + int64(s%500)) * int64(time.Millisecond)
				v.Response.Record(ns)
				total.Record(ns)
			}
			for _, o := range []load.Observer{series, recorder, view} {
				o.Interval(v)
			}
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	early := heap(0, day/2)
	late := heap(day/2, day)
	if late > early+512<<10 {
		t.Errorf("%d KiB after half a day, %d after a day", early>>10, late>>10)
	}

	r := &Run{Plan: plan, Series: series, Result: &load.Result{Elapsed: plan.Duration, InTime: day * 100}}
	r.Result.Total = *v
	r.Result.Total.Response, r.Result.Total.Length = total, plan.Duration
	r.Document = recorder.Document(nil, r.Result)
	var ok int64
	for _, p := range series.points {
		ok += p.OK
	}
	first, last := series.points[0], series.points[len(series.points)-1]
	if n := len(series.points); ok != day*100 || n > maxPoints || n < maxPoints/2 || first.Start != 0 || last.Start+last.Length != plan.Duration {
		t.Errorf("%d points from %v to %v, %d good", n, first.Start, last.Start+last.Length, ok)
	}
	var page, document bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := r.Document.Write(&document); err != nil {
		t.Fatal(err)
	}
	if page.Len() > maxPage || document.Len() > 64<<10 || r.Document.Steady == nil {
		t.Errorf("the page has %d bytes, the document %d", page.Len(), document.Len())
	}
}

// maxPage is what a page takes at most whose seconds have a hundred rows of times each.
const maxPage = 2 << 20
