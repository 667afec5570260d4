package load

import (
	"time"

	"paddock/load/histogram"
)

// NewInterval returns an empty interval to record in.
func NewInterval() *Interval {
	return &Interval{
		Status:   map[uint16]int64{},
		Response: histogram.New(), Service: histogram.New(), Lag: histogram.New(),
		Connect: histogram.New(), FirstByte: histogram.New(),
	}
}

// reset makes v empty, and keeps its memory.
func (v *Interval) reset() {
	for _, h := range v.Histograms() {
		if *h != nil {
			(*h).Reset()
		}
	}
	clear(v.Status)
	*v = Interval{
		Status: v.Status, Threads: v.Threads[:0], Windows: v.Windows[:0],
		Response: v.Response, Service: v.Service, Lag: v.Lag, Connect: v.Connect, FirstByte: v.FirstByte, TCP: v.TCP, TLS: v.TLS,
	}
}

// Histograms returns the histograms of an interval, always in the same order. Those of DNS, TCP and
// TLS may be nil.
func (v *Interval) Histograms() [8]**histogram.Histogram {
	return [...]**histogram.Histogram{&v.Response, &v.Service, &v.Lag, &v.Connect, &v.FirstByte, &v.DNS, &v.TCP, &v.TLS}
}

// record counts a duration in ns in a histogram that may not be there yet.
func record(h **histogram.Histogram, ns int64) {
	if *h == nil {
		*h = histogram.New()
	}
	(*h).Record(ns)
}

// Add counts all of o, which is another part of the same time (other threads), or a later
// part (then the lengths differ and the caller sets Length and InFlight).
func (v *Interval) Add(o *Interval) {
	v.Target += o.Target
	v.Sent += o.Sent
	v.Done += o.Done
	v.BytesOut += o.BytesOut
	v.BytesIn += o.BytesIn
	v.BodyIn += o.BodyIn
	v.Connects += o.Connects
	v.Reconnects += o.Reconnects
	v.Lost += o.Lost
	for i, n := range o.Failed {
		v.Failed[i] += n
	}
	for status, n := range o.Status {
		v.Status[status] += n
	}
	for i := range o.Late {
		v.Late[i] += o.Late[i]
		v.LateTime[i] += o.LateTime[i]
	}
	from := o.Histograms()
	for i, h := range v.Histograms() {
		if *from[i] == nil {
			continue
		}
		if *h == nil {
			*h = histogram.New()
		}
		(*h).Add(*from[i])
	}
}

// Errors is the number of requests and connections that failed, of all classes.
func (v *Interval) Errors() int64 {
	var n int64
	for class, count := range v.Failed {
		if Class(class) != ClassOK {
			n += count
		}
	}
	return n
}

// PerSecond is the rate of complete answers that did not fail.
func (v *Interval) PerSecond() float64 {
	if v.Length <= 0 {
		return 0
	}
	return float64(v.Failed[ClassOK]) / v.Length.Seconds()
}

// errorTexts bounds how many different errors are kept, and errorBytes how much of each.
const (
	errorTexts = 64
	errorBytes = 256
)

// samples keeps the first errors of each class and text.
type samples struct {
	list []Sample
}

// add counts an error at a time of the run.
func (s *samples) add(class Class, text string, bytes []byte, at int64) {
	for i := range s.list {
		if e := &s.list[i]; e.Class == class && e.Text == text {
			e.Count++
			e.Last = time.Duration(at)
			return
		}
	}
	if len(s.list) == errorTexts {
		return
	}
	s.list = append(s.list, Sample{
		Class: class, Text: text, Bytes: append([]byte(nil), bytes[:min(len(bytes), errorBytes)]...),
		Count: 1, First: time.Duration(at), Last: time.Duration(at),
	})
}

// merge adds the counts of o.
func (s *samples) merge(o *samples) {
	for _, e := range o.list {
		known := false
		for i := range s.list {
			if have := &s.list[i]; have.Class == e.Class && have.Text == e.Text {
				have.Count += e.Count
				have.First, have.Last = min(have.First, e.First), max(have.Last, e.Last)
				known = true
			}
		}
		if !known && len(s.list) < errorTexts {
			s.list = append(s.list, e)
		}
	}
}

// Outcome is one request that has ended, with an answer or without: see [Plan.Each]. It is
// valid until the call returns. Its times are in ns since the run's start.
type Outcome struct {
	// Dialed and Connected are its connection's, if it is the first request on it; else 0.
	Dialed, Connected int64
	Due, Sent         int64
	// FirstByte is when the first bytes of its answer were read; 0 = none came.
	FirstByte int64
	Done      int64

	Class  Class
	Status uint16 // 0 = there was no answer
	Body   int64  // bytes
	Last   bool   // the service ends the connection behind it, and has said so
}

// notify calls the callback for a request that has ended.
func (l *loop) notify(c *conn, s *slot, a *Answer, now int64) {
	if l.each == nil {
		return
	}
	e := &l.notice
	*e = Outcome{Due: s.due, Sent: s.sent, Done: now, Class: a.Class, Status: a.Status, Body: a.Body, Last: a.Last}
	if s.first {
		e.Dialed, e.Connected = c.dialed, c.met
	}
	switch {
	case s.silent:
	case a.First != 0:
		e.FirstByte = a.First
	case c.state == stateReady && c.since != 0:
		e.FirstByte = c.since
	case a.Status != 0 || a.Class == ClassOK: // it came whole, behind another's end
		e.FirstByte = now
	}
	l.each(e)
}
