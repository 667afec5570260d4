package report

import (
	"math"
	"time"

	"paddock/load"
)

const (
	// maxPoints bounds the points of a series: beyond, neighbours are taken together,
	// and each point is of twice the time.
	maxPoints = 600
	// rowsPerOctave is how fine the series tells response times: 16 rows for a
	// doubling, each 4.4 % above the one before.
	rowsPerOctave = 16
)

// Series records a run by the second, in room that does not grow with its length: it is a
// load.Observer.
type Series struct {
	points []point
	span   int // intervals in each point but the last
	last   int // intervals in the last
}

// point is a part of a run.
type point struct {
	Start    time.Duration
	Length   time.Duration
	OK       int64
	Failed   int64
	Target   float64 // requests meant
	InFlight float64 // mean
	Most     int64   // in flight
	Late     [load.Causes]time.Duration
	Rows     map[int]int64 // answers by response time, see rowOf
	Max      time.Duration
}

var _ load.Observer = (*Series)(nil)

// Interval takes an interval of the run.
func (s *Series) Interval(v *load.Interval) {
	s.span = max(s.span, 1)
	p := point{
		Start: v.Start, Length: v.Length, OK: v.Failed[load.ClassOK], Failed: v.Errors(), Target: v.Target,
		InFlight: v.InFlight, Most: v.MaxInFlight, Late: v.LateTime, Rows: map[int]int64{}, Max: v.Response.Max(),
	}
	for r, n := range v.Response.All() {
		p.Rows[rowOf(r.Low)] += int64(n)
	}
	if n := len(s.points); n > 0 && s.last < s.span {
		s.points[n-1].add(&p)
		s.last++
		return
	}
	if len(s.points) == maxPoints {
		s.halve()
	}
	s.points, s.last = append(s.points, p), 1
}

// halve takes neighbours together.
func (s *Series) halve() {
	for i := range maxPoints / 2 {
		p := s.points[2*i]
		p.add(&s.points[2*i+1])
		s.points[i] = p
	}
	clear(s.points[maxPoints/2:])
	s.points, s.span = s.points[:maxPoints/2], s.span*2
}

// add counts what follows p.
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
	for i, d := range o.Late {
		p.Late[i] += d
	}
	for row, n := range o.Rows {
		p.Rows[row] += n
	}
}

// rowOf is the row of a response time in ns; times up to a microsecond share the first.
func rowOf(ns int64) int {
	if ns <= 1000 {
		return 0
	}
	return int(math.Log2(float64(ns)/1000) * rowsPerOctave)
}
