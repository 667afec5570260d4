package perf

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

func acked(session byte, index uint32, number uint64) Acked {
	return Acked{
		Lane: Lane{[16]byte{15: session}, 3, index}, Number: number, Checksum: uint32(number) * 7,
		body: bodyID{1, uint32(session), number},
	}
}

func read(t *testing.T, path string) (all []Acked) {
	t.Helper()
	for a, err := range ReadJournal(path) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	var want []Acked
	for round := range uint64(3) {
		var found []Acked
		j, err := OpenJournal(path, func(a Acked) { found = append(found, a) })
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(found, want) {
			t.Fatalf("round %d: found %v, want %v", round, found, want)
		}
		batch := []Acked{acked(1, 0, 2*round+1), acked(1, 0, 2*round+2), acked(2, 5, round+1)}
		if err := j.Append(batch); err != nil {
			t.Fatal(err)
		}
		want = append(want, batch...)
		if got := read(t, path); !slices.Equal(got, want) { // before Close: it was acknowledged
			t.Fatalf("round %d: read %v, want %v", round, got, want)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if line := want[2].String(); line != "00000000000000000000000000000002 3 5 1 00000007" {
		t.Errorf("printed %q", line)
	}
}

// The result of a crash: a file cut at any byte. Whole records stay, and later ones are found
// again.
func TestJournalCutOff(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	j, err := OpenJournal(path, func(Acked) {})
	if err != nil {
		t.Fatal(err)
	}
	records := []Acked{acked(1, 0, 1), acked(1, 0, 2), acked(1, 0, 3)}
	if err := errors.Join(j.Append(records), j.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		cut := filepath.Join(dir, "cut")
		if err := os.WriteFile(cut, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		var found []Acked
		j, err := OpenJournal(cut, func(a Acked) { found = append(found, a) })
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
		want := records[:max(0, n-len(journalMagic))/recordSize]
		if !slices.Equal(found, want) {
			t.Errorf("cut to %d bytes: found %v", n, found)
		}
		next := acked(9, 0, 1)
		if err := errors.Join(j.Append([]Acked{next}), j.Close()); err != nil {
			t.Fatal(err)
		}
		if got := read(t, cut); !slices.Equal(got, append(slices.Clone(want), next)) {
			t.Errorf("cut to %d bytes and appended to: read %v", n, got)
		}
	}
}

func TestJournalDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := OpenJournal(path, func(Acked) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.Append([]Acked{acked(1, 0, 1), acked(1, 0, 2)}), j.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, len(journalMagic), len(journalMagic) + recordSize - 1} {
		b := slices.Clone(whole)
		b[at] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenJournal(path, func(Acked) {}); !errors.Is(err, ErrJournal) {
			t.Errorf("byte %d damaged: %v", at, err)
		}
		if after, _ := os.ReadFile(path); !slices.Equal(after, b) {
			t.Errorf("byte %d damaged: the file was changed", at)
		}
	}
}

func TestJournalTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := OpenJournal(path, func(Acked) {})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for s := range byte(8) {
		wg.Go(func() {
			for n := range uint64(20) {
				if err := j.Append([]Acked{acked(s, 0, n+1)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	last := map[Lane]uint64{}
	for _, a := range read(t, path) {
		if last[a.Lane]++; a.Number != last[a.Lane] {
			t.Errorf("%v came behind %d", a, last[a.Lane]-1)
		}
	}
	if len(last) != 8 {
		t.Errorf("%d sessions", len(last))
	}
	if err := j.Append([]Acked{acked(1, 0, 99)}); err == nil {
		t.Error("appended to a closed journal")
	}
}

// A journal is read as it was written, to the byte, and bytes behind it do not count.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(journalMagic))
	f.Add(acked(1, 2, 3).append([]byte(journalMagic)))
	f.Add(append(acked(1, 2, 3).append([]byte(journalMagic)), 1, 2, 3))
	f.Add(acked(1, 2, 3).append(append([]byte(journalMagic), make([]byte, recordSize)...)))
	f.Fuzz(func(t *testing.T, b []byte) {
		again := []byte(journalMagic)
		end, err := readJournal(bytes.NewReader(b), func(a Acked) { again = a.append(again) })
		if end > 0 && !bytes.Equal(again, b[:end]) || end == 0 && len(again) > len(journalMagic) {
			t.Fatalf("read up to %d (%v): %x", end, err, again)
		}
		if err != nil && !errors.Is(err, ErrJournal) {
			t.Fatal(err)
		}
	})
}

func TestNumbers(t *testing.T) {
	var n Numbers
	for i, tc := range []struct {
		a     Acked
		again bool
	}{
		{acked(1, 0, 2), false},
		{acked(1, 0, 1), false},
		{acked(1, 1, 1), false},
		{acked(2, 0, 1), false},
		{acked(1, 0, 2), true},
		{acked(1, 0, 3), false},
	} {
		if got := n.Add(tc.a); got != tc.again {
			t.Errorf("%d: %v is there again: %t", i, tc.a, got)
		}
	}
}
