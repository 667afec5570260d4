package sizing

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/figure"
	"paddock/lab/internal/results"
)

// Report is the figures of a measurement. The first members are those of every file of
// docs/results.
type Report struct {
	results.Head

	FileSystem string   `json:"file_system"`
	Busy       float64  `json:"load_average_before"` // of a minute; 0 = unknown
	Load       string   `json:"load"`
	Sets       Sets     `json:"sets"`
	Cells      []Cell   `json:"cells"`
	Stored     []Stored `json:"stored"`
}

// Sets is the sum of the sets of fences.
type Sets struct {
	Fences     int   `json:"fences"`
	Edges      int   `json:"edges"`
	IndexBytes int64 `json:"index_bytes"`
}

// Seconds is a time in seconds.
type Seconds float64

func (s Seconds) String() string { return strconv.FormatFloat(float64(s), 'g', -1, 64) + " s" }

// Cell is the figures of one load.
type Cell struct {
	Vehicles    int     `json:"vehicles"`
	Every       Seconds `json:"every_s"` // between two positions of a vehicle
	Door        string  `json:"door"`
	Subscribers int     `json:"subscribers"`

	Asked    float64 `json:"asked_per_s"` // positions
	Reached  float64 `json:"reached_per_s"`
	Events   float64 `json:"events_per_s"`
	CPU      float64 `json:"processors"`      // in use by the platform
	Each     float64 `json:"us_per_position"` // of processor time
	Resident int64   `json:"resident_bytes"`
	Written  float64 `json:"written_bytes_per_s"`
	P50      float64 `json:"ack_p50_us"` // from the time at which a batch was due
	P99      float64 `json:"ack_p99_us"`
}

// held is the part of the asked rate that has to be reached.
const held = 0.98

// Held reports whether the platform, the load beside it and the machine kept up.
func (c *Cell) Held() bool { return c.Reached >= held*c.Asked }

// fill computes the figures of a load.
func (c *Cell) fill(w *doors.Window, grown *doors.Reading) {
	seconds := w.Elapsed.Seconds()
	cpu := grown.CPU
	c.Reached, c.Events = float64(w.Positions)/seconds, float64(grown.Events)/seconds
	c.CPU, c.Each = cpu.Seconds()/seconds, results.Micros(cpu)/float64(max(w.Positions, 1))
	c.Resident, c.Written = grown.Resident, float64(grown.Written)/seconds
	times := results.NewTimes(w.Latencies)
	c.P50, c.P99 = times.P50, times.P99
}

func (c *Cell) text() string {
	return fmt.Sprintf("%s of %s positions/s, %.2f processors, %s, ack p99 %s", figure.Number(c.Reached), figure.Number(c.Asked), c.CPU,
		figure.Bytes(c.Resident), figure.Micros(c.P99))
}

func newReport(o *Options) *Report {
	return &Report{
		Head: results.NewHead(1, o.Duration, min(warmup, o.Duration)), Busy: results.Busy(),
		Load: fmt.Sprintf("wire: %d connections, 10 batches a second each, at most %d positions in one; http: one position a request, at most %d under way",
			conns, maxBatch, phones),
	}
}

// readSets returns the sum of the sets of a platform.
func readSets(ctx context.Context, host string) (s Sets, err error) {
	_, text, err := doors.Get(ctx, host, "/v1/sets")
	if err != nil {
		return s, err
	}
	var list struct {
		Sets []struct {
			Fences, Edges int
			Index         struct{ Bytes int64 }
		}
	}
	err = json.Unmarshal(text, &list)
	for _, set := range list.Sets {
		s.Fences, s.Edges, s.IndexBytes = s.Fences+set.Fences, s.Edges+set.Edges, s.IndexBytes+set.Index.Bytes
	}
	return s, err
}

// WriteText writes the report for a person.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s; disk: %s\n%s; windows of %s\n", r.Subject, r.FileSystem, r.Load, r.Duration)
	if r.Busy > float64(r.Machine.Cores)/4 {
		fmt.Fprintf(w, "others used the machine before this run: load average %.1f on %d cores\n", r.Busy, r.Machine.Cores)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\nvehicles\tevery\tdoor\tsubscribers\tpositions/s\treached\tevents/s\tprocessors\tmemory\twritten/s\tack p50\tp99\t")
	for i := range r.Cells {
		c := &r.Cells[i]
		fmt.Fprintf(table, "%s\t%v\t%s\t%d\t%s\t%s\t%s\t%.2f\t%s\t%s\t%s\t%s\t\n", figure.Count(int64(c.Vehicles)), c.Every, c.Door, c.Subscribers,
			figure.Number(c.Asked), figure.Number(c.Reached), figure.Number(c.Events), c.CPU, figure.Bytes(c.Resident), figure.Bytes(int64(c.Written)),
			figure.Micros(c.P50), figure.Micros(c.P99))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, s := range r.Stored {
		fmt.Fprintf(w, "a day of %d vehicles, a position each %v: %s for %s positions and %s events, %.1f bytes a position, %.1f of them history; %.0f bytes an event\n",
			s.Vehicles, s.Every, figure.Bytes(s.Bytes), figure.Count(s.Positions), figure.Count(s.Events), s.PerPosition, s.History, s.PerEvent)
	}
	return nil
}
