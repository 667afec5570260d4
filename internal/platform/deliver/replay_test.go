package deliver

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/journaltest"
)

// Events behind a cursor are delivered again up to where the end was, marked, and in turn with new
// ones. A crash does not end that.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, func(l *lane) { l.batch = 2 })
		l.tell("a", "b", "c", "d", "e")
		l.expect("0s 1+2 delivered", "0s 3+4 delivered", "0s 5 delivered")
		l.end.answer = failing(Result{}, Result{Verdict: Failed})
		if n, err := l.Replay(1); n != 4 || err != nil {
			t.Error(n, err)
		}
		l.expect("0s 2+3 delivered again", "0s 4+5 failed again")
		l.tell("f")
		l.stop()
		l.start()
		l.pass(time.Minute)
		l.expect("5s 4+5 delivered again", "5s 6 delivered")
		if _, err := l.Replay(6); err == nil {
			t.Error("events that are still to come were replayed")
		}
		if s := l.Status(); s.Stored.Delivered != 6 || s.Stored.Replay != nil {
			t.Errorf("%+v", s.Stored)
		}
		l.stop()
	})
}

// A replay that is asked for while a batch of an earlier one is under way begins where it should,
// whatever comes of that batch.
func TestReplayDuringAReplay(t *testing.T) {
	for verdict, rest := range map[Verdict][]string{
		Delivered: {"10s 3 delivered again", "10s 1 delivered again", "10s 2 delivered again", "10s 3 delivered again"},
		Refused:   {"10s 3 refused again", "15s 1 delivered again", "15s 2 delivered again", "15s 3 delivered again"},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLane(t, nil)
			l.tell("a", "b", "c")
			l.expect("0s 1 delivered", "0s 2 delivered", "0s 3 delivered")
			first := true
			l.end.answer = func(*Batch) Result {
				if !first {
					return Result{}
				}
				first = false
				time.Sleep(10 * time.Second)
				return Result{Verdict: verdict}
			}
			if _, err := l.Replay(2); err != nil {
				t.Error(err)
			}
			l.pass(5 * time.Second)
			if _, err := l.Replay(0); err != nil {
				t.Error(err)
			}
			l.pass(time.Minute)
			l.expect(rest...)
			l.stop()
		})
	}
}

// A replay finds the few events of many that are selected in looks of bounded length, after which
// others have their turn.
func TestReplayOfFewAmongMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLane(t, func(l *lane) { l.sel.Objects, l.log = "z", events.NewLog(50_000, 64<<20, "e") })
		l.tell(append(slices.Repeat([]string{"a"}, 40_000), "z")...)
		l.expect("0s 40001 delivered")
		selector := NewSelector(&l.sel, nil)
		if j, at := rangeJob(l.log.ReaderOf(0, selector.match), 40_001, 1, selector); j != nil || at == 0 || at > 20_000 {
			t.Errorf("a look came to %d, %+v", at, j)
		}
		if n, err := l.Replay(0); n != 40_001 || err != nil {
			t.Error(n, err)
		}
		l.expect("0s 40001 delivered again")
		if s := l.Status(); s.Stored.Replay != nil {
			t.Errorf("%+v", s.Stored)
		}
		if _, err := l.Replay(0); err != nil {
			t.Error(err)
		}
		l.expect("0s 40001 delivered again")
		l.stop()
	})
}

// What a request asks for holds behind a loss of power.
func TestRequestsAreDurable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	log := events.NewLog(10, 1<<20, "e")
	log.Append([]events.Record{{JSON: events.Plain([]byte("{}"))}})
	open := func(disk *journaltest.Disk) (*Follower, *journal.Disk) {
		j, err := disk.Open(false)
		if err != nil {
			t.Fatal(err)
		}
		f, err := New(Options{Name: "lane", Log: log, Store: j, Keeps: true, Schedule: Default(), Logger: slog.New(slog.DiscardHandler), Counts: &Counts{}}, Config{Enabled: true})
		if err != nil {
			t.Fatal(err)
		}
		return f, j
	}
	for range 5 {
		disk := journaltest.NewDisk()
		f, j := open(disk)
		for _, c := range []struct {
			what string
			do   func() error
			done func(s Status) bool
		}{
			{"disable", func() error { return f.Disable("by request") }, func(s Status) bool { return s.Reason == "by request" }},
			{"enable", f.Enable, func(s Status) bool { return s.State == StateActive }},
			{"replay", func() error { _, err := f.Replay(0); return err }, func(s Status) bool { return s.Stored.Replay != nil }},
		} {
			if err := c.do(); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			again, other := open(disk.Cut(r))
			if s := again.Status(); !c.done(s) {
				t.Errorf("%s: behind a loss of power %+v", c.what, s)
			}
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}

// full is a store that refuses everything once it is told to.
type full struct {
	Volatile
	refuses bool
}

func (s *full) Put(values ...journal.Value) error {
	if s.refuses {
		return errors.New("no space")
	}
	return s.Volatile.Put(values...)
}

// A request that cannot be stored is refused, and changes nothing.
func TestRequestsThatAreNotStored(t *testing.T) {
	log, store := events.NewLog(10, 1<<20, "e"), &full{}
	log.Append([]events.Record{{JSON: events.Plain([]byte("{}"))}})
	f, err := New(Options{Name: "lane", Log: log, Store: store, Keeps: true, Schedule: Default(), Logger: slog.New(slog.DiscardHandler), Counts: &Counts{}}, Config{Enabled: true})
	if err != nil {
		t.Fatal(err)
	}
	store.refuses = true
	if _, err := f.Replay(0); !errors.Is(err, ErrUnstored) {
		t.Errorf("replay: %v", err)
	}
	if err := f.Disable("by request"); !errors.Is(err, ErrUnstored) {
		t.Errorf("disable: %v", err)
	}
	if s := f.Status(); s.State != StateActive || s.Stored.Replay != nil {
		t.Errorf("%+v", s)
	}
	store.refuses = false
	if err := f.Disable("by request"); err != nil {
		t.Error(err)
	}
	store.refuses = true
	if err := f.Enable(); !errors.Is(err, ErrUnstored) {
		t.Errorf("enable: %v", err)
	}
	if s := f.Status(); s.Reason != "by request" {
		t.Errorf("%+v", s)
	}
}
