package wire_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

// TestStalledStreamsMakeRoom holds that unread streams do not stop the others for ever. When they
// hold the connection's budget, the ones that have stood still for longest are reset.
func TestStalledStreamsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mux := wire.NewMux()
		ends := make(chan error, 100)
		mux.HandleStream("stall", func(ctx context.Context, s *wire.Stream) error {
			<-ctx.Done()
			_, err := s.Read(make([]byte, 1))
			ends <- err
			return err
		})
		mux.HandleStream("sink", func(_ context.Context, s *wire.Stream) error {
			_, err := io.Copy(io.Discard, s)
			return err
		})
		near, far := wiretest.Pipe(1 << 20)
		a, err := wire.AcceptConn(far, &wire.Config{Mux: mux, ConnBudget: 1 << 20, StreamInitial: 256 << 10})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		d, err := wire.NewConn(near, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()

		const stalled = 8 // of 256 KiB each, where four fill the budget
		for range stalled {
			s, err := d.Open(t.Context(), "stall", wire.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			go func() { _, _ = s.Write(make([]byte, 1<<20)) }()
		}
		synctest.Wait()
		s, err := d.Open(t.Context(), "sink", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		began := time.Now()
		if _, err := s.Write(make([]byte, 4<<20)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("the stream that is read waited %v", took)
		}
		var e *wire.Error
		if err := <-ends; !errors.As(err, &e) || e.Code != wire.ResourceExhausted {
			t.Errorf("a stalled stream ended with %v", err)
		}
	})
}
