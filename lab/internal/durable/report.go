package durable

import (
	"fmt"
	"slices"
	"time"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/figure"
	"paddock/lab/internal/results"
)

// Report is the figures of a measurement. What was not measured is nil.
//
// The first members are those of every file of docs/results.
type Report struct {
	results.Head

	FileSystem string         `json:"file_system"`
	Busy       float64        `json:"load_average_before"` // of a minute; 0 = unknown
	Load       string         `json:"load"`
	Disk       *results.Times `json:"disk"` // of pwrite of 4 KiB with fdatasync
	Feeds      []*Feed        `json:"feeds"`
	HTTP       []*HTTP        `json:"http"`
	Files      *Files         `json:"files"`
	Recovery   []Recovery     `json:"recovery"`
	Missing    string         `json:"missing,omitempty"` // why there is no peer
}

// Millis is a time in milliseconds.
type Millis float64

// Feed is the figures of the load over many connections, of all rounds.
type Feed struct {
	Name       string          `json:"name"`
	PerSecond  results.Spread  `json:"positions_per_s"`
	P50        results.Spread  `json:"ack_p50_us"`
	P99        results.Spread  `json:"ack_p99_us"`
	CPU        *results.Spread `json:"server_us_per_position,omitempty"`
	Written    *results.Spread `json:"written_bytes_per_position,omitempty"` // as the kernel counts them
	PerEvent   float64         `json:"positions_per_event,omitempty"`
	PerRecord  float64         `json:"positions_per_record,omitempty"`
	Append     float64         `json:"append_mean_us,omitempty"` // of a record, until it is durable
	Appending  float64         `json:"append_share,omitempty"`   // of the time
	perSeconds []float64
}

// HTTP is the figures of one client with one position at a time.
type HTTP struct {
	Name string `json:"name"`
	results.Times
	rounds []float64 // median of each
	syncs  []float64 // that of the disk
}

// Files are the files of the journal after a clean end.
type Files struct {
	Positions   int64   `json:"positions"`
	Files       int     `json:"files"`
	Bytes       int64   `json:"bytes"`
	PerPosition float64 `json:"bytes_per_position"`
}

// Recovery is a start after kill -9, in milliseconds from the start of the process.
type Recovery struct {
	Objects   int    `json:"objects"`
	Positions int    `json:"positions"` // sent before
	Bytes     int64  `json:"bytes"`     // of the files that were left
	LookUp    Millis `json:"look_up_ms"`
	Restored  Millis `json:"restored_ms"`
	Restarted int    `json:"restored_objects"`
	Cursor    Millis `json:"cursor_ms"`
}

func newReport(o *Options) *Report {
	return &Report{
		Head: results.NewHead(o.Rounds, o.Duration, min(warmup, o.Duration)), Busy: results.Busy(),
		Load: fmt.Sprintf("%s objects, %d connections, each with up to %d batches of %s positions that are not acknowledged",
			figure.Count(int64(o.Objects)), o.Conns, o.Window, figure.Count(int64(o.Batch))),
	}
}

func newMillis(d time.Duration) Millis { return Millis(results.Micros(d) / 1000) }

// newFeed returns the figures of rounds.
func newFeed(name string, rounds []window) *Feed {
	f := &Feed{Name: name}
	var p50, p99, cpu, bytes []float64
	var all window
	known := true
	for _, w := range rounds {
		n := float64(w.Positions)
		f.perSeconds = append(f.perSeconds, n/w.Elapsed.Seconds())
		times := results.NewTimes(w.Latencies)
		p50, p99 = append(p50, times.P50), append(p99, times.P99)
		cpu, bytes = append(cpu, results.Micros(w.CPU)/n), append(bytes, float64(w.Written)/n)
		known = known && w.CPU > 0
		all.add(&w)
	}
	f.PerSecond, f.P50, f.P99 = results.NewSpread(f.perSeconds), results.NewSpread(p50), results.NewSpread(p99)
	if known {
		c, b := results.NewSpread(cpu), results.NewSpread(bytes)
		f.CPU, f.Written = &c, &b
	}
	if all.Events > 0 {
		f.PerEvent = float64(all.Positions) / float64(all.Events)
	}
	if all.Records > 0 && name != clusters { // a node writes after the servers, and waits for them alone
		f.PerRecord, f.Append = float64(all.Positions)/float64(all.Records), results.Micros(all.Appending)/float64(all.Records)
		f.Appending = all.Appending.Seconds() / all.Elapsed.Seconds()
	}
	return f
}

// add adds the counts of another window.
func (w *window) add(o *window) {
	w.Positions, w.Events, w.Records = w.Positions+o.Positions, w.Events+o.Events, w.Records+o.Records
	w.Elapsed, w.Appending = w.Elapsed+o.Elapsed, w.Appending+o.Appending
}

// addFeed takes the place of figures of the same name.
func (r *Report) addFeed(f *Feed) {
	r.Feeds = replace(r.Feeds, f, func(f *Feed) string { return f.Name })
}

func (r *Report) addHTTP(h *HTTP) {
	r.HTTP = replace(r.HTTP, h, func(h *HTTP) string { return h.Name })
}

func replace[T any](all []T, one T, name func(T) string) []T {
	if i := slices.IndexFunc(all, func(other T) bool { return name(other) == name(one) }); i >= 0 {
		all[i] = one
		return all
	}
	return append(all, one)
}

// bound names the base of the ratio of HTTP: three writes of 4 KiB and the volatile exchange.
const bound = "3 fdatasync + volatile"

// compare computes the ratios from the rounds so far.
func (r *Report) compare() {
	r.Ratios = r.Ratios[:0]
	feed := func(contender, base string) {
		a, b := r.feed(contender), r.feed(base)
		if a == nil || b == nil {
			return
		}
		r.Ratios = append(r.Ratios, results.Ratio{
			Goal: "feed", Title: "acknowledged positions over wire", Contender: contender, Base: base, Metric: "ops_per_s",
			Spread: results.Within(a.perSeconds, b.perSeconds),
		})
	}
	feed(durable, volatile)
	feed(clusters, durable)
	feed(durable, doors.PeerName)
	if len(r.HTTP) >= 2 && r.Disk != nil {
		kept, base := r.HTTP[0], slices.Clone(r.HTTP[1].rounds)
		for i := range base {
			base[i] += 3 * kept.syncs[i]
		}
		r.Ratios = append(r.Ratios, results.Ratio{
			Goal: "http", Title: "one HTTP client, one position at a time", Contender: durable, Base: bound, Metric: "p50_us",
			Spread: results.Within(kept.rounds, base),
		})
	}
}

func (r *Report) feed(name string) *Feed {
	for _, f := range r.Feeds {
		if f.Name == name {
			return f
		}
	}
	return nil
}
