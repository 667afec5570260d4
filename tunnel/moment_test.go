package tunnel

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	var m moment
	if m.isAhead() || !m.get().IsZero() {
		t.Error("the zero value is to come")
	}
	m.set(time.Now().Add(time.Hour))
	if !m.isAhead() {
		t.Error("an hour is over")
	}
	m.set(time.Now())
	if m.isAhead() || m.get().IsZero() {
		t.Error("now is to come")
	}
	if m.clear(); !m.get().IsZero() {
		t.Error("it is still there")
	}
}
