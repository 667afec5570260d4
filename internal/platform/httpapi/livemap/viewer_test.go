package livemap

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/keyring"
)

// city holds n objects of the fleets a and b in turn, with handles from 0 in a row to the east.
type city struct {
	dots    []track.Dot
	asked   int                     // names
	removed []uint32                // handles of removed objects
	next    map[uint32]ingest.Named // objects that have the handles of removed ones
	unknown bool                    // the handles of removed objects are not known any more
	asking  func()                  // called before names are told; nil: nothing
}

func newCity(n int) *city {
	c := &city{}
	for i := range n {
		c.dots = append(c.dots, track.Dot{Handle: uint32(i), Point: geometry.Point{Lon: float64(i) / 1000, Lat: 1}, State: track.State(i % 3)})
	}
	return c
}

func (c *city) Names(dst []ingest.Named, handles []uint32) []ingest.Named {
	if c.asking != nil {
		c.asking()
	}
	c.asked += len(handles)
	for _, h := range handles {
		n, ok := c.next[h]
		if !ok && !slices.Contains(c.removed, h) {
			n, ok = ingest.Named{Handle: h, Fleet: string(rune('a' + h%2)), ID: fmt.Sprint("v", h)}, true
		}
		if ok {
			dst = append(dst, n)
		}
	}
	return dst
}

func (c *city) RemovedSince(n uint64) ([]uint32, bool) {
	if c.unknown {
		return nil, false
	}
	return slices.Clone(c.removed[n:]), true
}

func (c *city) sample() Sample { return Sample{now, c.dots, uint64(len(c.removed))} }

func (c *city) Dot(fleet, id string) (track.Dot, bool) {
	for _, d := range c.dots {
		if n := c.Names(nil, []uint32{d.Handle})[0]; n.Fleet == fleet && n.ID == id {
			return d, true
		}
	}
	return track.Dot{}, false
}

var now = time.UnixMilli(1_800_000_000_000)

func level(n int) *int { return &n }

func TestThinningKeepsTheSameObjects(t *testing.T) {
	c := newCity(50_000)
	v := NewViewer(c, keyring.Everything("test"))
	_, frame := v.Draw(c.sample())
	if frame[1] != flagThinned || len(v.dots) > mostDots || len(v.dots) < mostDots/2 {
		t.Fatalf("%d dots, flags %d", len(v.dots), frame[1])
	}
	first := slices.Clone(v.dots)
	names, _ := v.Draw(Sample{At: now, Dots: c.dots[:49_999]})
	for i := range v.dots {
		if v.dots[i].Handle != first[i].Handle {
			t.Fatal("other dots in the next frame")
		}
	}
	if len(names) > 0 {
		t.Errorf("%d objects named again", len(names))
	}
}

// Cells come at their interval, at once after a request, and do not alternate with dots near the
// bound.
func TestCells(t *testing.T) {
	c := newCity(crowded + 1)
	v := NewViewer(c, keyring.Everything("test"))
	v.Obey(&Request{Cell: level(12), Single: &Object{"b", "v3"}})
	at, kind := now, byte(0)
	draw := func(n int) bool {
		_, frame := v.Draw(Sample{At: at, Dots: c.dots[:n]})
		at = at.Add(cellsEvery / 4)
		if frame != nil {
			kind = frame[0]
		}
		return frame != nil
	}
	for i, want := range []bool{true, false, false, false, true} {
		if draw(crowded+1) != want || kind != kindCells {
			t.Fatalf("frame %d: want one: %v; kind %d", i, want, kind)
		}
	}
	if len(v.dots) != 1 || v.dots[0].Handle != 3 {
		t.Errorf("beside the cells: %v", v.dots)
	}
	v.Obey(&Request{Cell: level(11)})
	if !draw(crowded + 1) {
		t.Error("nothing after a request")
	}
	for range 4 {
		draw(sparse + 1)
	}
	if kind != kindCells {
		t.Error("dots while there are more than the lower bound")
	}
	if !draw(sparse) || kind != kindDots {
		t.Error("no dots although there are few")
	}
	if !draw(crowded) || kind != kindDots {
		t.Error("cells below the upper bound")
	}
	v.Obey(&Request{Cell: level(-1)})
	if !draw(crowded+1) || kind != kindDots {
		t.Error("cells for a client that shows none")
	}
}

// The cells hold all objects, and there are never more than the bound.
func TestCellsAreBounded(t *testing.T) {
	dots := make([]track.Dot, 3*mostCells)
	for i := range dots {
		dots[i] = track.Dot{Handle: uint32(i), Point: geometry.Point{Lon: float64(i%200)*1.5 - 150, Lat: float64(i/200) - 80}, State: track.State(i % 3)}
	}
	dots[0].Point = geometry.Point{Lon: 180, Lat: 90}
	dots[1].Point = geometry.Point{Lon: -180, Lat: -90}
	all := func(*track.Dot) bool { return true }
	cells := gather(dots, all, MaxCell)
	var objects, silent uint32
	for _, c := range cells {
		objects += c.Objects
		silent += c.Silent
	}
	if len(cells) > mostCells || int(objects) != len(dots) || int(silent) != len(dots)/3 {
		t.Errorf("%d objects, %d silent, in %d cells", objects, silent, len(cells))
	}
	if one := gather(dots, all, 0); len(one) != 1 || int(one[0].Objects) != len(dots) {
		t.Errorf("the world in %d cells", len(one))
	}
}

// A key with fleets sees only these, whatever the filter asks for, and each name is asked for once.
func TestFilterWithinAKey(t *testing.T) {
	c := newCity(30)
	grant := ofFleet(t, "a")
	v := NewViewer(c, grant)
	for _, step := range []struct {
		filter Filter
		shown  int
	}{
		{Filter{}, 15},
		{Filter{Fleet: "a"}, 15},
		{Filter{Fleet: "b"}, 0},
		{Filter{States: []string{"silent"}}, 5},
		{Filter{Text: "V2"}, 6}, // v2, v20, v22 to v28
		{Filter{Text: "v2 a", States: []string{"moving"}}, 1},
	} {
		v.Obey(&Request{Objects: &step.filter})
		before := c.asked
		v.Draw(c.sample())
		if objects, silent := v.Counts(); len(v.dots) != step.shown || objects != 15 || silent != 5 {
			t.Errorf("%+v: %d shown of %d, %d silent", step.filter, len(v.dots), objects, silent)
		}
		asked := c.asked - before
		v.Draw(c.sample())
		if c.asked != before+asked {
			t.Errorf("%+v: names asked for again", step.filter)
		}
	}
	c.removed, c.next = []uint32{2}, map[uint32]ingest.Named{2: {Handle: 2, Fleet: "b", ID: "next"}}
	before := c.asked
	v.Obey(&Request{Objects: &Filter{}})
	v.Draw(c.sample())
	asked := c.asked - before
	if v.Draw(c.sample()); c.asked != before+asked {
		t.Error("names asked for again")
	}
	if objects, _ := v.Counts(); objects != 14 {
		t.Errorf("the verdict on a removed object goes on to the next one: %d objects", objects)
	}
}

// ofFleet returns the grant of a key for a fleet.
func ofFleet(t *testing.T, fleet string) *keyring.Grant {
	t.Helper()
	ring, err := keyring.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ring.Close() })
	key := keyring.Key{Name: "a", SHA256: keyring.DigestOf("secret"), Verbs: []string{"objects:read"}, Fleets: []string{fleet}}
	if err := ring.Add(key); err != nil {
		t.Fatal(err)
	}
	return ring.Find("secret")
}

// An object that is removed after the sample was taken leaves nothing to the next object with its
// handle: neither its place nor its name.
func TestHandleOfARemovedObject(t *testing.T) {
	first, next := ingest.Named{Handle: 2, Fleet: "a", ID: "v2"}, ingest.Named{Handle: 2, Fleet: "b", ID: "next"}
	everything := keyring.Everything("test")
	for name, of := range map[string]struct {
		grant       *keyring.Grant
		filter      Filter
		first, next bool // sees it
	}{
		"all":            {everything, Filter{}, true, true},
		"first by name":  {everything, Filter{Fleet: "a"}, true, false},
		"next by name":   {everything, Filter{Text: "next"}, false, true},
		"key for first":  {ofFleet(t, "a"), Filter{}, true, false},
		"key for next":   {ofFleet(t, "b"), Filter{}, false, true},
		"key and filter": {ofFleet(t, "b"), Filter{Fleet: "b"}, false, true},
	} {
		for calls := range 3 { // for names before the removal
			for _, known := range []bool{false, true} { // the name before
				c := newCity(3)
				v := NewViewer(c, of.grant)
				v.Obey(&Request{Objects: &of.filter})
				if known {
					v.Draw(c.sample())
				}
				sample, left := c.sample(), calls
				c.asking = func() {
					if left--; left == -1 {
						c.removed, c.next = []uint32{2}, map[uint32]ingest.Named{2: next}
					}
				}
				if calls == 0 || known { // known names are not asked for
					left = 0
					c.asking()
				}
				test := fmt.Sprintf("%s, removed after %d questions, name known before: %v", name, calls, known)
				names, _ := v.Draw(sample)
				if shows(v, 2) && len(c.removed) > 0 || slices.Contains(names, next) {
					t.Errorf("%s: place of the first with the name of the next: %v, %v", test, v.dots, names)
				}
				if objects, _ := v.Counts(); of.grant != everything && !of.first && objects != 1 {
					t.Errorf("%s: the place of the first is one of %d objects", test, objects)
				}
				if len(c.removed) == 0 { // all questions came before
					left = 0
					c.asking()
				}
				names, _ = v.Draw(c.sample())
				if slices.Contains(names, next) != of.next || shows(v, 2) != of.next || slices.Contains(names, first) {
					t.Errorf("%s: then %v, %v", test, v.dots, names)
				}
			}
		}
	}
}

// Removals do not keep the others from being shown, unless there are too many to know them.
func TestManyRemovals(t *testing.T) {
	c := newCity(10)
	v := NewViewer(c, keyring.Everything("test"))
	for h := range uint32(5) {
		sample := c.sample()
		c.removed = append(c.removed, h)
		if _, frame := v.Draw(sample); frame == nil || shows(v, h) || !shows(v, h+1) {
			t.Errorf("%d removed: %v", h+1, v.dots)
		}
		c.dots = c.dots[1:]
	}
	c.unknown = true
	if names, frame := v.Draw(c.sample()); names != nil || frame != nil {
		t.Errorf("names that may be those of others: %v", names)
	}
	c.unknown = false
	if names, _ := v.Draw(c.sample()); len(names) != 5 || len(v.dots) != 5 {
		t.Errorf("afterwards %v, %v", names, v.dots)
	}
}

func shows(v *Viewer, handle uint32) bool {
	return slices.ContainsFunc(v.dots, func(d track.Dot) bool { return d.Handle == handle })
}
