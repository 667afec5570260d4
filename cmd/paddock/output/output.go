// Package output writes the files that commands make, and shows how far they are.
package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"paddock/internal/process/terminal"
)

// Write writes a file, or stdout for "-", and returns its bytes. The file gets its name once it is
// whole and on disk. One that is not whole is removed. It is readable by its owner alone. A device
// or a pipe is written as it is.
func Write(stdout io.Writer, path string, write func(io.Writer) error) (n int64, err error) {
	if path == "-" {
		out := &countingWriter{Writer: stdout}
		err := write(out)
		return out.n, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return 0, err
		}
		out := &countingWriter{Writer: f}
		err = errors.Join(write(out), f.Close())
		return out.n, err
	}
	partial := path + ".partial"
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	out := &countingWriter{Writer: f}
	if err = write(out); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(partial, path)
	}
	if err != nil {
		return out.n, errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(partial))
	}
	return out.n, syncDir(filepath.Dir(path))
}

// syncDir makes the names of a directory durable, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // not every system and file system has it
	return d.Close()
}

// countingWriter counts the bytes that pass.
type countingWriter struct {
	io.Writer
	n int64
}

func (w *countingWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.n += int64(n)
	return n, err
}

// Progress shows texts on a terminal, at most five a second.
type Progress struct {
	line *terminal.StatusLine
	next time.Time
}

// NewProgress returns a Progress that shows nothing if w is no terminal.
func NewProgress(w io.Writer) *Progress { return &Progress{line: terminal.NewStatusLine(w)} }

// Show replaces the text, unless that has been done a moment ago.
func (p *Progress) Show(format string, args ...any) {
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(200 * time.Millisecond)
		p.line.Show(fmt.Sprintf(format, args...))
	}
}

// End clears the line.
func (p *Progress) End() { p.line.Show("") }

// Reader shows how many bytes have been read.
type Reader struct {
	io.Reader
	To   *Progress
	Verb string // of what happens to the bytes, such as "read"
	n    int64
}

// Read implements [io.Reader].
func (r *Reader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.n += int64(n)
	r.To.Show("%d MiB %s", r.n>>20, r.Verb)
	return n, err
}
