// Package logbound bounds how many lines of one kind are logged, so that a flood of peers
// does not become one of lines.
package logbound

import (
	"sync"
	"time"
)

// PerSecond is how many lines a second are written down; of the others there is a count.
const PerSecond = 50

// Lines bounds the lines of one kind. Its zero value is ready, and safe for concurrent use.
type Lines struct {
	mu     sync.Mutex
	second time.Time // guarded by mu; that of the lines so far
	lines  int       // guarded by mu; in it
	left   uint64    // guarded by mu; those since the last line that were not written down
}

// Take says whether a line may be written now, and how many were left out before it.
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
