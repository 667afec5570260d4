package load

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// Plan describes the load. Zero values are defaults where they make sense. As JSON it has all but
// the fields that are no data.
type Plan struct {
	// Network and Address are where the service listens: "tcp" and host:port, or
	// "unix" and a path. The name is resolved once, before the run.
	Network, Address string
	// TLS is the configuration of TLS; nil = none. Engine Portable alone speaks it.
	TLS *tls.Config `json:"-"`

	Codec Codec `json:"-"`
	// Targets are the names of what the requests ask for, by Request.Target: each has counts and
	// times of its own. nil = there is nothing to tell apart.
	Targets []string

	// Arrivals make the load open; nil = closed.
	Arrivals Arrivals `json:"-"`
	// Conns is how many connections there are: 1 if 0. In an open run there are as
	// many at the start, and MaxConns at most.
	Conns, MaxConns int
	// Listeners is how many more connections there are that send no requests, and get
	// answers to those of others: see ListenerThread. With them alone, Conns may be 0.
	Listeners int
	// Fanout is how many answers the listeners get of each request: 1 if 0.
	Fanout int
	// Depth is how many requests may wait on one connection: 1 if 0.
	Depth int
	// Think is how long a connection of a closed run pauses behind an answer.
	Think time.Duration
	// PerConn is the number of requests after which a connection is closed and dialed again; 0 =
	// never.
	PerConn int64

	// Duration is the length of the measurement, and Warmup precedes it unmeasured. Count ends the
	// run after so many requests, and the arrivals' length ends it at the latest.
	Duration, Warmup time.Duration
	Count            int64
	// Timeout is the time after which a request fails and its connection is given up: 30 s if 0.
	// The request is recorded with that value.
	Timeout time.Duration
	// Grace is how long the end of the run waits for answers: 5 s if 0. Requests that
	// wait still are reported as unanswered.
	Grace time.Duration

	// Busy is the policy for a request that is due when no connection is idle.
	Busy Busy
	// Deadline is how late a request may be sent, for BusyShed.
	Deadline time.Duration
	// Tolerance is the largest lag of a send that is on time: 1 ms if 0.
	Tolerance time.Duration

	Engine  Engine
	Threads int // 1 if 0
	Pace    Pace
	// Part says which threads of the run are in this process; zero = all.
	Part Part
	// Begin is when the run begins, on the monotonic clock of this process; zero = at once.
	Begin time.Time `json:"-"`
	// Each, if not nil, returns for each thread a callback for the outcome of each of its requests.
	// The thread calls it, so the run waits for it.
	Each func(thread int) func(*Outcome) `json:"-"`
	// Seed is of everything that is drawn.
	Seed uint64
	// Pin is the processors to which threads are bound, in turns; nil = none.
	Pin []int
}

// Part is the share of one process in a run that several make: Plan.Threads threads, of which the
// first has the number First, of Of in all. Count, Conns, MaxConns and Arrivals are of the whole
// run. The processes together send what one process with so many threads sends.
type Part struct{ First, Of int }

// Busy is a policy for requests that are due when no connection is idle.
type Busy uint8

// The ways to deal with it.
const (
	BusyQueue Busy = iota // it waits for one; its response time counts from when it was due
	BusyOpen              // one more connection is made, up to MaxConns; then it waits
	BusyShed              // it waits, but is given up once it is later than Deadline
	BusyDrop              // it is given up at once
)

// Engine moves the bytes.
type Engine uint8

// The engines. They give the same counts for the same plan.
const (
	Auto     Engine = iota // Epoll where it can, else Portable
	Epoll                  // one loop over epoll per thread: Linux, no TLS
	Portable               // goroutines over package net
)

// Pace says how a loop waits for the next arrival.
type Pace uint8

// The ways to wait, from the cheapest to the most exact.
const (
	Hybrid Pace = iota // sleep, and spin for the last part while serving events
	Sleep              // sleep only
	Spin               // never sleep
)

var (
	busyNames   = [...]string{"queue", "open", "shed", "drop"}
	engineNames = [...]string{"auto", "epoll", "go"}
	paceNames   = [...]string{"hybrid", "sleep", "spin"}
)

// String is the name in flags and reports.
func (b Busy) String() string { return nameOf(busyNames[:], b) }

// String is the name in flags and reports.
func (e Engine) String() string { return nameOf(engineNames[:], e) }

// String is the name in flags and reports.
func (p Pace) String() string { return nameOf(paceNames[:], p) }

func nameOf[T ~uint8](names []string, i T) string {
	if int(i) < len(names) {
		return names[i]
	}
	return "unknown"
}

// end is when nothing more is due, in ns since the run's start; never = it is not the
// time that ends the run.
func (p *Plan) end() int64 {
	end := int64(never)
	if p.Duration > 0 {
		end = int64(p.Warmup + p.Duration)
	}
	if p.Arrivals != nil && p.Arrivals.Length() > 0 {
		end = min(end, int64(p.Arrivals.Length()))
	}
	return end
}

// threads is how many threads the run has, in all processes.
func (p *Plan) threads() int { return max(p.Threads, p.Part.Of) }

// Check fills in defaults, and returns an error about the first setting that makes no sense.
func (p *Plan) Check() error {
	p.Network = cmp.Or(p.Network, "tcp")
	if p.Listeners == 0 {
		p.Conns = cmp.Or(p.Conns, 1)
	}
	p.Fanout = cmp.Or(p.Fanout, 1)
	p.MaxConns = max(p.MaxConns, p.Conns)
	p.Depth = cmp.Or(p.Depth, 1)
	p.Threads = cmp.Or(p.Threads, 1)
	p.Timeout = cmp.Or(p.Timeout, 30*time.Second)
	p.Grace = cmp.Or(p.Grace, 5*time.Second)
	p.Tolerance = cmp.Or(p.Tolerance, time.Millisecond)
	switch {
	case p.Codec == nil:
		return errors.New("load: the plan has no codec")
	case p.Address == "":
		return errors.New("load: the plan has no address")
	case p.Conns < 0 || p.Listeners < 0 || p.Fanout < 0 || p.Depth < 0 || p.Threads < 0 || p.Count < 0 || p.PerConn < 0:
		return errors.New("load: a number of connections, threads or requests is below 0")
	case p.Duration < 0 || p.Warmup < 0 || p.Think < 0 || p.Timeout < 0 || p.Grace < 0 || p.Deadline < 0 || p.Tolerance < 0:
		return errors.New("load: a time is below 0")
	case p.Conns == 0 && (p.Arrivals != nil || p.Count > 0):
		return errors.New("load: nothing is sent without connections: a duration alone ends such a run")
	case p.Conns == 0 && p.Listeners < p.Threads:
		return fmt.Errorf("load: %d listeners for %d threads: each thread needs one", p.Listeners, p.Threads)
	case p.Part.Of != 0 && (p.Part.First < 0 || p.Threads > p.Part.Of-p.Part.First || p.Listeners > 0):
		return fmt.Errorf("load: %d threads from number %d on, of %d, with %d listeners: no part of a run", p.Threads, p.Part.First, p.Part.Of, p.Listeners)
	case p.Conns > 0 && p.Conns < p.threads():
		return fmt.Errorf("load: %d connections for %d threads: each thread needs one", p.Conns, p.threads())
	case p.Duration == 0 && p.Count == 0 && (p.Arrivals == nil || p.Arrivals.Length() == 0):
		return errors.New("load: neither a duration nor a count ends the run")
	case p.Arrivals != nil && p.Arrivals.Length() > 0 && p.Warmup >= p.Arrivals.Length():
		return fmt.Errorf("load: the warm-up of %v leaves nothing to measure of a rate that ends after %v", p.Warmup, p.Arrivals.Length())
	case p.Arrivals != nil && p.Think > 0:
		return errors.New("load: connections pause in a closed run alone")
	case p.Arrivals == nil && p.Busy != BusyQueue:
		return errors.New("load: in a closed run no request is due while its connection is busy")
	case p.Busy == BusyShed && p.Deadline == 0:
		return errors.New("load: to give up late requests takes a deadline")
	case p.Engine == Epoll && p.TLS != nil:
		return errors.New("load: the epoll engine does not speak TLS; the portable one does")
	}
	return nil
}
