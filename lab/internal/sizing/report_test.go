package sizing

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/results"
)

// A load's figures are those of its window, and it is held if nearly all was reached.
func TestCells(t *testing.T) {
	c := Cell{Vehicles: 1000, Every: 10, Door: "wire", Asked: 100}
	grown := doors.Reading{Accepted: 1000, Events: 20, CPU: 500 * time.Millisecond, Written: 5000, Resident: 7 << 20}
	c.fill(&doors.Window{Positions: 1000, Elapsed: 10 * time.Second, Latencies: []time.Duration{time.Millisecond, 3 * time.Millisecond}}, &grown)
	want := Cell{
		Vehicles: 1000, Every: 10, Door: "wire", Asked: 100, Reached: 100, Events: 2, CPU: 0.05, Each: 500, Resident: 7 << 20, Written: 500, P50: 3000, P99: 3000,
	}
	if c != want || !c.Held() {
		t.Errorf("%+v, want %+v", c, want)
	}
	if c.Reached = 97; c.Held() {
		t.Error("97 % are held")
	}
}

// The batches of a rate come ten times a second over each connection, unless that makes them larger
// than the bound.
func TestBatches(t *testing.T) {
	for rate, want := range map[float64]int{1: 1, 100: 5, 10_000: 500, 1e6: maxBatch, 0: maxBatch} {
		if got := newSender(doors.Wire, rate).Batch; got != want {
			t.Errorf("%g a second: %d, want %d", rate, got, want)
		}
	}
	if got := newSender(doors.HTTP, 1e6).Batch; got != 1 {
		t.Errorf("%d positions in a request", got)
	}
}

// The report names the figures, in text and as the files of docs/results have them.
func TestReport(t *testing.T) {
	r := newReport(&Options{Duration: time.Second})
	r.Subject, r.FileSystem, r.Busy, r.Machine.Cores = "2 sets", "ext4", 9, 2
	r.Cells = []Cell{{Vehicles: 1000, Every: 10, Door: "http", Asked: 100, Reached: 99, CPU: 0.5, Resident: 5e6, P99: 1500}}
	r.Stored = []Stored{{Vehicles: 5, Every: 1, Positions: 1000, Events: 10, Bytes: 5000, PerPosition: 5, History: 2, PerEvent: 600}}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2 sets; disk: ext4\n", "load average 9.0 on 2 cores", "1,000   10 s  http            0          100     99.0", "5.00 MB", "1.50ms",
		"a day of 5 vehicles, a position each 1 s: 5.00 kB for 1,000 positions and 10 events, 5.0 bytes a position, 2.0 of them history; 600 bytes an event\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	text.Reset()
	if err := results.Write(&text, r); err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal([]byte(text.String()), &again); err != nil || again.Cells[0] != r.Cells[0] || again.Stored[0] != r.Stored[0] {
		t.Errorf("%v: %s", err, text.String())
	}
}
