package client

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"paddock/tunnel"
	"paddock/wire"
)

// A target that takes no connection is not dialed for each visitor: for a moment the
// answer is there at once.
func TestDeadTarget(t *testing.T) {
	var counts clientCounts
	dialed := 0
	b, err := newTarget(Tunnel{Name: "dead", Protocol: tunnel.HTTP, Dial: func(ctx context.Context) (net.Conn, error) {
		dialed++
		return nil, net.ErrClosed
	}}, &counts, nil)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			_, err := b.dial(t.Context())
			first := time.Now()
			var e *wire.Error
			if !errors.As(err, &e) || e.Code != wire.Unavailable || !e.NotStarted {
				t.Fatal(err)
			}
			for before := dialed; before == dialed; <-time.After(time.Millisecond) {
				_, _ = b.dial(t.Context())
			}
			if d := time.Since(first); d < minDialAgain || d > maxDialAgain+2*time.Millisecond {
				t.Errorf("dialed again after %v", d)
			}
		}
	})
	if n := counts.failed.Load(); n != counts.dials.Load() || n != uint64(dialed) || counts.spared.Load() == 0 {
		t.Errorf("%d dials, %d failed, %d spared", dialed, n, counts.spared.Load())
	}
}
