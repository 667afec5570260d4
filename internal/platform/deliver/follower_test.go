package deliver

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
)

// script is an end whose answers a test decides. It writes down what it gets, and when.
type script struct {
	begun  time.Time
	answer func(b *Batch) Result // nil: it takes everything
	got    []string
}

// Send implements [End].
func (s *script) Send(_ context.Context, b *Batch) Result {
	r := Result{}
	if s.answer != nil {
		r = s.answer(b)
	}
	var ids []string
	for i := range b.Items {
		if g := b.Items[i].Gap; g != nil {
			ids = append(ids, fmt.Sprintf("gap of %d", g.Count()))
		} else {
			ids = append(ids, EventID(&b.Items[i].Record))
		}
	}
	mark := ""
	if b.Replay {
		mark = " again"
	}
	s.got = append(s.got, fmt.Sprintf("%v %s %v%s", time.Since(s.begun).Truncate(time.Second), strings.Join(ids, "+"), r.Verdict, mark))
	return r
}

// Close implements [End].
func (s *script) Close() {}

// lane is a follower in a bubble of fake time.
type lane struct {
	*Follower
	t      *testing.T
	log    *events.Log
	store  *Volatile
	end    *script
	sel    Selection
	batch  int
	keeps  bool
	events int
	mu     sync.Mutex
	given  []string // reasons
	stop   func()
}

func newLane(t *testing.T, change func(l *lane)) *lane {
	l := &lane{t: t, log: events.NewLog(1000, 1<<20, "e"), store: &Volatile{}, end: &script{begun: time.Now()}, batch: 1, keeps: true}
	if change != nil {
		change(l)
	}
	l.start()
	return l
}

// start runs a follower with the stored state.
func (l *lane) start() {
	l.t.Helper()
	schedule := Default()
	schedule.Jitter = 0
	f, err := New(Options{
		Name: "lane", Log: l.log, Store: l.store, Keeps: l.keeps, Schedule: schedule, Logger: slog.New(slog.DiscardHandler), Counts: &Counts{},
		GivenUp: func(_, reason string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.given = append(l.given, reason)
		},
	}, Config{End: l.end, Selector: NewSelector(&l.sel, nil), Batch: l.batch, Enabled: true})
	if err != nil {
		l.t.Fatal(err)
	}
	l.Follower = f
	ctx, cancel := context.WithCancel(context.Background())
	go f.Run(ctx)
	l.stop = func() {
		if err := f.Drain(context.Background()); err != nil {
			l.t.Error(err)
		}
		cancel()
	}
}

// tell appends events of objects to the log, with the ids 1, 2, and so on.
func (l *lane) tell(objects ...string) {
	var records []events.Record
	for _, o := range objects {
		l.events++
		records = append(records, events.Record{
			Set: "s", Fence: "f", Fleet: "default", Object: o, Kind: track.Enter,
			JSON: events.Plain([]byte(fmt.Sprintf(`{"id":"%d","source":"/sets/s"}`, l.events))),
		})
	}
	l.log.Append(records)
}

// reasons returns why the end was given up.
func (l *lane) reasons() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.given
}

// pass lets a time go by.
func (l *lane) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// expect compares what the end has got since the last look.
func (l *lane) expect(want ...string) {
	l.t.Helper()
	synctest.Wait()
	if got := l.end.got; !slices.Equal(got, want) {
		l.t.Errorf("the end got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	l.end.got = nil
}

// failing answers with these results, and then takes everything.
func failing(results ...Result) func(*Batch) Result {
	return func(*Batch) Result {
		if len(results) == 0 {
			return Result{}
		}
		r := results[0]
		results = results[1:]
		return r
	}
}

func times(n int, r Result) []Result { return slices.Repeat([]Result{r}, n) }

// An end that fails gets the same event again after each pause of the schedule, and nothing else
// before it. After a success the first pause is the first one again.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		l.end.answer = failing(times(7, Result{Verdict: Failed, Status: 503})...)
		l.tell("a", "b")
		l.pass(3 * time.Hour)
		l.expect("0s 1 failed", "5s 1 failed", "35s 1 failed", "2m35s 1 failed", "12m35s 1 failed", "42m35s 1 failed", "1h12m35s 1 failed",
			"1h42m35s 1 delivered", "1h42m35s 2 delivered")
		l.end.answer = failing(times(1, Result{Verdict: Failed})...)
		l.tell("c")
		l.pass(time.Minute)
		l.expect("3h0m0s 3 failed", "3h0m5s 3 delivered")
		l.stop()
	})
}

// A pause that the end asks for takes the place of the schedule's, up to a day.
func TestAskedPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		l.end.answer = failing(Result{Verdict: Failed, After: 90 * time.Second}, Result{Verdict: Failed, After: 1000 * time.Hour})
		l.tell("a")
		l.pass(25 * time.Hour)
		l.expect("0s 1 failed", "1m30s 1 failed", "24h1m30s 1 delivered")
		l.stop()
	})
}

// Pauses are up to a tenth longer than the schedule says, and never shorter.
func TestJitter(t *testing.T) {
	s, longer := Default(), false
	for range 1000 {
		d := s.wait(2, 0)
		if d < 30*time.Second || d > 33*time.Second {
			t.Fatal(d)
		}
		longer = longer || d > 31*time.Second
	}
	if !longer {
		t.Error("all pauses are the same")
	}
}

// After five days without a success an end is disabled, and told of. Once it is enabled it gets all
// events in order, from the first one that it has not taken.
func TestGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		l.end.answer = func(*Batch) Result { return Result{Verdict: Failed, Reason: "connection refused"} }
		l.tell("a")
		l.pass(5*24*time.Hour - time.Second)
		if s := l.Status(); s.State != "waiting" || len(l.reasons()) != 0 || s.Lag != 1 {
			t.Errorf("%+v, %q", s, l.reasons())
		}
		l.pass(time.Hour)
		if s := l.Status(); s.State != "disabled" || len(l.reasons()) != 1 || !strings.Contains(s.Reason, "no success since 2000-01-01T00:00:00.000Z: connection refused") {
			t.Errorf("%+v, %q", s, l.reasons())
		}
		l.end.got, l.end.answer = nil, nil
		l.tell("b")
		l.pass(24 * time.Hour)
		l.expect()
		if err := l.Enable(); err != nil {
			t.Error(err)
		}
		l.expect("144h59m59s 1 delivered", "144h59m59s 2 delivered")
		l.stop()
	})
}

// An end that is gone is disabled at once. The event stays the next one.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		l.end.answer = failing(Result{Verdict: Gone, Status: 410, Reason: "410 Gone"})
		l.tell("a")
		l.expect("0s 1 gone")
		l.pass(time.Hour)
		l.expect()
		if s := l.Status(); s.Reason != "410 Gone" || s.Stored.Last.Status != 410 {
			t.Errorf("%+v", s)
		}
		if err := l.Enable(); err != nil {
			t.Error(err)
		}
		l.expect("1h0m0s 1 delivered")
		l.stop()
	})
}

// A batch that is refused three times becomes dead letters, and the next one follows at once.
func TestDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		l.end.answer = func(b *Batch) Result {
			if b.Items[0].Object == "bad" {
				return Result{Verdict: Refused, Status: 422, Reason: "422: no"}
			}
			return Result{}
		}
		l.tell("a", "bad", "b")
		l.pass(time.Minute)
		l.expect("0s 1 delivered", "0s 2 refused", "5s 2 refused", "35s 2 refused", "35s 3 delivered")
		letters, more, err := l.Letters(0, 10)
		if err != nil || more || len(letters) != 1 || letters[0].Event != "2" || letters[0].Status != 422 || letters[0].Tries != 3 || letters[0].Cursor != "e-2" {
			t.Errorf("%+v, %v, %v", letters, more, err)
		}

		// Delivered again while it is refused, it stays; once it is taken, it goes.
		if err := l.ReplayLetter(2); err != nil {
			t.Error(err)
		}
		l.pass(time.Minute)
		l.expect("1m0s 2 refused again", "1m5s 2 refused again", "1m35s 2 refused again")
		l.stop()
		l.start() // letters survive
		l.end.answer = nil
		if err := l.ReplayLetter(2); err != nil {
			t.Error(err)
		}
		l.expect("2m0s 2 delivered again")
		if s := l.Status(); s.Letters != 0 || s.Stored.Dead != 1 || s.Stored.Delivered != 2 {
			t.Errorf("%+v", s)
		}
		if err := l.ReplayLetter(2); err != ErrNoLetter {
			t.Errorf("a letter that is gone: %v", err)
		}
		l.stop()
	})
}

// Dead letters are bounded: the oldest go. They go with their events too.
func TestLettersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, func(l *lane) { l.log, l.batch = events.NewLog(3000, 1<<20, "e"), 10 })
		l.end.answer = func(*Batch) Result { return Result{Verdict: Refused} }
		for range MaxLetters + 100 {
			l.tell("a")
		}
		l.pass(24 * time.Hour)
		if s := l.Status(); s.Letters != MaxLetters || s.Stored.Dead != MaxLetters+100 {
			t.Errorf("%d letters, %d dead", s.Letters, s.Stored.Dead)
		}
		letters, more, err := l.Letters(0, 1)
		if err != nil || !more || letters[0].Event != "101" {
			t.Errorf("%+v, %v, %v", letters, more, err)
		}
		l.end.answer = nil
		for range 2500 {
			l.tell("a")
		}
		l.pass(time.Minute)
		letters, _, err = l.Letters(0, 1)
		if err != nil || letters[0].Event != "601" {
			t.Errorf("%+v, %v", letters, err)
		}
		l.stop()
	})
}

// A batch is what is there, up to its bound. The batch that comes again is the same one.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, func(l *lane) { l.batch = 3 })
		l.end.answer = failing(times(2, Result{Verdict: Failed})...)
		l.tell("a", "b")
		l.pass(time.Second)
		l.tell("c", "d", "e", "f", "g")
		l.pass(time.Minute)
		l.expect("0s 1+2 failed", "5s 1+2 failed", "35s 1+2 delivered", "35s 3+4+5 delivered", "35s 6+7 delivered")
		l.stop()
	})
}

// A follower goes on where the last one was: events are repeated at most from the last attempt on,
// and the pause is the same.
func TestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		l.tell("a", "b")
		l.expect("0s 1 delivered", "0s 2 delivered")
		l.stop()
		l.tell("c")
		l.start()
		l.expect("0s 3 delivered")
		l.end.answer = failing(Result{Verdict: Failed})
		l.tell("d")
		l.pass(time.Second)
		l.stop()
		l.start()
		l.pass(time.Minute)
		l.expect("0s 4 failed", "5s 4 delivered")
		l.stop()
	})
}

// Only selected events are delivered, and the cursor moves over the others.
func TestSelects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, func(l *lane) { l.sel = Selection{Objects: "bus-*", Events: []string{"enter"}, Sets: []string{"s"}} })
		l.tell("bus-1", "car-1", "bus-2", "car-2")
		l.pass(time.Minute)
		l.expect("0s 1 delivered", "0s 3 delivered")
		if s := l.Status(); s.Lag != 0 || s.Cursor != "e-4" {
			t.Errorf("%+v", s)
		}
		l.stop()
	})
}

// Events that the log drops before their turn are a gap, which the end gets in their place.
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, func(l *lane) { l.log = events.NewLog(4, 1<<20, "e") })
		l.end.answer = failing(Result{Verdict: Failed})
		l.tell("a")
		l.pass(time.Second)
		l.tell("b", "c", "d", "e", "f")
		l.pass(time.Minute)
		l.expect("0s 1 failed", "5s gap of 2 delivered", "5s 3 delivered", "5s 4 delivered", "5s 5 delivered", "5s 6 delivered")
		if s := l.Status(); s.Stored.Missed != 2 || s.Stored.Delivered != 4 {
			t.Errorf("%+v", s.Stored)
		}
		l.stop()
	})
}

// A drain delivers the rest if nothing is kept, unless the end fails. With a kept log it leaves the
// rest to the next process.
func TestDrain(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newLane(t, func(l *lane) { l.keeps = keeps })
			release := make(chan struct{})
			l.end.answer = func(*Batch) Result { <-release; return Result{} }
			l.tell("a", "b", "c")
			synctest.Wait()
			l.log.End()
			close(release)
			l.stop()
			want := []string{"0s 1 delivered", "0s 2 delivered", "0s 3 delivered"}
			if keeps {
				want = l.end.got
				if len(want) < 1 {
					t.Error("the attempt under way was cut")
				}
			}
			l.expect(want...)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, func(l *lane) { l.keeps = false })
		l.end.answer = func(*Batch) Result { return Result{Verdict: Failed} }
		l.tell("a", "b")
		l.expect("0s 1 failed")
		l.log.End()
		l.stop()
		l.expect()
	})
}

// A retry ends a pause, and disabling stops between two attempts.
func TestRetryAndDisable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		l.end.answer = failing(Result{Verdict: Failed})
		l.tell("a")
		l.pass(time.Second)
		l.Retry()
		l.expect("0s 1 failed", "1s 1 delivered")
		if err := l.Disable("by request"); err != nil {
			t.Error(err)
		}
		l.tell("b")
		l.pass(time.Hour)
		l.expect()
		if err := l.Enable(); err != nil {
			t.Error(err)
		}
		l.expect("1h0m1s 2 delivered")
		l.stop()
	})
}

// A dead letter goes with its event, without a request for the letters.
func TestDeadLettersGoWithTheirEvents(t *testing.T) {
	for _, disabled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newLane(t, func(l *lane) { l.log = events.NewLog(10, 1<<20, "e") })
			l.end.answer = func(b *Batch) Result {
				if b.Items[0].Object == "bad" {
					return Result{Verdict: Refused}
				}
				return Result{}
			}
			l.tell("bad")
			l.pass(time.Minute)
			if s := l.Status(); s.Letters != 1 {
				t.Errorf("%d letters", s.Letters)
			}
			if disabled {
				if err := l.Disable("by request"); err != nil {
					t.Error(err)
				}
			}
			for range 20 {
				l.tell("a")
				l.pass(time.Second)
			}
			if s := l.Status(); s.Letters != 0 {
				t.Errorf("disabled %v: %d letters whose events are gone", disabled, s.Letters)
			}
			stored := 0
			if err := l.store.Values("lane/dead/", "", func(journal.Value) error { stored++; return nil }); err != nil {
				t.Error(err)
			}
			if stored > 0 && !disabled {
				t.Errorf("%d letters are stored", stored)
			}
			l.stop()
		})
	}
}

// Of a batch the end may take the first items, and refuse the next one alone: it becomes a dead
// letter without the others.
func TestPartOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, func(l *lane) { l.batch = 10 })
		l.end.answer = func(b *Batch) Result {
			for i := range b.Items {
				if b.Items[i].Object == "bad" {
					return Result{Verdict: Refused, Taken: i, First: true}
				}
			}
			return Result{}
		}
		l.tell("a", "b", "bad", "c", "d")
		l.pass(time.Minute)
		l.expect("0s 1+2+3+4+5 refused", "5s 3 refused", "35s 3 refused", "35s 4+5 delivered")
		letters, _, err := l.Letters(0, 10)
		if s := l.Status(); err != nil || len(letters) != 1 || letters[0].Event != "3" || s.Stored.Delivered != 4 || s.Lag != 0 {
			t.Errorf("%+v, %+v, %v", letters, s, err)
		}
		l.end.answer = failing(Result{Verdict: Failed, Taken: 1})
		l.tell("e", "f")
		l.pass(time.Minute)
		l.expect("1m0s 6+7 failed", "1m5s 7 delivered")
		l.stop()
	})
}

// The last attempts are told, the newest first, and only so many of them are remembered.
func TestAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, nil)
		if got := l.Attempts(); got == nil || len(got) != 0 {
			t.Errorf("%v before the first event", got)
		}
		l.end.answer = failing(Result{Verdict: Failed, Status: 500, Reason: "500 Internal Server Error"})
		l.tell("a")
		l.pass(time.Minute)
		got := l.Attempts()
		if len(got) != 2 || got[0].Outcome != "delivered" || got[1].Outcome != "failed" || got[1].Status != 500 || got[1].Events != 1 || !got[1].At.Before(got[0].At) {
			t.Errorf("%+v", got)
		}
		for range maxAttempts {
			l.tell("b")
		}
		l.pass(time.Minute)
		if got = l.Attempts(); len(got) != maxAttempts || got[maxAttempts-1].Outcome != "delivered" {
			t.Errorf("%d attempts are remembered, the oldest of which is %+v", len(got), got[len(got)-1])
		}
		l.stop()
	})
}
