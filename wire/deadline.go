package wire

import (
	"sync"
	"time"
)

// deadline is a time that may be set and moved while others wait for it. The zero
// value never comes.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	passed chan struct{} // closed when it has come; nil: none is set
}

// set moves it to t; a zero t means never.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.passed == nil || isClosed(d.passed) {
		d.passed = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	passed := d.passed
	left := time.Until(t)
	if left <= 0 {
		close(passed)
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.timer == timer { // not moved meanwhile
			d.timer = nil
			close(passed)
		}
	})
	d.timer = timer
}

// wait returns what is closed when the deadline comes; nil if there is none, which
// blocks for ever. A waiting goroutine must call wait again after set.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed == nil {
		d.passed = make(chan struct{})
	}
	return d.passed
}

// over says whether it has come.
func (d *deadline) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed != nil && isClosed(d.passed)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
