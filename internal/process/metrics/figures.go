package metrics

import "github.com/prometheus/client_golang/prometheus"

// Figures are metrics without labels. Their values are fields of one snapshot, of type S.
type Figures[S any] []Figure[S]

// Figure is one of Figures.
type Figure[S any] struct {
	desc  *prometheus.Desc
	typ   prometheus.ValueType
	value func(*S) float64
}

type number interface {
	int | int64 | uint64 | float64
}

// Gauge describes a figure that rises and falls.
func Gauge[S any, N number](name, help string, value func(*S) N) Figure[S] {
	return figure(prometheus.GaugeValue, name, help, value)
}

// Counter describes a figure that only rises.
func Counter[S any, N number](name, help string, value func(*S) N) Figure[S] {
	return figure(prometheus.CounterValue, name, help, value)
}

func figure[S any, N number](typ prometheus.ValueType, name, help string, value func(*S) N) Figure[S] {
	return Figure[S]{prometheus.NewDesc(name, help, nil, nil), typ, func(s *S) float64 { return float64(value(s)) }}
}

// Describe sends the descriptions.
func (f Figures[S]) Describe(out chan<- *prometheus.Desc) {
	for i := range f {
		out <- f[i].desc
	}
}

// Send sends the values in a snapshot.
func (f Figures[S]) Send(out chan<- prometheus.Metric, s *S) {
	for i := range f {
		out <- prometheus.MustNewConstMetric(f[i].desc, f[i].typ, f[i].value(s))
	}
}

// Of returns a collector that takes a snapshot at each scrape.
func (f Figures[S]) Of(snapshot func() S) prometheus.Collector { return &figures[S]{f, snapshot} }

type figures[S any] struct {
	Figures[S]
	snapshot func() S
}

// Collect implements prometheus.Collector.
func (f *figures[S]) Collect(out chan<- prometheus.Metric) {
	s := f.snapshot()
	f.Send(out, &s)
}
