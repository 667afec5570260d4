package city

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
)

// zoneProperties are a zone's GeoJSON properties.
type zoneProperties struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// zoning collects the operational fences. They overlap, unlike districts, and follow streets,
// because vehicles drive there.
type zoning struct {
	n      *network
	warp   warp
	rng    *rand.Rand
	names  *namer
	counts map[string]int
	fences []fence.Fence
}

// zones makes about sixty fences of six kinds.
func zones(n *network, w warp, rng *rand.Rand) []fence.Fence {
	z := &zoning{n: n, warp: w, rng: rng, names: newNamer(rng), counts: map[string]int{}}
	z.lowEmission()
	z.add("harbour", "Averley Harbour", w, []vec{
		{-3300, -3700}, {-2600, -1900}, {-1900, -700}, {-1000, -600}, {-500, -1500}, {-150, -3400}, {0, -5600}, {-2600, -6000},
	})
	for range 18 {
		z.station()
	}
	for range 8 {
		z.depot()
	}
	for range 20 {
		p := n.nodePos(z.node(lane, 12000))
		z.add("school", z.names.name(suburban)+" School", warp{}, circle(p, 120+float64(z.rng.Float64()*60), 32))
	}
	for _, l := range z.longest(10) {
		z.corridor(l)
	}
	return z.fences
}

// add appends a fence; rings are bent by w and run in any direction.
func (z *zoning) add(kind, name string, w warp, rings ...[]vec) {
	z.counts[kind]++
	part := geometry.Polygon{}
	for _, r := range rings {
		part = append(part, toRing((&survey{warp: w}).bent(r)))
	}
	id := fmt.Sprintf("%s-%02d", kind, z.counts[kind])
	z.fences = append(z.fences, newFence(id, zoneProperties{name, kind}, geometry.MultiPolygon{part}))
}

// lowEmission is the area within the second ring road, but for the blocks about
// the hospital in its middle.
func (z *zoning) lowEmission() {
	centre := vec{500, 900}
	z.add("low-emission", "Low Emission Zone", z.warp,
		circle(centre, 2500, 96), circle(centre.add(vec{-250, 300}), 420, 24))
}

// station is a circle round a junction of arterials.
func (z *zoning) station() {
	p := z.n.nodePos(z.node(arterial, 9000))
	z.add("station", z.names.name(urban)+" Station", warp{}, circle(p, 140+float64(z.rng.Float64()*140), 48))
}

// depot is a rectangle beside a street.
func (z *zoning) depot() {
	v := z.node(street, 11000)
	along := z.n.startDirection(z.n.leaving(v)[0]).unit()
	p := z.n.nodePos(v)
	a, b := along.scale(90+float64(z.rng.Float64()*110)), along.left().scale(70+float64(z.rng.Float64()*60))
	z.add("depot", z.names.name(suburban)+" Depot", warp{},
		[]vec{p.sub(a).sub(b), p.add(a).sub(b), p.add(a).add(b), p.sub(a).add(b)})
}

// corridor is a strip along a street.
func (z *zoning) corridor(l link) {
	const half = 32 // metres to each side
	points := z.n.pos[l.start:l.end]
	var near, far []vec
	for i, p := range points {
		d := points[min(i+1, len(points)-1)].sub(points[max(i-1, 0)]).unit().left().scale(half)
		near, far = append(near, p.sub(d)), append(far, p.add(d))
	}
	slices.Reverse(far)
	z.add("corridor", z.names.name(urban)+" Corridor", warp{}, append(near, far...))
}

// node picks a junction with a street of the given class, within so many metres
// of the centre.
func (z *zoning) node(c class, radius float64) int32 {
	for {
		v := int32(z.rng.IntN(z.n.nodes()))
		for _, a := range z.n.leaving(v) {
			if z.n.links[a.link()].class == c && z.n.nodePos(v).len() < radius {
				return v
			}
		}
	}
}

// longest are the longest arterial links, bridges among them.
func (z *zoning) longest(count int) []link {
	var links []link
	for _, l := range z.n.links {
		if l.class == arterial {
			links = append(links, l)
		}
	}
	slices.SortStableFunc(links, func(a, b link) int {
		return cmp.Compare(z.n.along[b.end-1], z.n.along[a.end-1])
	})
	return links[:min(count, len(links))]
}

// circle is a regular polygon, counter-clockwise.
func circle(centre vec, radius float64, corners int) []vec {
	ring := make([]vec, corners)
	for i := range ring {
		ring[i] = centre.add(vec{radius, 0}.turn(float64(i) / float64(corners)))
	}
	return ring
}
