package track_test

import (
	"fmt"
	"testing"
	"time"
	_ "time/tzdata" // schedules do not depend on the machine's database

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// ruleTales are tales with rules. The fence a is 200 m wide, west of the border; b is around it,
// 400 m wide, with the property max; gate is a line along the border, from south to north. A line
// "rules:" changes the rules to those in the JSON lines that follow it, or to no table.
var ruleTales = []struct{ name, rules, lines string }{
	{"without a rule nothing is told", `[]`, `
		0 at -10
		1 at 10`},
	{"a rule for the object, and one for another", `[{"id":"r","set":"s","objects":"o","fences":["a"]},{"id":"q","set":"s","objects":"x"}]`, `
		0 at -10 -> enter a 0s initial
		1 at 10 -> exit a 500ms move`},
	{"a rule of another fleet, and a disabled one", `[{"id":"r","set":"s","fleet":"g"},{"id":"q","set":"s","enabled":false}]`, `
		0 at -10
		1 at 10`},
	{"where", `[{"id":"r","set":"s","fences":{"where":{"max":10}}}]`, `
		0 at -10 -> enter b 0s initial
		1 at 500 -> exit b 412ms move`},
	{"detect: exit alone", `[{"id":"r","set":"s","fences":["a"],"detect":["exit"]}]`, `
		0 at -10
		1 at 10 -> exit a 500ms move
		2 at -10`},
	{"two rules tell one event", `[{"id":"r","set":"s","fences":["a"]},{"id":"q","set":"s","fences":["a"],"detect":["enter"]}]`, `
		0 at -10 -> enter a 0s initial
		1 at 10 -> exit a 500ms move`},
	{"a rule is added, and another that changes nothing", `[]`, `
		0 at -10
		5 rules [{"id":"r","set":"s","fences":["a"]}] -> enter a 5s rule_added
		6 rules [{"id":"r","set":"s","fences":["a"]},{"id":"q","set":"s","fences":["a"]}]
		7 rules [{"id":"q","set":"s","fences":["a"]}]
		8 at 10 -> exit a 5s move`},
	{"a rule is removed", `[{"id":"r","set":"s","fences":["a"]}]`, `
		0 at -10 -> enter a 0s initial
		5 rules [] -> exit a 5s rule_removed
		8 at 10`},
	{"a rule gives way to another of the same set", `[{"id":"r","set":"s","fences":["a"]}]`, `
		0 at -10 -> enter a 0s initial
		5 rules [{"id":"q","set":"s","fences":["b"]}] -> exit a 5s rule_removed, enter b 5s rule_added
		8 at 10`},
	{"inside", `[{"id":"r","set":"s","fences":["a"],"detect":["enter","inside"]}]`, `
		0 at -10 -> enter a 0s initial, inside a 0s initial by r
		1 at -10 -> inside a 1s move by r
		2 at 10
		3 at -10 -> enter a 2.5s move, inside a 3s move by r`},
	{"inside: every", `[{"id":"r","set":"s","fences":["a"],"detect":["inside"],"inside":{"every":"10s"}}]`, `
		0 at -10 -> inside a 0s initial by r
		9 at -10
		10 at -10 -> inside a 10s move by r
		19 at 10
		19.5 at -10 -> inside a 19.5s move by r
		21 at -10`},
	{"inside: every, from a change of the rule on", `[{"id":"r","set":"s","fences":["a"],"detect":["inside"],"when":"speed > 10"}]`, `
		0 at -10 speed 20 -> inside a 0s initial by r
		5 at -10 speed 20 -> inside a 5s move by r
		6 at -10 speed 5
		7 rules [{"id":"r","set":"s","fences":["a"],"detect":["inside"],"when":"speed > 10","inside":{"every":"10s"}}]
		8 at -10 speed 20 -> inside a 8s move by r
		15 at -10 speed 20
		16 rules [{"id":"r","set":"s","fences":["a"],"detect":["inside"],"when":"speed > 10"}]
		17 at -10 speed 20 -> inside a 17s move by r
		18 rules [{"id":"r","set":"s","fences":["a"],"detect":["inside"],"inside":{"every":"10s"}}]
		19 at -10 -> inside a 19s move by r
		28 at -10
		29 at -10 -> inside a 29s move by r`},
	{"outside: every, from a change of the rule on", `[{"id":"r","set":"s","fences":["a"],"detect":["outside"]}]`, `
		0 at 10 -> outside a 0s initial by r
		5 at 10 -> outside a 5s move by r
		6 rules [{"id":"r","set":"s","fences":["a"],"detect":["outside"],"outside":{"every":"10s"}}]
		14 at 10
		15 at 10 -> outside a 15s move by r`},
	{"outside of listed fences", `[{"id":"r","set":"s","fences":["a"],"detect":["outside","exit"]}]`, `
		0 at -10
		1 at 10 -> exit a 500ms move, outside a 1s move by r
		2 at 10 -> outside a 2s move by r
		3 at -10`},
	{"outside of all fences", `[{"id":"r","set":"s","detect":["outside"]}]`, `
		0 at 500 -> outside _ 0s initial by r
		1 at 600 -> outside _ 1s move by r
		2 at 10
		3 at 500 -> outside _ 3s move by r`},
	{"outside: every", `[{"id":"r","set":"s","detect":["outside"],"outside":{"every":"10s"}}]`, `
		0 at 500 -> outside _ 0s initial by r
		9 at 500
		10 at 500 -> outside _ 10s move by r`},
	{"dwell by the clock", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"60s"}}]`, `
		0 at 10
		1 at -10 late 2
		62
		62.5 -> dwell a 1m0.5s move by r
		200
		201 at -10
		202 at 10`},
	{"dwell by the fixes", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"60s","every":"30s"}}]`, `
		0 at -10
		55 at -10
		60 -> dwell a 1m0s move by r
		70 at -10
		95 -> dwell a 1m30s move by r
		200 -> dwell a 2m0s move by r, dwell a 2m30s move by r, dwell a 3m0s move by r`},
	{"dwell ends with the visit", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"60s"}}]`, `
		0 at -10
		50 at 10
		52 at -10
		60
		111 -> dwell a 1m51s move by r`},
	{"dwell before an exit that the clock had not reached", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell","exit"],"dwell":{"after":"45s"}}]`, `
		0 at -10 late 100
		44 at -10 late 56
		50 at 10 late 50 -> dwell a 45s move by r, exit a 47s move`},
	{"no dwell at a time after the exit", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell","exit"],"dwell":{"after":"48s"}}]`, `
		0 at -10 late 100
		44 at -10 late 56
		50 at 10 late 50 -> exit a 47s move`},
	{"dwell before an exit, by the condition at the last fix inside", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"45s"},"when":"speed < 1"}]`, `
		0 at -10 speed 0 late 100
		44 at -10 speed 0 late 56
		50 at 10 speed 9 late 50 -> dwell a 45s move by r
		60 at -10 speed 9 late 40
		99 at -10 speed 9 late 1
		103 at 10 speed 0 late -2.6`},
	{"dwell between fixes that come together, by the condition at the first", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"45s"},"when":"speed < 1"}]`, `
		0 at -10 speed 0 late 100
		44 at -10 speed 0 late 56
		46 at -10 speed 9 late 54 -> dwell a 45s move by r
		47 at -10 speed 0 late 53`},
	{"dwells between fixes that come together", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"20s","every":"5s"},"when":"speed < 1"}]`, `
		0 at -10 speed 0 late 100
		32 at -10 speed 9 late 68 -> dwell a 30s move by r
		36 at -10 speed 9 late 64
		41 at -10 speed 0 late 59 -> dwell a 40s move by r`},
	{"the last dwell before an exit", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell","exit"],"dwell":{"after":"20s","every":"5s"}}]`, `
		0 at -10 late 100
		32 at -10 late 68 -> dwell a 30s move by r
		50 at 10 late 50 -> dwell a 40s move by r, exit a 41s move`},
	{"dwells before exits, in the order of time", `[{"id":"r","set":"s","detect":["dwell","exit"],"dwell":{"after":"45s"}},{"id":"q","set":"s","fences":["b"],"detect":["dwell"],"dwell":{"after":"41s"}}]`, `
		0 at -10 late 100
		40 at -10 late 60
		50 at 490 late 50 -> dwell b 41s move by q, exit a 40.2s move, exit b 44.2s move`},
	{"dwell by a rule that changed before it told", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"5m"},"when":"speed < 1"}]`, `
		0 at -10 speed 3
		360 at -10 speed 3
		420 rules [{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"60m"},"when":"speed < 1"}]
		480 at -10 speed 0
		3600 -> dwell a 1h0m0s move by r`},
	{"dwell by a rule that became shorter before it told", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"10m"},"when":"speed < 1"}]`, `
		0 at -10 speed 3
		660 at -10 speed 3
		720 rules [{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"5m"},"when":"speed < 1"}]
		780 at -10 speed 0 -> dwell a 5m0s move by r`},
	{"dwell by another condition", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"60s"},"when":"speed < 1"}]`, `
		0 at -10 speed 3
		70 at -10 speed 3
		80 rules [{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"60s"},"when":"speed < 5"}] -> dwell a 1m0s move by r
		90 rules [{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"60s"}}]
		100 at -10`},
	{"dwell is told once at each time, however its rule changes", `[{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"60s"}}]`, `
		0 at -10
		60 -> dwell a 1m0s move by r
		70 rules [{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"90s"}}]
		90 -> dwell a 1m30s move by r
		95 rules [{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"60s"}}]
		96 rules [{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"30s","every":"20s"}}]
		110 -> dwell a 1m50s move by r
		111 rules [{"id":"r","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"100s"}}]
		300`},
	{"a condition", `[{"id":"r","set":"s","fences":["b"],"detect":["condition"],"when":"speed > fence.max"}]`, `
		0 at -10 speed 5
		1 at -10 speed 11 -> condition_begin b 1s move by r
		2 at -20 speed 12
		3 at -30 speed 9 -> condition_end b 3s move by r
		4 at -30 speed 20 -> condition_begin b 4s move by r
		5 at 500 speed 20 -> condition_end b 5s move by r`},
	{"a condition ends with its rule", `[{"id":"r","set":"s","fences":["b"],"detect":["condition"],"when":"speed > fence.max"}]`, `
		1 at -10 speed 11 -> condition_begin b 1s initial by r
		2 rules [{"id":"q","set":"s"}] -> enter a 2s rule_added, enter b 2s rule_added, condition_end b 2s rule_removed by r`},
	{"the condition of an enter", `[{"id":"r","set":"s","fences":["a"],"when":"speed > 10"}]`, `
		0 at 10 speed 20
		1 at -10 speed 5
		2 at 10 speed 20 -> exit a 1.5s move
		3 at -10 speed 20 -> enter a 2.5s move`},
	{"cross", `[{"id":"r","set":"s","fences":["a"],"detect":["enter","exit","cross"]}]`, `
		0 at 10
		10 at -210 -> cross a 455ms move
		20 at -210
		30 at -190 -> enter a 25s move
		40 at 10 -> exit a 39.5s move`},
	{"cross of a line, and its direction", `[{"id":"r","set":"s","fences":["gate"],"detect":["cross"],"direction":"left"}]`, `
		0 at 10
		10 at -30 -> cross gate 2.5s move to the left
		20 at 30`},
	{"no cross over a long gap", `[{"id":"r","set":"s","fences":["a"],"detect":["cross"]}]`, `
		0 at 10
		601 at -210`},
	{"a schedule opens and closes", `[{"id":"r","set":"s","fences":["a"],"active":{"zone":"UTC","week":{"thu":["00:01-00:02"]}}}]`, `
		0 at -10
		59
		60 -> enter a 1m0s schedule
		70 at 10 -> exit a 1m0s move
		80 at -10 -> enter a 1m15s move
		120 -> exit a 2m0s schedule
		130 at 10`},
	{"a schedule opens before a fix", `[{"id":"r","set":"s","fences":["a"],"active":{"zone":"UTC","week":{"thu":["00:01-00:02"]}}}]`, `
		0 at -10
		70 at 10 -> enter a 1m0s schedule, exit a 1m0s move`},
	{"a schedule opens before a change of another rule", `[{"id":"r","set":"s","fences":["a"],"active":{"zone":"UTC","week":{"thu":["00:01-00:02"]}}}]`, `
		0 at -10
		70 rules [{"id":"r","set":"s","fences":["a"],"active":{"zone":"UTC","week":{"thu":["00:01-00:02"]}}},{"id":"q","set":"s","objects":"x"}] -> enter a 1m10s schedule
		120 -> exit a 2m0s schedule`},
	{"a rule expires", `[{"id":"r","set":"s","fences":["a"],"active":{"valid_until":"1970-01-01T00:01:00Z"}}]`, `
		0 at -10 -> enter a 0s initial
		60 -> exit a 1m0s expired`},
}

func TestRuleTales(t *testing.T) {
	for _, c := range ruleTales {
		t.Run(c.name, func(t *testing.T) {
			side := 200 * metre
			w := newWorld(t, track.Options{}, square("a", -side, -side/2, side))
			w.policy = &track.Policy{Initial: track.InitialEnter}
			b := square("b", -side, -side, 2*side)
			b.Properties = []byte(`{"max":10}`)
			gate := fence.Fence{Key: "gate", Lines: geometry.MultiLine{{{Lon: 0, Lat: -side}, {Lon: 0, Lat: side}}}}
			for _, f := range []fence.Fence{b, gate} {
				if _, _, err := w.set.Put(f); err != nil {
					t.Fatal(err)
				}
			}
			w.setRules(c.rules)
			w.shard.SetView(w.view(), 0)
			settled(w.shard, nil)
			w.tale(c.lines, nil)
		})
	}
}

// A schedule that opens before a silence tells what is due by then, also where both have passed.
func TestAScheduleOpensBeforeASilence(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	w.policy = &track.Policy{TTL: 62 * time.Second}
	w.setRules(`[{"id":"r","set":"s","detect":["dwell"],"dwell":{"after":"20s"},"active":{"valid_from":"1970-01-01T00:01:00Z"}}]`)
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	expect(t, w.fix(0, 0.5, 0.5), "")
	expect(t, w.advance(70_000), "dwell a 20s move by r")
}

// A fix beyond max_accuracy is no end of a path through an area: neither the way to it nor the way
// back from it is one that the object took.
func TestABadFixIsNoWayThroughAnArea(t *testing.T) {
	side := 200 * metre
	w := newWorld(t, track.Options{}, square("a", -side, -side/2, side))
	w.policy = &track.Policy{MaxAccuracy: 100}
	w.setRules(`[{"id":"r","set":"s","detect":["cross"]}]`)
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	w.tale(`
		0 at 50
		10 at -500 ±400
		20 at 60
		30 at -260 -> cross a 21.875s move
		40 at 300 ±101
		50 at -260
		60 at 60 -> cross a 51.875s move`, w.move)
}

// The hours of a rule show a visit and hide it, and have no influence on how long it is: another
// rule tells of its length as if there were no hours. The enter that the hours tell, and its exit,
// begin with them.
func TestHoursDoNotShortenAVisit(t *testing.T) {
	const hours = 3600
	for name, between := range map[string]func(*world){"one shard": func(*world) {}, "a new one each time": (*world).move} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
			w.setRules(`[{"id":"long","set":"s","detect":["dwell"],"dwell":{"after":"48h"}},
				{"id":"night","set":"s","active":{"zone":"UTC","week":{"mon-sun":["22:00-05:00"]}}}]`)
			w.shard.SetView(w.view(), 0)
			settled(w.shard, nil)
			got := ""
			take := func(events []track.Event) {
				for i := range events {
					e := &events[i]
					got += fmt.Sprintf(" %s since %v visit %d;", tell(events[i:i+1]), time.Duration(e.Since)*time.Millisecond, e.Visit)
				}
			}
			for hour := 12.0; hour < 73; hour++ {
				seconds, lon := hour*hours, 0.5
				if hour == 72 { // at night
					lon = 1.5
				}
				_, events := w.shard.Apply(at("o", seconds, lon, 0.5), nil)
				take(events)
				w.shard.Advance(track.Millis((seconds + 1) * 1000))
				take(settled(w.shard, nil))
				between(w)
			}
			want := " enter a 22h0m0s schedule since 22h0m0s visit 1;" +
				" exit a 29h0m0s schedule since 22h0m0s visit 1;" +
				" enter a 46h0m0s schedule since 46h0m0s visit 3;" +
				" exit a 53h0m0s schedule since 46h0m0s visit 3;" +
				" dwell a 60h0m0s move by long since 12h0m0s visit 0;" +
				" enter a 70h0m0s schedule since 70h0m0s visit 6;" +
				" exit a 72h0m0s move since 70h0m0s visit 6;"
			if got != want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// setRules replaces the rules by those of a JSON list.
func (w *world) setRules(list string) {
	w.t.Helper()
	rules, err := rule.ParseFile("rules.yaml", []byte("rules: "+list))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.rules == nil {
		w.rules, err = rule.NewTable(rules)
	} else {
		w.rules, err = w.rules.Replace(rules)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
