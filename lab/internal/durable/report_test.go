package durable

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/results"
)

// rounds returns windows of a second with so many positions each.
func rounds(positions ...int64) (all []window) {
	for _, n := range positions {
		all = append(all, window{Window: doors.Window{Positions: n, Elapsed: time.Second, Latencies: []time.Duration{time.Millisecond}}, Reading: doors.Reading{Records: 2, Appending: time.Millisecond}})
	}
	return all
}

// A report has the ratios of the rounds, in text and as the files of docs/results have them.
func TestReport(t *testing.T) {
	o := &Options{Rounds: 3, Duration: time.Second, Objects: 10, Conns: 2, Batch: 1000, Window: 2}
	r := newReport(o)
	r.Busy, r.Machine.Cores = 3.25, 2
	r.FileSystem, r.Disk, r.Missing = "ext4 on /dev/x", &results.Times{Samples: 10, P50: 100, P99: 200}, "not here"
	r.addFeed(newFeed(durable, rounds(1, 1)))
	r.addFeed(newFeed(durable, rounds(100, 200, 300)))
	r.addFeed(newFeed(volatile, rounds(200, 200, 200)))
	r.addHTTP(&HTTP{Name: durable, Times: results.Times{Samples: 3, P50: 700, P99: 800}, rounds: []float64{700, 700, 700}, syncs: []float64{100, 100, 200}})
	r.addHTTP(&HTTP{Name: volatile, Times: results.Times{Samples: 3, P50: 50, P99: 60}, rounds: []float64{50, 50, 100}})
	r.Files = &Files{600, 3, 6000, 10}
	r.Recovery = []Recovery{{Objects: 10, Positions: 20, Bytes: 30, LookUp: 40, Restored: 50, Restarted: 10, Cursor: 60}}
	r.compare()
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"disk: ext4 on /dev/x\n",
		"10 objects, 2 connections, each with up to 2 batches of 1,000 positions",
		"others used the machine before this run: load average 3.2 on 2 cores",
		"p50 100µs, p99 200µs (10 writes)",
		"durable          200   100..300   1.00ms",
		"3 fdatasync + volatile  350µs",
		"10 objects         40.0ms        60.0ms          50.0ms",
		"tile38: not here",
		"6.00 kB in 3 files for 600 positions, 10.0 bytes each",
		"ratio: positions a second, durable to volatile: 1.00 (0.50 to 1.50)",
		"ratio: p50 over HTTP, durable to 3 fdatasync + volatile: 2.00 (1.00 to 2.00)",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
	var doc strings.Builder
	if err := results.Write(&doc, r); err != nil {
		t.Fatal(err)
	}
	var again struct {
		Rounds int
		Ratios []results.Ratio
		Feeds  []Feed
	}
	if err := json.Unmarshal([]byte(doc.String()), &again); err != nil {
		t.Fatal(err)
	}
	if again.Rounds != 3 || len(again.Ratios) != 2 || again.Ratios[0].Median != 1 || again.Feeds[0].PerRecord != 100 {
		t.Errorf("%s", &doc)
	}
}
