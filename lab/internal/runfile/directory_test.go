package runfile

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/load"
	"paddock/load/histogram"
)

// files stands for a file system; a file of a name in full takes so many bytes.
type files struct {
	written map[string]*bytes.Buffer
	full    map[string]int
}

type file struct {
	*bytes.Buffer
	left int // -1 = enough
}

var errFull = errors.New("no space left on device")

func (f *file) Write(b []byte) (int, error) {
	if f.left >= 0 && len(b) > f.left {
		n, _ := f.Buffer.Write(b[:f.left])
		f.left = 0
		return n, errFull
	}
	if f.left >= 0 {
		f.left -= len(b)
	}
	return f.Buffer.Write(b)
}

func (f *file) Close() error { return nil }

func (f *files) create(name string) (io.WriteCloser, error) {
	left, full := f.full[name]
	if !full {
		left = -1
	} else if left < 0 {
		return nil, errFull
	}
	f.written[name] = &bytes.Buffer{}
	return &file{f.written[name], left}, nil
}

// interval is second number i of a run in which times are about ns.
func interval(i int, ns int64) *load.Interval {
	v := &load.Interval{
		Start: time.Duration(i) * time.Second, Length: time.Second, Sent: 100, Done: 100,
		Response: histogram.New(), Service: histogram.New(), Lag: histogram.New(),
		Connect: histogram.New(), FirstByte: histogram.New(), InFlight: 1,
	}
	v.Failed[load.ClassOK] = 100
	v.Response.RecordN(ns+int64(i%7), 100)
	v.Service.RecordN(ns, 100)
	v.Lag.RecordN(int64(i%5), 100)
	return v
}

func resultOf(v *load.Interval) *load.Result {
	return &load.Result{Elapsed: v.Length, Total: *v, InTime: v.Done}
}

// When a disk is full the run goes on, and the document lists the missing files.
func TestDiskFull(t *testing.T) {
	f := &files{written: map[string]*bytes.Buffer{}, full: map[string]int{
		LogFile: 2_000, SecondsCSVFile: -1, LagFile: 10,
	}}
	d := create("", f.create)
	r := NewRecorder(load.Plan{Codec: &load.Raw{}, Address: "x", Duration: time.Minute}, d)
	for i := range 30 {
		r.Interval(interval(i, 5_000))
	}
	result := resultOf(interval(0, 5_000))
	doc := r.Document(nil, result)
	if len(doc.Missing) != 2 {
		t.Errorf("while it runs: %q", doc.Missing)
	}
	if err := d.Finish(doc, result); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{LogFile, SecondsCSVFile, LagFile} {
		if !slices.Contains(doc.Missing, name+": "+errFull.Error()) {
			t.Errorf("%s is not said to be missing: %q", name, doc.Missing)
		}
	}
	if len(doc.Missing) != 3 || !strings.Contains(f.written[RunFile].String(), "no space left") {
		t.Errorf("missing: %q", doc.Missing)
	}
	if n := strings.Count(f.written[SecondsFile].String(), "\n"); n != 30 {
		t.Errorf("%d lines of seconds", n)
	}
	if n := f.written[LogFile].Len(); n != 2_000 {
		t.Errorf("%d bytes of the log", n)
	}
}

// The caller gets the error if the document cannot be written.
func TestNoDocument(t *testing.T) {
	f := &files{written: map[string]*bytes.Buffer{}, full: map[string]int{RunFile: 5}}
	d := create("", f.create)
	r := NewRecorder(load.Plan{Codec: &load.Raw{}, Address: "x", Duration: time.Minute}, d)
	result := resultOf(interval(0, 5_000))
	if err := d.Finish(r.Document(nil, result), result); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}

// discard is a disk of any size.
func discard(string) (io.WriteCloser, error) { return nopCloser{io.Discard}, nil }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// Half an hour takes as much memory as five minutes.
func TestMemoryIsFlat(t *testing.T) {
	r := NewRecorder(load.Plan{Codec: &load.Raw{}, Address: "x", Duration: time.Hour}, create("", discard))
	v := interval(0, 5_000)
	heap := func(seconds int) uint64 {
		for i := range seconds {
			v.Start = time.Duration(i) * time.Second
			v.Response.Record(int64(i%1000) * 1000)
			r.Interval(v)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	early := heap(300)
	late := heap(1800)
	if late > early+1<<20 {
		t.Errorf("%d KiB after five minutes, %d after half an hour", early>>10, late>>10)
	}
	runtime.KeepAlive(r)
}

// A series that is thinned keeps its mean.
func TestSeries(t *testing.T) {
	var s series
	const n = 10_000
	for i := range n {
		s.add(float64(i))
	}
	var sum float64
	for _, v := range s.points {
		sum += v
	}
	covered := float64(len(s.points) * s.span)
	if mean := sum / float64(len(s.points)); mean != (covered-1)/2 || covered < n-float64(s.span) || len(s.points) >= maxSeconds {
		t.Errorf("%d points of %d seconds with mean %v", len(s.points), s.span, mean)
	}
}

func TestPhases(t *testing.T) {
	p := &load.Plan{Warmup: 2 * time.Second, Duration: 3 * time.Second}
	for at, want := range map[time.Duration]Phase{0: Warmup, 1999 * time.Millisecond: Warmup, 2 * time.Second: Measured, 4 * time.Second: Measured, 5 * time.Second: Grace} {
		if got := phaseOf(p, &load.Interval{Start: at}); got != want {
			t.Errorf("%v: %s, want %s", at, got, want)
		}
	}
}
