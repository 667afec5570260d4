package perf

import (
	"fmt"
	"iter"
	"os"
	"sync"
)

// Call identifies a call of a verifying run, from its body.
type Call struct {
	Run  uint64 // random, one of each run
	Lane uint32 // of one routine: see Report.Lane
	Seq  uint64 // among the calls of its routine and verb, from 1
}

// witness writes down which verified bodies have reached a handler, before that
// does anything. Whatever then happens to the process, they are in the file; for a
// stream, from its first message on. A nil one writes nothing.
type witness struct {
	mu   sync.Mutex
	file *os.File
	buf  []byte
}

// newWitness appends to the file; path "" is none.
func newWitness(path string) (*witness, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &witness{file: f}, nil
}

// see records bodies in one write. It leaves out bodies that are not verified ones.
func (w *witness) see(c class, bodies iter.Seq2[uint64, []byte]) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = w.buf[:0]
	for _, body := range bodies {
		id, err := parseBody(body)
		if err != nil {
			continue
		}
		if c == classStream {
			id.seq >>= messageBits
		}
		w.buf = fmt.Appendf(w.buf, "%d %d %d %d\n", c, id.run, id.lane, id.seq)
	}
	_, err := w.file.Write(w.buf)
	return err
}

// seeOne is see for one body.
func (w *witness) seeOne(c class, body []byte) error {
	return w.see(c, func(yield func(uint64, []byte) bool) { yield(0, body) })
}

func (w *witness) close() error {
	if w == nil {
		return nil
	}
	return w.file.Close()
}
