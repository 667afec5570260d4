package relay

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	var m AtomicTime
	if m.IsAhead() || !m.Get().IsZero() {
		t.Error("the zero value is to come")
	}
	m.Set(time.Now().Add(time.Hour))
	if !m.IsAhead() {
		t.Error("an hour is over")
	}
	m.Set(time.Now())
	if m.IsAhead() || m.Get().IsZero() {
		t.Error("now is to come")
	}
	if m.Clear(); !m.Get().IsZero() {
		t.Error("it is still there")
	}
}
