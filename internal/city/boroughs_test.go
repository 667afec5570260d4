package city

import (
	"encoding/json"
	"testing"
)

// The area of each borough surrounds its districts, and touches none.
func TestBoroughs(t *testing.T) {
	for seed := range uint64(3) {
		c := cityOf(t, seed)
		rings := map[string][]vec{}
		for _, b := range c.Boroughs() {
			var p districtProperties
			if err := json.Unmarshal(b.Properties, &p); err != nil || len(b.Geometry) != 1 || len(b.Geometry[0]) != 1 {
				t.Fatalf("%s: %v", b.Properties, err)
			}
			for _, corner := range b.Geometry[0][0] {
				rings[p.Name] = append(rings[p.Name], plane(corner))
			}
		}
		if len(rings) < len(boroughs)/2 {
			t.Errorf("seed %d: %d boroughs", seed, len(rings))
		}
		for _, d := range c.set(t, "districts") {
			var p districtProperties
			if err := json.Unmarshal(d.Properties, &p); err != nil {
				t.Fatal(err)
			}
			ring := rings[p.Borough]
			for _, part := range d.Geometry {
				for _, corner := range part[0] {
					if !inside(plane(corner), ring) {
						t.Fatalf("seed %d: %s of %s has a corner beyond its borough", seed, d.Key, p.Borough)
					}
				}
			}
		}
	}
}

// inside reports whether a convex ring holds p, by more than a metre.
func inside(p vec, ring []vec) bool {
	for i, a := range ring {
		side := ring[(i+1)%len(ring)].sub(a)
		if side.unit().cross(p.sub(a)) < 1 {
			return false
		}
	}
	return len(ring) > 2
}
