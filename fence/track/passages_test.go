package track_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
)

// gate is a line along the border, from 200 m south to 200 m north.
func gate(properties string) fence.Fence {
	side := 200 * metre
	return fence.Fence{
		Key: "gate", Properties: []byte(properties),
		Lines: geometry.MultiLine{{{Lon: 0, Lat: -side}, {Lon: 0, Lat: side}}},
	}
}

// passageTales are tales of the gate, whose left side is in the west, and of a rule that tells
// every crossing.
var passageTales = []struct{ name, policy, properties, lines string }{
	{"raw tells every crossing", `"raw"`, `{}`, `
		0 at 1
		1 at -1 -> cross gate 500ms move to the left
		2 at 1 -> cross gate 1.5s move to the right`},
	{"fixes alone are no distance", `{"fixes":3}`, `{}`, `
		0 at 1
		1 at -1 -> cross gate 500ms move to the left
		2 at 1 -> cross gate 1.5s move to the right`},
	{"jitter is no passage", `{"metres":10}`, `{}`, `
		0 at 2
		1 at -2
		2 at 2
		3 at -9
		4 at 2
		5 at 50`},
	{"away from the line", `{"metres":10}`, `{}`, `
		0 at 4
		1 at -4
		2 at -9
		3 at -11 -> cross gate 500ms move to the left
		4 at -50
		5 at -4
		6 at -50`},
	{"at once", `{"metres":10}`, `{}`, `
		0 at 10
		1 at -30 -> cross gate 250ms move to the left`},
	{"the last crossing out of the jitter", `{"metres":10}`, `{}`, `
		0 at 2
		1 at -2
		2 at 2
		3 at -2
		4 at -20 -> cross gate 2.5s move to the left`},
	{"fixes in a row, each far enough", `{"metres":10,"fixes":3}`, `{}`, `
		0 at 5
		1 at -15
		2 at -15
		3 at -9
		4 at -11
		5 at -11
		6 at -11 -> cross gate 250ms move to the left`},
	{"a sure fix", `{"metres":10,"fixes":3,"sure":100}`, `{}`, `
		0 at 10
		1 at -99
		2 at -101 -> cross gate 92ms move to the left`},
	{"the accuracy is the distance", `{"accuracy_factor":1}`, `{}`, `
		0 at 10
		1 at -10 ±20
		2 at -21 ±20 -> cross gate 500ms move to the left
		3 at 10 -> cross gate 2.677s move to the right`},
	{"a bad fix says nothing", `{"metres":10,"max_accuracy":50}`, `{}`, `
		0 at 4
		1 at -4
		2 at -20 ±60
		3 at -20 -> cross gate 500ms move to the left`},
	{"a crossing up to a bad fix waits for a better one", `{"metres":10,"max_accuracy":50}`, `{}`, `
		0 at 20
		1 at -20 ±60
		2 at -40 ±60
		3 at -20 -> cross gate 500ms move to the left
		4 at 20 ±60
		5 at -20`},
	{"without a margin too", `{"fixes":3,"max_accuracy":50}`, `{}`, `
		0 at 20
		1 at -20 ±60
		2 at -20 -> cross gate 500ms move to the left
		3 at 20 ±60
		4 at -20
		5 at 20 -> cross gate 4.5s move to the right`},
	{"and by settings of the line", `"raw"`, `{"paddock:max_accuracy":50}`, `
		0 at 20
		1 at -20 ±60
		2 at -20 -> cross gate 500ms move to the left`},
	{"settings of the line", `"raw"`, `{"paddock:metres":10}`, `
		0 at 4
		1 at -4
		2 at -11 -> cross gate 500ms move to the left`},
	{"a line that is raw", `{"metres":10}`, `{"paddock:metres":0}`, `
		0 at 4
		1 at -4 -> cross gate 500ms move to the left`},
	{"a bad fix for the line says nothing", `{"metres":10}`, `{"paddock:max_accuracy":50}`, `
		0 at 4
		1 at -4
		2 at -20 ±60
		3 at -30 -> cross gate 500ms move to the left`},
	{"round the end of the line, and over it again", `{"metres":10}`, `{}`, `
		0 at 4 north 195
		1 at -4 north 195
		2 at -4 north 205
		3 at 4 north 205
		4 at 4 north 195
		5 at -4 north 195
		6 at -20 north 195 -> cross gate 500ms move to the left`},
	{"over a long gap a passage is lost", `{"metres":10,"max_gap":"10s"}`, `{}`, `
		0 at 4
		1 at -4
		20 at -20
		21 at -30`},
	{"after a silence too", `{"metres":10,"ttl":"10s"}`, `{}`, `
		0 at 4
		1 at -4
		20 at -20
		21 at -30`},
	{"another height drops it", `{"metres":10}`, `{"paddock:floor":50}`, `
		0 at 4 up 60
		1 at -4 up 60
		2 props {"paddock:floor":40}
		3 at -20 up 60`},
	{"a fix without an altitude confirms no crossing", `{"metres":10}`, `{"paddock:floor":50}`, `
		0 at 4 up 60
		1 at -4 up 60
		2 at -20
		3 at -30
		4 at -20 up 60 -> cross gate 500ms move to the left`},
	{"nor without a margin", `{"max_accuracy":50}`, `{"paddock:floor":50}`, `
		0 at 4 up 60
		1 at -4 up 60 ±60
		2 at -20
		3 at -20 up 60 -> cross gate 500ms move to the left`},
	{"the next one says on which side the object is", `{"metres":10}`, `{"paddock:floor":50}`, `
		0 at 4 up 60
		1 at -4 up 60
		2 at 20
		3 at 30 up 60
		4 at -30 up 60 -> cross gate 3.5s move to the left`},
	{"on the way back from it too", `{"metres":10}`, `{"paddock:floor":50}`, `
		0 at 4 up 60
		1 at -4 up 60
		2 at -20
		3 at 30 up 60`},
	{"and back again", `{"metres":10}`, `{"paddock:floor":50}`, `
		0 at 4 up 60
		1 at -4 up 60
		2 at 20
		3 at -30 up 60 -> cross gate 500ms move to the left`},
	{"with an altitude a bad one says it too", `{"metres":10,"max_accuracy":50}`, `{"paddock:floor":50}`, `
		0 at 4 up 60
		1 at -4 up 60
		2 at 20
		3 at 20 up 60 ±60
		4 at 30 up 60`},
	{"altitudes that are not asked for confirm", `{"metres":10,"altitude":"inside"}`, `{"paddock:floor":50}`, `
		0 at 4
		1 at -4
		2 at -20 -> cross gate 500ms move to the left`},
	{"a crossing before its rule is none", `{"metres":10}`, `{}`, `
		0 rules [{"id":"r","set":"s","fences":["x"],"detect":["cross"]}]
		1 at 4
		2 at -4
		3 rules [{"id":"r","set":"s","detect":["cross"]}]
		4 at -20`},
	{"another policy drops it", `{"metres":10}`, `{}`, `
		0 at 4
		1 at -4
		2 props {"paddock:metres":5}
		3 at -20`},
	{"other properties do not", `{"metres":10}`, `{}`, `
		0 at 4
		1 at -4
		2 props {"name":"Gate"}
		3 at -20 -> cross gate 500ms move to the left`},
	{"without its rule it is dropped", `{"metres":10}`, `{}`, `
		0 at 4
		1 at -4
		2 rules []
		3 rules [{"id":"r","set":"s","detect":["cross"]}]
		4 at -20`},
	{"another rule keeps it", `{"metres":10}`, `{}`, `
		0 at 4
		1 at -4
		2 rules [{"id":"q","set":"s","detect":["cross"]}]
		4 at -20 -> cross gate 500ms move to the left`},
	{"a rule with a direction sees both", `{"metres":10}`, `{}`, `
		0 rules [{"id":"r","set":"s","detect":["cross"],"direction":"left"}]
		1 at -4
		2 at 4
		3 at -4
		4 at -20
		5 at 20
		6 at -20 -> cross gate 5.5s move to the left`},
	{"a floor", `{"metres":10}`, `{"paddock:floor":50}`, `
		0 at 4 up 60
		1 at -4 up 40
		2 at -20 up 60
		3 at 4 up 60
		4 at 20
		5 at 20 up 60 -> cross gate 2.833s move to the right`},
}

func TestPassageTales(t *testing.T) {
	for _, c := range passageTales {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, track.Options{}, gate(c.properties))
			w.policy = &track.Policy{}
			if err := w.policy.UnmarshalJSON([]byte(c.policy)); err != nil {
				t.Fatal(err)
			}
			w.setRules(`[{"id":"r","set":"s","detect":["cross"]}]`)
			w.shard.SetView(w.view(), 0)
			settled(w.shard, nil)
			w.tale(c.lines, w.move)
		})
	}
}

// The event of a passage has the two positions of the crossing, and the time of the one that told.
func TestThePathOfAPassage(t *testing.T) {
	w := newWorld(t, track.Options{}, gate(`{}`))
	w.policy = &track.Policy{Metres: 10}
	w.setRules(`[{"id":"r","set":"s","detect":["cross"]}]`)
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	var events []track.Event
	for i, east := range []float64{4, -4, -6, -20} {
		p := at("o", float64(i), east*metre, 0)
		p.Altitude = track.Measured(float64(i))
		_, events = w.shard.Apply(p, events)
	}
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	e := &events[0]
	if e.Prev.Lon != 4*metre || e.Point.Lon != -4*metre || e.Altitude != track.Measured(1) || e.At != 500 || e.Left != 500 || e.Since != 500 || e.Time != 3000 {
		t.Errorf("%+v", e)
	}
}

// A line with another course drops a passage.
func TestAnotherLineDropsAPassage(t *testing.T) {
	for _, other := range []bool{false, true} {
		w := newWorld(t, track.Options{}, gate(`{}`))
		w.policy = &track.Policy{Metres: 10}
		w.setRules(`[{"id":"r","set":"s","detect":["cross"]}]`)
		w.shard.SetView(w.view(), 0)
		settled(w.shard, nil)
		expect(t, w.line("0 at 4")+w.line("1 at -4"), "")
		f, want := gate(`{"name":"x"}`), "cross gate 500ms move to the left"
		if other {
			f.Lines[0][1].Lat *= 2
			want = ""
		}
		if _, _, err := w.set.Put(f); err != nil {
			t.Fatal(err)
		}
		expect(t, w.edit(w.view(), 2000), "")
		expect(t, w.line("3 at -20"), want)
	}
}

// Crossings at one millisecond are told in the order of the path.
func TestCrossingsAtOneTime(t *testing.T) {
	f := gate(`{}`)
	f.Lines = append(f.Lines, geometry.Line{{Lon: -metre / 1000, Lat: 200 * metre}, {Lon: -metre / 1000, Lat: -200 * metre}})
	w := newWorld(t, track.Options{}, f)
	w.setRules(`[{"id":"r","set":"s","detect":["cross"]}]`)
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	w.line("0 at 4")
	expect(t, w.line("1 at -4"), "cross gate 500ms move to the left, cross gate 500ms move to the right")
	expect(t, w.line("2 at 4"), "cross gate 1.5s move to the left, cross gate 1.5s move to the right")
}

// Where a line crosses itself, a path may cross it twice within the rounding of a share. The order
// of the two is exact, and decides what is left of a crossing before them.
func TestPassageWhereALineCrossesItself(t *testing.T) {
	f := gate(`{}`)
	f.Lines = geometry.MultiLine{
		{{Lon: 0.0013879394531250001, Lat: 0.000777587890625}, {Lon: 0.0050500488281250006, Lat: 0.004439697265625}, {Lon: 0.000777587890625, Lat: 0.000167236328125}, {Lon: 0.0013879394531250001, Lat: 0.000167236328125}},
		{{Lon: 0.001998291015625, Lat: 0.000777587890625}, {Lon: 0.000167236328125, Lat: 0.0050500488281250006}, {Lon: 0.004439697265625, Lat: 0.000167236328125}},
	}
	for policy, want := range map[string]string{
		`"raw"`:          "cross gate 219ms move to the left, cross gate 636ms move to the right, cross gate 636ms move to the left",
		`{"metres":7.3}`: "cross gate 636ms move to the left",
	} {
		w := newWorld(t, track.Options{}, f)
		w.policy = &track.Policy{}
		if err := w.policy.UnmarshalJSON([]byte(policy)); err != nil {
			t.Fatal(err)
		}
		w.setRules(`[{"id":"r","set":"s","detect":["cross"]}]`)
		w.shard.SetView(w.view(), 0)
		settled(w.shard, nil)
		expect(t, w.fix(0, 0.0018892669409071286, 0.0015869140625), "")
		expect(t, w.fix(1, 0.0012751061294927282, 0.00048828125), want)
	}
}

// A vehicle that is parked on a line, with errors of 2 m, tells nothing under a margin of 10 m.
// When it drives away, it has passed the line once, or not at all.
func TestParkedOnALine(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, away := range []float64{-40, 40} {
		w := newWorld(t, track.Options{}, gate(`{}`))
		w.policy = &track.Policy{Metres: 10, Fixes: 3}
		w.setRules(`[{"id":"r","set":"s","detect":["cross"]}]`)
		w.shard.SetView(w.view(), 0)
		settled(w.shard, nil)
		seconds := 0.0
		step := func(east float64) string {
			seconds++
			return w.line(fmt.Sprintf("%v at %v", seconds, east))
		}
		step(40)
		for range 5000 {
			if got := step(2 * r.NormFloat64()); got != "" {
				t.Fatalf("parked: %s", got)
			}
		}
		told := step(away) + step(away) + step(away) + step(away)
		if passed := strings.Contains(told, "to the left"); passed != (away < 0) || strings.Count(told, "cross") > 1 {
			t.Errorf("to %v: %q", away, told)
		}
	}
}

// An object on many lines at once has so many passages. Further crossings are told at once.
func TestPassagesAreBounded(t *testing.T) {
	w := newWorld(t, track.Options{})
	for i := range 70 {
		f := gate(`{}`)
		f.Key = fmt.Sprint("gate", i)
		if _, _, err := w.set.Put(f); err != nil {
			t.Fatal(err)
		}
	}
	w.policy = &track.Policy{Metres: 10}
	w.setRules(`[{"id":"r","set":"s","detect":["cross"]}]`)
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	for i, want := range []int{0, 6, 64} {
		if got := strings.Count(w.line(fmt.Sprintf("%d at %d", i, []int{4, -4, -20}[i])), "cross"); got != want {
			t.Errorf("%d crossings, want %d", got, want)
		}
	}
}
