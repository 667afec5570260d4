package relay

import (
	"sync/atomic"
	"time"
)

// Moment is a time that goroutines share. As a number it would lose the clock in it that nobody
// sets: a pause of a second would last an hour once the machine's clock is set back by one. The
// zero value is the zero time.
type Moment struct{ at atomic.Pointer[time.Time] }

func (m *Moment) Set(t time.Time) { m.at.Store(&t) }

func (m *Moment) Get() (t time.Time) {
	if at := m.at.Load(); at != nil {
		t = *at
	}
	return t
}

// Clear makes it the zero time.
func (m *Moment) Clear() { m.at.Store(nil) }

// IsAhead says whether it is still to come.
func (m *Moment) IsAhead() bool { return time.Now().Before(m.Get()) }

// Pass makes it now if it lies so long ago, and says whether it does: of several who ask
// together one is told so.
func (m *Moment) Pass(after time.Duration) bool {
	last := m.at.Load()
	if last != nil && time.Since(*last) < after {
		return false
	}
	now := time.Now()
	return m.at.CompareAndSwap(last, &now)
}
