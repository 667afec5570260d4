// Package slo reads objectives for a run, and says whether they were met:
//
//	p99<50ms, err<0.1%, rate>=0.99*target
//
// Semicolons and spaces stand between them as well.
//
// An objective is a measure, one of < <= > >=, and a limit:
//
//	p50, p99.9, ...   of the response times; p100 is the longest
//	mean, min, max    of the response times
//	err               the share of requests that failed or had no answer: 0.1%, 0.001
//	rate              good answers per second: 1000, 1000/s, 0.99*target, target
//
// Of other times than the response they are service.p99, lag.max, connect.mean,
// first-byte.p50.
//
// A request that was never answered is slower than any limit: leaving it out would make a
// service that stops answering look good.
//
// Where the generator was the bottleneck, the numbers are bounds, see [CheckBounds].
package slo

import (
	"fmt"
	"strconv"
	"time"
)

// Objective is one thing that a run has to meet.
type Objective struct {
	Measure Measure
	Times   Times   // of which times; for those measures that are of times
	Share   float64 // of Quantile: 0 to 1
	Op      Op

	// The limit: of the times a duration, else a number.
	Time     time.Duration
	Number   float64
	OfTarget bool // Number times the rate that was meant
}

// Measure is the quantity that is compared.
type Measure uint8

// The measures.
const (
	Quantile Measure = iota
	Mean
	Min
	Max
	Err  // share of requests
	Rate // per second
)

var measureNames = [...]string{Quantile: "p", Mean: "mean", Min: "min", Max: "max", Err: "err", Rate: "rate"}

// Times says which of a run's durations are meant.
type Times uint8

// The durations.
const (
	Response Times = iota
	Service
	Lag
	Connect
	FirstByte
)

var timesNames = [...]string{"response", "service", "lag", "connect", "first-byte"}

// Op is how the measure is compared with the limit.
type Op uint8

// The comparisons.
const (
	Less Op = iota
	LessEqual
	More
	MoreEqual
)

var opNames = [...]string{"<", "<=", ">", ">="}

// String is the comparison as Parse reads it.
func (op Op) String() string { return opNames[op] }

func (op Op) holds(measured, limit float64) bool {
	switch op {
	case Less:
		return measured < limit
	case LessEqual:
		return measured <= limit
	case More:
		return measured > limit
	}
	return measured >= limit
}

// String writes the objective as Parse reads it.
func (o Objective) String() string { return o.Name() + o.Op.String() + o.limit() }

// Unit is that of the measure and its limit as numbers: "ns", "share" of the requests, or
// "per_second".
func (o Objective) Unit() string {
	switch o.Measure {
	case Err:
		return "share"
	case Rate:
		return "per_second"
	}
	return "ns"
}

// Name is the measure as Parse reads it: "p99", "lag.max".
func (o Objective) Name() string {
	name := measureNames[o.Measure]
	if o.Measure == Quantile {
		name += number(100 * o.Share)
	}
	if o.Times != Response {
		name = timesNames[o.Times] + "." + name
	}
	return name
}

func (o Objective) limit() string {
	switch {
	case o.OfTarget && o.Number == 1:
		return "target"
	case o.OfTarget:
		return number(o.Number) + "*target"
	case o.Measure == Err:
		return number(100*o.Number) + "%"
	case o.Measure == Rate:
		return number(o.Number) + "/s"
	}
	return o.Time.String()
}

// number writes f without the error that a percentage has got from its division.
func number(f float64) string {
	short, err := strconv.ParseFloat(fmt.Sprintf("%.12g", f), 64)
	if err != nil {
		short = f
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}
