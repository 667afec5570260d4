package wire

import (
	"testing"
	"time"

	"paddock/internal/wire/machine"
)

func TestBackoff(t *testing.T) {
	const most = 0.999999
	tests := []struct {
		name    string
		before  int // failures
		lived   time.Duration
		drained bool
		away    machine.Goaway
		low     time.Duration // with a random part of 0
		high    time.Duration // with nearly 1
	}{
		{name: "first failure", high: 200 * time.Millisecond},
		{name: "fourth failure", before: 3, high: 1600 * time.Millisecond},
		{name: "at the bound", before: 20, high: 30 * time.Second},
		{name: "far over the bound", before: 1000, high: 30 * time.Second},
		{name: "a short life is a failure", before: 3, lived: 29 * time.Second, high: 1600 * time.Millisecond},
		{name: "a healthy one is not", before: 9, lived: 30 * time.Second, high: 200 * time.Millisecond},
		{name: "drained", lived: time.Minute, drained: true},
		{name: "drained young", before: 2, lived: time.Second, drained: true, high: 800 * time.Millisecond},
		{
			name: "drained with advice", lived: time.Minute, drained: true, away: machine.Goaway{RetryAfter: 7 * time.Second, Jitter: 3 * time.Second},
			low: 7 * time.Second, high: 10 * time.Second,
		},
		{name: "closed with advice", away: machine.Goaway{RetryAfter: time.Minute}, low: time.Minute, high: time.Minute},
		{name: "advice that is shorter than the backoff", before: 20, away: machine.Goaway{RetryAfter: time.Second}, low: time.Second, high: 30 * time.Second},
		{name: "absurd advice", away: machine.Goaway{RetryAfter: 1000 * time.Hour}, low: time.Hour, high: time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, random := range []float64{0, most} {
				b := newBackoff(defaultMinBackoff, defaultMaxBackoff, defaultHealthy)
				b.failures, b.random = test.before, func() float64 { return random }
				want := test.low
				if random > 0 {
					want = test.high
				}
				got := b.after(test.lived, test.drained, test.away)
				if got > want || got < want-time.Millisecond {
					t.Errorf("random part %v: waits %v, want %v", random, got, want)
				}
			}
		})
	}
}

func TestBackoffGrowsAndForgets(t *testing.T) {
	b := newBackoff(time.Second, time.Minute, time.Hour)
	b.random = func() float64 { return 1 }
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if got := b.after(0, false, machine.Goaway{}); got != want*time.Second {
			t.Errorf("waits %v, want %ds", got, want)
		}
	}
	if got := b.after(2*time.Hour, false, machine.Goaway{}); got != time.Second {
		t.Errorf("waits %v after a healthy connection", got)
	}
	if got := b.after(2*time.Hour, true, machine.Goaway{}); got != 0 || b.failures != 0 {
		t.Errorf("waits %v after a drain, with %d failures", got, b.failures)
	}
}
