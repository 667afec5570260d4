package fence_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// meters is the distance on the sphere by the haversine formula, of which the product uses none.
func meters(a, b geometry.Point) float64 {
	rad := math.Pi / 180
	s, t := math.Sin((b.Lat-a.Lat)*rad/2), math.Sin((b.Lon-a.Lon)*rad/2)
	h := s*s + math.Cos(a.Lat*rad)*math.Cos(b.Lat*rad)*t*t
	return 2 * 6_371_008.8 * math.Asin(math.Sqrt(min(h, 1)))
}

// TestCircle asks about points on both sides of the promised error: near and far from the
// poles, over them, and over the antimeridian.
func TestCircle(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(81, 82))
	for _, c := range []struct {
		lon, lat, radius float64
	}{
		{13.4, 52.5, 50},
		{13.4, 52.5, 5000},
		{-73.9, 40.7, 1},
		{179.99, 89, 0.01},
		{179.99, 0.1, 0.01},
		{0, 0, 1e6},
		{179.999, 10, 1000},
		{-180, -45, 20_000},
		{180, 0, 3e6},
		{0, 90, 1000},
		{120, -90, 1e6},
		{30, 89.999, 5000},
		{30, 80, 2e6},
		{-60, -85, 1e5},
		{10, 85, 555_900},
		{7, 60, 1e7},
		{0, 0, 1e7},
		{5, 89.9, 11_119.4},
	} {
		center := geometry.Point{Lon: c.lon, Lat: c.lat}
		got, err := geometry.Circle(center, c.radius)
		if err != nil {
			t.Fatal(err)
		}
		if findings := geojson.Validate(got); len(findings) > 0 && c.radius < 1e7 {
			t.Errorf("%v: %v", c, findings[0])
		}
		bound := min(0.25, c.radius/1000) + c.radius*1e-9
		asked := 0
		for range 4000 / sampling.Slowdown {
			p := destination(center, rng.Float64()*2*math.Pi, c.radius+bound*(1.05+rng.Float64())*float64(2*rng.IntN(2)-1))
			d := meters(center, p) - c.radius
			if math.Abs(d) < bound { // haversine is imprecise where it is far away
				continue
			}
			asked++
			if got.Contains(p) != (d < 0) {
				t.Fatalf("%v: %v is %v m from the circle: %v", c, p, d, got.Contains(p))
			}
		}
		if asked < 1000/sampling.Slowdown {
			t.Errorf("%v: only %d points asked", c, asked)
		}
		t.Logf("%v: %d vertices, %d parts", c, got.Vertices(), len(got))
	}
}

// destination is the point at a distance in a direction, by the textbook's formula.
func destination(from geometry.Point, bearing, distance float64) geometry.Point {
	rad, a := math.Pi/180, distance/6_371_008.8
	lat := math.Asin(math.Sin(from.Lat*rad)*math.Cos(a) + math.Cos(from.Lat*rad)*math.Sin(a)*math.Cos(bearing))
	lon := from.Lon*rad + math.Atan2(math.Sin(bearing)*math.Sin(a)*math.Cos(from.Lat*rad), math.Cos(a)-math.Sin(from.Lat*rad)*math.Sin(lat))
	return geometry.Point{Lon: math.Remainder(lon/rad, 360), Lat: lat / rad}
}

func TestCircleAndRectangleRefuse(t *testing.T) {
	for _, r := range []float64{0, -1, math.NaN(), math.Inf(1), 1e7 + 1, 0.009} {
		if _, err := geometry.Circle(geometry.Point{Lon: 100, Lat: 1}, r); !errors.Is(err, geometry.ErrShape) {
			t.Errorf("radius %v: %v", r, err)
		}
	}
	for _, p := range []geometry.Point{{Lon: 181}, {Lat: 91}, {Lon: math.NaN()}} {
		if _, err := geometry.Circle(p, 1); !errors.Is(err, geometry.ErrShape) {
			t.Errorf("center %v: %v", p, err)
		}
	}
	for _, b := range [][4]float64{{0, 0, 0, 1}, {0, 1, 1, 1}, {0, 2, 1, 1}, {0, 0, 181, 1}, {180, 0, -180, 1}, {0, math.NaN(), 1, 1}} {
		if _, err := geometry.Rectangle(b[0], b[1], b[2], b[3]); !errors.Is(err, geometry.ErrShape) {
			t.Errorf("%v: %v", b, err)
		}
	}
}

func TestShapesOfFeatures(t *testing.T) {
	in, out := geometry.Point{Lon: 13.401, Lat: 52.5}, geometry.Point{Lon: 13.45, Lat: 52.5}
	for name, c := range map[string]struct {
		doc   string
		parts int
	}{
		"circle":            {`{"type":"Feature","circle":{"lon":13.4,"lat":52.5,"radius_m":100}}`, 1},
		"circle, null":      {`{"type":"Feature","geometry":null,"circle":{"lon":13.4,"lat":52.5,"radius_m":100}}`, 1},
		"circle, no type":   {`{"id":"x","circle":{"radius_m":100,"lat":52.5,"lon":13.4}}`, 1},
		"point":             {`{"type":"Feature","properties":{"radius":100},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`, 1},
		"point, altitude":   {`{"type":"Feature","properties":{"radius":1e2},"geometry":{"coordinates":[13.4,52.5,7],"type":"Point"}}`, 1},
		"bbox":              {`{"type":"Feature","bbox":[13.4,52.49,13.41,52.51],"geometry":null}`, 1},
		"bbox in space":     {`{"type":"Feature","bbox":[13.4,52.49,0,13.41,52.51,9]}`, 1},
		"bbox of a polygon": {`{"type":"Feature","bbox":[0,0,1,1],"geometry":{"type":"Polygon","coordinates":[[[13.4,52.49],[13.41,52.49],[13.41,52.51],[13.4,52.51],[13.4,52.49]]]}}`, 1},
		"bbox the long way": {`{"type":"Feature","bbox":[13.4,52.49,13.39,52.51]}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			f, _, err := geojson.ParseFeature([]byte(c.doc), geojson.ReadOptions{Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Geometry) != c.parts || !f.Geometry.Contains(in) || c.parts == 1 && f.Geometry.Contains(out) {
				t.Errorf("%d parts: %v", len(f.Geometry), f.Geometry)
			}
			all, err := geojson.ReadGeoJSON(strings.NewReader(collection(c.doc)), "x", geojson.ReadOptions{})
			if err != nil || len(all.Fences) != 1 {
				t.Errorf("in a collection: %+v, %v", all, err)
			}
			if all, err := geojson.ReadGeoJSON(strings.NewReader(c.doc), "x", geojson.ReadOptions{}); err != nil || len(all.Fences) != 1 {
				t.Errorf("alone: %+v, %v", all, err)
			}
		})
	}
}

func TestShapesThatAreNone(t *testing.T) {
	for _, c := range []struct {
		doc  string
		code geojson.Code
	}{
		{`{"type":"Feature","circle":{"lon":1,"lat":2}}`, geojson.CodeInvalidGeometry},
		{`{"type":"Feature","circle":{"lon":1,"lat":2,"radius_m":"9"}}`, geojson.CodeInvalidGeometry},
		{`{"type":"Feature","circle":{"lon":1,"lat":92,"radius_m":9}}`, geojson.CodeInvalidGeometry},
		{`{"type":"Feature","circle":7}`, geojson.CodeInvalidGeometry},
		{`{"type":"Feature","properties":{"radius":-5},"geometry":{"type":"Point","coordinates":[1,2]}}`, geojson.CodeInvalidGeometry},
		{`{"type":"Feature","properties":{"radius":5},"geometry":{"type":"Point","coordinates":[1]}}`, geojson.CodeInvalidGeometry},
		{`{"type":"Feature","properties":{"radius":5},"geometry":{"type":"Point","coordinates":[1,null]}}`, geojson.CodeInvalidGeometry},
		{`{"type":"Feature","properties":{"radius":"5 m"},"geometry":{"type":"Point","coordinates":[1,2]}}`, geojson.CodeNotPolygon},
		{`{"type":"Feature","properties":{"radius":null},"geometry":{"type":"Point","coordinates":[1,2]}}`, geojson.CodeNotPolygon},
		{`{"type":"Feature","properties":[],"geometry":{"type":"Point","coordinates":[1,2]}}`, geojson.CodeNotPolygon},
		{`{"type":"Feature","properties":{"radius":5},"geometry":{"type":"MultiPoint","coordinates":[]}}`, geojson.CodeNotPolygon},
		{`{"type":"Feature","bbox":[1,2,3]}`, geojson.CodeInvalidGeometry},
		{`{"type":"Feature","bbox":[1,2,3,4,5]}`, geojson.CodeInvalidGeometry},
		{`{"type":"Feature","bbox":[1,2,1,4]}`, geojson.CodeInvalidGeometry},
		{`{"type":"Feature","bbox":null}`, geojson.CodeNoGeometry},
	} {
		_, _, err := geojson.ParseFeature([]byte(c.doc), geojson.ReadOptions{})
		if e, ok := errors.AsType[*geojson.RefusedError](err); !ok || e.Finding.Code != c.code {
			t.Errorf("%s: %v", c.doc, err)
		}
	}
	o := geojson.ReadOptions{Limits: geojson.Limits{Vertices: 20}}
	if _, _, err := geojson.ParseFeature([]byte(`{"circle":{"lon":1,"lat":2,"radius_m":9}}`), o); !errors.Is(err, geojson.ErrLimit) {
		t.Errorf("a circle of more vertices than allowed: %v", err)
	}
}
