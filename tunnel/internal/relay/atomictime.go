package relay

import (
	"sync/atomic"
	"time"
)

// AtomicTime is a time that goroutines share. A plain number would lose the monotonic clock: if the
// machine's clock is set back by an hour, a pause of a second would last an hour. The zero value is
// the zero time.
type AtomicTime struct{ at atomic.Pointer[time.Time] }

func (m *AtomicTime) Set(t time.Time) { m.at.Store(&t) }

func (m *AtomicTime) Get() (t time.Time) {
	if at := m.at.Load(); at != nil {
		t = *at
	}
	return t
}

// Clear makes it the zero time.
func (m *AtomicTime) Clear() { m.at.Store(nil) }

// IsAhead reports whether it is still to come.
func (m *AtomicTime) IsAhead() bool { return time.Now().Before(m.Get()) }

// Pass sets the moment to now if it lies at least after in the past, and reports whether it did. Of
// several concurrent calls only one succeeds.
func (m *AtomicTime) Pass(after time.Duration) bool {
	last := m.at.Load()
	if last != nil && time.Since(*last) < after {
		return false
	}
	now := time.Now()
	return m.at.CompareAndSwap(last, &now)
}
