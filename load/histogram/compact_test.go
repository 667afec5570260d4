package histogram

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A compact histogram, and the sum of several, are equal to one histogram of the same durations,
// and it takes no memory for a duration of a doubling that it has.
func TestCompact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	want, sum := New(), &Compact{}
	for range 3 {
		part := &Compact{}
		for range 10_000 {
			ns := random.Int64N(1 << random.IntN(44))
			want.Record(ns)
			part.Record(ns)
		}
		sum.Add(part)
	}
	for _, ns := range []int64{-5, int64(Max), int64(Max) + 1} {
		want.Record(ns)
		sum.Record(ns)
	}
	sum.Add(&Compact{})
	if got := sum.Histogram(); !got.Equal(want) || got.Count() != want.Count() {
		t.Errorf("%d from %v to %v, not %d from %v to %v", got.Count(), got.Min(), got.Max(), want.Count(), want.Min(), want.Max())
	}
	if n := testing.AllocsPerRun(100, func() { sum.Record(int64(time.Millisecond)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := new(Compact).Histogram(); !got.Equal(New()) {
		t.Error("nothing is not nothing")
	}
}
