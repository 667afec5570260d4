package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"paddock/lab/internal/runfile"
	"paddock/lab/internal/slo"
	"paddock/lab/process"
	"paddock/load"
	"paddock/load/histogram"
)

// Open returns the run in a directory, from the files that were written with its report. Without
// seconds.ndjson and run.hlog, it has no plots over time, and its curves have few points.
func Open(dir string) (*Run, error) {
	d, err := runfile.Read(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{
		Title: cmp.Or(d.Title, d.Plan.Driver+" "+d.Plan.Address), Plan: &load.Plan{},
		Result: d.Result(), Document: d,
	}
	if d.Plan.Model == "open" {
		r.Plan.Arrivals = load.Constant{} // marks an open load; Load names the arrivals
	}
	for _, o := range d.Objectives {
		list, err := slo.Parse(o.Objective)
		if err == nil && len(list) != 1 {
			err = errors.New("it is not one objective")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: objective %q: %w", dir, o.Objective, err)
		}
		r.Outcomes = append(r.Outcomes, slo.Outcome{Objective: list[0], State: slo.StateOf(o.Outcome), Measured: o.Text})
	}
	if err := r.readSeconds(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return r, nil
}

func (r *Run) readSeconds(dir string) error {
	var use *process.TargetUse
	series, t := &Series{TargetUse: func() *process.TargetUse { return use }}, &r.Result.Total
	all := [...]*histogram.Histogram{histogram.New(), histogram.New(), histogram.New()}
	err := runfile.ReadIntervals(dir, func(s *runfile.Second, v *load.Interval) {
		use = s.Machine
		series.Interval(v)
		if s.Phase == runfile.Warmup {
			return
		}
		t.Target += v.Target
		for i, h := range []*histogram.Histogram{v.Response, v.Service, v.Lag} {
			all[i].Add(h)
		}
	})
	if err != nil {
		return err
	}
	r.Series, t.Response, t.Service, t.Lag = series, all[0], all[1], all[2]
	return nil
}
