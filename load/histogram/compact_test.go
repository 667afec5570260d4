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
	want, sum := New(), New()
	for range 3 {
		part := &Compact{}
		for range 10_000 {
			ns := random.Int64N(1 << random.IntN(44))
			want.Record(ns)
			part.Record(ns)
		}
		part.AddTo(sum)
	}
	c := &Compact{}
	for _, ns := range []int64{-5, int64(Max), int64(Max) + 1} {
		want.Record(ns)
		c.Record(ns)
	}
	c.AddTo(sum)
	new(Compact).AddTo(sum)
	if got := sum; !got.Equal(want) || got.Count() != want.Count() {
		t.Errorf("%d from %v to %v, not %d from %v to %v", got.Count(), got.Min(), got.Max(), want.Count(), want.Min(), want.Max())
	}
	if n := testing.AllocsPerRun(100, func() { c.Record(int64(time.Millisecond)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	got, none := New(), New()
	new(Compact).AddTo(got)
	if !got.Equal(none) {
		t.Error("nothing is not nothing")
	}
}
