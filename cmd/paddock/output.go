package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"paddock/internal/process/terminal"
)

// writeOutput writes a file, or standard output for "-", and returns its bytes. The file gets its
// name once it is whole and on disk. One that is not whole is removed.
func writeOutput(c *console, path string, write func(io.Writer) error) (n int64, err error) {
	if path == "-" {
		out := &countingWriter{Writer: c.Stdout}
		err := write(out)
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

// progress shows texts on a terminal, at most five a second.
type progress struct {
	line *terminal.StatusLine
	next time.Time
}

func (c *console) progress() *progress { return &progress{line: terminal.NewStatusLine(c.Stderr)} }

func (p *progress) show(format string, args ...any) {
	if now := time.Now(); now.After(p.next) {
		p.next = now.Add(200 * time.Millisecond)
		p.line.Show(fmt.Sprintf(format, args...))
	}
}

// end clears the line.
func (p *progress) end() { p.line.Show("") }

// shownReader shows how many bytes have been read.
type shownReader struct {
	io.Reader
	to   *progress
	verb string
	n    int64
}

func (s *shownReader) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	s.n += int64(n)
	s.to.show("%d MiB %s", s.n>>20, s.verb)
	return n, err
}
