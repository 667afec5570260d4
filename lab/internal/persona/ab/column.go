package ab

import (
	"math"
	"slices"
	"time"

	"paddock/load/histogram"
)

// column is one time of all requests, in microseconds: each of them, sorted, or where there
// are too many a histogram, which knows them to a thousandth.
type column struct {
	sorted []uint32
	many   *histogram.Histogram // nil = sorted are all
}

func (c *column) len() int64 {
	if c.many != nil {
		return int64(c.many.Count())
	}
	return int64(len(c.sorted))
}

// at is the value with so many below it, the last one if there are fewer; 0 without any.
func (c *column) at(rank int64) int64 {
	if c.len() == 0 {
		return 0
	}
	rank = min(rank, c.len()-1)
	if c.many == nil {
		return int64(c.sorted[rank])
	}
	if rank == c.len()-1 {
		return c.many.Max().Microseconds()
	}
	below := int64(0)
	for r, n := range c.many.All() {
		if below += int64(n); below > rank {
			return r.High / int64(time.Microsecond)
		}
	}
	return c.many.Max().Microseconds()
}

// mean is cut to whole microseconds; 0 without values.
func (c *column) mean() int64 {
	if c.len() == 0 {
		return 0
	}
	if c.many != nil {
		return c.many.Mean().Microseconds()
	}
	sum := int64(0)
	for _, v := range c.sorted {
		sum += int64(v)
	}
	return sum / c.len()
}

// deviation is the standard deviation, of a sample and from the cut mean.
func (c *column) deviation() float64 {
	if c.len() < 2 {
		return 0
	}
	if c.many != nil {
		return float64(c.many.StdDev()) / float64(time.Microsecond)
	}
	mean, squares := c.mean(), 0.0
	for _, v := range c.sorted {
		d := float64(int64(v) - mean)
		squares += d * d
	}
	return math.Sqrt(squares / float64(c.len()-1))
}

// median is ab's: with an odd number of values it is the mean of the middle one and the one
// behind it, with an even number the higher of the two in the middle.
func (c *column) median() int64 {
	n := c.len()
	if n > 1 && n%2 == 1 {
		return (c.at(n/2) + c.at(n/2+1)) / 2
	}
	return c.at(n / 2)
}

// percent is the value of which ab says that so many percent of the requests were served
// within it. All of them are served within the last.
func (c *column) percent(p int64) int64 {
	if p >= 100 {
		return c.at(c.len() - 1)
	}
	return c.at(c.len() * p / 100)
}

// share is the same in the file of -e, where the rank is rounded. ab itself reads beyond the last
// value there.
func (c *column) share(p int64) int64 {
	if p == 0 {
		return c.at(0)
	}
	return c.at((2*c.len()*p + 100) / 200)
}

// row is a column as the table of times has it: in milliseconds, all but the deviation
// rounded to whole ones.
type row struct {
	least, mean, median, most int64
	deviation                 float64
}

func (c *column) row() row {
	return row{
		milliseconds(c.at(0)), milliseconds(c.mean()), milliseconds(c.median()), milliseconds(c.at(c.len() - 1)),
		c.deviation() / 1000,
	}
}

// milliseconds rounds microseconds.
func milliseconds(us int64) int64 { return (us + 500) / 1000 }

// columnOf sorts the values that each request has.
func columnOf(all []sample, of func(sample) uint32) column {
	values := make([]uint32, len(all))
	for i, s := range all {
		values[i] = of(s)
	}
	slices.Sort(values)
	return column{sorted: values}
}
