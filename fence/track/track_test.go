package track_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// square is the fence [x, x+w) x [y, y+w).
func square(key string, x, y, w float64) fence.Fence {
	return fence.Fence{Key: key, Geometry: geometry.MultiPolygon{{{
		{Lon: x, Lat: y}, {Lon: x + w, Lat: y}, {Lon: x + w, Lat: y + w}, {Lon: x, Lat: y + w},
	}}}}
}

// world is a shard over one set, "s", that a test edits.
type world struct {
	t      *testing.T
	set    *fence.Set
	policy *track.Policy
	rules  *rule.Table
	shard  *track.Shard
}

func newWorld(t *testing.T, o track.Options, fences ...fence.Fence) *world {
	t.Helper()
	set, err := fence.NewSet("s", fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, set: set, shard: track.NewShard(o)}
	for _, f := range fences {
		if _, _, err := set.Put(f); err != nil {
			t.Fatal(err)
		}
	}
	w.shard.SetView(w.view(), 0)
	return w
}

func (w *world) view() *track.View {
	sets := []track.TrackedSet{{ID: 7, Name: "s", Snapshot: w.set.Snapshot(), Policy: w.policy}}
	return &track.View{Sets: sets, Rules: w.rules}
}

// move puts another shard with the exported state in place of the shard.
func (w *world) move() {
	w.t.Helper()
	state, err := w.shard.Export(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.shard = track.NewShard(track.Options{})
	if err := w.shard.Import(state, w.view()); err != nil {
		w.t.Fatal(err)
	}
}

// expectNoAllocations applies a fix of an object again and again, on either side of a border.
func (w *world) expectNoAllocations(p *track.Position) {
	w.t.Helper()
	events := make([]track.Event, 0, 16)
	w.shard.Apply(p, events)
	// hot: the path of a fix that changes nothing, and of one that does.
	if n := testing.AllocsPerRun(500, func() {
		p.Time++
		p.Lon = 1.9 - p.Lon
		w.shard.Apply(p, events[:0])
	}); n != 0 {
		w.t.Errorf("%v allocations a fix", n)
	}
}

// advance tells the shard the time in milliseconds and returns what came out.
func (w *world) advance(now track.Millis) string {
	w.shard.Advance(now)
	return tell(settled(w.shard, nil))
}

// edit gives the shard a view and returns what came out.
func (w *world) edit(v *track.View, now track.Millis) string {
	w.shard.SetView(v, now)
	return tell(settled(w.shard, nil))
}

// A fix that waits may come after a fence was removed, and break a silence at that moment. The
// object leaves the fence all the same.
func TestAFenceIsRemovedBeforeAWaitingFix(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	w.policy = &track.Policy{Late: track.LateReorder, Reorder: 5 * time.Second, TTL: 20 * time.Second, Initial: track.InitialEnter}
	w.shard.SetView(w.view(), 0)
	expect(t, w.fix(0, 0.5, 0.5), "enter a 0s initial")
	if outcome, _ := w.shard.Apply(at("o", 14, 0.6, 0.5), nil); outcome != track.Held {
		t.Fatal(outcome)
	}
	w.set.Delete("a")
	expect(t, w.edit(w.view(), 40_000), "exit a 40s fence_removed")
	if _, err := w.shard.Export(nil); err != nil {
		t.Error(err)
	}
}

// settled appends all events that are due.
func settled(s *track.Shard, events []track.Event) []track.Event {
	for more := true; more; {
		events, more = s.Step(events, 1000)
	}
	return events
}

// fix applies a position of object "o" at t seconds and returns what came out.
func (w *world) fix(t, lon, lat float64) string {
	w.t.Helper()
	outcome, events := w.shard.Apply(at("o", t, lon, lat), nil)
	if outcome != track.Accepted {
		w.t.Fatalf("outcome %v at %v s", outcome, t)
	}
	return tell(events)
}

func at(id string, t, lon, lat float64) *track.Position {
	ms := track.Millis(t * 1000)
	return &track.Position{Fleet: "f", ID: id, Lon: lon, Lat: lat, Time: ms, Arrived: ms}
}

// tell writes events as "exit a 1.5s move", joined by commas.
func tell(events []track.Event) string {
	var words []string
	for _, e := range events {
		key := "_"
		if e.Fence != nil {
			key = e.Fence.Key
		}
		word := fmt.Sprintf("%v %s %v %v", e.Kind, key, time.Duration(e.At)*time.Millisecond, e.Reason)
		if e.Rule != "" {
			word += " by " + e.Rule
		}
		if e.Direction != rule.AnyDirection {
			word += " to the " + e.Direction.String()
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("events\n got %q\nwant %q", got, want)
	}
}

func TestMovingCausesExitThenEnterAtTheCrossing(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1), square("b", 1, 0, 1), square("wide", -5, -5, 20))
	expect(t, w.fix(10, 0.5, 0.5), "")
	// The border is at 1.0: a quarter of the way from 0.5 to 2.5 would be 1.0.
	expect(t, w.fix(20, 1.75, 0.5), "exit a 14s move, enter b 14s move")
	expect(t, w.fix(30, 1.5, 0.5), "")
	expect(t, w.fix(40, 2.5, 0.5), "exit b 35s move")
	expect(t, w.fix(50, 0.25, 0.75), "enter a 46.667s move")
}

func TestEventFields(t *testing.T) {
	w := newWorld(t, track.Options{Initial: track.InitialEnter}, square("a", 0, 0, 1))
	_, first := w.shard.Apply(at("o", 1, 0.5, 0.5), nil)
	p := at("o", 3, 1.5, 0.5)
	p.Props = []byte(`{"k":1}`)
	p.Arrived = 9000
	_, second := w.shard.Apply(p, nil)
	if len(first) != 1 || len(second) != 1 {
		t.Fatalf("got %d and %d events", len(first), len(second))
	}
	in, out := first[0], second[0]
	if in.Seq != 1 || in.Visit != 1 || in.HasPrev || in.Since != 1000 || in.At != 1000 || in.Reason != track.FirstSeen {
		t.Errorf("enter: %+v", in)
	}
	if out.Seq != 2 || out.Visit != 1 || !out.HasPrev || out.Since != 1000 || out.At != 2000 || out.Time != 3000 || out.Arrived != 9000 {
		t.Errorf("exit: %+v", out)
	}
	if out.Prev != (geometry.Point{Lon: 0.5, Lat: 0.5}) || out.Point != (geometry.Point{Lon: 1.5, Lat: 0.5}) || string(out.Props) != `{"k":1}` {
		t.Errorf("exit: %+v", out)
	}
	if out.Set != "s" || out.Fleet != "f" || out.ID != "o" {
		t.Errorf("exit: %+v", out)
	}
}

func TestFirstObservation(t *testing.T) {
	for _, c := range []struct {
		initial     track.Initial
		first, then string
	}{
		{track.InitialNone, "", "exit a 2s move"},
		{track.InitialInside, "inside a 1s initial", "exit a 2s move"},
		{track.InitialEnter, "enter a 1s initial", "exit a 2s move"},
	} {
		t.Run(c.initial.String(), func(t *testing.T) {
			w := newWorld(t, track.Options{Initial: c.initial}, square("a", 0, 0, 1))
			expect(t, w.fix(1, 0.5, 0.5), c.first)
			expect(t, w.fix(3, 1.5, 0.5), c.then)
		})
	}
}

func TestLatePositionsChangeNothing(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	w.fix(10, 5, 5)
	for _, late := range []float64{10, 9.999, -1} {
		outcome, events := w.shard.Apply(at("o", late, 0.5, 0.5), nil)
		if outcome != track.Late || len(events) != 0 {
			t.Errorf("at %v s: outcome %v, %d events", late, outcome, len(events))
		}
	}
	if o, _ := w.shard.Get("f", "o"); o.Point.Lon != 5 || o.Time != 10_000 {
		t.Errorf("object moved to %+v", o)
	}
}

func TestSilenceEndsEveryVisit(t *testing.T) {
	w := newWorld(t, track.Options{TTL: time.Minute}, square("a", 0, 0, 1), square("b", 0, 0, 2))
	w.fix(0, 0.5, 0.5)
	expect(t, w.advance(59_999), "")
	expect(t, w.advance(90_000), "exit a 1m0s ttl, exit b 1m0s ttl")
	expect(t, w.advance(200_000), "")
	if o, _ := w.shard.Get("f", "o"); o.State != track.Silent || len(o.Fences) != 0 || w.shard.Silent() != 1 {
		t.Errorf("after the silence: %+v", o)
	}
	// Heard again: it enters where it is found, and its count of events goes on.
	expect(t, w.fix(300, 0.25, 0.5), "enter a 5m0s move, enter b 5m0s move")
	_, events := w.shard.Apply(at("o", 301, 3, 3), nil)
	if len(events) != 2 || events[0].Seq != 5 || events[0].Visit != 3 || w.shard.Silent() != 0 {
		t.Errorf("after it was heard again: %+v", events)
	}
}

// Whether the clock was told before the fix that breaks a silence, or only after
// it, as when the process was suspended, the silence has been one.
func TestASilenceEndsVisitsBeforeTheFixThatBreaksIt(t *testing.T) {
	w := newWorld(t, track.Options{TTL: time.Minute, Initial: track.InitialEnter}, square("a", 0, 0, 1))
	expect(t, w.fix(0, 0.5, 0.5), "enter a 0s initial")
	expect(t, w.fix(59.999, 0.5, 0.5), "")
	expect(t, w.fix(119.999, 0.6, 0.5), "exit a 1m59.999s ttl, enter a 1m59.999s move")
	if w.shard.Silent() != 0 {
		t.Errorf("%d silent objects", w.shard.Silent())
	}
	expect(t, w.advance(179_998), "")
	expect(t, w.advance(179_999), "exit a 2m59.999s ttl")
}

// The lag of an event is measured from here, so time in a queue must count.
func TestAnEventArrivedWhenItsPositionDid(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	w.fix(1, 0.5, 0.5)
	w.advance(60_000) // the position waits meanwhile
	if _, events := w.shard.Apply(at("o", 3, 1.5, 0.5), nil); len(events) != 1 || events[0].Arrived != 3000 {
		t.Errorf("got %+v", events)
	}
}

func TestSilenceIsCountedFromArrival(t *testing.T) {
	w := newWorld(t, track.Options{TTL: time.Minute}, square("a", 0, 0, 1))
	slow := at("o", 0, 0.5, 0.5) // a clock ten minutes behind
	slow.Arrived = 600_000
	w.shard.Apply(slow, nil)
	expect(t, w.advance(659_999), "")
	expect(t, w.advance(660_000), "exit a 11m0s ttl")
}

// The time of a shard does not go back, whatever it is told.
func TestTimeDoesNotGoBack(t *testing.T) {
	w := newWorld(t, track.Options{TTL: time.Minute}, square("a", 0, 0, 1))
	w.fix(100, 0.5, 0.5)
	expect(t, w.advance(130_000), "")
	w.fix(101, 0.6, 0.5) // counts as heard at 130 s
	expect(t, w.advance(50_000), "")
	if at, ok := w.shard.Due(); at != 190_000 || !ok {
		t.Errorf("due at %v, %v", at, ok)
	}
	expect(t, w.advance(189_999), "")
	expect(t, w.advance(190_000), "exit a 3m10s ttl")
	if at, ok := w.shard.Due(); ok {
		t.Errorf("still due at %v", at)
	}
}

func TestChangedFences(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	w.fix(1, 0.5, 0.5)
	edit := func(change func()) string {
		change()
		return w.edit(w.view(), 5000)
	}
	put := func(f fence.Fence) func() {
		return func() {
			if _, _, err := w.set.Put(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	expect(t, edit(put(square("b", 0, 0, 3))), "enter b 5s fence_added")
	expect(t, edit(put(square("a", 0, 0, 1))), "") // the same geometry again
	expect(t, edit(put(square("a", 7, 7, 1))), "exit a 5s fence_changed")
	expect(t, edit(put(square("a", 0, 0, 2))), "enter a 5s fence_changed")
	expect(t, edit(func() { w.set.Delete("b") }), "exit b 5s fence_removed")
	expect(t, w.edit(&track.View{}, 6000), "exit a 6s fence_removed")
}

// A set that is deleted and made again in the same name must not inherit visits:
// its refs count from the beginning again.
func TestASetMadeAgainIsAnotherSet(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1))
	w.fix(1, 0.5, 0.5)
	other, _ := fence.NewSet("s", fence.Options{})
	if _, _, err := other.Put(square("z", 0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	v := &track.View{Sets: []track.TrackedSet{{ID: 8, Name: "s", Snapshot: other.Snapshot()}}}
	expect(t, w.edit(v, 2000), "exit a 2s fence_removed, enter z 2s fence_added")
}

func TestFullShardRefusesNewObjectsOnly(t *testing.T) {
	w := newWorld(t, track.Options{MaxObjects: 1}, square("a", 0, 0, 1))
	w.fix(1, 0.5, 0.5)
	if outcome, _ := w.shard.Apply(at("another", 1, 0, 0), nil); outcome != track.Full {
		t.Errorf("a new object: %v", outcome)
	}
	expect(t, w.fix(3, 1.5, 0.5), "exit a 2s move")
}

func TestRemovedObjects(t *testing.T) {
	w := newWorld(t, track.Options{MaxObjects: 2, TTL: time.Minute, Initial: track.InitialEnter}, square("a", 0, 0, 1), square("b", 0, 0, 2))
	w.fix(1, 0.5, 0.5)
	w.shard.Apply(at("p", 2, 5, 5), nil)
	if removed, events := w.shard.Remove("f", "q", 3000, nil); removed || events != nil {
		t.Errorf("removed %v, %v", removed, events)
	}
	removed, events := w.shard.Remove("f", "o", 3000, nil)
	if !removed || len(events) != 2 || w.shard.Len() != 1 || w.shard.Silent() != 0 {
		t.Fatalf("%v, %+v, %d objects", removed, events, w.shard.Len())
	}
	for i, e := range events {
		if e.Kind != track.Exit || e.Reason.String() != "object_removed" || e.At != 3000 || e.Time != 3000 || e.Arrived != 3000 ||
			e.Since != 1000 || e.Seq != uint64(3+i) || e.Visit != uint64(1+i) || e.Point != (geometry.Point{Lon: 0.5, Lat: 0.5}) {
			t.Errorf("%+v", e)
		}
	}
	if removed, events := w.shard.Remove("f", "o", 3000, nil); removed || events != nil {
		t.Errorf("again: %v, %v", removed, events)
	}
	if got := w.shard.Select(nil, &track.Filter{}, nil); len(got) != 1 || got[0].ID != "p" {
		t.Errorf("%+v", got)
	}
	if dots := w.shard.AppendDots(nil); len(dots) != 1 || dots[0].Handle != 1 {
		t.Errorf("%+v", dots)
	}
	// Neither time nor a change of fences finds it.
	w.set.Delete("a")
	w.shard.SetView(w.view(), 4000)
	if events := settled(w.shard, nil); len(events) != 0 {
		t.Errorf("%v", events)
	}
	// It has left its room, and a position of its name makes it known again, also an old one.
	_, events = w.shard.Apply(at("o", 0.5, 0.5, 0.5), nil)
	if len(events) != 1 || events[0].Reason != track.FirstSeen || events[0].Seq != 5 {
		t.Errorf("%+v", events)
	}
	if outcome, _ := w.shard.Apply(at("r", 5, 0, 0), nil); outcome != track.Full || outcome.String() != "full" {
		t.Errorf("%v", outcome)
	}
	if dots := w.shard.AppendDots(nil); len(dots) != 2 || dots[0].Handle != 0 {
		t.Errorf("%+v", dots)
	}
	// Of an object that has been silent for the TTL the visits ended by that.
	removed, events = w.shard.Remove("f", "o", 100_000, nil)
	if !removed || len(events) != 1 || events[0].Reason != track.TTL {
		t.Errorf("%v, %v", removed, tell(events))
	}
	w.shard.Advance(200_000)
	settled(w.shard, nil)
	if removed, events := w.shard.Remove("f", "p", 200_000, nil); !removed || len(events) != 0 || w.shard.Len() != 0 || w.shard.Silent() != 0 {
		t.Errorf("%v, %v, %d objects, %d silent", removed, events, w.shard.Len(), w.shard.Silent())
	}
}

// An object that goes while changed fences are carried through leaves as they say, and no
// other object is passed over.
func TestRemovalsBetweenSteps(t *testing.T) {
	const n = 5000
	w := newWorld(t, track.Options{Initial: track.InitialEnter}, square("a", 0, 0, 1), square("b", 0, 0, 2))
	for i := range n {
		w.shard.Apply(at(fmt.Sprint("o", i), 1, 0.5, 0.5), nil)
	}
	for round, key := range []string{"a", "b"} { // the second begins where the first has ended
		w.set.Delete(key)
		w.shard.SetView(w.view(), 2000)
		exits := map[string]int{}
		var all []track.Event
		for more, i := true, 0; more; i++ {
			var events []track.Event
			events, more = w.shard.Step(nil, 1000)
			for _, object := range []int{i, n/2 + i, n - 100 + i} { // passed, and yet to come
				object += 50 * round
				removed, left := w.shard.Remove("f", fmt.Sprint("o", object), 2000, nil)
				if !removed {
					t.Fatalf("o%d is not known", object)
				}
				events = append(events, left...)
				_, entered := w.shard.Apply(at(fmt.Sprint("new", round, object), 1, 0.5, 0.5), nil)
				if len(entered) != 1-round {
					t.Fatalf("a new object: %v", tell(entered))
				}
			}
			all = append(all, events...)
		}
		for _, e := range all {
			if e.Kind != track.Exit {
				t.Fatalf("%s: %v", e.ID, tell([]track.Event{e}))
			}
			if e.Fence.Key == key && e.Reason == track.FenceRemoved {
				exits[e.ID]++
			}
		}
		for i := range n {
			id := fmt.Sprint("o", i)
			if _, known := w.shard.Get("f", id); known && exits[id] != 1 {
				t.Fatalf("%s left %s %d times", id, key, exits[id])
			}
		}
		if w.shard.Len() != n {
			t.Fatalf("%d objects", w.shard.Len())
		}
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	if got := fmt.Sprint(track.Accepted, track.Late, track.Full, track.Outlier, track.Held, track.Past); got != "accepted late full outlier held past" {
		t.Error(got)
	}
}

func TestCrossingIsDatedWhereThePathSaysIt(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1), square("east", 179, 0, 1))
	w.fix(0, 0.5, 0.5)
	expect(t, w.fix(601, 1.5, 0.5), "exit a 10m1s move")           // too long a silence
	expect(t, w.fix(602, 179.5, 0.5), "enter east 10m1.997s move") // the long way round is planar
	expect(t, w.fix(604, -179.5, 0.5), "exit east 10m3s move")     // over the antimeridian
}

// The parts of a corridor overlap. Where they do there is no boundary to enter or to leave by.
func TestACorridorIsEnteredAtItsBoundary(t *testing.T) {
	w := newWorld(t, track.Options{}, fence.Fence{
		Key: "route", Properties: []byte(`{"paddock:buffer":50}`),
		Lines: geometry.MultiLine{{{Lon: -1000 * metre}, {}, {Lon: 1000 * metre}}},
	})
	w.fix(0, -1100*metre, 0)
	expect(t, w.fix(110, 0.4*metre, 0), "enter route 4.998s move")
	expect(t, w.fix(220, 1100.4*metre, 0), "exit route 3m34.96s move")
}

// A fix counts by its distance to the boundary of a corridor, which is not exactly where the path
// to the fix meets the polygon of the corridor.
func TestACorridorCountsByItsDistance(t *testing.T) {
	w := newWorld(t, track.Options{}, fence.Fence{
		Key: "c", Properties: []byte(`{"paddock:buffer":1000}`), Lines: geometry.MultiLine{{{Lon: 0, Lat: 50}, {Lon: 0.03, Lat: 50}}},
	})
	w.policy = &track.Policy{Metres: 2.32} // it is 2.33 m within, and the path is as long as 2.31 m
	w.shard.SetView(w.view(), 0)
	settled(w.shard, nil)
	expect(t, w.fix(1, -0.0037727407531138978, 49.99134505275671), "")
	expect(t, w.fix(2, -0.0037641374386551208, 49.991364982639155), "enter c 1.003s move")
}

func TestSelectAndGet(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1), square("b", 1, 0, 1))
	for id, lon := range map[string]float64{"in-a": 0.5, "in-b": 1.5, "out": 9} {
		w.shard.Apply(at(id, 1, lon, 0.5), nil)
	}
	ids := func(in track.FenceName) (ids []string) {
		for _, o := range w.shard.Select(nil, &track.Filter{In: in}, nil) {
			ids = append(ids, o.ID)
		}
		slices.Sort(ids)
		return ids
	}
	for _, c := range []struct {
		in   track.FenceName
		want []string
	}{
		{track.FenceName{}, []string{"in-a", "in-b", "out"}},
		{track.FenceName{Set: "s"}, []string{"in-a", "in-b"}},
		{track.FenceName{Set: "s", Key: "b"}, []string{"in-b"}},
		{track.FenceName{Set: "other"}, nil},
	} {
		if got := ids(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.in, got, c.want)
		}
	}
	if _, ok := w.shard.Get("f", "nobody"); ok {
		t.Error("found an object that was never there")
	}
}

func TestState(t *testing.T) {
	w := newWorld(t, track.Options{})
	state := func() track.State { o, _ := w.shard.Get("f", "o"); return o.State }
	w.fix(0, 5, 5)
	if state() != track.Unknown {
		t.Errorf("new: %v", state())
	}
	w.fix(59, 5.00001, 5)
	if state() != track.Unknown {
		t.Errorf("a moment in one place: %v", state())
	}
	w.fix(60, 5.00001, 5)
	if state() != track.Dwelling {
		t.Errorf("a minute in one place: %v", state())
	}
	w.fix(61, 5.001, 5)
	if state() != track.Moving {
		t.Errorf("gone on: %v", state())
	}
	p := at("o", 62, 5.002, 5)
	p.Speed = track.Measured(0.2)
	w.shard.Apply(p, nil)
	if state() != track.Dwelling {
		t.Errorf("slow by its own word: %v", state())
	}
	p = at("fast", 0, 5, 5)
	p.Speed = track.Measured(9)
	w.shard.Apply(p, nil)
	if o, _ := w.shard.Get("f", "fast"); o.State != track.Moving {
		t.Errorf("new, and fast by its own word: %v", o.State)
	}
	lon := 179.99999
	for i := 0.0; i < 13; i++ { // for a minute at one place on longitude 180
		w.shard.Apply(at("far", 5*i, lon, -16.8), nil)
		lon = -lon
	}
	if o, _ := w.shard.Get("f", "far"); o.State != track.Dwelling {
		t.Errorf("a minute in one place on the antimeridian: %v", o.State)
	}
}

// A change of the fences, and time that passes, are carried through in short steps,
// between which fixes meet what is in force.
func TestStepsAreShort(t *testing.T) {
	const objects, longest = 5000, 1100 // events of a step, with those of its last object
	w := newWorld(t, track.Options{TTL: time.Minute, Initial: track.InitialEnter}, square("a", 0, 0, 1), square("b", 0, 0, 2))
	story := newStory()
	name := func(i int) string { return fmt.Sprint("o", i) }
	for i := range objects {
		_, events := w.shard.Apply(at(name(i), 1, 0.5, 0.5), nil)
		story.add(t, events)
	}
	steps := func(n int) (total int, more bool) {
		for more = true; more && n > 0; n-- {
			var events []track.Event
			if events, more = w.shard.Step(nil, 1000); len(events) > longest {
				t.Fatalf("%d events in a step", len(events))
			}
			story.add(t, events)
			total += len(events)
		}
		return total, more
	}

	w.set.Delete("a")
	w.shard.SetView(w.view(), 2000)
	if n, more := steps(2); n == 0 || n > objects/2 || !more {
		t.Fatalf("%d events after two steps, more: %v", n, more)
	}
	_, events := w.shard.Apply(at(name(objects-1), 3, 1.5, 0.5), nil) // no step has come to it
	story.add(t, events)
	expect(t, tell(events), "exit a 2s fence_removed")
	_, events = w.shard.Apply(at("new", 3, 0.5, 0.5), nil)
	story.add(t, events)
	expect(t, tell(events), "enter b 3s initial")

	if _, _, err := w.set.Put(square("c", 0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	w.shard.SetView(w.view(), 4000) // the change before goes on within this one
	if _, more := steps(1000); more {
		t.Fatal("the change does not end")
	}
	in := func(key string) int {
		return len(w.shard.Select(nil, &track.Filter{In: track.FenceName{Set: "s", Key: key}}, nil))
	}
	if a, b, c := in("a"), in("b"), in("c"); a != 0 || b != objects+1 || c != objects {
		t.Errorf("%d objects in a, %d in b, %d in c", a, b, c)
	}

	w.shard.Advance(100_000)
	if n, _ := steps(1); n == 0 || w.shard.Silent() == objects+1 {
		t.Errorf("%d events, %d silent objects after a step", n, w.shard.Silent())
	}
	if n, more := steps(1000); more || w.shard.Silent() != objects+1 || in("b") != 0 {
		t.Errorf("%d events, %d silent objects in the end", n, w.shard.Silent())
	}
}
