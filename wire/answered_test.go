package wire_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
)

// early serves "early" on mux: a request that is answered after a second. Its handler stays until
// its context ends or release is closed.
func early(mux *wire.Mux) (ended chan error, release chan struct{}) {
	ended, release = make(chan error, 1), make(chan struct{})
	mux.HandleRequest("early", func(ctx context.Context, r *wire.Request) error {
		time.Sleep(time.Second) // more of the body has arrived
		_ = r.Respond(nil)
		select {
		case <-ctx.Done():
		case <-release:
		}
		ended <- ctx.Err()
		return nil
	})
	return ended, release
}

// A handler that returns after its slot has another request gives back what it has not read.
func TestLateHandlerGivesCreditBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		_, release := early(mux)
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		answer, err := d.CallStream(t.Context(), "early", nil, wire.CallOptions{More: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := answer.Stream.Write(payload(60 << 10)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		for range 3 {
			if _, err := d.Call(t.Context(), "echo.slow", nil); err != nil {
				t.Fatal(err)
			}
		}
		close(release)
		answer.Stream.Close()
		settled(t, d, a)
	})
}

// The context of a handler that has answered ends with the connection, also if its slot has other
// work.
func TestContextOutlivesTheSlot(t *testing.T) {
	for name, next := range map[string]func(t *testing.T, d *wire.Conn) error{
		"request": func(t *testing.T, d *wire.Conn) error {
			_, err := d.Call(t.Context(), "echo.slow", nil)
			return err
		},
		"inline": func(t *testing.T, d *wire.Conn) error {
			_, err := d.Call(t.Context(), "echo", nil)
			return err
		},
		"long inline": func(t *testing.T, d *wire.Conn) error {
			_, err := d.Call(t.Context(), "long", nil)
			return err
		},
		"stream": func(t *testing.T, d *wire.Conn) error {
			s, err := d.Open(t.Context(), "echo", wire.OpenOptions{})
			if err == nil {
				err = s.Close()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := echoMux()
				ended, release := early(mux)
				wire.Handle(mux, "long", func(_ context.Context, body []byte) ([]byte, error) {
					return append(body, make([]byte, 200_000)...), nil
				}, wire.Inline())
				d, a := piped(t, nil, &wire.Config{Mux: mux, Logger: quiet})
				if _, err := d.Call(t.Context(), "early", nil); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for range 3 {
					if err := next(t, d); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				if len(ended) > 0 {
					t.Error("the context has ended with the slot")
				}
				d.Close()
				began := time.Now()
				if err := a.Close(); err != nil || len(ended) == 0 || time.Since(began) > time.Second {
					t.Errorf("%v, %d handlers have ended, after %v", err, len(ended), time.Since(began))
				}
				close(release)
			})
		})
	}
}

// A CANCEL means the request that has the slot now, and not one that had it and whose handler still
// runs.
func TestCancelMeansTheRequestInTheSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		ended, release := early(mux)
		p, _ := attack(t, &wire.Config{Mux: mux})
		p.listen()
		p.hello(wire.Hello{}, "early", "echo")
		slot := func(generation uint16) uint32 { return uint32(frame.MakeSlot(frame.Dialer, 1, generation)) }
		_ = p.send(frame.Frame{Type: frame.REQ, ID: slot(1), Kind: 1})
		time.Sleep(2 * time.Second)
		if got := p.take(); len(got) == 0 || got[len(got)-1].Type != frame.RES {
			t.Fatalf("got %v", got)
		}
		_ = p.send(frame.Frame{Type: frame.REQ, ID: slot(2), Kind: 2, Body: []byte("x")}, frame.Frame{Type: frame.CANCEL, ID: slot(2)})
		if got := p.take(); len(got) != 1 || !bytes.Equal(got[0].Body, []byte("x")) {
			t.Errorf("got %v", got)
		}
		close(release)
		if err := <-ended; err != nil {
			t.Errorf("the first request: %v", err)
		}
	})
}
