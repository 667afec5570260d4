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
	removed uint64
	asked   int             // names
	unnamed map[uint32]bool // handles of removed objects
}

func newCity(n int) *city {
	c := &city{}
	for i := range n {
		c.dots = append(c.dots, track.Dot{Handle: uint32(i), Point: geometry.Point{Lon: float64(i) / 1000, Lat: 1}, State: track.State(i % 3)})
	}
	return c
}

func (c *city) Names(dst []ingest.Named, handles []uint32) []ingest.Named {
	c.asked += len(handles)
	for _, h := range handles {
		if c.unnamed[h] {
			continue
		}
		dst = append(dst, ingest.Named{Handle: h, Fleet: string(rune('a' + h%2)), ID: fmt.Sprint("v", h)})
	}
	return dst
}

func (c *city) Removed() uint64 { return c.removed }

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
	_, frame := v.Draw(now, c.dots)
	if frame[1] != flagThinned || len(v.dots) > mostDots || len(v.dots) < mostDots/2 {
		t.Fatalf("%d dots, flags %d", len(v.dots), frame[1])
	}
	first := slices.Clone(v.dots)
	names, _ := v.Draw(now, c.dots[:49_999])
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
		_, frame := v.Draw(at, c.dots[:n])
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
	ring, err := keyring.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	key := keyring.Key{Name: "a", SHA256: keyring.DigestOf("secret"), Verbs: []string{"objects:read"}, Fleets: []string{"a"}}
	if err := ring.Add(key); err != nil {
		t.Fatal(err)
	}
	v := NewViewer(c, ring.Find("secret"))
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
		v.Draw(now, c.dots)
		if objects, silent := v.Counts(); len(v.dots) != step.shown || objects != 15 || silent != 5 {
			t.Errorf("%+v: %d shown of %d, %d silent", step.filter, len(v.dots), objects, silent)
		}
		asked := c.asked - before
		v.Draw(now, c.dots)
		if c.asked != before+asked {
			t.Errorf("%+v: names asked for again", step.filter)
		}
	}
	c.removed++
	before := c.asked
	v.Draw(now, c.dots)
	if c.asked == before {
		t.Error("verdicts outlive the names")
	}
}

// An object that is removed between the sample and the question for its name leaves nothing to the
// next object with its handle.
func TestHandleOfARemovedObject(t *testing.T) {
	for name, filter := range map[string]Filter{"all": {}, "of a fleet": {Fleet: "a"}} {
		c := newCity(3)
		c.unnamed, c.removed = map[uint32]bool{2: true}, 1
		v := NewViewer(c, keyring.Everything("test"))
		v.Obey(&Request{Objects: &filter})
		if names, _ := v.Draw(now, c.dots); slices.ContainsFunc(names, func(n ingest.Named) bool { return n.Handle == 2 }) {
			t.Errorf("%s: %v", name, names)
		}
		c.unnamed = nil
		if names, _ := v.Draw(now, c.dots); !slices.Contains(names, ingest.Named{Handle: 2, Fleet: "a", ID: "v2"}) || !slices.ContainsFunc(v.dots, func(d track.Dot) bool { return d.Handle == 2 }) {
			t.Errorf("%s: the next object with the handle is not there: %v", name, names)
		}
	}
}
