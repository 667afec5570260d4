// Package city generates a city: land in the sea, districts that fill it without gaps, streets,
// zones, and a fleet of vehicles that drive on the streets.
//
// The same Config gives the same bytes on every CPU. Random numbers come from seeded generators,
// one for each purpose. The package uses no trigonometry of the math package, no fused
// multiply-add, and no iteration over maps.
//
// The model, in the order in which it is built: a height map of noise gives the coast (terrain,
// contours). The land becomes a planar mesh of faces. Arterial streets divide it, then streets
// divide the rest into districts, then lanes divide these into blocks (mesh, carver, partition).
// All lines are straight so far; a one-to-one warp of the plane then bends them (survey). Each line
// of the mesh exists once. So the districts on its two sides share it bit for bit, and vehicles can
// drive along it.
package city

import (
	"sync"

	"paddock/fence"
)

// Config selects the city. The zero value is a city of 2,000 districts and 2,000 vehicles, seed 0.
type Config struct {
	Seed      uint64
	Districts int // about how many; 0 means 2,000; at least 200 and at most 20,000
	Vehicles  int // 0 means 2,000; at least 1
}

func (c Config) withDefaults() Config {
	if c.Districts == 0 {
		c.Districts = 2000
	}
	if c.Vehicles == 0 {
		c.Vehicles = 2000
	}
	c.Districts = min(max(c.Districts, 200), 20000)
	c.Vehicles = max(c.Vehicles, 1)
	return c
}

// SetData is the content of one set of fences.
type SetData struct {
	Name   string // as fence.Slug would make it of a file's name
	Fences []fence.Fence
}

// City is immutable, and safe for concurrent use. Its vehicles are not part of it: each call of
// Fleet returns new ones.
type City struct {
	cfg  Config
	sets []SetData

	streets *network
	routes  func() *routes // built on first use
}

// New builds a city. It takes a good part of a second.
func New(cfg Config) *City {
	cfg = cfg.withDefaults()
	c := &City{cfg: cfg}
	shores := newCoast(cfg.Seed)
	m := &mesh{}
	for _, land := range shores.lands {
		m.addLand(land)
	}
	layArterials(m, stream(cfg.Seed, "arterials"))
	wanted := m.grains() / float64(cfg.Districts)
	boroughOf := partition(m, stream(cfg.Seed, "partition"), cfg.Districts)
	w := newWarp(cfg.Seed)
	s := newSurvey(m, w, wanted)
	c.streets = newNetwork(s)
	c.sets = []SetData{
		{"districts", districts(s, shores, boroughOf, stream(cfg.Seed, "names"))},
		{"zones", zones(c.streets, w, stream(cfg.Seed, "zones"))},
	}
	c.routes = sync.OnceValue(func() *routes { return newRoutes(c.streets, stream(cfg.Seed, "routes")) })
	return c
}

// grains is the area of all land as a multiple of the grain at each place.
func (m *mesh) grains() float64 {
	var sum float64
	for f := range m.first {
		ring := m.ring(int32(f))
		sum += area(ring) / grain(centroid(ring))
	}
	return sum
}

// Sets are the city's sets of fences, in name order: "districts" adjoin, and
// each place on land is in exactly one; "zones" overlap. The caller must not
// change them.
func (c *City) Sets() []SetData { return c.sets }
