package wrk

import (
	"time"

	"paddock/load"
	"paddock/load/histogram"
)

// Recorder collects wrk's numbers of a run: it is a load.Observer. It leaves out the grace, because
// wrk does not wait for answers.
type Recorder struct {
	duration  time.Duration // 0 = the run is as long as it takes
	service   *histogram.Histogram
	perSecond Stats
	runtime   time.Duration
	requests  int64
	bytes     int64
	failed    [load.Classes]int64
}

var _ load.Observer = (*Recorder)(nil)

// NewRecorder makes the recorder of a run of so long.
func NewRecorder(duration time.Duration) *Recorder {
	return &Recorder{duration: duration, service: histogram.New()}
}

// Interval takes a part of the run.
func (r *Recorder) Interval(v *load.Interval) {
	if r.duration > 0 && v.Start >= r.duration {
		return
	}
	r.service.Add(v.Service)
	r.runtime += v.Length
	r.requests += v.Done
	r.bytes += v.BytesIn
	for class, n := range v.Failed {
		r.failed[class] += n
	}
	for _, w := range v.Windows {
		if ms := w.Length.Milliseconds(); ms > 0 {
			r.perSecond.Record(int64(float64(w.Done)/float64(ms)*1000), 1)
		}
	}
}

// errors are the errors that wrk would have counted.
func (r *Recorder) errors() (e Errors) {
	for class, n := range r.failed {
		switch load.Class(class) {
		case load.ClassDNS, load.ClassRefused, load.ClassConnectTime, load.ClassConnect, load.ClassPorts, load.ClassFiles, load.ClassTLS:
			e.Connect += n
		case load.ClassReset, load.ClassEarlyEnd, load.ClassClosed, load.ClassParse, load.ClassProtocol:
			e.Read += n
		case load.ClassWrite:
			e.Write += n
		case load.ClassTimeout:
			e.Timeout += n
		case load.ClassStatus:
			e.Status += n
		}
	}
	return e
}

// Block returns wrk's output, with the measured values beside it. conns is the number of
// connections of the command line. wrk measures from the send, and does not count requests that
// timed out.
func (r *Recorder) Block(result *load.Result, conns int64) *Block {
	corrected := FromHistogram(r.service, uint64(r.failed[load.ClassTimeout]))
	corrected.Correct(Expected(r.runtime.Microseconds(), r.requests, conns))
	return &Block{
		Latency: FromHistogram(result.Total.Response, 0), Corrected: corrected, PerSecond: &r.perSecond,
		Requests: r.requests, Bytes: r.bytes, Runtime: r.runtime, Errors: r.errors(),
	}
}
