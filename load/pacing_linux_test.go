package load_test

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"paddock/load"
	"paddock/load/histogram"
)

// pacingRate and pacingTime describe the measurement: a request every 100 us.
const (
	pacingRate = 10_000
	pacingTime = 4 * time.Second
)

// BenchmarkPacing measures how exactly requests are sent at their due times, for each way to wait,
// to a service that answers at once. For comparison it measures the machine itself: a loop that
// sleeps until 60 us before, spins for the rest, and sends nothing. That loop is late only by the
// machine.
func BenchmarkPacing(b *testing.B) {
	address := service(b, "at once")
	for _, p := range []struct {
		name string
		pace load.Pace
	}{{"hybrid", load.Hybrid}, {"sleep", load.Sleep}, {"spin", load.Spin}} {
		b.Run(p.name, func(b *testing.B) {
			for range b.N {
				pace(b, address, p.pace)
			}
		})
	}
	b.Run("bare", func(b *testing.B) {
		for range b.N {
			bare(b)
		}
	})
}

func pace(b *testing.B, address string, p load.Pace) {
	plan := order{Address: address, PerSecond: pacingRate, Conns: 64, Duration: pacingTime}.plan()
	plan.Pace = p
	r, err := load.Run(b.Context(), plan, nil)
	if err != nil {
		b.Fatal(err)
	}
	use := r.Total.Threads[0]
	b.ReportMetric(100*(float64(r.Total.Sent)/(pacingRate*r.Elapsed.Seconds())-1), "%rate-error")
	b.ReportMetric(100*float64(use.CPU)/float64(use.Wall), "%cpu")
	b.ReportMetric(100*float64(use.Ready)/float64(use.Wall), "%ready")
	b.ReportMetric(100*float64(r.Machine.Steal)/float64(r.Elapsed)/float64(r.Machine.Processors), "%steal")
	report(b, r.Total.Lag)
}

// bare records how late a loop is that does nothing else.
func bare(b *testing.B) {
	runtime.LockOSThread() // without an unlock: the thread ends, and with it its slack
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	late := histogram.New()
	now := func() int64 {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
		return ts.Nano()
	}
	began := now()
	for due := began; due < began+int64(pacingTime); due += int64(time.Second / pacingRate) {
		until := unix.NsecToTimespec(due - int64(60*time.Microsecond))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) == unix.EINTR {
		}
		at := now()
		for at < due {
			at = now()
		}
		late.Record(at - due)
	}
	report(b, late)
}

func report(b *testing.B, lag *histogram.Histogram) {
	b.ReportMetric(0, "ns/op")
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50-us", 0.5}, {"p99-us", 0.99}, {"p99.9-us", 0.999}} {
		b.ReportMetric(float64(lag.Quantile(q.at))/1e3, q.name)
	}
}
