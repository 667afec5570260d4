package report

import (
	"bytes"
	"io"
	"runtime"
	"testing"
	"time"

	"paddock/lab/internal/report/live"
	"paddock/lab/internal/runfile"
	"paddock/load"
	"paddock/load/histogram"
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
	points := series.points()
	for _, p := range points {
		ok += p.OK
	}
	first, last := points[0], points[len(points)-1]
	if n := len(points); ok != day*100 || n > maxPoints || n < maxPoints/2 || first.Start != 0 || last.Start+last.Length != plan.Duration {
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

// The data of a run of a day stays within 4 MiB, even if every two seconds have response times of
// all magnitudes, and different service times.
func TestKeepsLittle(t *testing.T) {
	const seconds, bound = 700, 4 << 20
	plan := load.Plan{Address: "host:80", Codec: &load.Raw{}, Duration: seconds * time.Second}
	v := &load.Interval{Length: time.Second, Response: histogram.New(), Service: histogram.New(), Lag: histogram.New()}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	series, recorder := &Series{}, runfile.NewRecorder(plan, nil)
	for s := range int64(seconds) {
		v.Start = time.Duration(s) * time.Second
		v.Response.Reset()
		v.Service.Reset()
		half := int(s%2) * histogram.Buckets / 2
		for at := half + 1 + int(s/2%32); at < half+histogram.Buckets/2; at += 32 {
			ns := histogram.RangeAt(at).High
			v.Response.RecordN(ns, 1000)
			v.Service.RecordN(ns-1, 1000)
		}
		series.Interval(v)
		recorder.Interval(v)
	}
	if kept := heap() - before; kept > bound {
		t.Errorf("%d KiB are kept", kept>>10)
	}
	runtime.KeepAlive([]any{series, recorder, v})
}

// maxPage bounds the size of a page whose seconds have a hundred rows of times each.
const maxPage = 2 << 20
