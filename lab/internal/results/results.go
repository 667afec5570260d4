// Package results is the form of the files of docs/results: the machine and the command of a run,
// and its ratios.
package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"paddock/lab/internal/runfile"
)

// Head is the first members of every file.
type Head struct {
	Date     time.Time `json:"date"`
	Machine  Machine   `json:"machine"`
	Command  []string  `json:"command"`
	Subject  string    `json:"subject"`
	Rounds   int       `json:"rounds"`
	Duration string    `json:"duration"`
	Warmup   string    `json:"warmup"`
	Ratios   []Ratio   `json:"ratios"`
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

// ThisMachine describes the machine that runs the benchmark.
func ThisMachine() Machine {
	m := runfile.ReadManifest(nil, time.Time{})
	said := func(s *string) string {
		if s == nil {
			return "unknown"
		}
		return *s
	}
	return Machine{CPU: said(m.CPUModel), Cores: m.CPUs, Kernel: said(m.Kernel), Go: m.Go, OS: m.OS + "/" + m.Arch}
}

// NewHead returns the head of a run that begins now.
func NewHead(rounds int, duration, warmup time.Duration) Head {
	return Head{
		Date: time.Now().UTC(), Machine: ThisMachine(), Command: append([]string{"paddock"}, runfile.Redact(os.Args)[1:]...),
		Rounds: rounds, Duration: duration.String(), Warmup: warmup.String(), Ratios: []Ratio{},
	}
}

// Busy returns the load average of a minute; 0 = unknown.
func Busy() (load float64) {
	text, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(text), &load) // 0 if it is not there
	return load
}

// NewSpread sorts a copy of the values.
func NewSpread(values []float64) Spread {
	s := slices.Sorted(slices.Values(values))
	if len(s) == 0 {
		return Spread{}
	}
	return Spread{Median: (s[(len(s)-1)/2] + s[len(s)/2]) / 2, Least: s[0], Most: s[len(s)-1]}
}

// Within returns the spread of the quotients of each round.
func Within(a, b []float64) Spread {
	var all []float64
	for i := range min(len(a), len(b)) {
		all = append(all, a[i]/cmp.Or(b[i], 1))
	}
	return NewSpread(all)
}

// Times are quantiles in microseconds.
type Times struct {
	Samples int     `json:"samples"`
	P50     float64 `json:"p50_us"`
	P99     float64 `json:"p99_us"`
}

// NewTimes sorts times.
func NewTimes(times []time.Duration) *Times {
	slices.Sort(times)
	return &Times{Samples: len(times), P50: Micros(quantile(times, 0.5)), P99: Micros(quantile(times, 0.99))}
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// Micros returns a time in microseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Write writes a report as one object.
func Write(w io.Writer, report any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(report)
}
