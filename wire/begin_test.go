package wire_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
)

// A handler that begins on the reader answers with an error, starts a goroutine, or hands the
// request on. Callers see no difference.
func TestBegin(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		later := make(chan *wire.Request, 4)
		var reading atomic.Bool // a handler is on the reader
		mux.HandleRequest("begin", func(_ context.Context, r *wire.Request) error {
			if reading.Swap(true) {
				t.Error("two handlers on the reader")
			}
			defer reading.Store(false)
			switch string(r.Body) {
			case "no":
				return &wire.Error{Code: wire.PermissionDenied, Msg: "no"}
			case "panic":
				panic("here")
			case "go":
				r.Go(func(ctx context.Context, r *wire.Request) error {
					time.Sleep(time.Second) // others are served meanwhile
					return r.Respond(append([]byte("gone "), r.Body...))
				})
			case "later", "fail", "long":
				r.Later(func() { t.Error("nobody left") })
				later <- r
			}
			return nil
		}, wire.Inline())
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		var gone []byte
		done := make(chan error, 1)
		go func() {
			var err error
			gone, err = d.Call(within(t, time.Minute), "begin", []byte("go"))
			done <- err
		}()
		synctest.Wait()
		_, err := d.Call(within(t, time.Minute), "begin", []byte("no"))
		isCode(t, err, wire.PermissionDenied)
		_, err = d.Call(within(t, time.Minute), "begin", []byte("panic"))
		isCode(t, err, wire.Internal)
		_, err = d.Call(within(t, time.Minute), "begin", nil)
		isCode(t, err, wire.Internal) // it has returned without an answer

		go func() {
			r := <-later
			_ = r.Respond([]byte("answer to " + string(r.Body)))
			r.End(nil)
			(<-later).End(&wire.Error{Code: wire.Unavailable})
			r = <-later
			st, err := r.Promote([]byte("lo"))
			if err == nil {
				_, err = io.WriteString(st, "ng")
			}
			r.End(err)
		}()
		if b, err := d.Call(within(t, time.Minute), "begin", []byte("later")); err != nil || string(b) != "answer to later" {
			t.Errorf("%q, %v", b, err)
		}
		_, err = d.Call(within(t, time.Minute), "begin", []byte("fail"))
		isCode(t, err, wire.Unavailable)
		if b, err := d.Call(within(t, time.Minute), "begin", []byte("long")); err != nil || string(b) != "long" {
			t.Errorf("%q, %v", b, err)
		}
		if err := <-done; err != nil || string(gone) != "gone go" {
			t.Errorf("%q, %v", gone, err)
		}
		settled(t, d, a)
	})
}

// The holder of a request is told once that its caller has left. The slot stays taken until the
// holder ends the request. The same holds at the end of the connection.
func TestLaterCancelled(t *testing.T) {
	for _, how := range []string{"cancel", "deadline", "connection"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := wire.NewMux()
				held, left := make(chan *wire.Request, 1), make(chan struct{}, 2)
				mux.HandleRequest("hold", func(_ context.Context, r *wire.Request) error {
					r.Later(func() { left <- struct{}{} })
					held <- r
					return nil
				}, wire.Inline())
				d, a := piped(t, nil, &wire.Config{Mux: mux})
				ctx, cancel := context.WithCancel(context.Background())
				if how == "deadline" {
					ctx, cancel = context.WithTimeout(context.Background(), time.Second)
				}
				defer cancel()
				result := make(chan error, 1)
				go func() {
					_, err := d.Call(ctx, "hold", nil)
					result <- err
				}()
				r := <-held
				synctest.Wait()
				switch how {
				case "cancel":
					cancel()
				case "connection":
					d.Abort(wire.Unavailable)
				}
				if err := <-result; err == nil {
					t.Error("answered")
				}
				<-left
				closed := make(chan struct{})
				if how == "connection" {
					go func() {
						_ = a.Close()
						close(closed)
					}()
					synctest.Wait()
					select {
					case <-closed:
						t.Error("closed, and somebody holds a request")
					default:
					}
				}
				if err := r.Respond([]byte("too late")); err != nil && how != "connection" && !errors.Is(err, wire.ErrSlot) {
					t.Error(err)
				}
				r.End(nil)
				synctest.Wait()
				if len(left) > 0 {
					t.Error("told twice")
				}
				if how == "connection" {
					<-closed
					return
				}
				settled(t, d, a)
			})
		})
	}
}
