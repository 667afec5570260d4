package load

import (
	"time"

	"paddock/load/histogram"
)

// Interval holds the counts of a part of a run: a second of it, or all.
type Interval struct {
	Start, Length time.Duration // since the run's start

	Target                    float64 // answers meant in it, by the arrivals' rate; 0 in a closed run
	Sent, Done                int64   // requests written; answers complete, ClassOK or not
	BytesOut, BytesIn, BodyIn int64
	Connects, Reconnects      int64
	Failed                    [Classes]int64 // by class; ClassOK counts the good answers
	Lost                      int64          // requests that have ended without an answer, and are not in Response
	Status                    map[uint16]int64
	Late                      [Causes]int64         // sends, by cause
	LateTime                  [Causes]time.Duration // the sum of their lags
	InFlight                  float64               // requests under way, mean over time
	MaxInFlight               int64
	Response, Service, Lag    *histogram.Histogram // of the answers, whatever their class, and of timeouts
	Connect, FirstByte        *histogram.Histogram // making a connection; from the send to the answer's first byte. nil = not measured
	// DNS, TCP and TLS are the parts of making a connection; nil = not measured. The name of the
	// service is resolved once, before the run. An interval has TCP only if there is TLS: without,
	// it is Connect, as which a run's total has it.
	DNS, TCP, TLS *histogram.Histogram
	Threads       []ThreadUse
	Windows       []Window // that ended in it, of all threads; not in a run's total
}

// Observer is called with each interval when it is over, in order. The interval is valid until the
// call returns.
type Observer interface {
	Interval(*Interval)
}

// Observers tells each of several, in order.
type Observers []Observer

// Interval tells each.
func (all Observers) Interval(v *Interval) {
	for _, o := range all {
		o.Interval(v)
	}
}

// Watch calls Watch of each that is a Watcher.
func (all Observers) Watch(progress func() Progress) {
	for _, o := range all {
		if w, ok := o.(Watcher); ok {
			w.Watch(progress)
		}
	}
}

var _ Watcher = Observers(nil)

// Result is the result of a run.
type Result struct {
	Began   time.Time
	Elapsed time.Duration // measured time, without the grace
	Warmup  time.Duration // before the measurement
	Engine  Engine

	Total      Interval // of the measured time and the grace
	InTime     int64    // answers of ClassOK that came in the measured time
	Targets    []Target // of the same time, by the plan's; nil = they are not told apart
	Unanswered Unanswered
	Samples    []Sample // of errors: the first of each class and text
	PerConn    []int64  // answers by connection, for fairness
	Machine    MachineUse
	Stopped    bool // it was interrupted

	Verdicts []Verdict // of the processes that made the run together; nil = it was one
}

// Unanswered holds the requests without an answer at the end of the run. Their response times are
// known only to be longer than their ages.
type Unanswered struct {
	Count  int64         // sent
	Unsent int64         // due, but never sent
	Oldest time.Duration // since it was due
}

// Sample is one error as it was seen.
type Sample struct {
	Class       Class
	Text        string // of the error
	Bytes       []byte // up to 256 bytes of the stream; nil = none
	Count       int64
	First, Last time.Duration // since the run's start
}

// MachineUse is the use of the process and the machine during a run.
type MachineUse struct {
	User, System time.Duration // the process's
	MaxResident  int64         // bytes
	Busy, Idle   time.Duration // the machine's, over all processors; 0 = not known
	Steal        time.Duration // of the same, taken by other virtual machines
	Processors   int           // that the process could use at once
	GCPause      time.Duration
	Throttled    time.Duration // the process's control group had used up its CPU quota
}

// PerSecond is the rate of good answers in the measured time.
func (r *Result) PerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.InTime) / r.Elapsed.Seconds()
}
