package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
)

// openBody sends a request whose body goes on, with a beginning of it.
func openBody(t *testing.T, c *wire.Conn, kind string) *wire.Stream {
	t.Helper()
	answer, err := c.CallStream(t.Context(), kind, []byte("begin "), wire.CallOptions{More: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := answer.Stream.Write(payload(1000)); err != nil {
		t.Fatal(err)
	}
	return answer.Stream
}

// A caller that gives up ends the body too: a handler that reads it returns, and its slot is free.
func TestCancelEndsTheBody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		ended := make(chan error, 1)
		mux.HandleRequest("up", func(_ context.Context, r *wire.Request) error {
			_, err := io.ReadAll(r.Stream())
			ended <- err
			return err
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		s := openBody(t, d, "up")
		synctest.Wait()
		if err := s.Reset(wire.Cancelled); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		select {
		case err := <-ended:
			isCode(t, err, wire.Cancelled)
		default:
			t.Fatal("the handler still reads")
		}
		settled(t, d, a)
	})
}

// A handler that has answered gets no more of the body than what has arrived.
func TestAnswerEndsTheBody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		type result struct {
			got []byte
			err error
		}
		ended := make(chan result, 1)
		mux.HandleRequest("early", func(_ context.Context, r *wire.Request) error {
			synctest.Wait()
			err := r.Respond([]byte("ok"))
			got, failed := io.ReadAll(r.Stream())
			ended <- result{got, failed}
			return err
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		s := openBody(t, d, "early")
		if head, err := s.Accepted(t.Context()); err != nil || string(head) != "ok" {
			t.Errorf("%q, %v", head, err)
		}
		synctest.Wait()
		select {
		case r := <-ended:
			if !bytes.Equal(r.got, payload(1000)) || !errors.Is(r.err, net.ErrClosed) {
				t.Errorf("read %d bytes, %v", len(r.got), r.err)
			}
		default:
			t.Fatal("the handler still reads")
		}
		s.Close()
		settled(t, d, a)
	})
}

// A request whose body was closed by its caller is cancelled as late as a stream is reset.
func TestLingerOfARequestIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		ended := make(chan time.Time, 1)
		mux.HandleRequest("stay", func(ctx context.Context, r *wire.Request) error {
			<-ctx.Done()
			ended <- time.Now()
			return nil
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		answer, err := d.CallStream(t.Context(), "stay", nil, wire.CallOptions{More: true})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		answer.Stream.Close()
		time.Sleep(5 * time.Minute)
		select {
		case at := <-ended:
			if took := at.Sub(began); took < time.Minute || took > 75*time.Second {
				t.Errorf("cancelled after %v", took)
			}
		default:
			t.Error("the handler still runs")
		}
		settled(t, d, a)
	})
}

// An answer that goes on after its caller has closed the request's stream is stopped.
func TestAnswerToAClosedStreamStops(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		ended := make(chan error, 1)
		mux.HandleRequest("endless", func(ctx context.Context, r *wire.Request) error {
			time.Sleep(time.Second)
			s, err := r.Promote(nil)
			for i := 0; i < 100 && err == nil; i++ {
				_, err = s.Write(make([]byte, 100_000))
			}
			ended <- err
			return nil
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		answer, err := d.CallStream(t.Context(), "endless", nil, wire.CallOptions{More: true})
		if err != nil {
			t.Fatal(err)
		}
		answer.Stream.Close()
		isCode(t, <-ended, wire.Cancelled)
		settled(t, d, a)
	})
}
