package ab

import (
	"time"

	"paddock/load"
)

// Report is ab's report of a run.
type Report struct {
	o      *Options
	r      *Recorder
	result *load.Result

	connect, processing, waiting, total column
}

// Report makes the report of a run that is over.
func (r *Recorder) Report(result *load.Result) *Report {
	p := &Report{o: r.o, r: r, result: result}
	if m := r.many; m != nil {
		p.connect, p.processing, p.waiting, p.total = column{many: m.connect}, column{many: m.processing}, column{many: m.waiting}, column{many: m.total}
		return p
	}
	p.connect = columnOf(r.samples, func(s sample) uint32 { return s.connect })
	p.processing = columnOf(r.samples, sample.processing)
	p.waiting = columnOf(r.samples, func(s sample) uint32 { return s.wait })
	p.total = columnOf(r.samples, func(s sample) uint32 { return s.total })
	return p
}

// took is how long the run took: to its last answer, or to the end of -t.
func (p *Report) took() time.Duration {
	took := time.Duration(p.r.last)
	if p.o.Limit > 0 && p.r.done < p.o.Requests {
		took = max(took, min(p.result.Elapsed, p.o.Limit))
	}
	return took
}

func (p *Report) seconds() float64 { return p.took().Seconds() }

// moved are the bytes of the same time.
func (p *Report) moved() moved {
	if p.o.Limit > 0 {
		return p.r.moved
	}
	t := &p.result.Total
	return moved{t.BytesIn, t.BytesOut, t.BodyIn}
}

// unconnected is how many connections could not be made.
func unconnected(v *load.Interval) (n int64) {
	for _, c := range []load.Class{
		load.ClassDNS, load.ClassRefused, load.ClassConnectTime, load.ClassConnect, load.ClassPorts, load.ClassFiles, load.ClassTLS,
	} {
		n += v.Failed[c]
	}
	return n
}

// Done is how many requests have ended.
func (p *Report) Done() int64 { return p.r.done }

// Columns returns figures of the report for other programs; nil without requests. mean_ns is ab's
// "Time per request", which follows from the rate; the others are measured.
func (p *Report) Columns() map[string]float64 {
	done, seconds := float64(p.r.done), p.seconds()
	if done == 0 || seconds == 0 {
		return nil
	}
	const us = float64(time.Microsecond)
	return map[string]float64{
		"per_second": done / seconds, "mean_ns": float64(p.o.Conns) * seconds * float64(time.Second) / done,
		"total_mean_ns": us * float64(p.total.mean()), "total_stddev_ns": us * p.total.deviation(), "total_max_ns": us * float64(p.total.percent(100)),
	}
}
