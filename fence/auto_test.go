package fence

import (
	"testing"

	"paddock/fence/geometry"
	"paddock/fence/internal/cellmap"
)

func boxRing(b geometry.Box) geometry.Ring {
	return geometry.Ring{{Lon: b.MinLon, Lat: b.MinLat}, {Lon: b.MaxLon, Lat: b.MinLat}, {Lon: b.MaxLon, Lat: b.MaxLat}, {Lon: b.MinLon, Lat: b.MaxLat}}
}

// A set that grows and shrinks about the limit does not change its kind each time.
func TestAutoChangesSlowly(t *testing.T) {
	s, err := NewSet("test", Options{Kind: KindAuto})
	if err != nil {
		t.Fatal(err)
	}
	var changes []int
	last := s.Snapshot().Stats().Kind
	step := func(n int) {
		if k := s.Snapshot().Stats().Kind; k != last {
			changes, last = append(changes, n), k
		}
	}
	var keys []string
	for n := 1; n <= 3*cellmap.AutoSmall; n++ {
		key, _, err := s.Add(Fence{Geometry: geometry.MultiPolygon{{boxRing(geometry.Box{MinLon: 0, MinLat: 0, MaxLon: float64(n), MaxLat: 1})}}})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
		step(n)
	}
	for n := len(keys) - 1; n >= 0; n-- {
		s.Delete(keys[n])
		step(n)
	}
	if len(changes) != 2 || changes[0] != cellmap.AutoSmall+1 || changes[1] != cellmap.AutoSmall/2 {
		t.Errorf("the kind changed at %v fences", changes)
	}
	if last != KindBBox || s.Kind() != KindAuto {
		t.Errorf("the last kind is %s of %s", last, s.Kind())
	}
}
