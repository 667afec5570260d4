package wire_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
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

// TestUnreadAnswersMakeRoom holds that answers which have arrived whole, and are not read, do not
// stop the others for ever, though their slots are free and have other work.
func TestUnreadAnswersMakeRoom(t *testing.T) {
	for _, reused := range []bool{false, true} {
		t.Run(fmt.Sprintf("reused=%v", reused), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				mux := echoMux()
				mux.HandleRequest("long", func(_ context.Context, r *wire.Request) error {
					s, err := r.Promote(nil)
					if err == nil {
						_, err = s.Write(payload(int(binary.LittleEndian.Uint32(r.Body))))
					}
					return err
				})
				d, a := piped(t, &wire.Config{ConnBudget: 256 << 10, StreamInitial: 64 << 10}, &wire.Config{Mux: mux})
				size := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
				var unread []*wire.Stream
				for range 3 {
					answer, err := d.CallStream(t.Context(), "long", size(60<<10), wire.CallOptions{})
					if err != nil {
						t.Fatal(err)
					}
					unread = append(unread, answer.Stream)
					synctest.Wait()
					if !reused {
						continue
					}
					if _, err := d.Call(t.Context(), "echo", nil); err != nil {
						t.Fatal(err)
					}
				}
				got, err := d.Call(within(t, 3*time.Minute), "long", size(1<<20-1))
				if err != nil || len(got) != 1<<20-1 {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				reset := 0
				for _, s := range unread {
					n, err := io.Copy(io.Discard, s)
					switch e := (*wire.Error)(nil); {
					case err == nil && n == 60<<10:
					case errors.As(err, &e) && e.Code == wire.ResourceExhausted:
						reset++
					default:
						t.Errorf("an answer: %d bytes, %v", n, err)
					}
					s.Close()
				}
				if reset == 0 || reset == 3 {
					t.Errorf("%d answers were reset", reset)
				}
				settled(t, d, a)
			})
		})
	}
}
