package city

import (
	"math/rand/v2"
	"slices"
)

// layArterials draws the main streets: two avenues that cross in the middle, three ring roads,
// radial roads between and beyond them, and the causeway to the southern island. They divide the
// land first, so quarters end at them.
func layArterials(m *mesh, rng *rand.Rand) {
	l := limits{snap: 70, clearance: 45, sine: 0.3, least: 6e4}
	const river, sea = 1100, 3600 // metres that a bridge may span
	centre := vec{500 + jitter(rng, 150), 900 + jitter(rng, 150)}
	tilt := jitter(rng, 0.03) + 0.035
	lay := func(path []vec, span float64) { m.lay(path, arterial, l, span) }
	ray := func(turns, metres float64) vec { return centre.add(vec{metres, 0}.turn(turns + tilt)) }

	for _, turns := range []float64{0, 0.25} {
		var avenue []vec
		for _, r := range []float64{-19000, -9000, -5000, -2000, 0, 2300, 5500, 9500, 19000} {
			avenue = append(avenue, ray(turns+jitter(rng, 0.006), r))
		}
		lay(smooth(avenue), river)
	}
	for _, r := range []float64{1350, 3300, 6300} {
		lay(smooth(ringRoad(rng, centre, r, tilt)), river)
	}
	for i := range 4 { // between the avenues: from the inner ring out to the sea
		turns := float64(float64(i)/4) + 0.125 + jitter(rng, 0.02)
		lay(smooth(radial(rng, ray, turns, 1250)), river)
	}
	for i := range 8 { // and further ones that begin at the second ring
		turns := float64(float64(i)/8) + 0.0625 + jitter(rng, 0.012)
		lay(smooth(radial(rng, ray, turns, 3200)), river)
	}
	lay(smooth(ringRoad(rng, centre, 9600, tilt)), river)
	for _, shift := range []float64{0, 800, -800, 1600, -1600, 2400, -2400} {
		before := len(m.bridges)
		causeway := []vec{{3100, -2500}, {4000, -5200}, {4700, -8000}, {5300, -11000}, {5600, -15000}}
		for i := range causeway {
			causeway[i].x += shift
		}
		lay(causeway, sea)
		if slices.ContainsFunc(m.bridges[before:], m.joinsLands) {
			break // elsewhere the shore may be too rugged to land on
		}
	}
	island := []vec{{-2000, -10600}, {2000, -10900}, {5200, -11300}, {8000, -10700}, {13000, -10400}}
	lay(smooth(island), 0)
}

// ringRoad is a closed polygon round the centre, with corners between the
// directions that avenues and radial roads take.
func ringRoad(rng *rand.Rand, centre vec, radius, tilt float64) []vec {
	const corners = 16
	var ring []vec
	for i := range corners {
		turns := float64((float64(i)+0.5)/corners) + tilt
		ring = append(ring, centre.add(vec{radius + jitter(rng, 0.05*radius), 0}.turn(turns)))
	}
	return append(ring, ring[0])
}

// radial is a road outwards from a little inside of the ring at the given radius,
// so that it begins with a crossing there; the stub within is left out.
func radial(rng *rand.Rand, ray func(turns, metres float64) vec, turns, radius float64) []vec {
	road := []vec{ray(turns, 0.85*radius)}
	for r := radius + 1500; r < 17000; r += 2800 {
		road = append(road, ray(turns+jitter(rng, 0.008), r))
	}
	return road
}

// joinsLands reports whether a bridge leads from a road on one landmass to a road on another. It is
// called while regions are still landmasses.
func (m *mesh) joinsLands(b crossed) bool {
	return m.coastal(b.from) != m.coastal(b.to) && m.degree(b.from) > 2 && m.degree(b.to) > 2
}

func (m *mesh) degree(v int32) int {
	n := 0
	for range m.around(v) {
		n++
	}
	return n
}
