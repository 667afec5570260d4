package wire_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"paddock/wire"
)

// Both sides drain at once, with calls under way both ways: none of them fails, and
// each side ends once.
func TestDrainCrossing(t *testing.T) {
	for range 100 {
		d, a := connect(t, &wire.Config{Mux: echoMux()}, &wire.Config{Mux: echoMux()})
		var wg sync.WaitGroup
		for _, c := range []*wire.Conn{d, a} {
			for range 4 {
				wg.Go(func() {
					for {
						_, err := c.Call(context.Background(), "echo.slow", []byte("x"))
						var refused *wire.Error
						switch {
						case err == nil:
							continue
						case errors.Is(err, wire.ErrDraining), errors.Is(err, wire.ErrNotSent):
						case errors.As(err, &refused) && refused.NotStarted: // it crossed the GOAWAY
						default:
							t.Errorf("%v: %v", c.Role(), err)
						}
						return
					}
				})
			}
			wg.Go(func() {
				if err := c.Drain(context.Background()); err != nil {
					t.Errorf("drain: %v", err)
				}
			})
		}
		wg.Wait()
	}
}
