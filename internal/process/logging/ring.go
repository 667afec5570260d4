package logging

import (
	"strings"
	"sync"
)

const (
	// RingLines is the number of lines that a Ring keeps.
	RingLines = 1000
	// maxRingLine bounds each of them, in bytes: a Ring takes 2 MB at most.
	maxRingLine = 2048
)

// Ring keeps the last lines of a log. Each Write is one line, as a handler of slog makes them; a
// long one is cut. The zero value is ready for use, and safe for concurrent use.
type Ring struct {
	mu    sync.Mutex
	lines []string // a ring of at most RingLines
	next  int      // the oldest, once the ring is full
}

// Write implements io.Writer. It never fails.
func (r *Ring) Write(b []byte) (int, error) {
	line := string(b[:min(len(b), maxRingLine)])
	if len(b) > maxRingLine {
		line += "..."
	}
	line = strings.TrimSuffix(line, "\n")
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) < RingLines {
		r.lines = append(r.lines, line)
		return len(b), nil
	}
	r.lines[r.next] = line
	r.next = (r.next + 1) % RingLines
	return len(b), nil
}

// Lines returns the kept lines, the oldest first.
func (r *Ring) Lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]string, 0, len(r.lines))
	for i := range r.lines {
		all = append(all, r.lines[(r.next+i)%len(r.lines)])
	}
	return all
}
