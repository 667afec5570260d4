package events

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"paddock/internal/platform/journal"
)

// lose adds a piece of lost events to a journal.
func lose(t *testing.T, j journal.Journal, count int, l Loss) {
	t.Helper()
	last := j.Committed()
	p := journal.Piece{
		At: journal.Place{Number: last.At.Number + 1}, Last: true, First: last.Next(), Count: count, Time: last.Time, Events: l.Encode(), Gap: true,
	}
	if err := j.Commit(p); err != nil {
		t.Fatal(err)
	}
}

// A reader behind, in or at a gap gets it once, and all events around it. The log keeps nothing in
// memory that is older than the newest gap.
func TestLostEvents(t *testing.T) {
	j := stored(t, 10)
	lose(t, j, 5, Loss{Reason: "lost", Counted: true})
	for _, c := range []struct{ kept, more int }{{1000, 0}, {1000, 3}, {2, 3}} {
		l, err := OpenLog(c.kept, 1<<20, j)
		if err != nil {
			t.Fatal(err)
		}
		if l.oldestInMemory() != 16 || l.Latest() != 15 {
			t.Errorf("from %d to %d in memory", l.oldestInMemory(), l.Latest())
		}
		for n := range c.more {
			l.Append([]Record{{Object: fmt.Sprint(16 + n), JSON: Plain([]byte("{}"))}})
		}
		for after, want := range map[int][]string{
			0: append(numbers(1, 10, 1), "gap 11-15"), 9: {"10", "gap 11-15"}, 10: {"gap 11-15"}, 12: {"gap 13-15"}, 15: nil,
		} {
			if c.kept < c.more {
				want = append(want, "gap 16-16") // it is in no journal here
			}
			want := append(slices.Clone(want), numbers(16+max(0, c.more-c.kept), 15+c.more, 1)...)
			if got := readAll(l, uint64(after), Filter{}); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v behind %d: %v, want %v", c, after, got, want)
			}
		}
	}
}

// A gap record has its reason, and its count if that is known.
func TestGapRecord(t *testing.T) {
	l := NewLog(10, 1<<20, "e")
	for want, g := range map[string]Gap{
		`{"count":3,"from":"e-2","reason":"lost","to":"e-4","type":"paddock.gap"}`: {From: 2, To: 4, Lost: &Loss{Reason: "lost", Counted: true}},
		`{"from":"e-2","reason":"lost","to":"e-2","type":"paddock.gap"}`:           {From: 2, To: 2, Lost: &Loss{Reason: "lost"}},
	} {
		if got := string(l.GapJSON(g)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// After a loss of the newest events, cursors have another epoch. Those of earlier ones stay valid
// up to the loss, and later ones stand for the last event before it.
func TestCursorsBeforeALoss(t *testing.T) {
	j := stored(t, 10)
	var epochs []string
	for _, last := range []uint64{10, 11} {
		l, err := OpenLog(10, 1<<20, j)
		if err != nil {
			t.Fatal(err)
		}
		epoch, _, _ := strings.Cut(l.Cursor(1), "-")
		epochs = append(epochs, epoch)
		values, err := Lose(j, last, last+1)
		if err == nil {
			err = j.Put(values...)
		}
		if err != nil {
			t.Fatal(err)
		}
		lose(t, j, 1, Loss{Reason: "lost"})
	}
	l, err := OpenLog(10, 1<<20, j)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]uint64{
		epochs[0] + "-4": 4, epochs[0] + "-10": 10, epochs[0] + "-99": 10,
		epochs[1] + "-11": 11, epochs[1] + "-12": 11, l.Cursor(12): 12, l.Cursor(99): 99,
	} {
		if got, err := l.ParseCursor(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	if _, err := l.ParseCursor("other-4"); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
	runs, err := RunsOf(j)
	if run := runs.Of(99); err != nil || l.Cursor(1) != run+"-1" || slices.Contains(epochs, run) {
		t.Errorf("run %q, epochs %q, %v", run, epochs, err)
	}
	if runs.Of(10) != "" || runs.Of(11) != epochs[1] || len(runs) != 2 {
		t.Errorf("%v, epochs %q", runs, epochs)
	}
	if err = j.Put(journal.Value{Name: runName, Bytes: []byte("f2d4a95f5d85")}); err != nil { // of an earlier version
		t.Fatal(err)
	}
	if runs, err = RunsOf(j); err != nil || runs.Of(1) != "f2d4a95f5d85" {
		t.Errorf("%v, %v", runs, err)
	}
}

// A later loss may take events that an earlier one has left: then the cursors before both stand for
// the last event that is left, as other events follow it.
func TestCursorsBeforeALargerLoss(t *testing.T) {
	j := stored(t, 10)
	begin := func() *Log {
		l, err := OpenLog(10, 1<<20, j)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	before := begin().Cursor(10)
	for _, last := range []uint64{10, 7} {
		values, err := Lose(j, last, last+1)
		if err == nil {
			err = j.Put(values...)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := begin().ParseCursor(before); err != nil || got != last {
			t.Errorf("after a loss behind %d: %d, %v", last, got, err)
		}
	}
}
