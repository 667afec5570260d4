package cluster

import (
	"context"
	"errors"
	"log/slog"
	"testing"
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
		c.look(t.Context())
		low := time.Now().Add(step.want)
		if got, high := c.now(), time.Now().Add(step.want); got.Before(low) || got.After(high) {
			t.Errorf("%v: %v, want from %v to %v", step, got, low, high)
		}
	}
}
