package audit

import (
	"testing"

	"paddock/internal/platform/journal"
)

// Changes that are made at the same time have their entries in the order in which they began,
// whichever of them ends first.
func TestEntriesStayInOrder(t *testing.T) {
	store := journal.NewMemory()
	l, err := Open(store)
	if err != nil {
		t.Fatal(err)
	}
	var begun []*Pending
	for _, object := range []string{"a", "b", "c"} {
		begun = append(begun, l.Begin(Entry{Action: "set.put", Object: object}))
	}
	for _, p := range begun {
		if err := p.End(nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func(l *Log) {
		t.Helper()
		found, more, err := l.List(Query{Limit: 10})
		if err != nil || more || len(found) != 3 || found[0].Object != "c" || found[1].Object != "b" || found[2].Object != "a" {
			t.Errorf("%+v, %v, %v", found, more, err)
		}
	}
	check(l)
	if l, err = Open(store); err != nil {
		t.Fatal(err)
	}
	check(l)
}
