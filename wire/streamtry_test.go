package wire_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"paddock/wire"
)

// meanWriter takes at once only some of what it is given, at times nothing, and the rest
// by Write.
type meanWriter struct {
	bytes.Buffer
	turn, tried, written int
}

func (w *meanWriter) TryWrite(p []byte) int {
	w.turn++
	n := min(len(p), []int{len(p), 1000, 0, 1, len(p), 17}[w.turn%6])
	w.tried += n
	w.Buffer.Write(p[:n])
	return n
}

func (w *meanWriter) Write(p []byte) (int, error) {
	w.written += len(p)
	return w.Buffer.Write(p)
}

// Received bytes reach a writer that can write without waiting, whole and in order, by either path,
// however much it accepts. The sender gets its credit back.
func TestTryWriterGetsAll(t *testing.T) {
	for name, end := range map[string]func(s *wire.Stream) error{
		"END":   (*wire.Stream).CloseWrite,
		"RESET": func(s *wire.Stream) error { return s.Reset(wire.Aborted) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				tk := newTaker()
				d, a := piped(t, nil, &wire.Config{Mux: tk.Mux})
				s, err := d.Open(t.Context(), "s", wire.OpenOptions{})
				if err != nil {
					t.Fatal(err)
				}
				var w meanWriter
				var total int64
				ended := make(chan error, 1)
				peer := <-tk.streams
				go func() {
					var err error
					total, err = peer.WriteTo(&w)
					ended <- err
				}()
				all := payload(3 << 20)
				for rest, i := all, 0; len(rest) > 0; i++ {
					n := min(len(rest), []int{1, 100, 4 << 10, 3000, 20_000, 0}[i%6])
					if !s.TryWrite(rest[:n]) {
						if _, err := s.Write(rest[:n]); err != nil {
							t.Fatal(err)
						}
					}
					rest = rest[n:]
				}
				synctest.Wait()
				if err := end(s); err != nil {
					t.Error(err)
				}
				err = <-ended
				if (err == nil) != (name == "END") {
					t.Errorf("WriteTo: %v", err)
				}
				if !bytes.Equal(w.Bytes(), all) || total != int64(len(all)) {
					t.Errorf("%d bytes, WriteTo says %d, want %d; equal: %v", w.Len(), total, len(all), bytes.Equal(w.Bytes(), all))
				}
				if w.tried == 0 || w.written == 0 {
					t.Errorf("%d bytes at once, %d by Write", w.tried, w.written)
				}
				close(tk.release)
				settled(t, d, a)
			})
		})
	}
}

// TryWrite sends all or nothing, and never waits.
func TestTryWriteDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tk := newTaker()
		d, a := piped(t, nil, &wire.Config{Mux: tk.Mux})
		open := func(o wire.OpenOptions) *wire.Stream {
			s, err := d.Open(t.Context(), "s", o)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open(wire.OpenOptions{})
		if s.TryWrite(make([]byte, 4<<10+1)) {
			t.Error("more than 4 KiB")
		}
		sent := 0
		for piece := make([]byte, 3000); s.TryWrite(piece); sent += len(piece) {
			synctest.Wait()
		}
		if window := 64 << 10; sent > window || sent+3000 <= window {
			t.Errorf("%d bytes were sent within %d of credit", sent, window)
		}
		if _, err := (<-tk.streams).Read(make([]byte, 64<<10)); err != nil {
			t.Error(err)
		}
		closed := open(wire.OpenOptions{})
		_ = closed.CloseWrite()
		if closed.TryWrite([]byte("x")) {
			t.Error("behind CloseWrite")
		}
		_ = s.Reset(wire.Cancelled)
		if s.TryWrite([]byte("x")) {
			t.Error("after a reset")
		}
		<-tk.streams
		undecided := make(chan *wire.Stream, 1)
		go func() {
			s, err := d.Open(t.Context(), "s", wire.OpenOptions{Confirm: true})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			undecided <- s
		}()
		if s := <-tk.streams; s.TryWrite([]byte("x")) {
			t.Error("before the stream is accepted: Write accepts it")
		} else if _, err := s.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		_ = (<-undecided).Close()
		close(tk.release)
		_ = closed.Close()
		settled(t, d, a)
	})
}

// signalWriter takes all at once, and tells when a piece is whole, in however many parts it
// has come.
type signalWriter struct {
	size, have int
	whole      chan struct{}
}

func (w *signalWriter) TryWrite(p []byte) int {
	if w.have += len(p); w.have >= w.size {
		w.have -= w.size
		w.whole <- struct{}{} // there is room: the next piece is sent once this one has come
	}
	return len(p)
}

func (w *signalWriter) Write(p []byte) (int, error) { return w.TryWrite(p), nil }

// relayed gives a stream whose pieces, of that size, make their way to a signalWriter.
func relayed(tb testing.TB, size int) (s *wire.Stream, came <-chan struct{}) {
	tb.Helper()
	w := &signalWriter{size: size, whole: make(chan struct{}, 1)}
	mux := wire.NewMux()
	mux.HandleStream("s", func(_ context.Context, s *wire.Stream) error {
		_, err := s.WriteTo(w)
		return err
	})
	d, _ := connect(tb, nil, &wire.Config{Mux: mux})
	s, err := d.Open(context.Background(), "s", wire.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s, w.whole
}

// Bytes without a waiting goroutine cost no allocation at either end.
func TestTryWriteDoesNotAllocate(t *testing.T) {
	skipUnderRace(t)
	body := make([]byte, 4000)
	s, came := relayed(t, len(body))
	if n := allocations(func() {
		if !s.TryWrite(body) {
			if _, err := s.Write(body); err != nil {
				t.Fatal(err)
			}
		}
		<-came
	}); n > 0.1 {
		t.Errorf("%v allocations at both ends", n)
	}
}

// BenchmarkTryWrite is a piece from a TryWrite to a TryWriter, over loopback.
func BenchmarkTryWrite(b *testing.B) {
	body := make([]byte, 3750)
	s, came := relayed(b, len(body))
	b.ReportAllocs()
	for b.Loop() {
		if !s.TryWrite(body) {
			if _, err := s.Write(body); err != nil {
				b.Fatal(err)
			}
		}
		<-came
	}
}
