package rule_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/fence/track/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// selecting makes a rule that selects objects.
func selecting(id, fleet, objects string) *rule.Rule {
	return &rule.Rule{ID: id, Set: "s", Fleet: fleet, Objects: objects, Detect: rule.Enter}
}

func ids(t *rule.Table, c *rule.Class) string {
	var all []string
	for r := range t.RulesOf(c) {
		all = append(all, r.ID)
	}
	return strings.Join(all, " ")
}

// naiveClass lists the rules of an object by a look at all of them.
func naiveClass(rules map[string]*rule.Rule, fleet, id string) string {
	var all []string
	for _, r := range rules {
		p, _ := rule.NewPattern(r.Objects)
		if !r.Disabled && (r.Fleet == "" || r.Fleet == "*" || r.Fleet == fleet) && p.Match(id) {
			all = append(all, r.ID)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func randomRule(r *rand.Rand) *rule.Rule {
	made := selecting(fmt.Sprint("r", r.IntN(60)), []string{"", "*", "x", "y"}[r.IntN(4)], letters(r, "aab*?", 4))
	made.Disabled = r.IntN(6) == 0
	made.Set = []string{"s", "t"}[r.IntN(2)]
	return made
}

// followed is an object that keeps its class, from a table that may be older than the last one.
type followed struct {
	fleet, id string
	class     *rule.Class
	table     *rule.Table
}

// TestTableOracle makes random changes and compares the rules of objects with naive matching, with
// classes that were found and classes that were renewed over one or many changes. Both are one
// pointer.
func TestTableOracle(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 7))
		table, err := rule.NewTable(nil)
		if err != nil {
			t.Fatal(err)
		}
		rules := map[string]*rule.Rule{}
		var objects []*followed
		for _, fleet := range []string{"x", "y", "z"} {
			for range 30 {
				objects = append(objects, &followed{fleet, letters(r, "ab", 5), table.Class("", ""), table})
			}
		}
		for step := range 600 {
			table = change(t, r, table, rules)
			if table.Len() != len(rules) {
				t.Fatalf("%d rules, want %d", table.Len(), len(rules))
			}
			for _, o := range objects {
				if step%100 != 99 && r.IntN(20) > 0 {
					continue // it falls behind
				}
				o.class = table.Renew(o.class, o.table, o.fleet, o.id)
				o.table = table
				got, want := ids(table, o.class), naiveClass(rules, o.fleet, o.id)
				if got != want {
					t.Fatalf("seed %d, step %d: %s/%s has %q, want %q", seed, step, o.fleet, o.id, got, want)
				}
				if table.Class(o.fleet, o.id) != o.class {
					t.Fatalf("seed %d, step %d: two classes of %q", seed, step, got)
				}
			}
		}
	}
}

// change makes one random change, or replaces some rules at once.
func change(t *testing.T, r *rand.Rand, table *rule.Table, rules map[string]*rule.Rule) *rule.Table {
	t.Helper()
	next, err := table, error(nil)
	switch made := randomRule(r); r.IntN(30) {
	case 0:
		for range r.IntN(60) {
			made := randomRule(r)
			rules[made.ID] = made
		}
		for id := range rules {
			if r.IntN(20) == 0 {
				delete(rules, id)
			}
		}
		var all []*rule.Rule
		for _, o := range rules {
			all = append(all, o)
		}
		next, err = table.Replace(all)
	case 1, 2, 3, 4, 5, 6, 7, 8:
		next = table.Delete(made.ID)
		delete(rules, made.ID)
	default:
		next, err = table.Put(made)
		rules[made.ID] = made
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// TestTableChanges holds which changes a table tells, and of which tables.
func TestTableChanges(t *testing.T) {
	table, err := rule.NewTable([]*rule.Rule{selecting("a", "", "bus-*"), selecting("b", "", "bus-*"), selecting("c", "x", "v1")})
	if err != nil {
		t.Fatal(err)
	}
	put := func(t0 *rule.Table, r *rule.Rule) *rule.Table {
		next, err := t0.Put(r)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	describe := func(later, earlier *rule.Table) string { return describe(later.Changes(earlier)) }
	disabled := selecting("d", "", "*")
	disabled.Disabled = true
	edited := selecting("a", "", "bus-*")
	edited.Set = "t"
	moved := put(table, selecting("a", "", "*"))
	fork := put(table, selecting("e", "", "*"))
	far := table
	for i := range 100 {
		far = put(far, selecting(fmt.Sprint("n", i), "", fmt.Sprint("n", i)))
	}
	other, _ := rule.NewTable(nil)
	for _, c := range []struct{ name, got, want string }{
		{"the same rule", describe(put(table, selecting("a", "*", "bus-**")), table), ""},
		{"an edit", describe(put(table, edited), table), " /bus-*:ab /bus-*:ab"},
		{"another pattern", describe(moved, table), " /bus-*:ab /bus-*:b none /*:a"},
		{"a rule without effect", describe(put(table, disabled), table), ""},
		{"the last rule of a group", describe(table.Delete("c"), table), " x/v1:c none"},
		{"an unknown id", describe(table.Delete("z"), table), ""},
		{"two steps", describe(moved.Delete("c"), table), " /bus-*:ab /bus-*:b none /*:a x/v1:c none"},
		{"the second step of them", describe(moved.Delete("c"), moved), " x/v1:c none"},
		{"from a fork", describe(fork, moved), "all"},
		{"backwards", describe(table, moved), "all"},
		{"too far back", describe(far, table), "all"},
		{"of another table", describe(table, other), "all"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
	if put(table, selecting("a", "*", "bus-**")) != table || table.Delete("z") != table {
		t.Error("a table that did not change is another one")
	}
	if id, ok := table.Class("x", "v1").Selections()[0].Object(); id != "v1" || !ok {
		t.Errorf("the group of v1 has the object %q, %v", id, ok)
	}
	if _, ok := table.Class("x", "bus-1").Selections()[0].Object(); ok {
		t.Error("the group of bus-* has one object")
	}
}

// describe writes changes of tables.
func describe(changes []rule.Change, ok bool) string {
	if !ok {
		return "all"
	}
	var b strings.Builder
	for _, c := range changes {
		for _, g := range []*rule.Group{c.Before, c.After} {
			if g == nil {
				b.WriteString(" none")
				continue
			}
			fmt.Fprintf(&b, " %s/%v:", g.Fleet(), g.Pattern())
			for _, r := range g.Rules() {
				b.WriteString(r.ID)
			}
		}
	}
	return b.String()
}

// TestTableCompare makes the same rules in several ways: what differs between two tables depends on
// nothing else.
func TestTableCompare(t *testing.T) {
	with := func(rules ...*rule.Rule) *rule.Table {
		table, err := rule.NewTable(rules)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	a, b, c := selecting("a", "", "bus-*"), selecting("b", "", "bus-*"), selecting("c", "x", "v1")
	disabled, edited := selecting("d", "", "*"), selecting("a", "", "bus-*")
	disabled.Disabled, edited.Set = true, "t"
	var many []*rule.Rule
	for i := range 33 {
		many = append(many, selecting(fmt.Sprint("n", i), "", "n"))
	}
	table := with(a, b, c)
	for _, x := range []struct {
		name  string
		rules []*rule.Rule
		want  string
	}{
		{"the same", []*rule.Rule{c, a, b}, ""},
		{"an edit", []*rule.Rule{edited, b, c}, " /bus-*:ab /bus-*:ab"},
		{"another pattern", []*rule.Rule{selecting("a", "", "*"), b, c}, " none /*:a /bus-*:ab /bus-*:b"},
		{"a rule without effect", []*rule.Rule{a, b, c, disabled}, ""},
		{"the last rule of a group", []*rule.Rule{a, b}, " x/v1:c none"},
		{"all that are looked at", append(many[:29:29], edited, b), " /bus-*:ab /bus-*:ab none /n:n0n1n10n11n12n13n14n15n16n17n18n19n2n20n21n22n23n24n25n26n27n28n3n4n5n6n7n8n9 x/v1:c none"},
		{"too many", append(many[:33:33], a, b, c), "all"},
	} {
		put, err := table.Replace(x.rules)
		if err != nil {
			t.Fatal(err)
		}
		fresh := with(x.rules...)
		back, err := fresh.Replace(table.Rules())
		if err != nil {
			t.Fatal(err)
		}
		far, err := put.Replace(many)
		if err != nil {
			t.Fatal(err)
		}
		if far, err = far.Replace(x.rules); err != nil {
			t.Fatal(err)
		}
		for way, got := range map[string]string{
			"puts": describe(put.Compare(table)), "of the rules alone": describe(fresh.Compare(table)),
			"backwards": describe(fresh.Compare(back)), "there and back": describe(far.Compare(table)),
		} {
			if got != x.want {
				t.Errorf("%s, %s:%s, want%s", x.name, way, got, x.want)
			}
		}
	}
}

// TestTableLimits holds that a table refuses more than its limits, and stays as it is.
func TestTableLimits(t *testing.T) {
	table, err := rule.NewTable(nil)
	if err != nil {
		t.Fatal(err)
	}
	var many []*rule.Rule
	for i := range 1000 {
		many = append(many, selecting(fmt.Sprint("r", i), "", fmt.Sprintf("*x%d*", i)))
	}
	if table, err = table.Replace(many); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Put(selecting("more", "", "?y*")); err == nil || !strings.Contains(err.Error(), `more: too many patterns: objects "?y*"`) {
		t.Errorf("another general pattern: %v", err)
	}
	if _, err := table.Put(selecting("r7", "", "?y*")); err != nil {
		t.Errorf("in place of another one: %v", err)
	}
	if _, err := table.Put(selecting("", "", "")); err == nil {
		t.Error("a rule without id")
	}
	if _, err := table.Replace([]*rule.Rule{many[0], many[0]}); err == nil {
		t.Error("an id twice")
	}
	if _, err := rule.NewTable([]*rule.Rule{many[0], many[0]}); err == nil {
		t.Error("an id twice in a new table")
	}
	if _, err := rule.NewTable(make([]*rule.Rule, rule.MaxRules+1)); err == nil {
		t.Error("too many rules")
	}
	if table.Len() != 1000 || len(table.Rules()) != 1000 || table.Rules()[1].ID != "r1" {
		t.Errorf("%d rules", table.Len())
	}
}

// TestTableKeepsItsRules holds that a rule in a table is a copy.
func TestTableKeepsItsRules(t *testing.T) {
	r := selecting("a", "*", "")
	r.Fences.IDs = []string{"2", "1"}
	table, err := rule.NewTable([]*rule.Rule{r})
	if err != nil {
		t.Fatal(err)
	}
	r.Set, r.Fences.IDs[0] = "other", "3"
	kept, _ := table.Get("a")
	if got := string(kept.AppendJSON(nil)); got != `{"id":"a","set":"s","fences":["1","2"],"detect":["enter"]}` {
		t.Error(got)
	}
}

// TestTableConcurrently holds that goroutines may read tables while others are made from them.
func TestTableConcurrently(t *testing.T) {
	table, err := rule.NewTable(nil)
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for i := range 200 {
		next, err := table.Put(selecting(fmt.Sprint("r", i%20), "", []string{"a*", "*", "ab"}[i%3]))
		if err != nil {
			t.Fatal(err)
		}
		before := table
		readers.Go(func() {
			c := before.Class("x", "ab")
			ids(before, c)
			if renewed := next.Renew(c, before, "x", "ab"); renewed != next.Class("x", "ab") {
				t.Errorf("%q and %q", ids(next, renewed), ids(next, next.Class("x", "ab")))
			}
		})
		table = next
	}
	readers.Wait()
}

// TestClassesStay holds that changes of rules, without a change of selections, keep classes.
func TestClassesStay(t *testing.T) {
	table, err := rule.NewTable([]*rule.Rule{selecting("a", "", "a*"), selecting("b", "", "b*")})
	if err != nil {
		t.Fatal(err)
	}
	edited := selecting("a", "", "a*")
	edited.Detect = rule.Exit
	put := func(t0 *rule.Table, r *rule.Rule) *rule.Table {
		next, err := t0.Put(r)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	next := put(table, edited)
	all := put(next, selecting("all", "", ""))
	if next.Class("x", "a1") != table.Class("x", "a1") || all.Class("x", "a1") != table.Class("x", "a1") {
		t.Error("a change of rules alone changed classes")
	}
}

// TestClassesAreForgotten holds that a table does not keep the classes of objects that are gone.
func TestClassesAreForgotten(t *testing.T) {
	table, err := rule.NewTable(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		if table, err = table.Put(selecting(fmt.Sprint("r", i), "", fmt.Sprint("v", i))); err != nil {
			t.Fatal(err)
		}
	}
	kept := table.Class("x", "v7")
	for i := range 500 {
		table.Class("x", fmt.Sprint("v", i))
	}
	none := table.Class("x", "other")
	for n := 1; n < len("other"); n++ { // each renewed class is a step from another one
		next, err := table.Put(selecting(fmt.Sprint("more", n), "", "other"[:n]+"*"))
		if err != nil {
			t.Fatal(err)
		}
		none = next.Renew(none, table, "x", "other")
		table = next
	}
	for deadline := time.Now().Add(10 * time.Second); rule.Classes(table) > 1; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("%d classes", rule.Classes(table))
		}
		<-time.After(time.Millisecond)
	}
	if table.Class("x", "v7") != kept {
		t.Error("a class that is in use is forgotten")
	}
}

// Each change of rules, and each opening and closing, looks at all schedules. They are few, however
// many rules have them, and rules that come and go leave none behind.
func TestSchedulesOfManyRules(t *testing.T) {
	hours := []string{`{"week":{"mon":["07:00-18:00"]}}`, `{"week":{"mon":["08:00-18:00"]}}`, `{"zone":"Europe/Berlin","week":{"mon":["07:00-18:00"]}}`, `{}`}
	r := rand.New(rand.NewPCG(5, 5))
	table, err := rule.NewTable(nil)
	if err != nil {
		t.Fatal(err)
	}
	schedules := map[string]string{} // of the rules
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 2000 {
		id, active := fmt.Sprint("r", r.IntN(300)), hours[r.IntN(len(hours))]
		if r.IntN(10) == 0 {
			table = table.Delete(id)
			delete(schedules, id)
		} else {
			enabled := r.IntN(4) > 0
			made, err := rule.Parse(fmt.Appendf(nil, `{"id":%q,"set":"s","active":%s,"enabled":%v}`, id, active, enabled))
			if err != nil {
				t.Fatal(err)
			}
			if table, err = table.Put(made); err != nil {
				t.Fatal(err)
			}
			if delete(schedules, id); enabled && active != "{}" {
				schedules[id] = active
			}
		}
		if r.IntN(100) == 0 {
			if table, err = table.Replace(table.Rules()[r.IntN(table.Len()/2):]); err != nil {
				t.Fatal(err)
			}
			maps.DeleteFunc(schedules, func(id, _ string) bool { _, known := table.Get(id); return !known })
		}
		different := map[string]bool{}
		for _, active := range schedules {
			different[active] = true
		}
		if r.IntN(3) > 0 { // the last answer may hold still
			at = at.Add(time.Duration(r.IntN(10)) * time.Hour)
		}
		next, changes := time.Time{}, false
		for _, made := range table.Rules() {
			if then, _, ok := made.Active.Next(at); !made.Disabled && ok && (!changes || then.Before(next)) {
				next, changes = then, true
			}
		}
		if got, ok := table.NextChange(at); ok != changes || !got.Equal(next) {
			t.Fatalf("after %v: %v, %v, want %v, %v", at, got, ok, next, changes)
		}
		looked := 0
		for range table.Scheduled() {
			looked++
		}
		if looked != len(different) {
			t.Fatalf("%d schedules, want %d", looked, len(different))
		}
	}
}
