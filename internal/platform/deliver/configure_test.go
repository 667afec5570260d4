package deliver

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// slow is an end whose attempts take ten seconds, and that knows when it was closed.
type slow struct {
	script
	busy, closed, closedBusy bool
}

func (s *slow) Send(ctx context.Context, b *Batch) Result {
	s.busy = true
	time.Sleep(10 * time.Second)
	s.busy = false
	return s.script.Send(ctx, b)
}

func (s *slow) Close() { s.closed, s.closedBusy = true, s.busy }

// A new configuration lets the attempt under way end before it closes that end. What the old end
// has taken does not come again. Its failure has no consequences, whatever it is: the new end gets
// the batch at once.
func TestConfigureDuringAnAttempt(t *testing.T) {
	for verdict, want := range map[Verdict]string{Delivered: "10s 2 delivered", Failed: "10s 1 delivered", Refused: "10s 1 delivered", Gone: "10s 1 delivered"} {
		synctest.Test(t, func(t *testing.T) {
			l := newLane(t, nil)
			old := &slow{script: script{begun: time.Now(), answer: func(*Batch) Result { return Result{Verdict: verdict, After: time.Hour} }}}
			config := Config{End: old, Selector: NewSelector(&Selection{}, nil), Batch: 1, Enabled: true}
			l.Configure(config)
			l.tell("a", "b")
			l.pass(5 * time.Second)
			config.End = l.end
			l.Configure(config)
			l.pass(time.Minute)
			if len(l.end.got) == 0 || l.end.got[0] != want || len(old.got) != 1 {
				t.Errorf("after %v the new end got %q, the old one %q", verdict, l.end.got, old.got)
			}
			if s := l.Status(); s.Lag != 0 || s.State != StateActive || len(l.reasons()) != 0 {
				t.Errorf("after %v: %+v, %q", verdict, s, l.reasons())
			}
			if !old.closed || old.closedBusy {
				t.Errorf("the old end is closed: %v, during an attempt: %v", old.closed, old.closedBusy)
			}
			l.stop()
		})
	}
}

// A new configuration ends a pause, and a batch that was selected before it is selected again.
func TestConfigureDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		l.end.answer = failing(Result{Verdict: Failed, After: time.Hour})
		l.tell("a", "b")
		l.pass(time.Second)
		l.Configure(Config{End: l.end, Selector: NewSelector(&Selection{Objects: "b"}, nil), Batch: 1, Enabled: true})
		l.expect("0s 1 failed", "1s 2 delivered")
		l.stop()
	})
}

// What an end has refused is no matter of the next one, which may refuse an event as often itself
// before that is a dead letter.
func TestConfigureAfterRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		refusing := func(*Batch) Result { return Result{Verdict: Refused} }
		l.end.answer = refusing
		l.tell("a")
		l.pass(10 * time.Second)
		l.expect("0s 1 refused", "5s 1 refused")
		l.Configure(Config{End: &script{begun: time.Now(), answer: failing(Result{Verdict: Refused})}, Selector: NewSelector(&Selection{}, nil), Batch: 1, Enabled: true})
		l.pass(5 * time.Minute)
		if s := l.Status(); s.Letters != 0 || s.Stored.Delivered != 1 {
			t.Errorf("%+v", s)
		}
		l.stop()
	})
}
