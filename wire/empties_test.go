package wire_test

import (
	"context"
	"testing"
	"testing/synctest"

	"paddock/internal/wire/frame"
	"paddock/wire"
)

// TestMessagesWithoutBytesAreBounded sends more empty messages than a stream may hold to a peer
// that does not read. A byte between two of them keeps them from being counted as useless.
func TestMessagesWithoutBytesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mux := wire.NewMux()
		mux.HandleStream("deaf", func(ctx context.Context, _ *wire.Stream) error {
			<-ctx.Done()
			return nil
		})
		peer, c := attack(t, &wire.Config{Mux: mux, Logger: quiet})
		peer.listen()
		peer.hello(wire.Hello{}, "deaf")
		id := uint32(frame.MakeSlot(frame.Dialer, 1, 1))
		frames := []frame.Frame{{Type: frame.OPEN, ID: id, Kind: 1}}
		for range 6000 {
			frames = append(frames, frame.Frame{Type: frame.DATA, ID: id})
		}
		frames = append(frames, frame.Frame{Type: frame.DATA, ID: id, Body: []byte{1}})
		if err := peer.send(frames...); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := c.Err(); err != nil {
			t.Fatalf("the first %d: %v", len(frames), err)
		}
		if err := peer.send(frames[1:]...); err != nil {
			t.Fatal(err)
		}
		peer.closedWith(c, wire.Flood)
	})
}

// TestMessagesWithoutBytesCanBeRead sends as many to a peer that reads.
func TestMessagesWithoutBytesCanBeRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const each = 7000
		mux := wire.NewMux()
		mux.HandleStream("count", func(_ context.Context, s *wire.Stream) error {
			for read := 0; ; read++ {
				if _, err := s.ReadMsg(nil); err != nil {
					if read != 3*(each+1) {
						t.Errorf("%d messages, then %v", read, err)
					}
					return nil
				}
			}
		})
		d, a := piped(t, nil, &wire.Config{Mux: mux})
		s, err := d.Open(t.Context(), "count", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for range each {
				if err := s.WriteMsg(nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.WriteMsg([]byte{1}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // they are read
		}
		if err := s.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadMsg(nil); err == nil || err.Error() != "EOF" {
			t.Errorf("the end: %v", err)
		}
		settled(t, d, a)
	})
}
