package spool

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// spoil changes a byte of the only segment, at an offset.
func spoil(t *testing.T, dir string, at int) {
	t.Helper()
	file := segments(t, dir)[0]
	text, err := os.ReadFile(file)
	must(t, err)
	text[at] ^= 1
	must(t, os.WriteFile(file, text, 0o600))
}

// If a whole record follows the damage, the last segment was damaged, and not just incompletely
// written. This holds for any field. The damage is counted, and no number stands for two records.
func TestDamageOfTheLastSegment(t *testing.T) {
	const size = recordHead + len("one")
	for name, at := range map[string]int{
		"head":     3,
		"length":   len(magic) + size,
		"far":      len(magic) + size + 1,
		"checksum": len(magic) + size + 4,
		"time":     len(magic) + size + 8,
		"body":     len(magic) + size + recordHead,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, Options{Dir: dir})
			put(t, s, "one", "two", "thr")
			must(t, s.Close())
			spoil(t, dir, at)
			s = open(t, Options{Dir: dir})
			if n := s.Stats().Damaged; n != 1 {
				t.Errorf("%d damaged", n)
			}
			put(t, s, "next")
			kept := "1:one "
			if name == "head" {
				kept = ""
			}
			want(t, "records", rest(t, s), kept+"4:next")
			must(t, s.Close())
			s = open(t, Options{Dir: dir})
			put(t, s, "more")
			want(t, "again", rest(t, s), kept+"4:next 5:more")
		})
	}
}

// Damage that is found while the segment is in use does not lose later records.
func TestDamageFoundWhileWriting(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	put(t, s, "one", "two", "thr")
	spoil(t, dir, len(magic)+recordHead+len("one")+recordHead)
	want(t, "records", rest(t, s), "1:one")
	put(t, s, "next", "more")
	want(t, "records", rest(t, s), "1:one 4:next 5:more")
}

// The oldest segment may be dropped at the moment at which the reader opens it.
func TestReaderComesToASegmentThatMakesRoom(t *testing.T) {
	o := small
	o.Dir = t.TempDir()
	s := open(t, o)
	put(t, s, half, half, half, half)
	r := s.Reader(s.Acked() + 1)
	defer func() { must(t, r.Close()) }()
	found, _ := s.find(1)
	s.mu.Lock()
	s.drop("", new(uint64))
	s.mu.Unlock()
	must(t, r.enter(found))
	got, err := r.Next(context.Background())
	must(t, err)
	want(t, "record", fmt.Sprint(got.Number), "3")
}
