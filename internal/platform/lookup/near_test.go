package lookup

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// A search by distance takes the memory of its answer, however many sets have fences near by.
func TestNearHoldsItsAnswerAlone(t *testing.T) {
	var all []fence.Fence
	for i := range 3000 {
		lon, lat := 0.01*float64(i%60), 0.01*float64(i/60)
		all = append(all, fence.Fence{Key: fmt.Sprint(i), Geometry: geometry.MultiPolygon{{{
			{Lon: lon, Lat: lat}, {Lon: lon + 0.005, Lat: lat}, {Lon: lon + 0.005, Lat: lat + 0.005},
		}}}})
	}
	set, err := fence.NewSet("s", fence.Options{})
	if err == nil {
		_, err = set.Replace(&geojson.Collection{Fences: all})
	}
	c := &fence.Catalog{}
	if err = errors.Join(err, c.Add(set)); err != nil {
		t.Fatal(err)
	}
	ask := func(sets, nearest int) (bytes uint64, answer string, err error) {
		l := &Lookup{}
		if err := l.Begin(c, ""); err != nil {
			t.Fatal(err)
		}
		l.sets = slices.Repeat(l.sets, sets)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = l.Near(geometry.Point{Lon: 0.3, Lat: 0.25}, MaxDistance, nearest)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, string(l.Answer), err
	}
	const bound = 16 << 20
	n, _, err := ask(400, 0)
	if e, ok := errors.AsType[*Error](err); !ok || e.Kind != TooLarge || n > bound {
		t.Errorf("%d bytes, %v", n, err)
	}
	n, many, err := ask(400, 1)
	if err != nil || n > bound {
		t.Errorf("the nearest: %d bytes, %v", n, err)
	}
	if _, one, _ := ask(1, 1); many != one {
		t.Errorf("%s, want that of the first set: %s", many, one)
	}
	if n, _, err = ask(400, MaxNearest); err != nil || n > bound {
		t.Errorf("the nearest %d: %d bytes, %v", MaxNearest, n, err)
	}
}
