package city

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"paddock/fence"
	"paddock/fence/geometry"
)

// districts turns the partition into fences, with the islets as outlying parts
// of the districts on the nearest shore and the reserve as the last one.
func districts(s *survey, c coast, boroughOf []int, rng *rand.Rand) []fence.Fence {
	shapes := s.outlines(len(boroughOf))
	for _, islet := range c.islets {
		r := s.m.nearestShore(centroid(islet))
		shapes[r] = append(shapes[r], geometry.Polygon{toRing(s.bent(islet))})
	}
	settings := s.m.settings(len(shapes))
	names := newNamer(rng)
	fences := make([]fence.Fence, 0, len(shapes)+1)
	for r, shape := range shapes {
		p := profile(shape, settings[r], rng)
		p.Name, p.Borough = names.name(settings[r]), boroughs[boroughOf[r]].name
		fences = append(fences, newFence(fmt.Sprintf("d%04d", r+1), p, shape))
	}
	shape := geometry.MultiPolygon{{toRing(s.bent(c.reserve))}}
	p := districtProperties{Name: "Skerrow Island", Borough: "Southholm", Kind: "nature reserve", AreaKm2: areaKm2(shape)}
	return append(fences, newFence(fmt.Sprintf("d%04d", len(shapes)+1), p, shape))
}

// districtProperties are a district's GeoJSON properties.
type districtProperties struct {
	Name       string  `json:"name"`
	Borough    string  `json:"borough"`
	Kind       string  `json:"kind"`
	Population int     `json:"population"`
	AreaKm2    float64 `json:"area_km2"`
}

// profile generates the properties of a district from its location.
func profile(shape geometry.MultiPolygon, at setting, rng *rand.Rand) districtProperties {
	p := districtProperties{Kind: "residential", AreaKm2: areaKm2(shape)}
	roll := rng.Float64()
	switch {
	case at == enclosed:
		p.Kind = []string{"park", "campus", "residential"}[int(roll*3)]
	case at == urban && roll < 0.5:
		p.Kind = "centre"
	case at == waterside && roll < 0.35:
		p.Kind = "port"
	case roll < 0.10:
		p.Kind = "industrial"
	case roll < 0.16:
		p.Kind = "park"
	}
	perKm2 := map[string]float64{"residential": 5200, "centre": 9000, "port": 500, "industrial": 350, "park": 40, "campus": 2500}[p.Kind]
	if at == urban {
		perKm2 *= 2
	}
	p.Population = int(float64(perKm2*p.AreaKm2) * (0.6 + float64(0.8*rng.Float64())))
	return p
}

// newFence makes a fence with the id as its key. Marshalling a struct of
// strings and finite numbers cannot fail.
func newFence(id string, properties any, shape geometry.MultiPolygon) fence.Fence {
	quoted, _ := json.Marshal(id)
	object, _ := json.Marshal(properties)
	return fence.Fence{Key: id, ID: quoted, Properties: object, Geometry: shape}
}

// areaKm2 is the area of a shape whose holes follow its shells, to three digits.
func areaKm2(shape geometry.MultiPolygon) float64 {
	var sum float64
	for _, part := range shape {
		for i, r := range part {
			points := make([]vec, len(r))
			for k, p := range r {
				points[k] = plane(p)
			}
			if a := math.Abs(area(points)); i == 0 {
				sum += a
			} else {
				sum -= a
			}
		}
	}
	return math.Round(sum/1e3) / 1e3
}

// settings returns the location of each of n districts.
func (m *mesh) settings(n int) []setting {
	at := make([]setting, n)
	beside := make([]int32, n) // the only neighbour so far, +1; -1 once there are two
	for e, f := range m.face {
		if f == water {
			continue
		}
		r := m.region[f]
		g := m.face[e^1]
		switch {
		case g == water:
			at[r] = waterside
			beside[r] = -1
		case m.region[g] != r && beside[r] == 0:
			beside[r] = m.region[g] + 1
		case m.region[g] != r && beside[r] != m.region[g]+1:
			beside[r] = -1
		}
		if at[r] == suburban && m.from(int32(e)).sub(boroughs[0].seat).len() < 2600 {
			at[r] = urban
		}
	}
	for r := range at {
		if beside[r] > 0 {
			at[r] = enclosed
		}
	}
	return at
}

// nearestShore is the district on the shore nearest to p.
func (m *mesh) nearestShore(p vec) int32 {
	best, least := int32(0), math.Inf(1)
	for e, f := range m.face {
		if f == water || m.face[e^1] != water {
			continue
		}
		if d := m.from(int32(e)).sub(p).len(); d < least {
			best, least = m.region[f], d
		}
	}
	return best
}
