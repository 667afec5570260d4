package fencebench

import (
	"bytes"
	"fmt"

	"paddock/fence"
	"paddock/fence/geojson"
)

// index is implemented by every contender of the library: it finds the fences that hold a point, in
// any order. One goroutine asks at a time.
type index interface {
	find(dst []fence.Ref, lon, lat float64) []fence.Ref
}

// builders build an index of other programs from the fences, whose order gives the refs.
var builders = map[string]func([]*fence.Fence) index{
	golangGeo: newS2Index,
	tidwall:   newTidwallIndex,
}

var _ index = ours{}

// ours is a set of one of our kinds.
type ours struct{ snap *fence.Snapshot }

func (o ours) find(dst []fence.Ref, lon, lat float64) []fence.Ref {
	return o.snap.Append(dst, lon, lat)
}

// read reads the plain set.
func (s *scene) read() (*geojson.Collection, error) {
	return geojson.ReadGeoJSON(bytes.NewReader(s.plain), "plain", geojson.ReadOptions{})
}

// newSet indexes the plain set.
func (s *scene) newSet(kind string) (*fence.Set, error) {
	c, err := s.read()
	if err != nil {
		return nil, err
	}
	return newSet(kind, c)
}

// newSet indexes a collection.
func newSet(kind string, c *geojson.Collection) (*fence.Set, error) {
	set, err := fence.NewSet("bench", fence.Options{Kind: fence.Kind(kind)})
	if err != nil {
		return nil, err
	}
	_, err = set.Replace(c)
	return set, err
}

// index returns the contender's index, built once and compared with the others.
func (b *Bench) index(contender string) (index, error) {
	if x, ok := b.built[contender]; ok {
		return x, nil
	}
	s, err := b.scene()
	if err != nil {
		return nil, err
	}
	var x index
	if build, ok := builders[contender]; ok {
		x = build(s.fences)
	} else {
		set, err := s.newSet(contender)
		if err != nil {
			return nil, err
		}
		x = ours{set.Snapshot()}
	}
	if err := b.agree(s, contender, x); err != nil {
		return nil, fmt.Errorf("%s: %w", contender, err)
	}
	if b.built == nil {
		b.built = map[string]index{}
	}
	b.built[contender] = x
	return x, nil
}
