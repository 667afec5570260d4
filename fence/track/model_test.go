package track_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
)

// model is the tracker in its plainest form: maps, and a walk over all fences.
type model struct {
	initial track.Initial
	ttl     track.Millis
	now     track.Millis
	fences  map[string]fence.Fence
	objects map[string]*modelObject
}

type modelObject struct {
	last    track.Position
	arrived track.Millis
	in      map[string]bool
	silent  bool
}

func (m *model) holding(p track.Position) map[string]bool {
	in := map[string]bool{}
	for key, f := range m.fences {
		if f.Geometry.Contains(geometry.Point{Lon: p.Lon, Lat: p.Lat}) {
			in[key] = true
		}
	}
	return in
}

// differ tells what changed as sorted lines of "object kind fence reason".
func differ(id string, before, after map[string]bool, reason func(kind, key string) string) (lines []string) {
	for key := range before {
		if !after[key] {
			lines = append(lines, fmt.Sprintf("%s exit %s %s", id, key, reason("exit", key)))
		}
	}
	for key := range after {
		if !before[key] {
			lines = append(lines, fmt.Sprintf("%s enter %s %s", id, key, reason("enter", key)))
		}
	}
	return lines
}

func (m *model) apply(p *track.Position) (lines []string) {
	m.now = max(m.now, p.Arrived)
	o, known := m.objects[p.ID]
	if known && p.Time <= o.last.Time {
		return nil
	}
	if !known {
		o = &modelObject{}
		m.objects[p.ID] = o
	}
	if known && !o.silent && o.arrived+m.ttl <= p.Arrived {
		lines = differ(p.ID, o.in, nil, func(_, _ string) string { return "ttl" })
		o.silent, o.in = true, nil
	}
	first := !known
	before := o.in
	o.last, o.arrived, o.silent, o.in = *p, m.now, false, m.holding(*p)
	if first && m.initial == track.InitialNone {
		return lines
	}
	why := "move"
	if first {
		why = "initial"
	}
	return append(lines, differ(p.ID, before, o.in, func(_, _ string) string { return why })...)
}

func (m *model) advance(now track.Millis) (lines []string) {
	m.now = max(m.now, now)
	for id, o := range m.objects {
		if !o.silent && o.arrived+m.ttl <= m.now {
			lines = append(lines, differ(id, o.in, nil, func(_, _ string) string { return "ttl" })...)
			o.silent, o.in = true, nil
		}
	}
	return lines
}

func (m *model) remove(id string, now track.Millis) (lines []string) {
	m.now = max(m.now, now)
	o := m.objects[id]
	if o == nil {
		return nil
	}
	why := "object_removed"
	if !o.silent && o.arrived+m.ttl <= m.now {
		why = "ttl"
	}
	delete(m.objects, id)
	return differ(id, o.in, nil, func(_, _ string) string { return why })
}

func (m *model) edit(f *fence.Fence, key string, now track.Millis) (lines []string) {
	lines = m.advance(now)
	_, existed := m.fences[key]
	reason := func(string, string) string { return "fence_changed" }
	switch {
	case f == nil:
		delete(m.fences, key)
		reason = func(string, string) string { return "fence_removed" }
	default:
		m.fences[key] = *f
		if !existed {
			reason = func(string, string) string { return "fence_added" }
		}
	}
	for id, o := range m.objects {
		if !o.silent {
			after := m.holding(o.last)
			lines = append(lines, differ(id, o.in, after, reason)...)
			o.in = after
		}
	}
	return lines
}

// fleet is the tracker under test, spread over n shards.
type fleet struct {
	set    *fence.Set
	shards []*track.Shard
}

func newFleet(n int, o track.Options) *fleet {
	set, _ := fence.NewSet("s", fence.Options{})
	f := &fleet{set: set}
	for range n {
		f.shards = append(f.shards, track.NewShard(o))
	}
	return f
}

func (f *fleet) apply(p *track.Position) []track.Event {
	_, events := f.of(p.ID).Apply(p, nil)
	return events
}

// of is the shard of an object.
func (f *fleet) of(id string) *track.Shard {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return f.shards[int(h.Sum32())%len(f.shards)]
}

func (f *fleet) remove(t *testing.T, id string, now track.Millis) []track.Event {
	t.Helper()
	s := f.of(id)
	_, known := s.Get("f", id)
	n := s.Len()
	removed, events := s.Remove("f", id, now, nil)
	if _, still := s.Get("f", id); removed != known || still || known && s.Len() != n-1 {
		t.Fatalf("%s: known %v, removed %v, known after that %v", id, known, removed, still)
	}
	return events
}

func (f *fleet) each(do func(*track.Shard, []track.Event) []track.Event) (events []track.Event) {
	for _, s := range f.shards {
		events = do(s, events)
	}
	return events
}

func (f *fleet) edit(t *testing.T, fc *fence.Fence, key string, now track.Millis) []track.Event {
	if fc == nil {
		f.set.Delete(key)
	} else if _, _, err := f.set.Put(*fc); err != nil {
		t.Fatal(err)
	}
	v := &track.View{Sets: []track.TrackedSet{{Name: "s", Snapshot: f.set.Snapshot()}}}
	return f.each(func(s *track.Shard, ev []track.Event) []track.Event {
		s.SetView(v, now)
		return settled(s, ev)
	})
}

func lines(events []track.Event) (out []string) {
	for _, e := range events {
		out = append(out, fmt.Sprintf("%s %v %s %v", e.ID, e.Kind, e.Fence.Key, e.Reason))
	}
	return out
}

// TestAgainstTheModel plays one random history to the model, to one shard and to
// sixteen, and compares after every step. Along the way each object's history
// must make sense: no two enters without an exit, seq without a hole while it is known.
func TestAgainstTheModel(t *testing.T) {
	for seed := range uint64(30) {
		for _, initial := range []track.Initial{track.InitialNone, track.InitialEnter} {
			t.Run(fmt.Sprintf("%d/%v", seed, initial), func(t *testing.T) { play(t, seed, initial) })
		}
	}
}

func play(t *testing.T, seed uint64, initial track.Initial) {
	r := rand.New(rand.NewPCG(seed, 1))
	const ttl = 30 * time.Second
	o := track.Options{Initial: initial, TTL: ttl}
	m := &model{initial: initial, ttl: track.Millis(ttl.Milliseconds()), fences: map[string]fence.Fence{}, objects: map[string]*modelObject{}}
	one, many := newFleet(1, o), newFleet(16, o)
	story := newStory()
	now := track.Millis(1_000_000)
	for step := range 600 {
		now += track.Millis(r.IntN(1500))
		var want []string
		var got, spread []track.Event
		forgotten := ""
		switch what := r.IntN(20); {
		case what < 16:
			p := &track.Position{
				Fleet: "f", ID: fmt.Sprint("o", r.IntN(9)), Arrived: now, Time: now - track.Millis(r.IntN(4000)),
				Lon: float64(r.IntN(9)) / 2, Lat: float64(r.IntN(9)) / 2, // often exactly on a border
			}
			want, got, spread = m.apply(p), one.apply(p), many.apply(p)
		case what < 17:
			id := fmt.Sprint("o", r.IntN(9))
			want, got, spread = m.remove(id, now), one.remove(t, id, now), many.remove(t, id, now)
			forgotten = id
		case what < 18:
			now += track.Millis(r.IntN(20_000))
			tick := func(s *track.Shard, ev []track.Event) []track.Event {
				s.Advance(now)
				return settled(s, ev)
			}
			want, got, spread = m.advance(now), one.each(tick), many.each(tick)
		default:
			key := fmt.Sprint("z", r.IntN(6))
			var f *fence.Fence
			if r.IntN(3) > 0 {
				sq := square(key, float64(r.IntN(4)), float64(r.IntN(4)), float64(1+r.IntN(2)))
				f = &sq
			}
			want, got, spread = m.edit(f, key, now), one.edit(t, f, key, now), many.edit(t, f, key, now)
		}
		slices.Sort(want)
		for name, events := range map[string][]track.Event{"one shard": got, "16 shards": spread} {
			have := lines(events)
			slices.Sort(have)
			if !slices.Equal(have, want) {
				t.Fatalf("step %d, %s:\n got %q\nwant %q", step, name, have, want)
			}
		}
		story.add(t, got)
		story.forget(forgotten)
	}
}

// story checks what each object's events say one after the other.
type story struct {
	seq    map[string]uint64
	known  map[string]bool
	inside map[string]uint64 // "object fence" -> visit
}

func newStory() *story { return &story{map[string]uint64{}, map[string]bool{}, map[string]uint64{}} }

// forget makes the object's next event begin anew, with a number that it has not had.
func (s *story) forget(id string) { delete(s.known, id) }

func (s *story) add(t *testing.T, events []track.Event) {
	t.Helper()
	for _, e := range events {
		if before := s.seq[e.ID]; e.Seq <= before || s.known[e.ID] && e.Seq != before+1 {
			t.Fatalf("%s: event %d after %d", e.ID, e.Seq, before)
		}
		s.known[e.ID] = true
		s.seq[e.ID] = e.Seq
		where := e.ID + " " + e.Fence.Key
		visit, in := s.inside[where]
		switch e.Kind {
		case track.Enter:
			if in || e.Visit != e.Seq {
				t.Fatalf("%s: enters again (visit %d, seq %d)", where, e.Visit, e.Seq)
			}
			s.inside[where] = e.Visit
		case track.Exit:
			if in && visit != e.Visit || !in && e.Visit != 0 {
				t.Fatalf("%s: leaves visit %d, entered %d", where, e.Visit, visit)
			}
			delete(s.inside, where)
		}
		if e.At < e.Since {
			t.Fatalf("%s: left at %d, before it entered at %d", where, e.At, e.Since)
		}
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	w := newWorld(t, track.Options{}, square("a", 0, 0, 1), square("b", 0, 0, 2))
	events := make([]track.Event, 0, 16)
	p := at("o", 1, 0.5, 0.5)
	w.shard.Apply(p, events)
	// hot: the path of a fix that changes nothing, and of one that does.
	if n := testing.AllocsPerRun(500, func() {
		p.Time++
		p.Lon = 1.9 - p.Lon
		w.shard.Apply(p, events[:0])
	}); n != 0 {
		t.Errorf("%v allocations a fix", n)
	}
}
