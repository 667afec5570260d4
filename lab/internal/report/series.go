package report

import (
	"math"
	"slices"
	"time"

	"paddock/lab/process"
	"paddock/load"
	"paddock/load/histogram"
)

const (
	// maxPoints bounds the points of a series: beyond, neighbours are taken together,
	// and each point is of twice the time.
	maxPoints = 600
	// rowsPerOctave is how fine the series tells response times: 16 rows for a
	// doubling, each 4.4 % above the one before.
	rowsPerOctave = 16
	// maxRows is more than there are up to an hour.
	maxRows = 512
)

// Series records a run by the second, in room that does not grow with its length: it is a
// load.Observer.
type Series struct {
	// TargetUse returns what the machine of the service did in the interval that is taken; nil, or
	// one that returns nil: it is not known.
	TargetUse func() *process.TargetUse

	over []point // those before the last
	span int     // intervals in each of them
	last point   // without its rows, which are
	rows [maxRows]int64
	have int // intervals in it
}

// point is a part of a run.
type point struct {
	Start    time.Duration
	Length   time.Duration
	OK       int64
	Failed   int64
	Target   float64 // requests that the rate asks for
	InFlight float64 // mean
	Most     int64   // in flight
	Late     [load.Causes]time.Duration
	Rows     histogram.Cells // answers by response time, see rowOf
	Max      time.Duration
	Machine  *process.TargetUse // nil = not known
}

var _ load.Observer = (*Series)(nil)

// Interval takes an interval of the run.
func (s *Series) Interval(v *load.Interval) {
	if s.span = max(s.span, 1); s.have == s.span {
		s.closePoint()
	}
	p := point{
		Start: v.Start, Length: v.Length, OK: v.Failed[load.ClassOK], Failed: v.Errors(), Target: v.Target,
		InFlight: v.InFlight, Most: v.MaxInFlight, Late: v.LateTime, Max: v.Response.Max(),
	}
	if s.TargetUse != nil {
		p.Machine = s.TargetUse()
	}
	s.take(&p)
	for r, n := range v.Response.All() {
		s.rows[rowOf(r.Low)] += int64(n)
	}
	s.have++
}

// take makes p a part of the last point.
func (s *Series) take(p *point) {
	if s.last.Length == 0 {
		s.last.Start = p.Start
	}
	s.last.add(p)
	for row, n := range p.Rows.All() {
		s.rows[row] += int64(n)
	}
}

// packed is the last point, with its rows.
func (s *Series) packed() point {
	p := s.last
	for row, n := range s.rows {
		if n > 0 {
			p.Rows.Append(row, uint64(n))
		}
	}
	p.Rows.Clip()
	return p
}

// closePoint begins the next point. If there are too many, neighbours become one.
func (s *Series) closePoint() {
	s.keep(s.packed())
	if len(s.over) < maxPoints {
		return
	}
	all := s.over
	s.over, s.span = all[:0], 2*s.span
	for i := 0; i < maxPoints; i += 2 {
		s.take(&all[i])
		s.take(&all[i+1])
		s.keep(s.packed())
	}
	clear(all[len(s.over):])
}

// keep ends the last point as p.
func (s *Series) keep(p point) {
	s.over = append(s.over, p)
	s.last, s.rows, s.have = point{}, [maxRows]int64{}, 0
}

// points are those of the run so far.
func (s *Series) points() []point {
	if s.have == 0 {
		return s.over
	}
	return append(slices.Clip(s.over), s.packed())
}

// add merges the next point into p.
func (p *point) add(o *point) {
	whole := float64(p.Length + o.Length)
	if whole > 0 {
		p.InFlight = (p.InFlight*float64(p.Length) + o.InFlight*float64(o.Length)) / whole
	}
	p.Length += o.Length
	p.OK += o.OK
	p.Failed += o.Failed
	p.Target += o.Target
	p.Most, p.Max = max(p.Most, o.Most), max(p.Max, o.Max)
	if o.Machine != nil {
		sum := *o.Machine
		if p.Machine != nil {
			sum.Add(p.Machine)
		}
		p.Machine = &sum
	}
	for i, d := range o.Late {
		p.Late[i] += d
	}
}

// rowOf is the row of a response time in ns; times up to a microsecond share the first.
func rowOf(ns int64) int {
	if ns <= 1000 {
		return 0
	}
	return int(math.Log2(float64(ns)/1000) * rowsPerOctave)
}
