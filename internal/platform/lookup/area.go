package lookup

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"paddock/fence/geometry"
)

// Area selects points by a box, by a distance from a point, or by both.
type Area struct {
	box    *geometry.Box // from MinLon east to MaxLon, which may be less than MinLon
	near   *geometry.Metric
	from   geometry.Point // of near
	metres float64        // of near
}

// ParseArea reads the parameters bbox and near: "west,south,east,north" and "lon,lat,metres".
// Either may be empty. It returns nil if both are.
func ParseArea(bbox, near string) (*Area, error) {
	if bbox == "" && near == "" {
		return nil, nil
	}
	a := &Area{}
	if bbox != "" {
		n, err := numbers(bbox, 4, "west,south,east,north")
		if err != nil {
			return nil, fmt.Errorf("bbox %w", err)
		}
		for _, p := range []geometry.Point{{Lon: n[0], Lat: n[1]}, {Lon: n[2], Lat: n[3]}} {
			if err := Check(p); err != nil {
				return nil, fmt.Errorf("bbox %.100q: %w", bbox, err)
			}
		}
		if n[1] > n[3] {
			return nil, fmt.Errorf("bbox %.100q: south is greater than north: the order is west,south,east,north", bbox)
		}
		a.box = &geometry.Box{MinLon: n[0], MinLat: n[1], MaxLon: n[2], MaxLat: n[3]}
	}
	if near != "" {
		n, err := numbers(near, 3, "lon,lat,metres")
		if err != nil {
			return nil, fmt.Errorf("near %w", err)
		}
		a.from, a.metres = geometry.Point{Lon: n[0], Lat: n[1]}, n[2]
		if err := Check(a.from); err != nil {
			return nil, fmt.Errorf("near %.100q: %w", near, err)
		}
		if !(a.metres >= 0 && a.metres <= MaxDistance) {
			return nil, fmt.Errorf("near %.100q: the distance is not a number of metres from 0 to %d", near, MaxDistance)
		}
		metric := geometry.MetricAt(a.from)
		a.near = &metric
	}
	return a, nil
}

// numbers reads so many numbers with commas between them.
func numbers(text string, n int, form string) ([]float64, error) {
	parts := strings.Split(text, ",")
	values := make([]float64, 0, n)
	for _, part := range parts[:min(len(parts), n)] {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%.100q: %.32q is not a number: want %s", text, part, form)
		}
		values = append(values, v)
	}
	if len(parts) != n {
		return nil, fmt.Errorf("%.100q: %d numbers: want %s", text, len(parts), form)
	}
	return values, nil
}

// Contains reports whether the area has a point. Its borders belong to it. Longitudes 180 and -180
// are the same one, and a pole has every longitude.
func (a *Area) Contains(p geometry.Point) bool {
	if a.box != nil && !boxHas(a.box, p) {
		return false
	}
	if a.near == nil {
		return true
	}
	if math.Abs(p.Lat-a.from.Lat)*(0.99*geometry.LatDegree) > a.metres {
		return false // most points, without the price of a distance
	}
	return a.near.To(p) <= a.metres
}

func boxHas(b *geometry.Box, p geometry.Point) bool {
	if p.Lat < b.MinLat || p.Lat > b.MaxLat {
		return false
	}
	return math.Abs(p.Lat) == 90 || between(b, p.Lon) || math.Abs(p.Lon) == 180 && between(b, -p.Lon)
}

func between(b *geometry.Box, lon float64) bool {
	if b.MinLon > b.MaxLon {
		return lon >= b.MinLon || lon <= b.MaxLon
	}
	return lon >= b.MinLon && lon <= b.MaxLon
}

// Distance returns the distance in metres from the point of near, to the millimetre, and whether
// the area has one.
func (a *Area) Distance(p geometry.Point) (metres float64, ok bool) {
	if a == nil || a.near == nil {
		return 0, false
	}
	return math.Round(a.near.To(p)*1000) / 1000, true
}
