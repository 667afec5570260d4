package measure

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/load/histogram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	const work = 100 * time.Millisecond // ten steps of the counters
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

func TestLatencyOfSeveralHistograms(t *testing.T) {
	odd, even := histogram.New(), histogram.New()
	for i := int64(1); i <= 1000; i += 2 {
		odd.Record(i * 1000)
		even.Record((i + 1) * 1000)
	}
	odd.Record(0)
	odd.Record(int64(time.Minute))
	l := LatencyOf(odd, even)
	near := func(got, want time.Duration) bool { return got >= want && got <= want+want/500 }
	if l.Count != 1002 || !near(l.P50, 500*time.Microsecond) || !near(l.P99, 991*time.Microsecond) || l.Max != time.Minute {
		t.Errorf("got %+v", l)
	}
}
