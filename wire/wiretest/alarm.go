package wiretest

import (
	"sync"
	"time"
)

// clock counts from when the connection was made.
type clock struct{ epoch time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() instant { return instant(time.Since(c.epoch)) }

// at converts a deadline, of which the zero Time means none.
func (c clock) at(t time.Time) instant {
	if t.IsZero() {
		return never
	}
	return c.now().after(time.Until(t))
}

// alarm is a condition variable whose waiters also wake at an instant. They share one timer, which
// is set only while a waiter has an instant. A waiter can wake early and must look again.
type alarm struct {
	clock
	cond  *sync.Cond
	timer *time.Timer
	rings instant // for when the timer is set; never if it is not
}

func newAlarm(c clock, mu *sync.Mutex) *alarm {
	return &alarm{clock: c, cond: sync.NewCond(mu), rings: never}
}

// wait releases the mutex until the next broadcast, or until the instant.
func (a *alarm) wait(until instant) {
	if until < a.rings {
		a.rings = until
		d := time.Duration(until - a.now())
		if a.timer == nil {
			a.timer = time.AfterFunc(d, a.ring)
		} else {
			a.timer.Reset(d)
		}
	}
	a.cond.Wait()
}

// ring runs in the timer's goroutine, for as long as it takes to wake the waiters.
func (a *alarm) ring() {
	a.cond.L.Lock()
	defer a.cond.L.Unlock()
	a.rings = never
	a.cond.Broadcast()
}

// broadcast wakes all waiters. The mutex must be held.
func (a *alarm) broadcast() { a.cond.Broadcast() }

// stop wakes all waiters for good. None of them waits for an instant any more.
func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.cond.Broadcast()
}
