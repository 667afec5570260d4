package perf

import (
	"errors"
	"io"
	"time"
)

// ErrTooShort is the end of gofast's perf for a run of less than a second.
//
//lint:ignore ST1005 as gofast prints it
var ErrTooShort = errors.New("Run client for longer duration !!")

// WriteOriginal writes the report as gofast's perf printed it: the throughput is a division of
// integers, by whole seconds, which tells up to twice the true rate of a run of one second. Posts
// are the posts that left, requests are counted with a closing one of each routine, and a
// stream counts with its opening.
func (r *Report) WriteOriginal(w io.Writer) error {
	seconds := int64(r.Elapsed / time.Second)
	if seconds == 0 {
		return ErrTooShort
	}
	done, unit := r.Ops, ""
	switch conns := int64(r.Conns); r.Do {
	case Post:
		done, unit = done+conns*seconds, " /second" // with a heartbeat a second
	case Request:
		done += conns * int64(r.Routines+1)
	case StreamTx, StreamRx:
		done += conns * int64(r.Count)
	}
	p := &printer{w: w}
	p.f("Latency Average: %v\nThroughput: %d%s\n\n", time.Duration(r.Latency.Mean), done/seconds, unit)
	p.stats(r.Stats)
	l := r.Latency
	p.f("request stats: n:%d mean:%v var:%v sd:%v\n", l.N, time.Duration(l.Mean), time.Duration(l.Var), time.Duration(l.SD))
	return p.err
}
