package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
)

// One that reads nothing costs the other streams and the calls of its connection
// nothing, and no more memory than its window.
func TestStalledStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, a := piped(t, nil, &wire.Config{Mux: sinkMux()})
		var deaf []*wire.Stream
		for range 8 {
			s, err := d.Open(t.Context(), "deaf", wire.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			deaf = append(deaf, s)
			go func() {
				if n, err := s.Write(make([]byte, 10<<20)); n != 64<<10 || err == nil {
					t.Errorf("wrote %d, %v", n, err)
				}
			}()
		}
		synctest.Wait()
		s, err := d.Open(t.Context(), "echo", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = s.Write(payload(2 << 20))
			_ = s.CloseWrite()
		}()
		if got, err := io.ReadAll(s); err != nil || !bytes.Equal(got, payload(2<<20)) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := d.Call(within(t, time.Second), "echo.slow", payload(1000)); err != nil {
			t.Error(err)
		}
		for _, s := range deaf {
			_ = s.Reset(wire.Cancelled)
		}
		settled(t, d, a)
	})
}

// A goroutine that opens more streams than the peer allows waits. It goes on as soon as one of them
// has ended, in any way.
func TestSlotsOfStreams(t *testing.T) {
	ends := map[string]func(ds, as *wire.Stream, release func()){
		"handler returns": func(ds, _ *wire.Stream, release func()) {
			_ = ds.CloseWrite()
			release()
		},
		"closed here":  func(ds, _ *wire.Stream, release func()) { release(); synctest.Wait(); ds.Close() },
		"reset here":   func(ds, _ *wire.Stream, release func()) { _ = ds.Reset(wire.Aborted); release() },
		"reset there":  func(_, as *wire.Stream, release func()) { _ = as.Reset(wire.Aborted); release() },
		"last is ours": func(ds, _ *wire.Stream, release func()) { release(); synctest.Wait(); _ = ds.CloseWrite() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				tk := newTaker()
				d, a := piped(t, nil, &wire.Config{Mux: tk.Mux, MaxInflight: 64})
				var open []*wire.Stream
				for range 64 {
					s, err := d.Open(t.Context(), "s", wire.OpenOptions{})
					if err != nil {
						t.Fatal(err)
					}
					open = append(open, s)
				}
				short := within(t, time.Second)
				if _, err := d.Open(short, "s", wire.OpenOptions{}); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("one too many: %v", err)
				}
				opened := make(chan error, 1)
				go func() {
					s, err := d.Open(within(t, time.Second), "s", wire.OpenOptions{})
					opened <- err
					if err == nil {
						s.Close()
					}
				}()
				synctest.Wait()
				release := sync.OnceFunc(func() { close(tk.release) })
				end(open[0], <-tk.streams, release)
				if err := <-opened; err != nil {
					t.Errorf("after one has ended: %v", err)
				}
				release()
				for _, s := range open {
					s.Close()
				}
				settled(t, d, a)
			})
		})
	}
}

// A thousand idle streams, with their handlers, take at most 8 MiB on both sides
// together.
func TestIdleStreamsAreSmall(t *testing.T) {
	tk := newTaker()
	d, _ := connect(t, nil, &wire.Config{Mux: tk.Mux})
	t.Cleanup(func() { close(tk.release) })
	if err := d.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := inUse()
	var open []*wire.Stream
	for range 1000 {
		s, err := d.Open(t.Context(), "s", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		open = append(open, s)
	}
	for range open {
		s := <-tk.streams
		if _, err := s.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if took := inUse() - before; took > 8<<20 {
		t.Errorf("1,000 streams take %d bytes", took)
	}
	runtime.KeepAlive(open)
}

// inUse is how much memory is in use, stacks included.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
