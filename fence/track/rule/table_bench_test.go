package rule_test

import (
	"fmt"
	"testing"
	"time"

	"paddock/fence/track/rule"
)

// fleetOf makes n rules: nine in ten of one vehicle each, the rest of prefixes, suffixes, fleets
// and all objects.
func fleetOf(n int) []*rule.Rule {
	rules := make([]*rule.Rule, n)
	for i := range rules {
		id, fleet, objects := fmt.Sprint("rule-", i), "", fmt.Sprint("vehicle-", i)
		switch {
		case i%10 != 9:
		case i%40 == 9:
			objects = fmt.Sprintf("vehicle-%d*", i/10)
		case i%40 == 19:
			fleet, objects = fmt.Sprint("fleet-", i%1000), "*"
		case i%40 == 29:
			objects = fmt.Sprint("*-", i)
		default:
			objects = "*"
		}
		rules[i] = selecting(id, fleet, objects)
	}
	return rules
}

func tableOf(b *testing.B, rules []*rule.Rule) *rule.Table {
	b.Helper()
	table, err := rule.NewTable(rules)
	if err != nil {
		b.Fatal(err)
	}
	return table
}

func BenchmarkTable(b *testing.B) {
	rules := fleetOf(rule.MaxRules)
	b.Run("build 100,000", func(b *testing.B) {
		for b.Loop() {
			tableOf(b, rules)
		}
	})
	table := tableOf(b, rules)
	b.Run("class", func(b *testing.B) {
		kept := table.Class("fleet-19", "vehicle-7")
		for b.Loop() {
			if table.Class("fleet-19", "vehicle-7") != kept {
				b.Fatal("another class")
			}
		}
	})
	b.Run("put one vehicle", func(b *testing.B) { putOften(b, table, "rule-7", "vehicle-7") })
	b.Run("put all vehicles", func(b *testing.B) { putOften(b, table, "rule-39", "*") })
	b.Run("replace by itself", func(b *testing.B) {
		for b.Loop() {
			if next, err := table.Replace(rules); next != table || err != nil {
				b.Fatal(err)
			}
		}
	})
}

func putOften(b *testing.B, table *rule.Table, id, objects string) {
	r := selecting(id, "", objects)
	for i := 0; b.Loop(); i++ {
		r.Detect = rule.Detect(1 + i%2)
		next, err := table.Put(r)
		if err != nil {
			b.Fatal(err)
		}
		table = next
	}
}

// BenchmarkRenew changes one rule of 100,000 and renews the classes of 1,000,000 objects, in slices
// of 4,096. It reports the longest slice.
func BenchmarkRenew(b *testing.B) {
	const objects, slice = 1_000_000, 4096
	table := tableOf(b, fleetOf(rule.MaxRules-1))
	type object struct {
		id    string
		class *rule.Class
	}
	all := make([]object, objects)
	for i := range all {
		id := fmt.Sprint("vehicle-", i)
		all[i] = object{id, table.Class("fleet-19", id)}
	}
	for _, c := range []struct{ name, id, objects string }{
		{"one vehicle", "rule-7", "vehicle-7"},
		{"a prefix that comes and goes", "new", "vehicle-12*"},
		{"a prefix of all that comes and goes", "new", "vehicle-*"},
		{"all vehicles", "rule-39", "*"},
	} {
		b.Run(c.name, func(b *testing.B) {
			longest := time.Duration(0)
			r := selecting(c.id, "", c.objects)
			for i := 0; b.Loop(); i++ {
				r.Detect = rule.Detect(1 + i%2)
				next, err := table.Put(r)
				if err != nil {
					b.Fatal(err)
				}
				if c.id == "new" && i%2 == 1 {
					next = table.Delete(c.id)
				}
				for at := 0; at < objects; at += slice {
					begin := time.Now()
					for j := range all[at:min(at+slice, objects)] {
						o := &all[at+j]
						o.class = next.Renew(o.class, table, "fleet-19", o.id)
					}
					longest = max(longest, time.Since(begin))
				}
				table = next
			}
			b.ReportMetric(float64(longest.Microseconds()), "longest-us")
		})
	}
}
