package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
	"paddock/wire/wiretest"
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
							t.Errorf("%v: %v", c.Dialed(), err)
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

// A drain during which the connection is lost, with a call under way, says so; one
// during which it ends with nothing under way has succeeded.
func TestDrainCutOff(t *testing.T) {
	for _, busy := range []bool{true, false} {
		for name, cut := range map[string]func(net.Conn){
			"end":   func(nc net.Conn) { nc.Close() },
			"reset": func(nc net.Conn) { wiretest.Faulty(nc, wiretest.Faults{}).Cut() },
		} {
			t.Run(fmt.Sprintf("%s/busy=%v", name, busy), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					mux := wire.NewMux()
					wire.Handle(mux, "wait", func(ctx context.Context, _ []byte) ([]byte, error) {
						<-ctx.Done()
						return nil, ctx.Err()
					})
					p, c := attack(t, &wire.Config{Mux: mux, Logger: quiet})
					p.hello(wire.Hello{}, "wait")
					if busy {
						_ = p.send(frame.Frame{Type: frame.REQ, ID: uint32(frame.MakeSlot(frame.Dialer, 1, 1)), Kind: 1})
					}
					synctest.Wait()
					drained := make(chan error, 1)
					go func() { drained <- c.Drain(context.Background()) }()
					synctest.Wait()
					cut(p.nc)
					if err := <-drained; (err != nil) != busy {
						t.Errorf("drain: %v", err)
					}
				})
			})
		}
	}
}

// A peer that ends the connection with a reason, before our drain or in its midst, has
// cut nothing off if nothing was under way.
func TestDrainSentAway(t *testing.T) {
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprintf("before=%v", before), func(t *testing.T) {
			for range 50 {
				d, a := connect(t, &wire.Config{Logger: quiet}, &wire.Config{Mux: echoMux()})
				if _, err := d.Call(context.Background(), "echo", nil); err != nil {
					t.Fatal(err)
				}
				drained := make(chan error, 1)
				if before {
					a.Abort(wire.PermissionDenied)
					<-d.Done()
				} else {
					go a.Abort(wire.PermissionDenied)
				}
				go func() { drained <- d.Drain(context.Background()) }()
				if err := <-drained; err != nil {
					t.Fatalf("drain: %v", err)
				}
			}
		})
	}
}

// A client that drains waits also for calls on a connection that its server drains.
func TestClientDrainWaitsForRetiringConnections(t *testing.T) {
	for _, cut := range []bool{false, true} {
		t.Run(fmt.Sprintf("cut=%v", cut), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := echoMux()
				entered, release := blocker(mux)
				b := &backend{config: &wire.Config{Mux: mux, Logger: quiet}}
				c := b.client(t, wire.ClientConfig{})
				slow, drained := make(chan error, 1), make(chan error, 1)
				go func() {
					_, err := c.Call(context.Background(), "block", nil)
					slow <- err
				}()
				<-entered
				old := b.newest()
				time.Sleep(time.Minute)
				go func() { _ = old.Drain(context.Background()) }()
				synctest.Wait()
				mustCall(t, c, "over the next one")
				go func() { drained <- c.Drain(within(t, 5*time.Second)) }()
				synctest.Wait()
				if cut {
					time.Sleep(6 * time.Second)
				}
				close(release)
				if err := <-slow; (err != nil) != cut {
					t.Errorf("the call under way: %v", err)
				}
				if err := <-drained; (err != nil) != cut {
					t.Errorf("drain: %v", err)
				}
			})
		})
	}
}
