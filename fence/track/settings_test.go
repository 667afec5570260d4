package track_test

import (
	"encoding/json"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
)

// settingTales are tales of the fence a, with properties. "at 30 up 50" is a fix with an altitude
// of 50 m, and a line "props" puts other properties.
var settingTales = []struct{ name, policy, properties, lines string }{
	{"a fence is raw in a set that is not", `{"fixes":3,"metres":25}`, `{"paddock:fixes":1,"paddock:metres":0}`, `
		0 at 9
		1 at -1 -> enter a 900ms move
		2 at 1 -> exit a 1.5s move`},
	{"a fence has a margin in a set that is raw", `"raw"`, `{"paddock:metres":10,"paddock:fixes":2}`, `
		0 at 20
		1 at -20
		2 at -11 -> enter a 500ms move
		3 at 9
		4 at 11
		5 at 11 -> exit a 2.55s move`},
	{"sure and accuracy_factor", `{"fixes":3,"metres":10}`, `{"paddock:sure":20,"paddock:accuracy_factor":1}`, `
		0 at -20 -> enter a 0s initial
		1 at 15 ±18
		2 at 19 ±5
		3 at 21 ±5 -> exit a 571ms move`},
	{"max_accuracy of one fence", `"raw"`, `{"paddock:max_accuracy":50}`, `
		0 at 10
		1 at -10 ±60
		2 at 10 ±60
		3 at -10 -> enter a 2.5s move`},
	{"max_accuracy of the other fences", `{"max_accuracy":50,"fixes":2}`, `{"paddock:max_accuracy":100}`, `
		0 at 10
		1 at -10 ±60
		2 at -10 ±60 -> enter a 500ms move`},
	{"an inexact fix keeps the pending change of the fence", `{"fixes":2}`, `{"paddock:max_accuracy":50}`, `
		0 at 10
		1 at -10
		2 at 10 ±60
		3 at -10 -> enter a 500ms move`},
	{"enter_after and exit_after by the clock", `"raw"`, `{"paddock:enter_after":"10s","paddock:exit_after":"20s"}`, `
		0 at 10
		1 at -10
		10
		11 -> enter a 500ms move
		20 at 10
		39
		40 -> exit a 10.5s move`},
	{"other settings drop the pending change", `"raw"`, `{"paddock:fixes":3}`, `
		0 at 10
		1 at -10
		2 at -10
		2.5 props {"paddock:fixes":2}
		3 at -10
		4 at -10 -> enter a 3s move`},
	{"other properties do not", `"raw"`, `{"paddock:fixes":3}`, `
		0 at 10
		1 at -10
		2 at -10
		2.5 props {"paddock:fixes":3,"name":"A"}
		3 at -10 -> enter a 500ms move`},
	{"floor and ceiling are half-open", `"raw"`, `{"paddock:floor":50,"paddock:ceiling":100}`, `
		0 at -10 up 49
		1 at -10 up 50 -> enter a 1s move
		2 at -20 up 99
		3 at -20 up 100 -> exit a 3s move
		4 at 10 up 70
		5 at -10 up 70 -> enter a 4.5s move
		6 at 10 up 70 -> exit a 5.5s move`},
	{"floor alone", `"raw"`, `{"paddock:floor":0}`, `
		0 at -10 up -1
		1 at -10 up 0 -> enter a 1s move
		2 at -10 up 100000`},
	{"ceiling alone", `"raw"`, `{"paddock:ceiling":0}`, `
		0 at -10 up -1 -> enter a 0s initial
		1 at -10 up 0 -> exit a 1s move`},
	{"without an altitude all stays as it was", `"raw"`, `{"paddock:floor":50}`, `
		0 at -10
		1 at -10 up 70 -> enter a 1s move
		2 at 10
		3 at -10 up 70
		4 at 10
		5 at 10 up 70 -> exit a 5s move`},
	{"a change by the altitude alone has the time of the position", `"raw"`, `{"paddock:floor":50}`, `
		0 at -10 up 70 -> enter a 0s initial
		1 at 10
		2 at -10 up 10 -> exit a 2s move`},
	{"without an altitude a pending change waits", `{"fixes":2}`, `{"paddock:floor":50}`, `
		0 at 10 up 70
		1 at -10 up 70
		2 at 10
		3 at -10 up 70 -> enter a 500ms move`},
	{"altitude: inside", `{"altitude":"inside"}`, `{"paddock:floor":50}`, `
		0 at -10 -> enter a 0s initial
		1 at -10 up 20 -> exit a 1s move
		2 at -10 -> enter a 2s move`},
	{"altitude: inside, of one fence", `"raw"`, `{"paddock:floor":50,"paddock:altitude":"inside"}`, `
		0 at -10 -> enter a 0s initial`},
	{"altitude: ignore, of one fence", `{"altitude":"inside"}`, `{"paddock:floor":50,"paddock:altitude":"ignore"}`, `
		0 at -10
		1 at -10 up 60 -> enter a 1s move`},
	{"metres count in the plan alone", `{"metres":10,"sure":20,"fixes":2}`, `{"paddock:ceiling":100}`, `
		0 at -3 up 99 -> enter a 0s initial
		1 at -50 up 101
		2 at -3 up 101 -> exit a 1s move
		3 at -3 up 99
		4 at -11 up 99
		5 at -11 up 99 -> enter a 3s move`},
	{"another height is another fence", `"raw"`, `{"paddock:floor":50}`, `
		0 at -10 up 40
		1 props {"paddock:floor":30} -> enter a 1s fence_changed
		2 props {"paddock:floor":30,"paddock:ceiling":40} -> exit a 2s fence_changed
		3 props {} -> enter a 3s fence_changed
		4 at -10
		5 props {"paddock:floor":50}
		6 at -10 up 20 -> exit a 6s move`},
	{"a height is passed through", `"raw"`, `{"paddock:floor":50}`, `
		0 rules [{"id":"r","set":"s","fences":["a"],"detect":["cross"]}]
		1 at 10 up 60
		11 at -210 up 60 -> cross a 1.455s move
		21 at 10 up 40
		31 at -210`},
}

func TestSettingTales(t *testing.T) {
	for _, c := range settingTales {
		t.Run(c.name, func(t *testing.T) {
			policy := &track.Policy{}
			if err := policy.UnmarshalJSON([]byte(c.policy)); err != nil {
				t.Fatal(err)
			}
			policy.Initial = track.InitialEnter
			side := 200 * metre
			f := square("a", -side, -side/2, side)
			f.Properties = json.RawMessage(c.properties)
			w := newWorld(t, track.Options{}, f)
			w.policy = policy
			w.shard.SetView(w.view(), 0)
			settled(w.shard, nil)
			w.tale(c.lines, nil)
		})
	}
}

// setProperties puts the first fence with other properties.
func (w *world) setProperties(text string) {
	w.t.Helper()
	const ref = fence.Ref(0)
	f := *w.set.Snapshot().Fence(ref)
	f.Properties = json.RawMessage(text)
	if _, _, err := w.set.Put(f); err != nil {
		w.t.Fatal(err)
	}
}

// A fix has its altitude in events and in what is known of the object, and a state keeps it, also
// that of a fix that waits.
func TestAltitudeIsKept(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	w.policy = &track.Policy{Late: track.LateReorder, Reorder: 1e9, Initial: track.InitialEnter}
	w.shard.SetView(w.view(), 0)
	p := at("o", 1, 0.5, 0.5)
	p.Altitude = track.Measured(7.5)
	_, events := w.shard.Apply(p, nil)
	if len(events) != 1 || events[0].Altitude != p.Altitude {
		t.Errorf("events %+v", events)
	}
	p = at("o", 1.5, 5, 5)
	p.Altitude = track.Measured(-8.5)
	w.shard.Apply(p, nil)
	w.move()
	if o, _ := w.shard.Get("f", "o"); o.Altitude != track.Measured(7.5) {
		t.Errorf("altitude %v", o.Altitude)
	}
	w.shard.Advance(10_000)
	if events = settled(w.shard, nil); len(events) != 1 || events[0].Altitude != track.Measured(-8.5) {
		t.Errorf("events %+v", events)
	}
	w.shard.Apply(at("o", 12, 5, 5), nil)
	w.shard.Advance(20_000)
	settled(w.shard, nil)
	if o, _ := w.shard.Get("f", "o"); o.Altitude.Known || o.Point != (geometry.Point{Lon: 5, Lat: 5}) {
		t.Errorf("%+v", o)
	}
}

// Settings cost nothing to allocate.
func TestSettingsDoNotAllocate(t *testing.T) {
	f := square("a", 0, 0, 1)
	f.Properties = json.RawMessage(`{"paddock:fixes":2,"paddock:floor":5}`)
	w := newWorld(t, track.Options{}, f, square("b", 0, 0, 2))
	p := at("o", 1, 0.5, 0.5)
	p.Altitude = track.Measured(10)
	w.expectNoAllocations(p)
}
