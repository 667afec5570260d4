package track_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/track"
)

// metre is the degrees of a metre at the equator, to the east.
const metre = 1 / 111_319.49

// tale is a history in lines: an input, and after "->" the events that it causes.
//
//	12 at 30        a fix at 12 s, 30 m east of the border; the fence is in the west of it
//	12 at 30 ±8     with an accuracy of 8 m
//	12 at 30 late 4 that arrives 4 s later
//	90              nothing but time
type tale struct {
	name, policy, lines string
}

var tales = []tale{
	{"a raw fix changes the membership", `"raw"`, `
		0 at -9 -> enter a 0s initial
		1 at 1 -> exit a 900ms move
		2 at -1 -> enter a 1.5s move`},
	{"fixes: three in a row", `{"fixes":3}`, `
		0 at 9
		1 at -1
		2 at -2
		3 at -1 -> enter a 900ms move
		4 at 1
		5 at 2
		6 at -1
		7 at 1
		8 at 2
		9 at 3 -> exit a 6.5s move`},
	{"metres: each this far beyond", `{"fixes":2,"metres":10}`, `
		0 at 20
		1 at -20
		2 at -9
		3 at -11
		4 at -11 -> enter a 500ms move
		5 at 9
		6 at 11
		7 at 11 -> exit a 4.55s move`},
	{"metres: a quarter of the inradius is enough to enter, and not to leave", `{"metres":50}`, `
		0 at 20
		1 at -24
		2 at -26 -> enter a 455ms move
		3 at 26
		4 at 49
		5 at 51 -> exit a 2.5s move`},
	{"sure: one fix is enough", `{"fixes":3,"metres":10,"sure":100}`, `
		0 at 20
		300 at -26 -> enter a 2m10.435s move
		600 at 99
		900 at 101 -> exit a 6m2.4s move`},
	{"sure: three times the accuracy", `{"fixes":3,"metres":10,"sure":30}`, `
		0 at -20 -> enter a 0s initial
		10 at 50 ±20
		20 at -5
		30 at 61 ±20 -> exit a 20.758s move`},
	{"accuracy_factor: the circle is in the fence, or outside of it", `{"accuracy_factor":1}`, `
		0 at 20
		1 at -30 ±40
		2 at -41 ±40 -> enter a 400ms move
		3 at 30 ±40
		4 at 41 ±40 -> exit a 2.577s move`},
	{"max_accuracy: a bad fix moves the object alone", `{"fixes":2,"max_accuracy":50}`, `
		0 at 20
		1 at -30 ±60
		2 at -30
		3 at 30 ±60
		4 at -30 -> enter a 2s move`},
	{"enter_after and exit_after by the time of the fixes", `{"enter_after":"10s","exit_after":"20s"}`, `
		0 at 10
		1 at -10
		9 at -10
		11 at -10 -> enter a 500ms move
		12 at 10
		31 at 10
		32 at 10 -> exit a 11.5s move`},
	{"enter_after and exit_after by the clock", `{"enter_after":"10s","exit_after":"20s"}`, `
		0 at 10
		1 at -10 late 3
		13
		14 -> enter a 500ms move
		20 at 10
		39
		40 -> exit a 10.5s move`},
	{"enter_after: a reverted change leaves nothing", `{"enter_after":"10s"}`, `
		0 at 10
		1 at -10
		5 at 10
		50
		51 at -10
		60 at -10
		61 at -10 -> enter a 28s move`},
	{"dwell", `"dwell:5m"`, `
		0 at 10
		60 at -50
		120 at -50
		359
		360 -> enter a 10s move
		400 at 10
		699
		700 -> exit a 5m53.333s move`},
	{"max_speed: an outlier is dropped", `{"max_speed":100}`, `
		0 at 10
		1 at -500 outlier
		2 at 5
		3 at -1 -> enter a 2.833s move`},
	{"max_speed: three that agree are believed", `{"max_speed":100}`, `
		0 at 600
		1 at -50 outlier
		2 at -60 outlier
		3 at -70 -> enter a 3s move`},
	{"max_speed: three that do not agree are not", `{"max_speed":100}`, `
		0 at 10
		1 at -500 outlier
		2 at 900 outlier
		3 at -900 outlier
		4 at -910 outlier
		5 at -1 -> enter a 4.545s move`},
	{"max_gap: over a longer silence the crossing is dated at the fix", `{"max_gap":"10s"}`, `
		0 at 10
		10 at -10 -> enter a 5s move
		21 at 10 -> exit a 21s move`},
	{"late: drop", `{"late":"drop"}`, `
		5 at 10
		5 at -10 late
		4 at -10 late`},
	{"late: history", `{"late":"history"}`, `
		5 at 10
		4 at -10 past`},
	{"late: reorder", `{"late":"reorder:5s"}`, `
		0 at 10
		3 at -10 late 1 held
		2 at 10 late 3 held
		3 at 10 late 3 held late
		8
		9 -> enter a 2.5s move
		9.5 at 10 held
		30 -> exit a 6.25s move`},
	{"ttl: counted from arrival", `{"ttl":"60s"}`, `
		0 at -10 late 5 -> enter a 0s initial
		64
		65 -> exit a 1m5s ttl
		70 at -10 -> enter a 1m10s move`},
	{"initial: none", `{"initial":"none"}`, `
		0 at -10
		1 at 10 -> exit a 500ms move`},
	{"initial: inside", `{"initial":"inside"}`, `
		0 at -10 -> inside a 0s initial
		1 at 10 -> exit a 500ms move`},
	{"steady: jitter over the border is no event", `"steady"`, `
		0 at 30
		1 at -12
		2 at 3
		3 at -20
		4 at -24
		5 at -26 -> enter a 2.13s move
		8 at 12
		9 at -2
		10 at 70
		11 at 80
		12 at 90 -> exit a 9.028s move`},
}

func TestTales(t *testing.T) {
	for _, c := range tales {
		t.Run(c.name, func(t *testing.T) {
			policy := &track.Policy{}
			if err := policy.UnmarshalJSON([]byte(c.policy)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(c.policy, "initial") {
				policy.Initial = track.InitialEnter
			}
			side := 200 * metre
			w := newWorld(t, track.Options{}, square("a", -side, -side/2, side))
			w.policy = policy
			w.shard.SetView(w.view(), 0)
			settled(w.shard, nil)
			w.tale(c.lines, nil)
		})
	}
}

// tale plays the lines of a tale: an input, and behind an arrow the events that it causes. between
// is called after each; nil: nothing is.
func (w *world) tale(lines string, between func()) {
	w.t.Helper()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		input, want, _ := strings.Cut(strings.TrimSpace(line), " -> ")
		if got := w.line(input); got != want {
			w.t.Errorf("%s: got %q, want %q", input, got, want)
		}
		if between != nil {
			between()
		}
	}
}

// line plays one line of a tale.
func (w *world) line(input string) string {
	w.t.Helper()
	words := strings.Fields(input)
	var seconds, lag float64
	scan(w.t, words[0], "%f", &seconds)
	if len(words) == 1 {
		return w.advance(track.Millis(seconds * 1000))
	}
	want := track.Accepted
	if words[1] == "rules" {
		w.setRules(strings.Join(words[2:], " "))
		return w.edit(w.view(), track.Millis(seconds*1000))
	}
	if words[1] == "props" {
		w.setProperties(strings.Join(words[2:], " "))
		return w.edit(w.view(), track.Millis(seconds*1000))
	}
	p := at("o", seconds, 0, 0)
	for i := 1; i < len(words); i++ {
		word, next := words[i], ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case word == "at":
			scan(w.t, next, "%f", &p.Lon)
			p.Lon *= metre
			i++
		case word == "north":
			scan(w.t, next, "%f", &p.Lat)
			p.Lat *= metre
			i++
		case word == "up":
			var altitude float64
			scan(w.t, next, "%f", &altitude)
			p.Altitude = track.Measured(altitude)
			i++
		case strings.HasPrefix(word, "±"):
			var accuracy float64
			scan(w.t, strings.TrimPrefix(word, "±"), "%f", &accuracy)
			p.Accuracy = track.Measured(accuracy)
		case word == "speed":
			var speed float64
			scan(w.t, next, "%f", &speed)
			p.Speed = track.Measured(speed)
			i++
		case word == "late" && next != "" && next[0] <= '9':
			scan(w.t, next, "%f", &lag)
			i++
		default:
			for o := range track.Past + 1 {
				if o.String() == word {
					want = o
				}
			}
		}
	}
	p.Arrived += track.Millis(lag * 1000)
	outcome, events := w.shard.Apply(p, nil)
	if outcome != want {
		w.t.Errorf("%s: %v", input, outcome)
	}
	return tell(settled(w.shard, events))
}

func scan(t *testing.T, text, format string, into *float64) {
	t.Helper()
	if _, err := fmt.Sscanf(text, format, into); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}

// At a border that two fences share the exit and the enter are confirmed by the same fix, and
// have the same time.
func TestNeighboursChangeTogether(t *testing.T) {
	side := 400 * metre
	w := newWorld(t, track.Options{}, square("west", -side, -side/2, side), square("east", 0, -side/2, side))
	w.policy = &track.Policy{Fixes: 3, Metres: 25, Initial: track.InitialEnter}
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	for _, c := range [][2]string{
		{"0 at -50", "enter west 0s initial"},
		{"1 at 10", ""},
		{"2 at 30", ""},
		{"3 at 40", ""},
		{"4 at 60", "exit west 833ms move, enter east 833ms move"},
	} {
		expect(t, w.line(c[0]), c[1])
	}
}

// A fence that is edited is judged where the object stands, without a margin. Pending changes for
// other fences stay.
func TestAnEditIsJudgedAtOnce(t *testing.T) {
	side := 200 * metre
	w := newWorld(t, track.Options{}, square("a", -side, -side/2, side), square("b", -side, -side/2, side))
	w.policy = &track.Policy{Fixes: 3}
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	for _, line := range []string{"0 at 5", "1 at -5", "2 at -5"} {
		expect(t, w.line(line), "")
	}
	if o, _ := w.shard.Get("f", "o"); len(o.Pending) != 2 || o.Pending[0] != (track.Pending{
		Set: "s", Fence: o.Pending[0].Fence, Enter: true, At: 500, Fixes: 2,
	}) {
		t.Errorf("pending: %+v", o.Pending)
	}
	if _, _, err := w.set.Put(square("a", -side, -side/2, 2*side)); err != nil {
		t.Fatal(err)
	}
	expect(t, w.edit(w.view(), 2500), "enter a 2.5s fence_changed")
	expect(t, w.line("3 at -5"), "enter b 500ms move")
}

// A new policy keeps the memberships, and begins again with the changes.
func TestANewPolicy(t *testing.T) {
	side := 200 * metre
	w := newWorld(t, track.Options{}, square("a", -side, -side/2, side))
	w.policy = &track.Policy{Fixes: 3, Initial: track.InitialEnter}
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	for _, c := range [][2]string{{"0 at -5", "enter a 0s initial"}, {"1 at 5", ""}, {"2 at 5", ""}} {
		expect(t, w.line(c[0]), c[1])
	}
	w.policy = &track.Policy{Fixes: 2, Initial: track.InitialEnter}
	expect(t, w.edit(w.view(), 2500), "")
	expect(t, w.line("3 at 5"), "")
	expect(t, w.line("4 at 5"), "exit a 3s move")
}

// A deadline before a new policy is met by the old one, also where a fix comes first that finds the
// object silent.
func TestADeadlineBeforeANewPolicyAndASilence(t *testing.T) {
	side := 200 * metre
	w := newWorld(t, track.Options{}, square("a", -side, -side/2, side))
	w.policy = &track.Policy{EnterAfter: 10 * time.Second, TTL: time.Minute}
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	expect(t, w.line("0 at 10")+w.line("1 at -10"), "")
	w.policy = &track.Policy{Fixes: 3, TTL: time.Minute}
	w.shard.SetView(w.view(), 20_000)
	expect(t, w.line("100 at 10"), "enter a 500ms move, exit a 1m1s ttl")
}

// A fix that waits while no time passes, as over a downtime, is taken as of the end of its wait:
// what time asks for behind it is what it would have been, whether a step or the next fix of the
// object comes first.
func TestAFixWaitsOverADowntime(t *testing.T) {
	const (
		crosses = "cross gate 1m39.5s move to the left, enter a 1m39.5s move"
		later   = "dwell a 2m39.5s move by d, exit a 16m42s ttl"
	)
	for _, next := range []string{"step", "fix"} {
		w := newWorld(t, track.Options{}, square("a", -200*metre, -100*metre, 200*metre), gate(`{}`))
		w.policy = &track.Policy{Late: track.LateReorder, Reorder: 2 * time.Second, TTL: 15 * time.Minute}
		w.setRules(`[{"id":"r","set":"s","detect":["enter","exit","cross"]},{"id":"d","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"60s"}}]`)
		w.shard.SetView(w.view(), 0)
		settled(w.shard, nil)
		expect(t, w.line("99 at 40"), "")
		if outcome, _ := w.shard.Apply(at("o", 100, -40*metre, 0), nil); outcome != track.Held {
			t.Fatal(outcome)
		}
		if next == "fix" {
			_, events := w.shard.Apply(at("o", 4000, -40*metre, 0), nil)
			expect(t, tell(events), crosses+", "+later)
			continue
		}
		w.shard.Apply(at("other", 101, 40*metre, 0), nil)
		w.shard.Apply(at("other", 103, 40*metre, 0), nil) // it is taken at 105 s
		expect(t, w.advance(110_000), crosses)
		w.move() // the order of the objects is one that a shard takes
		expect(t, w.advance(4_000_000), later)
	}
}

// Behind a fix that waited, a silence comes before what the clock would confirm later.
func TestSilenceBeforeALaterDeadline(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", -200*metre, -100*metre, 200*metre))
	w.policy = &track.Policy{Late: track.LateReorder, Reorder: 2 * time.Second, TTL: 15 * time.Minute, EnterAfter: 20 * time.Minute}
	w.shard.SetView(w.view(), 0)
	w.shard.Apply(at("o", 99, 40*metre, 0), nil)
	w.shard.Apply(at("o", 100, -40*metre, 0), nil)
	outcome, events := w.shard.Apply(at("o", 4000, -40*metre, 0), nil)
	if expect(t, tell(events), ""); outcome != track.Held {
		t.Error(outcome)
	}
}

// Objects are in the order of their times, although a fix that waited is taken behind others.
func TestSilenceBehindAFixThatWaited(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", -200*metre, -100*metre, 200*metre))
	w.policy = &track.Policy{Late: track.LateReorder, Reorder: 2 * time.Second, TTL: 15 * time.Minute, Initial: track.InitialEnter}
	w.shard.SetView(w.view(), 0)
	w.shard.Apply(at("o", 99, -40*metre, 0), nil)
	w.shard.Apply(at("o", 100, -41*metre, 0), nil)
	w.shard.Apply(at("other", 500, -40*metre, 0), nil)
	expect(t, w.advance(600_000), "")
	w.move()
	w.shard.Advance(4_000_000)
	var told []string
	for _, e := range settled(w.shard, nil) {
		told = append(told, fmt.Sprint(e.ID, " ", e.Kind, " ", e.At))
	}
	expect(t, strings.Join(told, ", "), "o exit 1002000, other exit 1400000")
}

// Options take the place of the policies of all sets.
func TestOptionsGoBeforePolicies(t *testing.T) {
	policy := &track.Policy{TTL: time.Hour, MaxGap: time.Hour, Initial: track.InitialEnter}
	for _, c := range []struct {
		options     track.Options
		first, last string
	}{
		{track.Options{}, "enter a 0s initial", "exit a 5m0s move"},
		{track.Options{NoInitial: true}, "", "exit a 5m0s move"},
		{track.Options{Initial: track.InitialInside}, "inside a 0s initial", "exit a 5m0s move"},
		{track.Options{MaxGap: time.Minute}, "enter a 0s initial", "exit a 10m0s move"},
		{track.Options{TTL: time.Minute}, "enter a 0s initial", "exit a 1m0s ttl"},
	} {
		w := newWorld(t, c.options, square("a", -200*metre, -100*metre, 200*metre))
		w.policy = policy
		w.shard.SetView(w.view(), 0)
		expect(t, w.line("0 at -10"), c.first)
		expect(t, w.line("600 at 10"), c.last)
	}
}

// The sets of a view may have different times of silence.
func TestSilenceForEachSet(t *testing.T) {
	v := &track.View{}
	for i, ttl := range []time.Duration{time.Minute, 0, 2 * time.Minute} {
		set, err := fence.NewSet(fmt.Sprint(i), fence.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := set.Put(square(fmt.Sprint("z", i), 0, 0, 1)); err != nil {
			t.Fatal(err)
		}
		v.Sets = append(v.Sets, track.TrackedSet{
			ID: track.SetID(i), Name: set.Name(), Snapshot: set.Snapshot(), Policy: &track.Policy{TTL: ttl, Initial: track.InitialEnter},
		})
	}
	w := &world{t: t, shard: track.NewShard(track.Options{})}
	w.shard.SetView(v, 0)
	expect(t, w.fix(0, 0.5, 0.5), "enter z0 0s initial, enter z1 0s initial, enter z2 0s initial")
	expect(t, w.advance(60_000), "exit z0 1m0s ttl")
	expect(t, w.fix(90, 0.5, 0.5), "enter z0 1m30s move")
	expect(t, w.advance(1_000_000), "exit z0 2m30s ttl, exit z2 3m30s ttl")
	if o, _ := w.shard.Get("f", "o"); o.State == track.Silent || len(o.Fences) != 1 {
		t.Errorf("%+v", o)
	}
	if at, ok := w.shard.Due(); ok {
		t.Errorf("due at %v", at)
	}
	expect(t, w.fix(1001, 2, 2), "exit z1 16m41s move")
}
