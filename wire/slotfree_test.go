package wire_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"paddock/wire"
)

// SlotFree is called when the peer does no more work for a request: not when its caller has
// given up, but when its handler has returned.
func TestSlotIsFreeWhenTheHandlerReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		release := make(chan struct{})
		mux.HandleRequest("stubborn", func(ctx context.Context, _ *wire.Request) error {
			<-ctx.Done()
			<-release
			return nil
		})
		mux.HandleStream("stubborn", func(ctx context.Context, _ *wire.Stream) error {
			<-ctx.Done()
			<-release
			return nil
		})
		d, _ := piped(t, nil, &wire.Config{Mux: mux})
		var over atomic.Int32
		told := func() { over.Add(1) }

		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() {
			_, err := d.CallStream(ctx, "stubborn", nil, wire.CallOptions{SlotFree: told})
			result <- err
		}()
		s, err := d.Open(t.Context(), "stubborn", wire.OpenOptions{SlotFree: told})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		cancel()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if err := s.Reset(wire.Cancelled); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := over.Load(); n != 0 {
			t.Fatalf("%d are over, and both handlers run", n)
		}
		close(release)
		synctest.Wait()
		if n := over.Load(); n != 2 {
			t.Errorf("%d are over, both handlers have returned", n)
		}
	})
}

// What is answered, refused, cut off by the end of the connection, or never sent is
// over too, each once.
func TestOverIsToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		wire.Handle(mux, "echo", func(_ context.Context, b []byte) ([]byte, error) { return b, nil })
		mux.HandleStream("stay", func(ctx context.Context, _ *wire.Stream) error {
			<-ctx.Done()
			return nil
		})
		d, _ := piped(t, nil, &wire.Config{Mux: mux})
		var over [6]atomic.Int32
		told := func(i int) func() { return func() { over[i].Add(1) } }
		for i, kind := range []string{"echo", "nobody"} {
			if _, err := d.CallStream(t.Context(), kind, nil, wire.CallOptions{SlotFree: told(i)}); (err != nil) != (i == 1) {
				t.Fatal(err)
			}
		}
		for i, kind := range []string{"stay", "nobody"} {
			if _, err := d.Open(t.Context(), kind, wire.OpenOptions{SlotFree: told(2 + i)}); err != nil {
				t.Fatal(err)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := d.CallStream(ended, "echo", nil, wire.CallOptions{SlotFree: told(4)}); err == nil {
			t.Error("a call without time succeeds")
		}
		if _, err := d.Open(ended, "stay", wire.OpenOptions{SlotFree: told(5)}); err == nil {
			t.Error("a stream without time opens")
		}
		synctest.Wait()
		_ = d.Close()
		synctest.Wait()
		for i := range over {
			if n := over[i].Load(); n != 1 {
				t.Errorf("%d: told %d times", i, n)
			}
		}
	})
}

// Readable never says that a read would wait where it would not.
func TestReadable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		next := make(chan struct{})
		mux.HandleStream("two", func(_ context.Context, s *wire.Stream) error {
			for range 2 {
				<-next
				if err := s.WriteMsg([]byte("word")); err != nil {
					return err
				}
			}
			<-next
			return nil
		})
		d, _ := piped(t, nil, &wire.Config{Mux: mux})
		s, err := d.Open(t.Context(), "two", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 3 { // two words and the end
			synctest.Wait()
			if s.Readable() {
				t.Fatal("readable before anything has come")
			}
			next <- struct{}{}
			synctest.Wait()
			if !s.Readable() {
				t.Fatal("not readable, though something has come")
			}
			_, _ = s.ReadMsg(nil)
		}
	})
}
