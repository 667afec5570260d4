package deliver

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/platform/journal"
)

const day = 24 * time.Hour

// setClock does to the follower what setting the clock forward by d does to the next process: the
// times that are stored are further back. The clock of a bubble cannot be set.
func (l *lane) setClock(d time.Duration) {
	l.t.Helper()
	l.stop()
	text, err := l.store.Get("lane/state")
	if err != nil {
		l.t.Fatal(err)
	}
	var s State
	if err := json.Unmarshal(text, &s); err != nil {
		l.t.Fatal(err)
	}
	for _, at := range []*time.Time{&s.Since, &s.Next, &s.Last.At} {
		*at = at.Add(-d)
	}
	if text, err = json.Marshal(&s); err == nil {
		err = l.store.Put(journal.Value{Name: "lane/state", Bytes: text})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.start()
}

// A clock that was ahead at a failure, and is set back, does not make the pause longer.
func TestClockIsSetBack(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, 30 * day} {
		synctest.Test(t, func(t *testing.T) {
			l := newLane(t, nil)
			l.end.answer = failing(times(2, Result{Verdict: Failed})...)
			l.tell("a")
			l.pass(time.Second)
			l.setClock(-ahead)
			l.pass(time.Minute)
			l.expect("0s 1 failed", "1s 1 failed", "31s 1 delivered")
			l.stop()
		})
	}
}

// A clock that is set forward disables no end that fails for a short time, and one that is set back
// keeps none from it that fails for five days.
func TestClockDisablesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		l.end.answer = func(*Batch) Result { return Result{Verdict: Failed} }
		l.tell("a")
		l.pass(time.Hour)
		l.setClock(100 * day)
		l.pass(day)
		l.setClock(-100 * day)
		l.pass(3*day - 2*time.Hour)
		if s := l.Status(); s.State != StateWaiting {
			t.Errorf("%s: %s", s.State, s.Reason)
		}
		l.pass(2 * time.Hour)
		if s := l.Status(); s.State != StateDisabled {
			t.Error(s.State)
		}
		l.stop()
	})
}

// A failure after a long time without events is repeated as any other. Dead letters without a
// success between them disable the end all the same.
func TestQuietAfterADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		l.end.answer = failing(append(times(3, Result{Verdict: Refused}), times(2, Result{Verdict: Failed})...)...)
		l.tell("a")
		l.pass(6 * day)
		l.end.got = nil
		l.tell("b")
		l.pass(time.Minute)
		l.expect("144h0m0s 2 failed", "144h0m5s 2 failed", "144h0m35s 2 delivered")

		l.end.answer = func(*Batch) Result { return Result{Verdict: Refused} }
		for n := range 6 {
			if s := l.Status(); s.State != StateActive {
				t.Errorf("after %d: %s", n, s.Reason)
			}
			l.tell("c")
			l.pass(day)
		}
		if s := l.Status(); s.State != StateDisabled || s.Stored.Dead != 6 {
			t.Errorf("%+v", s)
		}
		l.stop()
	})
}
