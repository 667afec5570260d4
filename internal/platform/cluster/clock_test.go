package cluster

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// A node takes over the servers' clock, but not what may be an error of the measurement, and keeps
// the last one while they do not answer.
func TestClock(t *testing.T) {
	var ahead, within time.Duration
	var err error
	c := clock{logger: slog.New(slog.DiscardHandler), measure: func(context.Context) (time.Duration, time.Duration, error) { return ahead, within, err }}
	for _, step := range []struct {
		ahead, within time.Duration
		err           error
		want          time.Duration
	}{
		{5 * time.Millisecond, 10 * time.Millisecond, nil, 0},
		{time.Hour, 10 * time.Millisecond, nil, time.Hour},
		{time.Hour + 5*time.Millisecond, 10 * time.Millisecond, nil, time.Hour},
		{0, 0, errors.New("away"), time.Hour},
		{-time.Minute, time.Millisecond, nil, -time.Minute},
	} {
		ahead, within, err = step.ahead, step.within, step.err
		if got := c.look(t.Context()); !errors.Is(got, err) {
			t.Errorf("%v: %v", step, got)
		}
		low := time.Now().Add(step.want)
		if got, high := c.now(), time.Now().Add(step.want); got.Before(low) || got.After(high) {
			t.Errorf("%v: %v, want from %v to %v", step, got, low, high)
		}
	}
}

// A node waits for the time of the servers, which elect a leader maybe, and does not begin without.
func TestClockBegins(t *testing.T) {
	for _, c := range []struct {
		failures int
		ok       bool
	}{{0, true}, {5, true}, {1000, false}} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			clock := clock{logger: slog.New(slog.DiscardHandler), measure: func(ctx context.Context) (time.Duration, time.Duration, error) {
				if asked++; asked <= c.failures {
					<-ctx.Done()
					return 0, 0, ctx.Err()
				}
				return time.Hour, 0, nil
			}}
			err := clock.begin(t.Context())
			if (err == nil) != c.ok || errors.Is(err, ErrClock) == c.ok || c.ok && time.Until(clock.now()) != time.Hour {
				t.Errorf("%d failures: %v, %v ahead", c.failures, err, time.Until(clock.now()))
			}
		})
	}
}
