package report

import (
	"math"
	"slices"
	"time"

	"paddock/lab/internal/figure"
	"paddock/lab/internal/runfile"
	"paddock/load/histogram"
)

// column is one kind of times in a table.
type column struct {
	Name string
	of   *runfile.Times
	h    *histogram.Histogram // nil = it is not known
}

// columns are the kinds of times that a run has, and of which it has any.
func (r *Run) columns() []column {
	d, t := r.Document, &r.Result.Total
	late := r.Plan.Arrivals != nil || d.Lag != nil && d.Lag.Max > 0
	all := []column{{"response", d.Response, t.Response}, {"service", d.Service, t.Service}, {"lag", d.Lag, t.Lag}, {"first byte", d.FirstByte, t.FirstByte}, {"connect", d.Connect, t.Connect}}
	if d.TLS != nil { // without, TCP is all of connect
		all = append(all, column{"tcp", d.TCP, t.TCP}, column{"tls", d.TLS, t.TLS})
	}
	return slices.DeleteFunc(all, func(c column) bool {
		return c.of == nil || (c.Name == "lag" || c.Name == "service") && !late // they are 0, and the response
	})
}

// curve is the times by percentile, up to the last request; without the histogram at those
// percentiles that are known.
func (c column) curve() curve {
	if c.h != nil && c.h.Count() > 0 {
		points := percentileCurve(c.h)
		for i := range points { // a log knows the longest by its bucket
			points[i][1] = min(points[i][1], float64(c.of.Max))
		}
		return curve{c.Name, points}
	}
	points := [][2]float64{}
	for _, q := range c.of.Quantiles[:len(c.of.Quantiles)-1] {
		points = append(points, [2]float64{math.Abs(math.Log10(1 - q.Q)), float64(q.Value)})
	}
	return curve{c.Name, points}
}

// row is a line of the table of times.
type row struct {
	Name  string
	Cells []string
}

// rows are the table of times. A percentile for which there are too few is marked.
func rows(columns []column) (table []row, marked bool) {
	add := func(name string, of func(*runfile.Times) int64) {
		r := row{Name: name}
		for _, c := range columns {
			r.Cells = append(r.Cells, figure.Time(time.Duration(of(c.of))))
		}
		table = append(table, r)
	}
	add("min", func(t *runfile.Times) int64 { return t.Min })
	for i, q := range quantiles {
		add(figure.Quantile(q), func(t *runfile.Times) int64 { return t.Quantiles[i+1].Value })
		cells := table[len(table)-1].Cells
		for j, c := range columns {
			if !c.of.Quantiles[i+1].Enough {
				cells[j], marked = "~"+cells[j], true
			}
		}
	}
	add("max", func(t *runfile.Times) int64 { return t.Max })
	add("mean", func(t *runfile.Times) int64 { return t.Mean })
	add("sd", func(t *runfile.Times) int64 { return t.StdDev })
	return table, marked
}

// phase is a part of the time of a first request.
type phase struct {
	Fact
	Mean int64 // ns
}

// phases are the parts of the time of the first request on a connection, as far as they were
// measured.
func phases(d *runfile.Document) (list []phase) {
	for _, c := range []column{{"dns", d.DNS, nil}, {"tcp", d.TCP, nil}, {"tls", d.TLS, nil}, {"first byte", d.FirstByte, nil}} {
		if c.of != nil {
			list = append(list, phase{Fact{c.Name, figure.Time(time.Duration(c.of.Mean))}, c.of.Mean})
		}
	}
	return list
}
