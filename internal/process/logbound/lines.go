// Package logbound bounds the rate of log lines of one kind, so that many failing peers do not
// flood the log.
//
// It is separate from package logging because the libraries wire, bus and tunnel use it: they log
// to a logger of their caller, and need no terminal detection.
package logbound

import (
	"sync"
	"time"
)

// PerSecond is the largest number of lines a second. Further lines are counted.
const PerSecond = 50

// Lines bounds the lines of one kind. Its zero value is ready, and safe for concurrent use.
type Lines struct {
	mu     sync.Mutex
	second time.Time // guarded by mu; the start of the present second
	lines  int       // guarded by mu; in the present second
	left   uint64    // guarded by mu; omitted since the last line
}

// Take reports whether a line may be logged now, and how many were omitted before it.
func (l *Lines) Take() (left uint64, ok bool) {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.second) >= time.Second {
		l.second, l.lines = now, 0
	}
	if l.lines++; l.lines > PerSecond {
		l.left++
		return 0, false
	}
	left, l.left = l.left, 0
	return left, true
}
