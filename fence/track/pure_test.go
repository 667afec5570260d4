package track_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence/track"
	"paddock/fence/track/rule"
)

const crowded = 1500

// newCrowd is a world with more objects than one Step brings to other rules.
func newCrowd(t *testing.T) *world {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	w.rules = tableOf(t, nil)
	w.shard.SetView(w.view(), 0)
	for i := range crowded {
		w.shard.Apply(at(fmt.Sprint("o", i), 1, 0.5, 0.5), nil)
	}
	return w
}

// copyWith is another world of the same state, with another table of the same rules.
func (w *world) copyWith(rules *rule.Table) *world {
	w.t.Helper()
	copied := *w
	copied.rules = rules
	copied.move()
	return &copied
}

// change changes the rules, and returns the events of each part.
func (w *world) change(rules *rule.Table, now track.Millis) (parts []string) {
	w.rules = rules
	w.shard.SetView(w.view(), now)
	for more := true; more; {
		var events []track.Event
		events, more = w.shard.Step(nil, 64)
		part := ""
		for i := range events {
			part += fmt.Sprint(" ", events[i].ID, "#", events[i].Seq)
		}
		parts = append(parts, part+": "+tell(events))
	}
	return parts
}

func (w *world) state() []byte {
	w.t.Helper()
	state, err := w.shard.Export(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return state
}

func tableOf(t *testing.T, rules []*rule.Rule) *rule.Table {
	t.Helper()
	table, err := rule.NewTable(rules)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// The parts in which a change of rules reaches the objects depend on the rules before and after
// it, and not on how their tables were made.
func TestTheWayToATableDoesNotMatter(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 5))
		live := newCrowd(t)
		table, all := tableOf(t, nil), []*rule.Rule(nil)
		again := live.copyWith(tableOf(t, nil))
		now := track.Millis(2000)
		for step := range 60 {
			before := table
			table, all = changedRules(t, r, table, all)
			now += 1000
			var other *rule.Table
			switch r.IntN(8) {
			case 0: // of the rules alone
				other = tableOf(t, all)
			case 1: // from the new rules to those before, and back
				other = storedRules(table)
				earlier, err := other.Replace(before.Rules())
				if err != nil {
					t.Fatal(err)
				}
				again = again.copyWith(earlier)
			case 2: // over other rules
				away, err := before.Replace(many(r.IntN(100)))
				if err == nil {
					other, err = away.Replace(all)
				}
				if err != nil {
					t.Fatal(err)
				}
			case 3, 4, 5, 6: // step by step, with rules of one object that go and come again
				away, object := again.rules, fmt.Sprint("o", crowded-1-r.IntN(8))
				for _, kept := range before.Rules() {
					if kept.Objects == object {
						away = away.Delete(kept.ID)
					}
				}
				back, err := away.Replace(before.Rules())
				if err == nil {
					other, err = back.Replace(all)
				}
				if err != nil {
					t.Fatal(err)
				}
			default:
				other = table
			}
			if got, want := again.change(other, now), live.change(table, now); !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d:\n got %q\nwant %q", seed, step, got, want)
			}
			if !bytes.Equal(again.state(), live.state()) {
				t.Fatalf("seed %d, step %d: another state", seed, step)
			}
		}
	}
}

// changedRules puts or deletes a rule, or several.
func changedRules(t *testing.T, r *rand.Rand, table *rule.Table, all []*rule.Rule) (*rule.Table, []*rule.Rule) {
	t.Helper()
	most := 1
	if r.IntN(5) == 0 {
		most = 50
	}
	all = slices.Clone(all)
	for range most {
		made := &rule.Rule{
			ID: fmt.Sprint("r", r.IntN(60)), Set: "s", Detect: []rule.Detect{rule.Enter, rule.Exit, rule.Enter | rule.Exit}[r.IntN(3)],
			Objects: fmt.Sprint("o", crowded-1-r.IntN(8)), Disabled: r.IntN(6) == 0,
		}
		if r.IntN(20) == 0 {
			made.Objects = "o1*"
		}
		all = slices.DeleteFunc(all, func(o *rule.Rule) bool { return o.ID == made.ID })
		if r.IntN(3) > 0 {
			all = append(all, made)
		}
	}
	next, err := table.Replace(all)
	if err != nil {
		t.Fatal(err)
	}
	return next, all
}

// many returns rules for as many objects.
func many(n int) (rules []*rule.Rule) {
	for i := range n {
		rules = append(rules, &rule.Rule{ID: fmt.Sprint("m", i), Set: "s", Objects: fmt.Sprint("o", i), Detect: rule.Enter})
	}
	return rules
}

// Fleets of objects that are gone do not matter to a change of rules.
func TestFleetsThatAreGoneDoNotMatter(t *testing.T) {
	live := newCrowd(t)
	for i := range 1100 {
		fleet := fmt.Sprint("g", i)
		live.shard.Apply(&track.Position{Fleet: fleet, ID: "x", Time: 2000, Arrived: 2000}, nil)
		live.shard.Remove(fleet, "x", 2000, nil)
	}
	table := tableOf(t, nil)
	again := live.copyWith(table)
	next, err := table.Put(&rule.Rule{ID: "r", Set: "s", Objects: fmt.Sprint("o", crowded-1), Detect: rule.Enter})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again.change(next, 3000), live.change(next, 3000); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
