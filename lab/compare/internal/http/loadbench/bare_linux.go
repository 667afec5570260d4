package loadbench

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/load/histogram"
)

// bareSpin is for how long before a time is due a bare loop does not sleep: as long as the
// generator does not at first.
const bareSpin = 60 * time.Microsecond

// bare is how late a loop is that does nothing but wait, without the runtime's timers:
// clock_nanosleep(2), and turning.
func bare(o measure.Options) (*measure.Measurement, error) {
	late := make(chan *histogram.Histogram)
	took := turnTime(o)
	go func() { // ends with its word; its thread ends with it, and with that its slack
		runtime.LockOSThread()
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
		late <- waits(took)
	}()
	h := <-late
	return &measure.Measurement{
		Ops: int64(h.Count()), Elapsed: took,
		Figures: map[string]float64{
			string(harness.P50): us(h.Quantile(0.5)), string(harness.P99): us(h.Quantile(0.99)), string(harness.P999): us(h.Quantile(0.999)),
			string(harness.RateError): rateError(int64(h.Count()), int64(took)),
		},
	}, nil
}

// waits records how late each of so many times was that came one after another.
func waits(total time.Duration) *histogram.Histogram {
	late := histogram.New()
	began := monotonic()
	for due := began; due < began+int64(total); due += int64(time.Second / pacing) {
		until := unix.NsecToTimespec(due - int64(bareSpin))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) == unix.EINTR {
		}
		at := monotonic()
		for at < due {
			at = monotonic()
		}
		late.Record(at - due)
	}
	return late
}

func monotonic() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}
