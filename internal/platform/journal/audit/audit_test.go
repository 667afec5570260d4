package audit

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"paddock/internal/platform/journal"
)

func open(t *testing.T, s Store) *Log {
	t.Helper()
	l, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func list(t *testing.T, l *Log, q Query) (got []string, more bool) {
	t.Helper()
	found, more, err := l.List(q)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		got = append(got, fmt.Sprintf("%s %s %s %s", e.By, e.Action, e.Object, e.Failed))
	}
	return got, more
}

// The entry of a change is there once the change has ended, with it or by itself, and not for a
// change that was not made.
func TestEntries(t *testing.T) {
	store := journal.NewMemory()
	l := open(t, store)
	change := func(object string, failure error, stored bool) {
		t.Helper()
		err := l.Record(Entry{By: "k", Action: "set.put", Object: object}, func() error {
			if stored {
				return errors.Join(store.Put(l.Take()...), failure)
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Fatal(err)
		}
	}
	change("with its change", nil, true)
	change("by itself", nil, false)
	change("not made", errors.New("refused"), false)
	change("stored before", errors.New("too late"), true)
	want := []string{"k set.put stored before too late", "k set.put stored before ", "k set.put by itself ", "k set.put with its change "}
	for range 2 {
		if got, more := list(t, l, Query{Limit: 10}); fmt.Sprint(got) != fmt.Sprint(want) || more {
			t.Errorf("%q, %v", got, more)
		}
		l = open(t, store) // as after a restart
	}
	if values := l.Take(); len(values) != 0 {
		t.Errorf("%d entries are left", len(values))
	}
	first, second := l.Begin(Entry{Object: "first"}), l.Begin(Entry{Object: "second"})
	for range 2 { // each store of a change has the entries of all that have not ended
		if values := l.Take(); len(values) != 2 {
			t.Errorf("%d entries", len(values))
		}
	}
	if err := first.End(nil); err != nil || len(l.Take()) != 1 {
		t.Errorf("%v: an ended change is taken again", err)
	}
	if err := second.End(nil); err != nil || len(l.Take()) != 0 {
		t.Error(err)
	}
	if !slices.IsSorted(l.names) {
		t.Errorf("%q", l.names)
	}
	var none *Log
	if err := none.Record(Entry{}, func() error { return nil }); err != nil {
		t.Error(err)
	}
}

// Lists go back page by page, and the oldest entries go beyond the bound.
func TestPagesAndBound(t *testing.T) {
	store := journal.NewMemory()
	l := open(t, store)
	for n := range 1000 {
		if err := l.Begin(Entry{By: fmt.Sprint("k", n%2), Action: "set.put", Object: fmt.Sprint(n)}).End(nil); err != nil {
			t.Fatal(err)
		}
	}
	q, total := Query{By: "k1", Limit: 70}, 0
	for more := true; more; {
		found, m, err := l.List(q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found {
			if want := fmt.Sprint(999 - 2*total); e.Object != want {
				t.Fatalf("%s, want %s", e.Object, want)
			}
			total++
		}
		if more = m; more {
			q.Before = found[len(found)-1].ID
		}
	}
	if total != 500 {
		t.Errorf("%d of 500", total)
	}
	l.names = append(make([]string, MaxEntries), l.names...) // that are not there
	if err := l.Begin(Entry{Object: "one more"}).End(nil); err != nil || len(l.names) != MaxEntries+1001-trim {
		t.Errorf("%v, %d kept", err, len(l.names))
	}
}

// late is a store whose names are those before a change that is made meanwhile.
type late struct {
	*journal.Memory
	meanwhile func()
}

func (s *late) Names(prefix string) ([]string, error) {
	names, err := s.Memory.Names(prefix)
	if f := s.meanwhile; f != nil {
		s.meanwhile = nil
		f()
	}
	return names, err
}

// An entry that is stored while the list is read again, after a change of another node, is in the
// list.
func TestEntriesWhileTheListIsRead(t *testing.T) {
	s := &late{Memory: journal.NewMemory()}
	l := open(t, s)
	l.Changed()
	s.meanwhile = func() {
		if err := l.Record(Entry{Object: "meanwhile"}, func() error { return s.Put(l.Take()...) }); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if got, _ := list(t, l, Query{Limit: 10}); len(got) != 1 {
			t.Errorf("%q", got)
		}
	}
}
