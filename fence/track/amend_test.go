package track_test

import (
	"errors"
	"fmt"
	"testing"

	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// TestRuleOfOneObject changes the rule of one object of many: alone, and while Step brings a rule
// for many of them to the objects. The object has the events of its rule in both.
func TestRuleOfOneObject(t *testing.T) {
	const objects = 3000
	many := &rule.Rule{ID: "many", Set: "s", Objects: "o1*", Detect: rule.Enter}
	last := &rule.Rule{ID: "last", Set: "s", Objects: fmt.Sprint("o", objects-1), Detect: rule.Exit}
	table, err := rule.NewTable(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	sets, s := w.view().Sets, w.shard
	s.SetView(&track.View{Sets: sets, Rules: table}, 0)
	for i := range objects {
		s.Apply(at(fmt.Sprint("o", i), 1, 0.5, 0.5), nil)
	}
	change := func(r *rule.Rule, now track.Millis) {
		t.Helper()
		if table, err = table.Put(r); err != nil {
			t.Fatal(err)
		}
		s.SetView(&track.View{Sets: sets, Rules: table}, now)
	}
	change(last, 2000)
	if _, err := s.Export(nil); !errors.Is(err, track.ErrUnsettled) {
		t.Fatalf("Export after a change: %v", err)
	}
	settled(s, nil)
	change(many, 3000)
	s.Step(nil, 1)
	last.Detect = rule.Enter | rule.Inside
	change(last, 4000)
	if events := settled(s, nil); len(events) != 1110 { // of 1111, one is told
		t.Fatalf("%d events of a rule for many objects, want 1110", len(events))
	}
	_, events := s.Apply(at(last.Objects, 5, 0.6, 0.6), nil)
	if len(events) != 1 || events[0].Kind != track.Inside || events[0].Rule != "last" {
		t.Fatalf("events of the changed rule: %v", events)
	}
}
