package durable

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"paddock/lab/internal/doors"
	"paddock/lab/internal/figure"
	"paddock/lab/internal/runfile"
)

// Report is the figures of a measurement. What was not measured is nil.
//
// The first members are those of every file of docs/results.
type Report struct {
	Date     time.Time `json:"date"`
	Machine  Machine   `json:"machine"`
	Command  []string  `json:"command"`
	Subject  string    `json:"subject"`
	Rounds   int       `json:"rounds"`
	Duration string    `json:"duration"`
	Warmup   string    `json:"warmup"`
	Ratios   []Ratio   `json:"ratios"`

	FileSystem string     `json:"file_system"`
	Busy       float64    `json:"load_average_before"` // of a minute; 0 = unknown
	Load       string     `json:"load"`
	Disk       *Times     `json:"disk"` // of pwrite of 4 KiB with fdatasync
	Feeds      []*Feed    `json:"feeds"`
	HTTP       []*HTTP    `json:"http"`
	Files      *Files     `json:"files"`
	Recovery   []Recovery `json:"recovery"`
	Missing    string     `json:"missing,omitempty"` // why there is no peer
}

// Machine is where it was measured.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	OS     string `json:"os"`
}

// Ratio is a figure of a contender divided by that of another, within each round.
type Ratio struct {
	Goal      string `json:"goal"`
	Title     string `json:"title"`
	Contender string `json:"contender"`
	Base      string `json:"base"`
	Metric    string `json:"metric"`
	Spread
}

// Spread is the median of some values, the smallest and the largest.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"min"`
	Most   float64 `json:"max"`
}

// Times are quantiles in microseconds.
type Times struct {
	Samples int     `json:"samples"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
}

// Millis is a time in milliseconds.
type Millis float64

// Feed is the figures of the load over many connections, of all rounds.
type Feed struct {
	Name       string  `json:"name"`
	PerSecond  Spread  `json:"positions_per_s"`
	P50        Spread  `json:"ack_p50_us"`
	P99        Spread  `json:"ack_p99_us"`
	CPU        *Spread `json:"server_us_per_position,omitempty"`
	Written    *Spread `json:"written_bytes_per_position,omitempty"` // as the kernel counts them
	PerEvent   float64 `json:"positions_per_event,omitempty"`
	PerRecord  float64 `json:"positions_per_record,omitempty"`
	Append     float64 `json:"append_mean_us,omitempty"` // of a record, until it is durable
	Appending  float64 `json:"append_share,omitempty"`   // of the time
	perSeconds []float64
}

// HTTP is the figures of one client with one position at a time.
type HTTP struct {
	Name string `json:"name"`
	Times
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
	r := &Report{
		Date: time.Now().UTC(), Rounds: o.Rounds, Duration: o.Duration.String(), Warmup: min(warmup, o.Duration).String(), Ratios: []Ratio{},
		Machine: Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH},
		Load: fmt.Sprintf("%s objects, %d connections, each with up to %d batches of %s positions that are not acknowledged",
			figure.Count(int64(o.Objects)), o.Conns, o.Window, figure.Count(int64(o.Batch))),
	}
	text, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(text), &r.Busy) // 0 if it is not there
	m := runfile.ReadManifest(os.Args, r.Date)
	r.Command = append([]string{"paddock"}, m.Argv[1:]...)
	if m.CPUModel != nil {
		r.Machine.CPU = *m.CPUModel
	}
	if m.Kernel != nil {
		r.Machine.Kernel = *m.Kernel
	}
	return r
}

func newMillis(d time.Duration) Millis { return Millis(micros(d) / 1000) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// newTimes sorts times.
func newTimes(times []time.Duration) *Times {
	slices.Sort(times)
	return &Times{Samples: len(times), P50: micros(quantile(times, 0.5)), P99: micros(quantile(times, 0.99))}
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// newSpread sorts a copy of the values.
func newSpread(values []float64) Spread {
	s := slices.Sorted(slices.Values(values))
	if len(s) == 0 {
		return Spread{}
	}
	return Spread{Median: (s[(len(s)-1)/2] + s[len(s)/2]) / 2, Least: s[0], Most: s[len(s)-1]}
}

// newFeed returns the figures of rounds.
func newFeed(name string, rounds []window) *Feed {
	f := &Feed{Name: name}
	var p50, p99, cpu, bytes []float64
	var all window
	known := true
	for _, w := range rounds {
		n := float64(w.Positions)
		f.perSeconds = append(f.perSeconds, n/w.Elapsed.Seconds())
		times := newTimes(w.Latencies)
		p50, p99 = append(p50, times.P50), append(p99, times.P99)
		cpu, bytes = append(cpu, micros(w.cpu)/n), append(bytes, float64(w.written)/n)
		known = known && w.cpu > 0
		all.add(&w)
	}
	f.PerSecond, f.P50, f.P99 = newSpread(f.perSeconds), newSpread(p50), newSpread(p99)
	if known {
		c, b := newSpread(cpu), newSpread(bytes)
		f.CPU, f.Written = &c, &b
	}
	if all.events > 0 {
		f.PerEvent = float64(all.Positions) / float64(all.events)
	}
	if all.records > 0 {
		f.PerRecord, f.Append = float64(all.Positions)/float64(all.records), micros(all.appending)/float64(all.records)
		f.Appending = all.appending.Seconds() / all.Elapsed.Seconds()
	}
	return f
}

// add adds the counts of another window.
func (w *window) add(o *window) {
	w.Positions, w.events, w.records = w.Positions+o.Positions, w.events+o.events, w.records+o.records
	w.Elapsed, w.appending = w.Elapsed+o.Elapsed, w.appending+o.appending
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
		r.Ratios = append(r.Ratios, Ratio{
			Goal: "feed", Title: "acknowledged positions over wire", Contender: contender, Base: base, Metric: "ops_per_s",
			Spread: ratios(a.perSeconds, b.perSeconds),
		})
	}
	feed(durable, volatile)
	feed(durable, doors.PeerName)
	if len(r.HTTP) == 2 && r.Disk != nil {
		kept, base := r.HTTP[0], slices.Clone(r.HTTP[1].rounds)
		for i := range base {
			base[i] += 3 * kept.syncs[i]
		}
		r.Ratios = append(r.Ratios, Ratio{
			Goal: "http", Title: "one HTTP client, one position at a time", Contender: durable, Base: bound, Metric: "p50_us",
			Spread: ratios(kept.rounds, base),
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

func ratios(a, b []float64) Spread {
	var all []float64
	for i := range min(len(a), len(b)) {
		all = append(all, a[i]/cmp.Or(b[i], 1))
	}
	return newSpread(all)
}

// WriteJSON writes the report as one object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
