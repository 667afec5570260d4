package views

import (
	"testing"

	"paddock/fence"
	"paddock/internal/platform/journal"
)

// leading is the journal of a leader, whose values another node gets.
type leading struct {
	*journal.Memory
	follower *following
}

// following is the node that gets them.
type following struct {
	*Views
	log *journal.Memory
}

func (l leading) Put(values ...journal.Value) error {
	if err := l.follower.log.Put(values...); err != nil {
		return err
	}
	var names []string
	for _, v := range values {
		names = append(names, v.Name)
	}
	l.follower.Arrived(names)
	return l.Memory.Put(values...)
}

// A document that the leader stores again stays at a node until the record of its view comes there,
// also if the node meanwhile releases another view that had it, or starts again. What belongs to no
// view goes in the end.
func TestADocumentThatIsStoredAgain(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		follower := &following{log: journal.NewMemory()}
		start := func() {
			t.Helper()
			var err error
			if follower.Views, err = Open(Options{Catalog: &fence.Catalog{}, Journal: follower.log, Replicated: true}); err != nil {
				t.Fatal(err)
			}
		}
		start()
		catalog := &fence.Catalog{}
		leader, err := Open(Options{Catalog: catalog, Journal: leading{journal.NewMemory(), follower}, Replicated: true})
		if err != nil {
			t.Fatal(err)
		}
		stage := func() []byte {
			t.Helper()
			if err := leader.Stage(); err != nil {
				t.Fatal(err)
			}
			_, id := leader.View()
			return id
		}
		number := uint64(0)
		record := func(id []byte) {
			t.Helper()
			number++
			if _, err := follower.Follow(id); err != nil {
				t.Fatalf("restarts %v: record %d: %v", restarts, number, err)
			}
			follower.Begin(id, number)
		}
		put := func(east float64) {
			t.Helper()
			set, _ := catalog.Get("a")
			if _, _, err := set.Put(square("x", east)); err != nil {
				t.Fatal(err)
			}
		}
		addSet(t, catalog, "a", square("x", 0))
		addSet(t, catalog, "b", square("y", 0))
		record(stage())
		catalog.Remove("b")
		record(stage())
		put(1)
		next := stage()
		addSet(t, catalog, "b", square("y", 0))
		last := stage() // stores the fences of b again, before the record of the view before it
		if err := follower.Release(number); err != nil {
			t.Fatal(err)
		}
		if restarts {
			start()
		}
		record(next)
		if err := follower.Release(number); err != nil {
			t.Fatal(err)
		}
		record(last)
		for east := range 40 {
			put(float64(10 + east))
			if id := stage(); east%2 == 0 {
				record(id)
			}
			if err := follower.Release(number); err != nil {
				t.Fatal(err)
			}
		}
		if names, _ := follower.log.Names(prefix); len(names) > 16 {
			t.Errorf("restarts %v: %d documents are kept", restarts, len(names))
		}
	}
}
