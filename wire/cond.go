package wire

import (
	"context"
	"sync"
	"time"
)

// cond is a condition variable whose waiters have contexts. A broadcast wakes all of them; a
// goroutine that still cannot continue waits again. It is guarded by its owner's lock.
type cond struct{ changed chan struct{} }

// next returns a channel that the next broadcast closes.
func (c *cond) next() <-chan struct{} {
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// wait waits for the next broadcast. The owner's lock is held but for the wait.
func (c *cond) wait(ctx context.Context, lock *sync.Mutex) error {
	changed := c.next()
	lock.Unlock()
	defer lock.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// broadcast wakes all waiting goroutines.
func (c *cond) broadcast() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// sleep returns false if ctx ends within d.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// returnsWithin reports whether wait returns within d. Otherwise it goes on.
func returnsWithin(d time.Duration, wait func()) bool {
	returned := make(chan struct{})
	go func() {
		wait()
		close(returned)
	}()
	select {
	case <-returned:
		return true
	case <-time.After(d):
		return false
	}
}

// deadline is a time that may be set and moved while others wait for it. The zero value never
// comes.
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

// wait returns a channel that is closed when the deadline comes. A waiting goroutine must call wait
// again after set.
func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.passed == nil {
		d.passed = make(chan struct{})
	}
	return d.passed
}

// over reports whether it has come.
func (d *deadline) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed != nil && isClosed(d.passed)
}
