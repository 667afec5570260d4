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

// skipSlowUnderRace: lent memory is overwritten in each of 4,096 calls.
func skipSlowUnderRace(t *testing.T) {
	t.Helper()
	if wire.RaceEnabled {
		t.Skip("4,096 calls take seconds")
	}
}

// A stream that is kept beyond its slot does not touch the stream that has its number after 4,096
// generations.
func TestOldStreamLeavesItsSlotAlone(t *testing.T) {
	skipSlowUnderRace(t)
	for name, act := range map[string]func(t *testing.T, s *wire.Stream){
		"close": func(_ *testing.T, s *wire.Stream) { s.Close() },
		"reset": func(t *testing.T, s *wire.Stream) {
			if err := s.Reset(wire.Cancelled); !errors.Is(err, wire.ErrSlot) {
				t.Errorf("reset: %v", err)
			}
		},
		"read": func(_ *testing.T, s *wire.Stream) { _, _ = io.ReadAll(s) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const window = 256 << 10
				mux := echoMux()
				mux.HandleStream("say", func(_ context.Context, s *wire.Stream) error {
					_, err := s.Write(payload(window - 1))
					return err
				})
				mux.HandleStream("fill", func(_ context.Context, s *wire.Stream) error {
					if _, err := s.Read(make([]byte, 1)); err != nil {
						t.Errorf("the peer's half: %v", err)
					}
					_ = s.SetWriteDeadline(time.Now().Add(time.Second))
					if n, err := s.Write(payload(2 * window)); n != window {
						t.Errorf("%d bytes fit a window of %d: %v", n, window, err)
					}
					return nil
				})
				d, a := piped(t, &wire.Config{StreamInitial: window}, &wire.Config{Mux: mux})
				open := func(kind string) *wire.Stream {
					s, err := d.Open(t.Context(), kind, wire.OpenOptions{})
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				old := open("say")
				_ = old.CloseWrite()
				synctest.Wait()
				for range 4095 {
					if _, err := d.Call(t.Context(), "echo", nil); err != nil {
						t.Fatal(err)
					}
				}
				s := open("fill")
				_ = s.SetDeadline(time.Now().Add(2 * time.Minute))
				act(t, old)
				synctest.Wait()
				if _, err := s.Write([]byte("x")); err != nil {
					t.Errorf("our half: %v", err)
				}
				time.Sleep(time.Minute)
				if got, err := io.ReadAll(s); err != nil || len(got) != window {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				s.Close()
				old.Close()
				settled(t, d, a)
			})
		})
	}
}

// A handler that returns when its slot has had 4,096 generations does not end the request that has
// its number.
func TestOldHandlerLeavesItsSlotAlone(t *testing.T) {
	skipSlowUnderRace(t)
	bubble(t, func(t *testing.T) {
		mux := echoMux()
		first, second := make(chan struct{}), make(chan struct{})
		mux.HandleRequest("first", func(_ context.Context, r *wire.Request) error {
			_ = r.Respond(nil)
			<-first
			return errors.New("late")
		})
		wire.Handle(mux, "second", func(_ context.Context, body []byte) ([]byte, error) { <-second; return body, nil })
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		for i := range 4096 {
			kind := "echo"
			if i == 0 {
				kind = "first"
			}
			if _, err := d.Call(t.Context(), kind, nil); err != nil {
				t.Fatal(err)
			}
		}
		answered := make(chan error, 1)
		go func() {
			_, err := d.Call(t.Context(), "second", nil)
			answered <- err
		}()
		synctest.Wait()
		close(first)
		synctest.Wait()
		close(second)
		if err := <-answered; err != nil {
			t.Error(err)
		}
		settled(t, d, a)
	})
}
