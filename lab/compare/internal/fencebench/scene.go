package fencebench

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/lab/internal/gofence"
)

const (
	// scenePoints is how many points of each sort there are: a megabyte, which a branch
	// predictor does not learn and the second cache holds.
	scenePoints = 1 << 16
	// jitterMeters is how far a bus is from where it was reported.
	jitterMeters   = 2.0
	metersInDegree = 111_195.0
)

// scene is the common input of all contenders. It does not change.
type scene struct {
	dir    string         // GeoJSON files
	set    string         // name of the set
	file   string         // the set's file
	fences []*fence.Fence // of the set
	plain  []byte         // the set as GeoJSON without properties: geometry and keys alone
	edges  int            // of all rings
	bounds geometry.Box
	points map[string][]geometry.Point // by the sort's name
	corpus *gofence.Corpus
}

// The sorts of points.
const (
	buses       = "buses"       // where vehicles are, jittered by 2 m and shuffled
	uniform     = "uniform"     // anywhere in the set's box
	adversarial = "adversarial" // on vertices and edges, and a float beside them
)

// newScene reads the directory; without one it makes up the city in temp.
func newScene(dir, temp string) (*scene, error) {
	if dir == "" {
		dir = filepath.Join(temp, "town")
		if err := errors.Join(os.MkdirAll(dir, 0o777), gofence.WriteTown(dir)); err != nil {
			return nil, err
		}
	}
	s := &scene{dir: dir, points: map[string][]geometry.Point{}}
	catalog, report, err := fence.LoadDir(os.DirFS(dir), fence.Options{Kind: fence.KindBBox})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	var largest *fence.Snapshot
	for set := range catalog.All() {
		if snap := set.Snapshot(); largest == nil || snap.Len() > largest.Len() {
			largest, s.set = snap, set.Name()
		}
	}
	if largest == nil || largest.Len() == 0 {
		return nil, fmt.Errorf("%s has no fences", dir)
	}
	for _, r := range report.Sets {
		if r.Name == s.set {
			s.file = filepath.Join(dir, r.File)
		}
	}
	s.bounds = largest.Bounds()
	for _, f := range largest.All() {
		s.fences = append(s.fences, f)
		for ring := range rings(f) {
			s.edges += len(ring)
		}
	}
	if s.plain, err = plain(s.fences); err != nil {
		return nil, err
	}
	if s.corpus, err = gofence.ReadCorpus(os.DirFS(dir)); err != nil {
		return nil, err
	}
	s.draw()
	return s, nil
}

// rings yields all rings of a fence.
func rings(f *fence.Fence) iter.Seq[geometry.Ring] {
	return func(yield func(geometry.Ring) bool) {
		for _, part := range f.Geometry {
			for _, ring := range part {
				if !yield(ring) {
					return
				}
			}
		}
	}
}

// plain writes the fences without ids and properties.
func plain(fences []*fence.Fence) ([]byte, error) {
	var b bytes.Buffer
	err := geojson.WriteGeoJSON(&b, func(yield func(*fence.Fence) bool) {
		for _, f := range fences {
			if !yield(&fence.Fence{Key: f.Key, Geometry: f.Geometry}) {
				return
			}
		}
	})
	return b.Bytes(), err
}

// draw makes the points, always the same ones.
func (s *scene) draw() {
	rng := rand.New(rand.NewPCG(5, 8))
	for len(s.points[buses]) < scenePoints {
		for _, p := range s.corpus.Positions {
			north := (2*rng.Float64() - 1) * jitterMeters / metersInDegree
			east := (2*rng.Float64() - 1) * jitterMeters / metersInDegree / math.Cos(p.Lat*math.Pi/180)
			s.points[buses] = append(s.points[buses], geometry.Point{Lon: p.Lon + east, Lat: p.Lat + north})
		}
	}
	s.points[buses] = s.points[buses][:scenePoints]
	var corners []geometry.Ring
	for _, f := range s.fences {
		for ring := range rings(f) {
			corners = append(corners, ring)
		}
	}
	for range scenePoints {
		s.points[uniform] = append(s.points[uniform], geometry.Point{
			Lon: s.bounds.MinLon + rng.Float64()*(s.bounds.MaxLon-s.bounds.MinLon),
			Lat: s.bounds.MinLat + rng.Float64()*(s.bounds.MaxLat-s.bounds.MinLat),
		})
		s.points[adversarial] = append(s.points[adversarial], onEdge(rng, corners[rng.IntN(len(corners))]))
	}
	for _, points := range s.points {
		rng.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	}
}

// onEdge is a vertex of the ring, a middle of an edge, or a float beside either.
func onEdge(rng *rand.Rand, ring geometry.Ring) geometry.Point {
	i := rng.IntN(len(ring))
	p, next := ring[i], ring[(i+1)%len(ring)]
	if rng.IntN(2) == 0 {
		p = geometry.Point{Lon: (p.Lon + next.Lon) / 2, Lat: (p.Lat + next.Lat) / 2}
	}
	switch rng.IntN(4) {
	case 0:
		p.Lon = math.Nextafter(p.Lon, math.Inf(2*rng.IntN(2)-1))
	case 1:
		p.Lat = math.Nextafter(p.Lat, math.Inf(2*rng.IntN(2)-1))
	}
	return p
}
