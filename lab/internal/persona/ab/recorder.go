package ab

import (
	"fmt"
	"io"
	"math"
	"time"

	"paddock/load"
	"paddock/load/histogram"
)

// maxSamples is the number of requests that are kept one by one: 32 MiB. Beyond it, the times of
// all requests are counted in histograms.
const maxSamples = 1 << 21

// sample is the record of one request, in microseconds except for the first field.
type sample struct {
	began                uint32 // ms since the run's start
	connect, total, wait uint32
}

func (s sample) processing() uint32 { return s.total - s.connect }

// Recorder counts the requests of a run of one thread as ab does. It is used by that thread,
// and when that has ended by others.
type Recorder struct {
	o        *Options
	progress io.Writer // nil = none
	stop     func(error)
	every    int64 // requests between two lines of progress

	samples []sample
	many    *columns // nil = samples are all
	limit   int      // of samples

	refused int64 // connections that could not be made
	moved   moved // up to the time of -t

	done      int64
	last      int64 // ns; when the last one ended
	length    int64 // of the first answer's body
	answered  bool  // there was one
	kept      int64 // answers behind which the connection stayed
	broke     int64 // connections
	lengths   int64 // answers that had another length or ended early
	otherwise int64 // requests that failed in other ways
	heard     int64 // ns; when the last answer came
	non2xx    int64
	server    string
	tls       security
}

// moved are the bytes of all connections.
type moved struct{ in, out, body int64 }

// columns are the four times of all requests, counted.
type columns struct{ connect, processing, waiting, total *histogram.Histogram }

// NewRecorder is for one run. stop is called when the run is to end because of a connection
// that broke; where progress goes may be nil.
func NewRecorder(o *Options, progress io.Writer, stop func(error)) *Recorder {
	r := &Recorder{o: o, stop: stop, limit: maxSamples}
	if heartbeat := o.heartbeat(); heartbeat > 0 && progress != nil {
		r.progress, r.every = progress, heartbeat
	}
	r.samples = make([]sample, 0, min(o.Requests, maxSamples)) // not touched until it is used
	return r
}

// heartbeat is after how many requests there is a line of progress; 0 = never.
func (o *Options) heartbeat() int64 {
	if o.Quiet || o.Requests <= 150 {
		return 0
	}
	return max(o.Requests/10, 100)
}

// Plan says how the run is made: the recorder is told of everything.
func (r *Recorder) Plan(request *Request) load.Plan {
	p := load.Plan{
		Network: "tcp", Codec: newCodec(request, &r.server), Conns: r.o.Conns, Count: r.o.Requests,
		Duration: r.o.Limit, Timeout: r.o.Timeout, Grace: r.o.Timeout, Threads: 1,
		Each: func(int) func(*load.Outcome) { return r.ended },
	}
	var secure bool
	p.Address, secure, _ = r.o.Address() // has been checked
	if secure {
		p.TLS = r.config()
	}
	return p
}

// ended counts a request.
//
// hot: guarded by BenchmarkRecorder and TestRecorderDoesNotAllocate.
func (r *Recorder) ended(e *load.Outcome) {
	if r.o.Limit > 0 && e.Done > int64(r.o.Limit) {
		return // the time was over
	}
	r.done++
	r.last = e.Done
	r.class(e)
	began := e.Sent
	if e.Connected != 0 {
		began = e.Dialed
	}
	s := sample{began: uint32(began / int64(time.Millisecond)), total: micros(e.Done - began)}
	if e.Connected != 0 {
		s.connect = micros(e.Connected - e.Dialed)
	}
	if e.FirstByte != 0 {
		s.wait = micros(e.FirstByte - e.Sent)
	}
	r.add(s)
	if r.every > 0 && r.done%r.every == 0 {
		fmt.Fprintf(r.progress, "Completed %d requests\n", r.done)
	}
}

// maxRefused is after how many connections that could not be made the run ends.
const maxRefused = 10

// Interval counts bytes, and ends the run if connections cannot be made. It is called by another
// thread than the rest.
func (r *Recorder) Interval(v *load.Interval) {
	if v.Start < r.o.Limit {
		r.moved = moved{r.moved.in + v.BytesIn, r.moved.out + v.BytesOut, r.moved.body + v.BodyIn}
	}
	r.refused += unconnected(v)
	if r.refused > maxRefused {
		r.stop(fmt.Errorf("%d connections could not be made", r.refused))
	}
}

// Finish is the last line of progress.
func (r *Recorder) Finish() {
	if r.progress != nil {
		fmt.Fprintf(r.progress, "Finished %d requests\n", r.done)
	}
}

// Done is how many requests have ended.
func (r *Recorder) Done() int64 { return r.done }

// micros is a time in microseconds, of which there is room for more than an hour.
func micros(ns int64) uint32 {
	return uint32(min(max(ns, 0)/int64(time.Microsecond), math.MaxUint32))
}

// class counts how a request ended.
func (r *Recorder) class(e *load.Outcome) {
	switch e.Class {
	case load.ClassOK, load.ClassStatus:
		r.answer(e)
	case load.ClassEarlyEnd, load.ClassClosed:
		r.lengths++
	case load.ClassReset, load.ClassWrite:
		r.broke++
		if !r.o.GoOn {
			r.stop(fmt.Errorf("a connection broke (%v) after %d requests; -r goes on", e.Class, r.done-1))
		}
	case load.ClassTimeout:
		r.otherwise++
		if e.Done-r.heard >= int64(r.o.Timeout) {
			r.stop(fmt.Errorf("no answer came for %v, after %d requests", r.o.Timeout, r.done-1))
		}
	default:
		r.otherwise++
	}
}

// answer counts one that has come whole.
func (r *Recorder) answer(e *load.Outcome) {
	r.heard = e.Done
	if e.Status/100 != 2 {
		r.non2xx++
	}
	if r.o.KeepAlive && !e.Last {
		r.kept++
	}
	if !r.answered {
		r.answered, r.length = true, e.Body
	}
	if e.Body != r.length && !r.o.AnyLength {
		r.lengths++
	}
}

// add keeps the times of a request.
func (r *Recorder) add(s sample) {
	if r.many == nil && len(r.samples) < r.limit {
		r.samples = append(r.samples, s)
		return
	}
	if r.many == nil {
		r.many = &columns{histogram.New(), histogram.New(), histogram.New(), histogram.New()}
		for _, s := range r.samples {
			r.many.record(s)
		}
	}
	r.many.record(s)
}

func (c *columns) record(s sample) {
	for _, of := range [...]struct {
		h  *histogram.Histogram
		us uint32
	}{{c.connect, s.connect}, {c.processing, s.processing()}, {c.waiting, s.wait}, {c.total, s.total}} {
		of.h.Record(int64(of.us) * int64(time.Microsecond))
	}
}
