package ab

import (
	"math"
	"testing"
	"time"

	"paddock/load/histogram"
)

// Each figure of a column, worked out by hand from ab's definitions.
func TestColumn(t *testing.T) {
	for _, tc := range []struct {
		name         string
		us           []uint32
		mean, median int64
		deviation    float64
		percent      map[int64]int64
		share        map[int64]int64
	}{
		{
			"one",
			[]uint32{1234},
			1234, 1234, 0,
			map[int64]int64{50: 1234, 99: 1234, 100: 1234},
			map[int64]int64{0: 1234, 50: 1234, 100: 1234},
		},
		{
			"two: the higher one is the median",
			[]uint32{10, 20},
			15, 20, math.Sqrt(50),
			map[int64]int64{50: 20, 66: 20, 100: 20},
			map[int64]int64{0: 10, 24: 10, 25: 20, 100: 20},
		},
		{
			"three: what is behind the middle counts",
			[]uint32{10, 20, 60},
			30, 40, math.Sqrt((400 + 100 + 900) / 2.0),
			map[int64]int64{50: 20, 66: 20, 75: 60, 99: 60},
			map[int64]int64{16: 10, 17: 20, 49: 20, 50: 60, 99: 60},
		},
		{
			"four: the mean is cut",
			[]uint32{1, 2, 3, 5},
			2, 3, math.Sqrt((1 + 0 + 1 + 9) / 3.0),
			map[int64]int64{50: 3, 66: 3, 75: 5, 80: 5},
			map[int64]int64{12: 1, 13: 2, 37: 2, 38: 3, 62: 3, 63: 5},
		},
	} {
		c := column{sorted: tc.us}
		if c.mean() != tc.mean || c.median() != tc.median || math.Abs(c.deviation()-tc.deviation) > 1e-9 {
			t.Errorf("%s: mean %d, median %d, deviation %v", tc.name, c.mean(), c.median(), c.deviation())
		}
		for p, want := range tc.percent {
			if got := c.percent(p); got != want {
				t.Errorf("%s: %d %% is %d, want %d", tc.name, p, got, want)
			}
		}
		for p, want := range tc.share {
			if got := c.share(p); got != want {
				t.Errorf("%s: row %d of the file is %d, want %d", tc.name, p, got, want)
			}
		}
	}
}

func TestMilliseconds(t *testing.T) {
	for us, want := range map[int64]int64{0: 0, 499: 0, 500: 1, 1499: 1, 1500: 2, 50_757: 51} {
		if got := milliseconds(us); got != want {
			t.Errorf("%d us are %d ms, want %d", us, got, want)
		}
	}
}

// Beyond the bound of single samples, figures are right to a thousandth.
func TestColumnOfMany(t *testing.T) {
	h := histogram.New()
	exact := column{}
	for v := uint32(100); v < 100_000; v += 7 {
		h.Record(int64(v) * int64(time.Microsecond))
		exact.sorted = append(exact.sorted, v)
	}
	many := column{many: h}
	near := func(what string, got, want int64) {
		if math.Abs(float64(got-want)) > float64(want)/1000+1 {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	near("mean", many.mean(), exact.mean())
	near("median", many.median(), exact.median())
	near("deviation", int64(many.deviation()), int64(exact.deviation()))
	for p := range int64(101) {
		near("percent", many.percent(p), exact.percent(p))
		near("share", many.share(p), exact.share(p))
	}
	if many.len() != exact.len() {
		t.Errorf("%d values, want %d", many.len(), exact.len())
	}
}

// The warnings compare the printed values: a mean of 1 ms and a median of 0 are far from each other
// if the deviation is 0.4 ms.
func TestDoubt(t *testing.T) {
	for _, tc := range []struct {
		row  row
		want string
	}{
		{row{mean: 1, median: 0, deviation: 0.4}, "ERROR: The median and mean for the total time are more than twice the standard\n       deviation apart. These results are NOT reliable.\n"},
		{row{mean: 1, median: 3, deviation: 1.6}, "WARNING: The median and mean for the total time are not within a normal deviation\n        These results are probably not that reliable.\n"},
		{row{mean: 3, median: 1, deviation: 2}, ""},
		{row{mean: 0, median: 0, deviation: 0}, ""},
	} {
		if got := tc.row.doubt("the total time"); got != tc.want {
			t.Errorf("%+v: %q", tc.row, got)
		}
	}
}
