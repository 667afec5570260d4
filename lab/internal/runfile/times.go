package runfile

import (
	"paddock/load"
	"paddock/load/histogram"
)

// Quantiles are the quantiles in documents.
var Quantiles = []float64{0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1}

// Times summarizes a histogram.
type Times struct {
	Count     uint64     `json:"count"`
	Clamped   uint64     `json:"clamped"` // of these, below 0 or above an hour, and counted as that
	Min       int64      `json:"min_ns"`
	Max       int64      `json:"max_ns"`
	Mean      int64      `json:"mean_ns"`
	StdDev    int64      `json:"stddev_ns"`
	Quantiles []Quantile `json:"quantiles"`
}

// Quantile is one of them, with the interval that holds it with 95 % confidence.
type Quantile struct {
	Q      float64 `json:"q"`
	Value  int64   `json:"ns"`
	Enough bool    `json:"enough"` // there were enough requests to speak of it
	Low    *int64  `json:"low_ns"` // nil = not known
	High   *int64  `json:"high_ns"`
}

// TimesOf are the times of a histogram; nil if it is empty or nil. c may be nil.
func TimesOf(h *histogram.Histogram, c *load.Confidence) *Times {
	if h == nil || h.Count() == 0 {
		return nil
	}
	t := &Times{
		Count: h.Count(), Clamped: h.Clamped(), Min: int64(h.Min()), Max: int64(h.Max()),
		Mean: int64(h.Mean()), StdDev: int64(h.StdDev()),
	}
	for _, q := range Quantiles {
		v := Quantile{Q: q, Value: int64(h.Quantile(q)), Enough: load.Enough(q, t.Count)}
		if c != nil && q > 0 && q < 1 {
			low, high, ok := c.Quantile(q)
			v.Low, v.High = ns(low, ok), ns(high, ok)
		}
		t.Quantiles = append(t.Quantiles, v)
	}
	return t
}
