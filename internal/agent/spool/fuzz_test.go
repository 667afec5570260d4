package spool

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
)

// FuzzReader reads segments with arbitrary contents, which change after they were scanned. The
// reader comes to the end, its numbers rise, and it returns only whole records.
func FuzzReader(f *testing.F) {
	whole := []byte(magic)
	for i := range uint64(5) {
		whole = appendRecord(whole, 1+i, 1, []byte("body"))
	}
	f.Add(whole, whole, uint8(0))
	f.Add(whole, whole, uint8(2))
	f.Add(whole[:60], whole, uint8(1))
	f.Add(whole, whole[:60], uint8(3))
	f.Add(whole, []byte(magic), uint8(3))
	for _, at := range []int{3, 20, 40, 50, 80} {
		broken := append([]byte(nil), whole...)
		broken[at] ^= 1
		f.Add(broken, broken, uint8(0))
		f.Add(whole, broken, uint8(3))
	}
	ctx, cancel := context.WithCancel(f.Context())
	cancel() // Next returns present records first
	f.Fuzz(func(t *testing.T, before, after []byte, acked uint8) {
		dir := t.TempDir()
		must(t, os.WriteFile(segmentPath(dir, 1), before, 0o600))
		s, err := Open(Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		defer func() { must(t, s.Close()) }()
		if n := min(uint64(acked), s.Last()); n > 0 {
			must(t, s.Ack(n))
		}
		if len(segments(t, dir)) > 0 {
			must(t, os.WriteFile(segmentPath(dir, 1), after, 0o600))
		}
		r := s.Reader(s.Acked() + 1)
		defer func() { must(t, r.Close()) }()
		last := s.Acked()
		for {
			got, err := r.Next(ctx)
			if errors.Is(err, context.Canceled) {
				break
			}
			if err != nil || got.Number <= last || got.Number > s.Last() {
				t.Fatalf("record %d behind %d of %d: %v", got.Number, last, s.Last(), err)
			}
			last = got.Number
		}
	})
}
