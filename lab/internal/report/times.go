package report

import (
	"time"

	"paddock/lab/internal/figure"
	"paddock/load"
	"paddock/load/histogram"
)

// column is one kind of times in a table.
type column struct {
	Name string
	h    *histogram.Histogram
}

// columns are the kinds of times that a run has, and of which it has any.
func columns(t *load.Interval, open bool) []column {
	all := []column{{"response", t.Response}, {"service", t.Service}, {"lag", t.Lag}, {"first byte", t.FirstByte}, {"connect", t.Connect}}
	if t.TLS != nil { // without, TCP is all of connect
		all = append(all, column{"tcp", t.TCP}, column{"tls", t.TLS})
	}
	var some []column
	late := open || t.Lag != nil && t.Lag.Max() > 0
	for _, c := range all {
		if c.h == nil || c.h.Count() == 0 || (c.Name == "lag" || c.Name == "service") && !late {
			continue // they are 0, and the response
		}
		some = append(some, c)
	}
	return some
}

// row is a line of the table of times.
type row struct {
	Name  string
	Cells []string
}

// rows are the table of times. A percentile for which there are too few is marked.
func rows(columns []column) (table []row, marked bool) {
	add := func(name string, of func(*histogram.Histogram) time.Duration) {
		r := row{Name: name}
		for _, c := range columns {
			r.Cells = append(r.Cells, figure.Time(of(c.h)))
		}
		table = append(table, r)
	}
	add("min", (*histogram.Histogram).Min)
	for _, q := range quantiles {
		add(figure.Quantile(q), func(h *histogram.Histogram) time.Duration { return h.Quantile(q) })
		cells := table[len(table)-1].Cells
		for i, c := range columns {
			if !load.Enough(q, c.h.Count()) {
				cells[i], marked = "~"+cells[i], true
			}
		}
	}
	add("max", (*histogram.Histogram).Max)
	add("mean", (*histogram.Histogram).Mean)
	add("sd", (*histogram.Histogram).StdDev)
	return table, marked
}

// phase is a part of the time of a first request.
type phase struct {
	Fact
	Mean int64 // ns
}

// phases are the parts of the time of the first request on a connection, as far as they were
// measured.
func phases(t *load.Interval) (list []phase) {
	for _, c := range []column{{"dns", t.DNS}, {"tcp", t.TCP}, {"tls", t.TLS}, {"first byte", t.FirstByte}} {
		if c.h != nil && c.h.Count() > 0 {
			list = append(list, phase{Fact{c.Name, figure.Time(c.h.Mean())}, int64(c.h.Mean())})
		}
	}
	return list
}
