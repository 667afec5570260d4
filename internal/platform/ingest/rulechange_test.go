package ingest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/subjects"
)

// A crash while some partitions are saved with the rules before a change and others with those
// behind it: the start reads the rules in another order than they came, and applies the change to a
// crowded partition as it was applied before.
func TestACrashAmidAChangeOfRules(t *testing.T) {
	log, pub, book := journal.NewMemory(), &published{}, rulebook.New(track.Policy{})
	allow := func(*rule.Rule) error { return nil }
	p, _ := openWith(t, Config{CheckpointEvery: 1}, log, func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) }, book)
	p.Start(pub)
	defer p.Close(context.Background())
	put := func(id, objects string) {
		t.Helper()
		r := &rule.Rule{ID: id, Set: "zone", Objects: objects, Detect: rule.Enter}
		_, _, err := book.Put(r, allow)
		if err = errors.Join(err, p.cfg.Fences.Stage()); err != nil {
			t.Fatal(err)
		}
	}
	send := func(positions ...track.Position) {
		t.Helper()
		if _, err := p.Submit(t.Context(), &Batch{Positions: positions}); err != nil {
			t.Fatal(err)
		}
	}
	saved := func(q int) uint64 {
		if states, err := log.Checkpoints(q); err == nil && len(states) > 0 {
			return states[0].Number
		}
		return 0
	}
	put("other", "none")
	var many []track.Position // in one partition
	for n := 0; len(many) < 2000; n++ {
		if q := fix(fmt.Sprint(n), 1); subjects.Partition(q.Fleet, q.ID) == 1 {
			many = append(many, q)
		}
	}
	send(many...)
	for saved(1) == 0 || saved(0) < saved(1) {
		send(fix("other", 0))
	}
	for saved(1) < saved(0) {
		send(fix("other", 0))
	}
	put("one", many[len(many)-1].ID)
	for before := saved(1); saved(0) < before; {
		send(fix("other", 0))
	}
	want := pub.json()
	if len(want) == 0 {
		t.Fatal("the rule tells nothing")
	}
	copied := log.Clone()
	again, _ := openWith(t, Config{Workers: 1}, copied, nil, rulebook.New(track.Policy{}))
	if !reflect.DeepEqual(states(t, again), states(t, p)) {
		t.Error("another state")
	}
	if got := stored(t, copied); !slices.Equal(got, want) {
		t.Errorf("stored are\n%q\npublished were\n%q", got, want)
	}
	verify(t, Config{}, copied)
}
