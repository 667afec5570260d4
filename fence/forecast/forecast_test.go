package forecast

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// setOf makes a set of features, each without its type.
func setOf(t *testing.T, name string, features ...string) Set {
	t.Helper()
	for i := range features {
		features[i] = `{"type":"Feature","properties":{},` + features[i] + `}`
	}
	text := `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`
	c, err := geojson.ReadGeoJSON(strings.NewReader(text), name, fence.Options{}.Reading())
	if err != nil {
		t.Fatal(err)
	}
	set, err := fence.NewSet(name, fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Replace(c); err != nil {
		t.Fatal(err)
	}
	return Set{name, set.Snapshot()}
}

func box(id string, w, s, e, n float64) string {
	return fmt.Sprintf(`"id":%q,"geometry":{"type":"Polygon","coordinates":[[[%v,%v],[%v,%v],[%v,%v],[%v,%v],[%v,%v]]]}`, id, w, s, e, s, e, n, w, n, w, s)
}

func line(id string, points ...[2]float64) string {
	text, _ := json.Marshal(points)
	return fmt.Sprintf(`"id":%q,"geometry":{"type":"LineString","coordinates":%s}`, id, text)
}

func describe(all []Crossing) string {
	var words []string
	for _, c := range all {
		text := fmt.Sprintf("%v %s/%s %.0f", c.Kind, c.Set, c.Fence.Key, c.Metres)
		if c.Kind == Cross && c.ToLeft {
			text += " left"
		}
		words = append(words, text)
	}
	return strings.Join(words, ", ")
}

// The crossings of all sets come in the order of the path. A hundredth of a degree on the equator
// is 1,113.2 m to the east and 1,105.7 m to the north.
func TestAppend(t *testing.T) {
	a := setOf(t, "a", box("east", 0.01, -1, 0.02, 1), box("next", 0.02, -1, 0.03, 1), box("here", -0.001, -0.001, 0.001, 0.001))
	b := setOf(t, "b", line("gate", [2]float64{0.02, -1}, [2]float64{0.02, 1}), box("far", 0.05, -1, 0.06, 1))
	for name, c := range map[string]struct {
		heading, metres float64
		most            int
		want            string
		more            bool
	}{
		"east":        {90, 5000, 10, "exit a/here 111, enter a/east 1113, exit a/east 2226, enter a/next 2226, cross b/gate 2226, exit a/next 3340", false},
		"not so far":  {90, 1200, 10, "exit a/here 111, enter a/east 1113", false},
		"to the edge": {90, 1113.1, 10, "exit a/here 111", false},
		"not so many": {90, 5000, 4, "exit a/here 111, enter a/east 1113, exit a/east 2226, enter a/next 2226", true},
		"just as many": {
			90, 5000, 6,
			"exit a/here 111, enter a/east 1113, exit a/east 2226, enter a/next 2226, cross b/gate 2226, exit a/next 3340", false,
		},
		"west":    {270, 5000, 10, "exit a/here 111", false},
		"north":   {0, 100_000, 10, "exit a/here 111", false},
		"nowhere": {90, 0, 10, "", false},
	} {
		got, more := Append(nil, []Set{a, b}, Motion{geometry.Point{}, c.heading}, c.metres, c.most)
		if describe(got) != c.want || more != c.more {
			t.Errorf("%s: %s, %v\nwant %s, %v", name, describe(got), more, c.want, c.more)
		}
	}
	got, _ := Append(nil, []Set{b}, Motion{geometry.Point{Lon: 0.03, Lat: 0.5}, 270}, 5000, 10)
	if describe(got) != "cross b/gate 1113 left" || math.Abs(got[0].Point.Lon-0.02) > 1e-12 || math.Abs(got[0].Point.Lat-0.5) > 1e-12 {
		t.Errorf("%s at %v", describe(got), got)
	}
}

// A path goes on over the antimeridian, and ends near a pole.
func TestEndsOfTheWorld(t *testing.T) {
	s := setOf(t, "s", box("west", -179.99, -1, -179.98, 1), line("top", [2]float64{-180, 88}, [2]float64{0, 88}, [2]float64{180, 88}),
		line("beyond", [2]float64{-180, 89.5}, [2]float64{0, 89.5}, [2]float64{180, 89.5}))
	got, _ := Append(nil, []Set{s}, Motion{geometry.Point{Lon: 179.99}, 90}, 5000, 10)
	if describe(got) != "enter s/west 2226, exit s/west 3340" || math.Abs(got[0].Point.Lon+179.99) > 1e-9 {
		t.Errorf("%s at %v", describe(got), got)
	}
	got, more := Append(nil, []Set{s}, Motion{geometry.Point{Lat: 87}, 0}, MaxMetres, 10)
	if describe(got) != "cross s/top 111692 left" || more {
		t.Errorf("%s, %v", describe(got), more)
	}
}

// A path of random length and heading through random areas and lines has the changes that places
// close to each other show, without an index and without steps.
func TestAgainstPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 14))
	met := 0
	for range 60 {
		var features []string
		coordinate := func() float64 { return rng.Float64()*0.2 - 0.1 }
		lat := []float64{0, 52, -70}[rng.IntN(3)]
		for n := range 12 {
			w, s := coordinate(), lat+coordinate()
			features = append(features, box(fmt.Sprint(n), w, s, w+0.001+rng.Float64()*0.05, s+0.001+rng.Float64()*0.05))
		}
		set := setOf(t, "s", features...)
		motion := Motion{geometry.Point{Lon: coordinate(), Lat: lat + coordinate()}, rng.Float64() * 360}
		metres := rng.Float64() * 30_000
		got, more := Append(nil, []Set{set}, motion, metres, 1000)
		if more {
			t.Fatal("more")
		}
		var want []Crossing
		in := map[string]bool{}
		const every = 5.0
		sin, cos := math.Sincos(motion.Heading * math.Pi / 180)
		p, first := motion.From, true
		for at := 0.0; at <= metres; at += every {
			for i := range set.Snapshot.Len() {
				f := set.Snapshot.Fence(fence.Ref(i))
				now := f.Geometry.Contains(p)
				if !first && now != in[f.Key] {
					c := Crossing{Kind: Exit, Set: "s", Fence: f, Metres: at - every/2}
					if now {
						c.Kind = Enter
					}
					want = append(want, c)
				}
				in[f.Key] = now
			}
			first = false
			p = moved(p, every*sin, every*cos)
		}
		if len(got) < len(want) || len(got) > len(want)+4 { // within five metres it may come and go
			t.Fatalf("%s\nwant %s", describe(got), describe(want))
		}
		for _, w := range want {
			found := false
			for _, g := range got {
				found = found || g.Kind == w.Kind && g.Fence == w.Fence && math.Abs(g.Metres-w.Metres) <= every
			}
			if !found {
				t.Errorf("%s is not among %s", describe([]Crossing{w}), describe(got))
			}
		}
		met += len(want)
	}
	if met < 50 {
		t.Errorf("only %d crossings", met)
	}
}

// The end of a path of 1,000 km is within a metre of one of steps of ten metres.
func TestErrorOfThePath(t *testing.T) {
	for _, lat := range []float64{0, 45, -70} {
		for _, heading := range []float64{0, 37, 90, 200, 315} {
			sin, cos := math.Sincos(heading * math.Pi / 180)
			p := geometry.Point{Lon: 10, Lat: lat}
			fine := p
			for range 1000 {
				p = moved(p, step*sin, step*cos)
				for range 100 {
					fine = moved(fine, step/100*sin, step/100*cos)
				}
			}
			m := geometry.MetricAt(p)
			if d := m.To(fine); d > 1 {
				t.Errorf("from %v on %v: %v m", lat, heading, d)
			}
		}
	}
}

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		a, b            geometry.Point
		heading, metres float64
	}{
		{geometry.Point{}, geometry.Point{Lon: 0.01}, 90, 1113.19},
		{geometry.Point{}, geometry.Point{Lat: 0.01}, 0, 1105.74},
		{geometry.Point{Lon: 179.995}, geometry.Point{Lon: -179.995}, 90, 1113.19},
		{geometry.Point{Lat: 60}, geometry.Point{Lon: -0.01, Lat: 60}, 270, 558.0},
		{geometry.Point{Lat: 60}, geometry.Point{Lat: 59.99}, 180, 1114.12},
	} {
		m, metres := Between(c.a, c.b)
		if m.From != c.b || math.Abs(m.Heading-c.heading) > 1e-6 || math.Abs(metres-c.metres) > 0.05 {
			t.Errorf("%v to %v: %+v, %v", c.a, c.b, m, metres)
		}
	}
}

// BenchmarkAppend walks 100 km through a set of 10,000 areas.
func BenchmarkAppend(b *testing.B) {
	set, err := fence.NewSet("s", fence.Options{})
	if err != nil {
		b.Fatal(err)
	}
	c := &geojson.Collection{}
	for i := range 10_000 {
		w, s := float64(i%100)/50, float64(i/100)/50
		c.Fences = append(c.Fences, fence.Fence{Key: fmt.Sprint(i), Geometry: geometry.MultiPolygon{{{{Lon: w, Lat: s}, {Lon: w + 0.01, Lat: s}, {Lon: w + 0.01, Lat: s + 0.01}, {Lon: w, Lat: s + 0.01}}}}})
	}
	if _, err := set.Replace(c); err != nil {
		b.Fatal(err)
	}
	sets := []Set{{"s", set.Snapshot()}}
	var dst []Crossing
	for b.Loop() {
		dst, _ = Append(dst[:0], sets, Motion{geometry.Point{Lat: 1}, 80}, 100_000, 1000)
	}
	b.ReportMetric(float64(len(dst)), "crossings")
}
