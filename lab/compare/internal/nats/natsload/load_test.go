package natsload

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/internal/process/lifecycle"
	"paddock/lab/compare/internal/harness/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var short = measure.Options{Warmup: 2 * time.Millisecond, Duration: 20 * time.Millisecond}

// testWindow bounds the messages in flight at the broker of these tests.
const testWindow = 16 << 10

func TestStreams(t *testing.T) {
	for name, s := range map[string]Stream{
		"publish":     {Size: 16},
		"nothing":     {Subject: "a"},
		"one":         {Size: 16, Subscribers: 1},
		"same":        {Size: 2, Subscribers: 1, Same: true},
		"fan-out":     {Size: 128, Subscribers: 4},
		"many to one": {Size: 128, Publishers: 4, Subscribers: 1},
		"subjects":    {Size: 16, Subject: "many.", Subjects: 5000, Subscribers: 2},
		"stalled":     {Size: 16, Subscribers: 1, Stalled: 2},
		"uncounted":   {Size: 16, Subscribers: 3, Uncounted: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s.underWay = testWindow
			m, err := s.Measure(t.Context(), newBroker(t), short)
			if err != nil {
				t.Fatal(err)
			}
			if m.Ops == 0 || m.Bytes != m.Ops*int64(s.Size) || m.Elapsed < short.Duration {
				t.Errorf("%d operations, %d bytes in %v", m.Ops, m.Bytes, m.Elapsed)
			}
		})
	}
}

// A delivery that is missing, or one too many, is an error, never a figure.
func TestCountsAreVerified(t *testing.T) {
	for _, tc := range []struct {
		name   string
		mangle func(n int64) (int, bool)
		stream Stream
		within time.Duration
		want   string
	}{
		{
			"one too many",
			func(n int64) (int, bool) { return 1 + one(n == 3), false },
			Stream{Size: 16, Subscribers: 2},
			time.Minute, "got",
		},
		{
			"one too few",
			func(n int64) (int, bool) { return 1 - one(n == 3), false },
			Stream{Size: 16, Subscribers: 2},
			time.Second / 2, "not everything has arrived",
		},
		{
			"a subscriber is closed",
			func(n int64) (int, bool) { return 1, n == 3 },
			Stream{Size: 16, Subscribers: 2},
			time.Minute, "subscriber",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBroker(t)
			b.mangle = tc.mangle
			ctx, cancel := context.WithTimeoutCause(t.Context(), tc.within, errNotArrived)
			defer cancel()
			tc.stream.underWay = testWindow
			_, err := tc.stream.Measure(ctx, b, short)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A stalled subscriber on which the server hangs up is there again, as often as
// that happens.
func TestStalledComeAgain(t *testing.T) {
	b := newBroker(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := newStalled(ctx, b.Addr(), "foo")
	if err != nil {
		t.Fatal(err)
	}
	s.away = time.Millisecond
	done := make(chan error, 1)
	go func() { done <- s.stay(ctx) }()
	for came := int64(1); came <= 3; came++ {
		for b.accepted.Load() < came || !b.hangUp() {
			_ = lifecycle.Sleep(ctx, time.Millisecond)
		}
	}
	for b.accepted.Load() < 4 {
		_ = lifecycle.Sleep(ctx, time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// hangUp closes every connection that has subscribed, and reports whether there
// was one.
func (b *broker) hangUp() (any bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for nc, subs := range b.subs {
		if len(subs) > 0 {
			nc.Close()
			clear(subs)
			any = true
		}
	}
	return any
}

func TestRequests(t *testing.T) {
	for _, n := range []int{1, 5} {
		m, err := Requests{Size: 128, Requesters: n}.Measure(t.Context(), newBroker(t), short)
		if err != nil {
			t.Fatal(err)
		}
		if m.Ops == 0 || m.Latency.Count != m.Ops || m.Latency.P50 <= 0 {
			t.Errorf("%d requesters: %d operations, %d latencies", n, m.Ops, m.Latency.Count)
		}
	}
}

// An answer that comes twice is that of no later request.
func TestAnswersAreChecked(t *testing.T) {
	b := newBroker(t)
	b.mangle = func(n int64) (int, bool) { return 1 + one(n == 2), false }
	if _, err := (Requests{Size: 8, Requesters: 1}).Measure(t.Context(), b, short); err == nil {
		t.Error("no error")
	}
}

func TestNothingListens(t *testing.T) {
	b := newBroker(t)
	b.close()
	for _, load := range []interface {
		Measure(context.Context, Server, measure.Options) (*measure.Measurement, error)
	}{Stream{Size: 16}, Requests{Size: 16, Requesters: 1}} {
		if _, err := load.Measure(t.Context(), b, short); err == nil {
			t.Errorf("%T: no error", load)
		}
	}
}
