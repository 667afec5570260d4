package wire_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"

	"paddock/wire"
)

// skipUnderRace: the race detector allocates for itself.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if wire.RaceEnabled {
		t.Skip("the race detector allocates")
	}
}

// allocations is how many f causes at both ends, the process being both.
func allocations(f func()) float64 {
	for range 3000 {
		f()
	}
	return testing.AllocsPerRun(5000, f)
}

// A post costs no allocation, at either end.
func TestPostDoesNotAllocate(t *testing.T) {
	skipUnderRace(t)
	for _, inline := range []bool{true, false} {
		mux := wire.NewMux()
		var handled atomic.Int64
		var options []wire.HandlerOption
		if inline {
			options = append(options, wire.Inline())
		}
		wire.HandlePost(mux, "p", func(context.Context, []byte) error { handled.Add(1); return nil }, options...)
		d, _ := connect(t, nil, &wire.Config{Mux: mux})
		ctx, body, bodies := context.Background(), make([]byte, 64), make([][]byte, 100)
		for i := range bodies {
			bodies[i] = body
		}
		if n := allocations(func() { _ = d.Post(ctx, "p", body) }); n > 0.05 {
			t.Errorf("Post, inline=%v: %v allocations", inline, n)
		}
		if n := allocations(func() { _ = d.PostBatch(ctx, "p", bodies) }); n > 1 {
			t.Errorf("PostBatch of 100, inline=%v: %v allocations", inline, n)
		}
	}
}

// A call costs at most one allocation at either end; with room for the answer none
// at the caller's.
func TestCallDoesNotAllocate(t *testing.T) {
	skipUnderRace(t)
	d, _ := connect(t, nil, &wire.Config{Mux: echoMux()})
	ctx, body, dst := context.Background(), make([]byte, 64), make([]byte, 0, 256)
	for _, tc := range []struct {
		kind string
		most float64 // at the server
	}{{"echo", 0}, {"echo.slow", 1}} {
		if n := allocations(func() { _, _ = d.CallAppend(ctx, dst, tc.kind, body) }); n > tc.most+0.05 {
			t.Errorf("CallAppend of %s: %v allocations at both ends", tc.kind, n)
		}
		if n := allocations(func() { _, _ = d.Call(ctx, tc.kind, body) }); n > tc.most+1.05 {
			t.Errorf("Call of %s: %v allocations at both ends", tc.kind, n)
		}
	}
}

// Bytes of a stream cost no allocation.
func TestStreamDoesNotAllocate(t *testing.T) {
	skipUnderRace(t)
	d, _ := connect(t, nil, &wire.Config{Mux: echoMux()})
	for _, size := range []int{64, 4000, 64 << 10} {
		s, err := d.Open(context.Background(), "echo", wire.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		body, back := make([]byte, size), make([]byte, size)
		n := allocations(func() {
			if _, err := s.Write(body); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(s, back); err != nil {
				t.Error(err)
			}
		})
		if n > 0.1 {
			t.Errorf("a round trip of %d bytes: %v allocations at both ends", size, n)
		}
		s.Close()
	}
}
