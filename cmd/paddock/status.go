package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"paddock/internal/platform"
)

// statusLine keeps one line at the bottom of a terminal and lets the log scroll
// above it. Where the standard error is no terminal it only passes the log on.
type statusLine struct {
	terminal bool
	width    func() int // columns of the terminal now, 0 if unknown

	mu   sync.Mutex
	out  io.Writer
	line string
}

func newStatusLine(c *console) *statusLine {
	s := &statusLine{out: c.Stderr, width: func() int { return 0 }}
	if f, ok := c.Stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.terminal = true
		s.width = func() int {
			columns, _, _ := term.GetSize(int(f.Fd())) // 0 if it does not say
			return columns
		}
	}
	return s
}

// clearLine takes the cursor to the beginning of an emptied line.
const clearLine = "\r\x1b[K"

// Write writes log lines above the status.
func (s *statusLine) Write(b []byte) (int, error) {
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

// show replaces the status. What the terminal has no room for is cut: a line that
// goes on in the next row could not be cleared.
func (s *statusLine) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.width(); n > 0 && len(line) >= n {
		line = line[:n-1]
	}
	s.line = line
	fmt.Fprint(s.out, clearLine, line)
}

// formatP99 writes the p99 of events; 0 means that there was none.
func formatP99(d time.Duration) string {
	if d == 0 {
		return "p99 -"
	}
	return fmt.Sprintf("p99 %.1f ms", float64(d.Microseconds())/1000)
}

// run shows the platform's figures each second until ctx ends.
func (s *statusLine) run(ctx context.Context, p *platform.Platform) error {
	if !s.terminal {
		return nil
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	defer s.show("")
	before, since := p.Totals(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			t, per := p.Totals(), now.Sub(since).Seconds()
			line := fmt.Sprintf("%7.0f positions/s  %6.0f events/s  %7d objects  %s",
				float64(t.Accepted-before.Accepted)/per, float64(t.Events-before.Events)/per, p.Objects(), formatP99(t.EventP99))
			if bad := t.Rejected + t.Overloaded + t.Full - before.Rejected - before.Overloaded - before.Full; bad > 0 {
				line += fmt.Sprintf("  %.0f refused/s", float64(bad)/per)
			}
			s.show(line)
			before, since = t, now
		}
	}
}
