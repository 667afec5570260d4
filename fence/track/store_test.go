package track

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"paddock/fence"
)

// TestNamesOfManyObjects adds and removes objects with ids of all lengths: each is found by its
// name, and the memory of removed ids is used again.
func TestNamesOfManyObjects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := NewShard(Options{})
	known := map[[2]string]bool{}
	for i := range 30_000 {
		name := [2]string{fmt.Sprint("fleet", r.IntN(40)), fmt.Sprint(strings.Repeat("x", r.IntN(200)*r.IntN(2)), r.IntN(1000))}
		switch {
		case i == 15_000:
			name[1] = strings.Repeat("long", pageLen)
			fallthrough
		case r.IntN(2) == 0:
			known[name] = true
			s.Apply(&Position{Fleet: name[0], ID: name[1], Time: Millis(i + 1), Arrived: Millis(i + 1)}, nil)
		default:
			delete(known, name)
			s.Remove(name[0], name[1], Millis(i+1), nil)
		}
	}
	if s.Len() != len(known) {
		t.Fatalf("%d objects, want %d", s.Len(), len(known))
	}
	for name := range known {
		if o, ok := s.Get(name[0], name[1]); !ok || o.Fleet != name[0] || o.ID != name[1] {
			t.Fatalf("%v is not found", name)
		}
	}
	text := 0
	for o := range s.objects.all() {
		text += len(s.ids.at(o.name)) + 2
	}
	if s.ids.used > 2*text+4*pageLen+pageLen {
		t.Errorf("ids of %d bytes use %d", text, s.ids.used)
	}
	if len(s.fleets.names) > 40 {
		t.Errorf("%d numbers for 40 fleets", len(s.fleets.names))
	}
}

// TestListsOfMemberships changes the lengths of the lists of many objects: each list keeps its
// values, and the memory of lists that are not used any more is used again.
func TestListsOfMemberships(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m := &memberships{}
	objects := make([]object, 200)
	for i := range 50_000 {
		o := &objects[r.IntN(len(objects))]
		for k, p := range m.list(o) {
			if p.ref != fence.Ref(o.handle)+fence.Ref(k) {
				t.Fatalf("step %d: element %d is %d, want %d", i, k, p.ref, int(o.handle)+k)
			}
		}
		n := r.IntN(6)
		if r.IntN(50) == 0 {
			n = r.IntN(3 * pageMembers)
		}
		if n == 0 {
			m.drop(o)
			continue
		}
		o.handle = uint32(i)
		for k := range m.resize(o, n) {
			m.list(o)[k].ref = fence.Ref(i + k)
		}
	}
	if len(m.pages) > 600 {
		t.Errorf("%d pages for 200 objects", len(m.pages))
	}
}

// TestPackedMemberships packs memberships at the ends of the ranges of their numbers.
func TestPackedMemberships(t *testing.T) {
	v := &View{Sets: []TrackedSet{{ID: 3}, {ID: 70_000}}}
	for _, since := range []Millis{0, 1, -1, 1_700_000_000_123, 1<<47 - 1, -1 << 47} {
		for _, visit := range []uint64{0, 1, 1<<30 - 1, 1 << 30, 1 << 40} {
			for _, later := range []uint64{0, 1, 1<<30 - 1} {
				want := newMembership(70_000, 7, since, later == 1).as(visit, later == 1)
				p := want.packed(1)
				if got := p.unpack(v, visit+later); got != want {
					t.Fatalf("%+v comes back as %+v after %d events", want, got, later)
				}
			}
		}
	}
}
