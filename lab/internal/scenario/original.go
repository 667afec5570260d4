// Package scenario repeats the benchmark of go-http-tunnel: its rates of requests for the files of
// a page through a tunnel, and its columns, with its results. It also judges a tunnel under
// overload.
package scenario

import "time"

// Load is one of the benchmark's two.
type Load struct {
	Name     string
	Duration time.Duration // at each rate
	Rows     []Original
}

// Original is a result of the original benchmark at a rate.
type Original struct {
	PerSecond    float64
	GoHTTPTunnel Figures
	Koding       Figures // koding/tunnel
}

// Figures are those of one tunnel at one rate.
type Figures struct {
	Success float64       // share of the requests
	P99     time.Duration // corrected, see Row; 0 = it gives none
	Max     time.Duration // 0 = it gives none
}

// The loads. They ran on four t2.micro machines, a server, a client and two that asked: no
// time of theirs means anything elsewhere, unless it is beside another of theirs. At 1000/s
// the original's text says that 0.20 % were dropped, and its table 99.90 %.
var (
	Spike = Load{"spike", 2 * time.Minute, []Original{
		{600, figures(100, 40, 147), figures(100, 43, 174)},
		{800, figures(100, 161, 309), figures(100, 53, 180)},
		{900, figures(100, 172, 377), figures(100, 1003, 1649)},
		{1000, figures(99.90, 793, 1228), figures(94.95, 16_082, 23_495)},
	}}
	Pressure = Load{"pressure", 20 * time.Minute, []Original{
		{300, figures(100, 17, 199), figures(100, 66, 355)},
		{400, figures(99.98, 1176, 1568), figures(82.66, 0, 0)},
		{500, figures(99.96, 1457, 1917), figures(63.16, 0, 0)},
	}}
)

func figures(percent float64, p99, longest time.Duration) Figures {
	return Figures{percent / 100, p99 * time.Millisecond, longest * time.Millisecond}
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
