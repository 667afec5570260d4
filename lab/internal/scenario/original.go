// Package scenario repeats the benchmark of go-http-tunnel: its rates of requests for the files of
// a page through a tunnel, and its columns, with its results. It also judges a tunnel under
// overload.
package scenario

import (
	"strconv"
	"sync"
	"time"

	"paddock/lab/internal/documents"
)

// Load is one of the benchmark's two.
type Load struct {
	Name     string
	Duration time.Duration // at each rate
	Rows     []Original
}

// Original is a result of the original benchmark at a rate.
type Original struct {
	PerSecond    float64 `json:"-"`
	GoHTTPTunnel Figures `json:"go-http-tunnel"`
	Koding       Figures `json:"koding/tunnel"`
}

// Figures are those of one tunnel at one rate.
type Figures struct {
	Success float64        `json:"success"`          // share of the requests
	P99     *time.Duration `json:"p99_corrected_ns"` // see Row; nil = it gives none
	Max     *time.Duration `json:"max_ns"`           // nil = it gives none
}

// The loads. They ran on four t2.micro machines, a server, a client and two that asked: no
// time of theirs means anything elsewhere, unless it is beside another of theirs.
var (
	Spike    = sync.OnceValue(func() *Load { return newLoad("spike", 2*time.Minute, "TS") })
	Pressure = sync.OnceValue(func() *Load { return newLoad("pressure", 20*time.Minute, "TP") })
)

// newLoad reads the rows of a table, in which each rate stands once for each tunnel.
func newLoad(name string, each time.Duration, table string) *Load {
	l := &Load{Name: name, Duration: each}
	for _, row := range documents.Rows() {
		rate, err := strconv.ParseFloat(row.Arg, 64)
		if row.Table.ID != table || err != nil {
			continue
		}
		success, _ := row.Value("success")
		f := Figures{success / 100, row.Duration("p99c"), row.Duration("max")}
		if o := l.At(rate); o != nil {
			o.Koding = f
		} else {
			l.Rows = append(l.Rows, Original{PerSecond: rate, GoHTTPTunnel: f})
		}
	}
	return l
}

// At is the original's row for a rate, nil if it has none.
func (l *Load) At(perSecond float64) *Original {
	for i := range l.Rows {
		if l.Rows[i].PerSecond == perSecond {
			return &l.Rows[i]
		}
	}
	return nil
}

// Rates are those of its rows.
func (l *Load) Rates() []float64 {
	rates := make([]float64, len(l.Rows))
	for i, r := range l.Rows {
		rates[i] = r.PerSecond
	}
	return rates
}
