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

	mu   sync.Mutex
	out  io.Writer
	line string
}

func newStatusLine(c *console) *statusLine {
	f, ok := c.Stderr.(*os.File)
	return &statusLine{out: c.Stderr, terminal: ok && term.IsTerminal(int(f.Fd()))}
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

func (s *statusLine) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = line
	fmt.Fprint(s.out, clearLine, line)
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
			line := fmt.Sprintf("%7.0f positions/s  %6.0f events/s  %7d objects  p99 %v",
				float64(t.Accepted-before.Accepted)/per, float64(t.Events-before.Events)/per, p.Objects(), t.EventP99)
			if bad := t.Rejected + t.Overloaded + t.Full - before.Rejected - before.Overloaded - before.Full; bad > 0 {
				line += fmt.Sprintf("  %.0f refused/s", float64(bad)/per)
			}
			s.show(line)
			before, since = t, now
		}
	}
}
