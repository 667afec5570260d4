package perf

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func readSeen(t *testing.T, path string) (all []Seen) {
	t.Helper()
	for s, err := range ReadSeen(path) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// A record is in the file at once, and an incomplete line is not read.
func TestSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "seen")
	w, err := newWitness(path)
	if err != nil {
		t.Fatal(err)
	}
	posts := func(yield func(uint64, []byte) bool) {
		_ = yield(1, appendBody(nil, bodyID{9, 2, 1}, 64)) && yield(2, []byte("none")) && yield(3, appendBody(nil, bodyID{9, 2, 2}, 64))
	}
	if err := w.see(classPost, posts); err != nil {
		t.Fatal(err)
	}
	if err := w.seeOne(classStream, appendBody(nil, messageID(bodyID{9, 3, 7}, 5), 24)); err != nil {
		t.Fatal(err)
	}
	want := []Seen{{"post", Call{9, 2, 1}}, {"post", Call{9, 2, 2}}, {"stream", Call{9, 3, 7}}}
	if got := readSeen(t, path); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(whole)-1)); err != nil {
		t.Fatal(err)
	}
	if got := readSeen(t, path); !slices.Equal(got, want[:2]) {
		t.Errorf("%v, want %v", got, want[:2])
	}
	for _, line := range []string{"4 1 1 1\n", "1 1 1\n", "x\n"} {
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		for s, err := range ReadSeen(path) {
			if err == nil {
				t.Errorf("%q was taken for %v", line, s)
			}
		}
	}
}

// Seen is a call that has reached a handler.
type Seen struct {
	Verb string // as FailedCall has it
	Call
}

// ReadSeen yields the records of the file of ServerOptions.Seen in their order, as the tests that
// kill processes read them; or an error, at the end. It leaves out an incomplete line at the end:
// its handler has done nothing.
func ReadSeen(path string) iter.Seq2[Seen, error] {
	return func(yield func(Seen, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Seen{}, err)
			return
		}
		defer f.Close()
		for in := bufio.NewReader(f); ; {
			line, err := in.ReadSlice('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			var s Seen
			var c class
			if err == nil {
				_, err = fmt.Fscanf(bytes.NewReader(line), "%d %d %d %d\n", &c, &s.Run, &s.Lane, &s.Seq)
			}
			if err == nil && c >= classes {
				err = fmt.Errorf("no verb has the number %d", c)
			}
			if err != nil {
				yield(Seen{}, fmt.Errorf("%s: %w", path, err))
				return
			}
			s.Verb = classNames[c]
			if !yield(s, nil) {
				return
			}
		}
	}
}
