package events

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// stored is a journal with events, in pieces of up to three. Event n arrived at time 10*n, rounded
// down to its piece's.
func stored(t *testing.T, count int) *journal.Memory {
	t.Helper()
	j := journal.NewMemory()
	for n := 0; n < count; {
		p := journal.Piece{At: journal.Place{Number: uint64(n + 1)}, Last: true, First: uint64(n + 1), Time: int64(10 * (n + 1))}
		for ; p.Count < 1+int(p.First)%3 && n < count; n++ {
			p.Events = AppendRecord(p.Events, &Record{Set: fmt.Sprint("s", (n+1)%2), Object: fmt.Sprint(n + 1), JSON: Plain([]byte("{}"))})
			p.Count++
		}
		if err := j.Commit(p); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// readAll returns the objects of the events behind a cursor, and what is missing.
func readAll(l *Log, after uint64, f Filter) (objects []string) {
	r := l.Reader(after, f)
	for {
		records, gap := r.TryNext(make([]Record, 0, 7))
		if gap.Count() > 0 {
			objects = append(objects, fmt.Sprintf("gap %d-%d", gap.From, gap.To))
		}
		for _, rec := range records {
			if fmt.Sprint(rec.Cursor) != rec.Object {
				objects = append(objects, fmt.Sprintf("cursor %d:", rec.Cursor))
			}
			objects = append(objects, rec.Object)
		}
		if len(records) == 0 && gap.Count() == 0 {
			return objects
		}
	}
}

// numbers returns "from", ..., "to".
func numbers(from, to, step int) (all []string) {
	for n := from; n <= to; n += step {
		all = append(all, fmt.Sprint(n))
	}
	return all
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
		t.Errorf("%s: %.200s\nwant %.200s", what, g, w)
	}
}

// A log over a journal has every event of it, and goes on with the next cursor.
func TestLogOfAJournal(t *testing.T) {
	const count = 3 * recent
	j := stored(t, count)
	l, err := OpenLog(50, 1<<20, j)
	if err != nil {
		t.Fatal(err)
	}
	if l.Oldest() != 1 || l.Latest() != count || l.oldestInMemory() != count-50+1 {
		t.Errorf("%d to %d, in memory from %d", l.Oldest(), l.Latest(), l.oldestInMemory())
	}
	same(t, "all", readAll(l, 0, Filter{}), numbers(1, count, 1))
	same(t, "from the middle", readAll(l, 1234, Filter{}), numbers(1235, count, 1))
	same(t, "one set", readAll(l, 0, Filter{Set: "s0"}), numbers(2, count, 2))
	same(t, "one object", readAll(l, 0, Filter{Object: "17"}), []string{"17"})
	records, gap, err := l.Reader(5, Filter{}).Next(context.Background(), make([]Record, 0, 2))
	if err != nil || gap.Count() > 0 || len(records) != 2 || records[0].Cursor != 6 {
		t.Errorf("%v, %v, %v", records, gap, err)
	}

	// The newest events are looked for beyond memory.
	for _, c := range []struct {
		n    int
		f    Filter
		want uint64
	}{
		{50, Filter{}, count - 50},
		{51, Filter{}, count - 51},
		{1500, Filter{}, count - 1500},
		{2 * count, Filter{}, 0},
		{1000, Filter{Set: "s1"}, count - 2000},
		{1, Filter{Object: "17"}, 16},
		{2, Filter{Object: "17"}, 0},
		{1, Filter{Object: "none"}, 0},
	} {
		if got, err := l.Tail(t.Context(), c.n, c.f); err != nil || got != c.want {
			t.Errorf("last %d of %+v: behind %d, %v, want %d", c.n, c.f, got, err, c.want)
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if got, err := l.Tail(gone, 60, Filter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("behind %d, %v", got, err)
	}

	// Time finds the first event of a piece.
	for _, c := range []struct {
		at   track.Millis
		from uint64
	}{{0, 0}, {10, 0}, {10*count + 1, count}, {-5, 0}} {
		if got, err := l.Since(c.at); err != nil || got != c.from {
			t.Errorf("since %d: %d, %v, want %d", c.at, got, err, c.from)
		}
	}
	if err := j.Pieces(0, func(p journal.Piece) error {
		for _, at := range []int64{p.Time, p.Time - 1} {
			if got, err := l.Since(track.Millis(at)); err != nil || got != p.First-1 {
				t.Fatalf("since %d: %d, %v, want %d", at, got, err, p.First-1)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}

	// Events that the journal has dropped are a gap.
	if err := j.TrimPieces(1000); err != nil {
		t.Fatal(err)
	}
	oldest := int(l.Oldest())
	if oldest < 995 || oldest > 1000 {
		t.Errorf("the oldest is %d", oldest)
	}
	same(t, "trimmed", readAll(l, 9, Filter{}), append([]string{fmt.Sprintf("gap 10-%d", oldest-1)}, numbers(oldest, count, 1)...))

	// Cursors stay valid in the next log, and no other's are.
	again, err := OpenLog(50, 1<<20, j)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.ParseCursor(l.Cursor(1500)); err != nil || got != 1500 {
		t.Errorf("%d, %v", got, err)
	}
	if other, err := OpenLog(50, 1<<20, stored(t, 3)); err != nil {
		t.Error(err)
	} else if _, err := other.ParseCursor(l.Cursor(1)); err == nil {
		t.Error("the cursor of another journal is taken")
	} else {
		same(t, "a short one", readAll(other, 0, Filter{}), numbers(1, 3, 1))
	}
}

// Bytes that are damaged are a gap, and what follows is read.
func TestDamagedEvents(t *testing.T) {
	j := stored(t, 10)
	newest := j.Committed()
	if err := j.Commit(journal.Piece{At: journal.Place{Number: newest.At.Number + 1}, Last: true, First: newest.Next(), Count: 2, Events: []byte{200}}); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(50, 1<<20, j); err == nil {
		t.Error("opened")
	}
	l, err := OpenLog(5, 1<<20, stored(t, 10))
	if err != nil {
		t.Fatal(err)
	}
	l.journal = j
	l.Append([]Record{{Object: "11"}, {Object: "12"}, {Object: "13"}, {Object: "14"}, {Object: "15"}, {Object: "16"}, {Object: "17"}, {Object: "18"}})
	same(t, "around damage", readAll(l, 7, Filter{}), []string{"8", "9", "10", "gap 11-13", "14", "15", "16", "17", "18"})
}

// trimming is a journal that removes its oldest events as soon as a reader knows where they begin.
type trimming struct {
	journal.Journal
	before uint64
}

func (j trimming) OldestEvent() uint64 {
	oldest := j.Journal.OldestEvent()
	_ = j.TrimPieces(j.before) // never fails in memory
	return oldest
}

// Events that are removed while a reader looks for them are a gap.
func TestEventsRemovedMeanwhile(t *testing.T) {
	for _, c := range []struct {
		before uint64
		want   string
	}{
		{6, "gap 3-5 6 7 8 9 10 gap 11-12 13 14"},
		{12, "gap 3-10 gap 11-12 13 14"},
		{13, "gap 3-12 13 14"},
	} {
		j := stored(t, 10)
		piece := func(p journal.Piece) {
			t.Helper()
			newest := j.Committed()
			p.At, p.Last, p.First = journal.Place{Number: newest.At.Number + 1}, true, newest.Next()
			if err := j.Commit(p); err != nil {
				t.Fatal(err)
			}
		}
		piece(journal.Piece{Gap: true, Count: 2, Events: Loss{Reason: "r", Counted: true}.Encode()})
		for _, object := range []string{"13", "14"} {
			piece(journal.Piece{Count: 1, Events: AppendRecord(nil, &Record{Object: object, JSON: Plain([]byte("{}"))})})
		}
		l, err := OpenLog(1, 1<<20, j)
		if err != nil {
			t.Fatal(err)
		}
		l.journal = trimming{j, c.before}
		same(t, fmt.Sprint("removed before ", c.before), readAll(l, 2, Filter{}), []string{c.want})
	}
}

func TestStoredRecords(t *testing.T) {
	e := event()
	want := []Record{NewRecord(e, ""), {Subject: "s", JSON: Plain([]byte("{}"))}}
	want[0].JSON = Plain(want[0].JSON.Bytes())
	if got := want[0].Visit; got != (Visit{Number: e.Visit, Since: e.Since, At: e.At, Reason: e.Reason}) {
		t.Errorf("%+v", got)
	}
	var b []byte
	for i := range want {
		b = AppendRecord(b, &want[i])
	}
	rest := b
	for i := range want {
		var got Record
		var err error
		if got, rest, err = ParseRecord(rest); err != nil || !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if len(rest) > 0 {
		t.Errorf("%d bytes are left", len(rest))
	}
	one := AppendRecord(nil, &want[0])
	for n := range one {
		if _, _, err := ParseRecord(one[:n]); err == nil {
			t.Errorf("%d of %d bytes were taken", n, len(one))
		}
	}
}

func FuzzParseRecord(f *testing.F) {
	r := NewRecord(event(), "")
	f.Add(AppendRecord(nil, &r))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, rest, err := ParseRecord(b)
		if err != nil {
			return
		}
		if again, _, err := ParseRecord(AppendRecord(nil, &r)); err != nil || !reflect.DeepEqual(again, r) || len(rest) > len(b) || !bytes.HasSuffix(b, rest) {
			t.Errorf("%+v is stored as %+v: %v", r, again, err)
		}
	})
}

// A reader comes to a node with the cursor of another one that is ahead. It gets the events behind
// its cursor once they are there, and none twice.
func TestSharedLog(t *testing.T) {
	for _, shared := range []bool{true, false} {
		l, err := OpenLog(100, 1<<20, stored(t, 10))
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"11", "12", "13", "14"} // one log on its own has lost events, and goes on
		if shared {
			l.Share()
			want = []string{"13", "14"}
		}
		r := l.Reader(12, Filter{})
		var got []string
		for n := 11; n <= 14; n++ {
			records, gap := r.TryNext(make([]Record, 0, 7))
			for _, rec := range records {
				got = append(got, rec.Object)
			}
			if gap.Count() > 0 || n <= 13 && shared && r.Position() != 12 {
				t.Errorf("shared %v: gap %+v, position %d before event %d", shared, gap, r.Position(), n)
			}
			l.Append([]Record{{Object: fmt.Sprint(n), JSON: Plain([]byte("{}"))}})
		}
		records, _ := r.TryNext(make([]Record, 0, 7))
		for _, rec := range records {
			got = append(got, rec.Object)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("shared %v: events %v, want %v", shared, got, want)
		}
	}
}

// A search by time ends while events are removed, with the oldest event that is left.
func TestSinceBesideATrim(t *testing.T) {
	for _, before := range []uint64{2, 40, 50, 99} {
		j := stored(t, 100)
		l, err := OpenLog(10, 1<<20, j)
		if err != nil {
			t.Fatal(err)
		}
		l.journal = trimming{j, before}
		got, err := l.Since(0)
		if want := j.OldestEvent() - 1; err != nil || got != want {
			t.Errorf("before %d: since 0: %d, %v, want %d", before, got, err, want)
		}
	}
}
