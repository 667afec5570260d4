// Package terminal writes to a terminal that a person may be watching.
package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Columns returns a function that returns the current number of columns of the terminal behind
// w, or 0 if it is unknown. It returns nil if w is not a terminal.
func Columns(w io.Writer) func() int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func() int {
		columns, _, _ := term.GetSize(int(f.Fd())) // 0 on an error
		return columns
	}
}

// StatusLine keeps one line at the bottom of a terminal and lets the log scroll above it.
// Without a terminal it only passes the log on.
type StatusLine struct {
	columns func() int // nil without a terminal

	mu   sync.Mutex
	out  io.Writer
	line string
}

// NewStatusLine returns an empty status line over out.
func NewStatusLine(out io.Writer) *StatusLine { return &StatusLine{out: out, columns: Columns(out)} }

// Visible reports whether there is a terminal.
func (s *StatusLine) Visible() bool { return s.columns != nil }

// clearLine moves the cursor to the beginning of an emptied line.
const clearLine = "\r\x1b[K"

// Write writes log lines above the status.
func (s *StatusLine) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return s.out.Write(b)
	}
	if _, err := fmt.Fprintf(s.out, "%s%s%s", clearLine, b, s.line); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Show replaces the status. It cuts a line that is too long for the terminal: a line that
// wraps could not be cleared. Without a terminal it does nothing.
func (s *StatusLine) Show(line string) {
	if s.columns == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.columns(); n > 0 && len(line) >= n {
		line = line[:n-1]
	}
	s.line = line
	fmt.Fprint(s.out, clearLine, line)
}
