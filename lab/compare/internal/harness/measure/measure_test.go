package measure

import (
	"errors"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The machine uses at least as much as this process.
func TestMachineUsage(t *testing.T) {
	before, err := MachineUsage()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	own, failed := OwnUsage()
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	const work = 10 * clockTick
	for used := time.Duration(0); used < work; {
		now, err := OwnUsage()
		if err != nil {
			t.Fatal(err)
		}
		used = now.Sub(own).Total()
	}
	after, err := MachineUsage()
	if err != nil {
		t.Fatal(err)
	}
	// Each of its numbers may be short of one tick.
	if got := after.Sub(before).Total(); got < work/2 {
		t.Errorf("the machine used %v while this process used %v", got, work)
	}
}

func TestLatencyOfMergedHistograms(t *testing.T) {
	odd, even := NewHistogram(), NewHistogram()
	for i := 1; i <= 1000; i += 2 {
		Record(odd, time.Duration(i)*time.Microsecond)
		Record(even, time.Duration(i+1)*time.Microsecond)
	}
	Record(odd, -time.Second)
	Record(odd, time.Hour)
	l := LatencyOf(Merged([]*hdrhistogram.Histogram{odd, even}))
	near := func(got, want time.Duration) bool { return got >= want && got <= want+want/500 }
	if l.Count != 1002 || !near(l.P50, 500*time.Microsecond) || !near(l.P99, 991*time.Microsecond) || !near(l.Max, time.Minute) {
		t.Errorf("got %+v", l)
	}
}
