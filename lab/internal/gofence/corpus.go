// Package gofence reproduces the benchmark of gofence: its bodies, its load and its profile table,
// with its published figures beside ours.
//
// A [Corpus] holds the bodies, [ProfileRun] makes the load and takes the profile, [Attribute]
// divides it among [Bucket]s, and [ProfileReport] is the table. The service is a process.Server.
package gofence

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strconv"

	"paddock/fence/geometry"
)

// The size of the original's corpus: so many bodies, each three times. Positions
// are as many as there are (1,962 of the city's buses), ride requests are the rest.
const (
	corpusDistinct = 12_430
	corpusRounds   = 3
)

// Ride requests are sums of four uniform draws of up to rideReach around a
// position, in millionths of a degree: half a kilometre off, as a rule.
const (
	rideReach = 4_000
	rideDraws = 4
)

// maxPositionFile bounds a file of positions, in bytes.
const maxPositionFile = 256 << 20

// ErrNoPositions is wrapped by the error for a directory without point Features.
var ErrNoPositions = errors.New("no point Feature")

// Corpus holds the bodies of the benchmark of gofence: GeoJSON point Features, each on one line, in
// the order in which they are posted. Positions of vehicles are taken from the data; ride requests
// are generated around them. The same files give the same corpus on every machine.
type Corpus struct {
	Bodies    [][]byte
	Positions []geometry.Point // of the vehicles among them, once each; the others are ride requests
}

// place is a point in millionths of a degree.
type place struct{ lon, lat int64 }

// ReadCorpus makes the corpus of the point Features in the *json files of a
// directory, by name and then in their order; those with a radius are fences, and
// left out. Without any, the error wraps [ErrNoPositions].
func ReadCorpus(fsys fs.FS) (*Corpus, error) {
	files, err := fs.Glob(fsys, "*json")
	if err != nil {
		return nil, err
	}
	var positions [][]byte
	var around []place
	for _, file := range files {
		bodies, places, err := readPositions(fsys, file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		positions, around = append(positions, bodies...), append(around, places...)
	}
	if len(positions) == 0 {
		return nil, fmt.Errorf("the *json files of the directory: %w", ErrNoPositions)
	}
	return newCorpus(positions, around), nil
}

// newCorpus adds the ride requests and mixes everything.
func newCorpus(positions [][]byte, around []place) *Corpus {
	d := dice{rand.NewPCG(0x676f66656e6365, 37_290)}
	c := &Corpus{}
	bodies := slices.Clip(positions[:min(len(positions), corpusDistinct)])
	for i := range bodies {
		c.Positions = append(c.Positions, geometry.Point{Lon: float64(around[i].lon) / 1e6, Lat: float64(around[i].lat) / 1e6})
	}
	for n := 1; len(bodies) < corpusDistinct; n++ {
		bodies = append(bodies, rideRequest(n, around[d.below(len(around))].off(d)))
	}
	for i := len(bodies) - 1; i > 0; i-- {
		j := d.below(i + 1)
		bodies[i], bodies[j] = bodies[j], bodies[i]
	}
	for range corpusRounds {
		c.Bodies = append(c.Bodies, bodies...)
	}
	return c
}

// ParseCorpus takes a text with one body a line; empty lines count for nothing.
func ParseCorpus(text []byte) (*Corpus, error) {
	c := &Corpus{}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.Bodies = append(c.Bodies, line)
		}
	}
	if len(c.Bodies) == 0 {
		return nil, errors.New("no bodies")
	}
	return c, nil
}

// Text is the corpus with one body a line, as wrk's script reads it.
func (c *Corpus) Text() []byte { return append(bytes.Join(c.Bodies, []byte("\n")), '\n') }

// Digest is the SHA-256 of Text, in hexadecimal digits: two runs with the same one
// have posted the same.
func (c *Corpus) Digest() string {
	sum := sha256.Sum256(c.Text())
	return hex.EncodeToString(sum[:])
}

// Named says in a report which corpus it was.
func (c *Corpus) Named() *CorpusName {
	return &CorpusName{Bodies: len(c.Bodies), SHA256: c.Digest()}
}

// Points are where the bodies are, in their order, for requests that say nothing else.
func (c *Corpus) Points() ([]geometry.Point, error) {
	points := make([]geometry.Point, 0, len(c.Bodies))
	for i, body := range c.Bodies {
		var feature struct {
			Geometry struct{ Coordinates []float64 } `json:"geometry"`
		}
		if err := json.Unmarshal(body, &feature); err != nil {
			return nil, fmt.Errorf("body %d: %w", i+1, err)
		}
		at := feature.Geometry.Coordinates
		if len(at) < 2 {
			return nil, fmt.Errorf("body %d is no point Feature", i+1)
		}
		points = append(points, geometry.Point{Lon: at[0], Lat: at[1]})
	}
	return points, nil
}

// readPositions gives the point Features of one file, each compacted to one line.
func readPositions(fsys fs.FS, file string) ([][]byte, []place, error) {
	if info, err := fs.Stat(fsys, file); err == nil && info.Size() > maxPositionFile {
		return nil, nil, fmt.Errorf("%d bytes are more than %d", info.Size(), maxPositionFile)
	}
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, nil, err
	}
	var collection struct {
		Features []json.RawMessage `json:"features"`
	}
	if err := json.Unmarshal(text, &collection); err != nil {
		return nil, nil, err
	}
	var bodies [][]byte
	var places []place
	for _, raw := range collection.Features {
		at, ok := pointOf(raw)
		if !ok {
			continue
		}
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return nil, nil, err
		}
		bodies, places = append(bodies, line.Bytes()), append(places, at)
	}
	return bodies, places, nil
}

// pointOf is where a Feature's point is; not ok if it has none, or is a circle.
func pointOf(raw json.RawMessage) (place, bool) {
	var feature struct {
		Geometry   struct{ Type string } `json:"geometry"`
		Properties struct{ Radius any }  `json:"properties"`
	}
	if json.Unmarshal(raw, &feature) != nil || feature.Geometry.Type != "Point" || feature.Properties.Radius != nil {
		return place{}, false
	}
	var point struct {
		Geometry struct{ Coordinates []float64 } `json:"geometry"`
	}
	if json.Unmarshal(raw, &point) != nil || len(point.Geometry.Coordinates) < 2 {
		return place{}, false
	}
	at := point.Geometry.Coordinates
	return place{int64(math.Round(at[0] * 1e6)), int64(math.Round(at[1] * 1e6))}, true
}

// off is a place near p.
func (p place) off(d dice) place {
	for range rideDraws {
		p.lon += int64(d.below(2*rideReach+1)) - rideReach
		p.lat += int64(d.below(2*rideReach+1)) - rideReach
	}
	return place{min(max(p.lon, -180e6), 180e6), min(max(p.lat, -90e6), 90e6)}
}

// rideRequest is the body of one, about as long as that of a position.
func rideRequest(n int, at place) []byte {
	b := fmt.Appendf(nil, `{"type":"Feature","properties":{"request":"ride %05d","riders":%d,"ts":"2016-03-12T11:%02d:%02d.000-05:00"},`,
		n, 1+n%4, n/60%60, n%60)
	b = append(b, `"geometry":{"type":"Point","coordinates":[`...)
	b = appendDegrees(b, at.lon)
	b = append(b, ',')
	b = appendDegrees(b, at.lat)
	return append(b, "]}}"...)
}

// appendDegrees writes millionths with six decimals, from integers alone.
func appendDegrees(b []byte, millionths int64) []byte {
	if millionths < 0 {
		b, millionths = append(b, '-'), -millionths
	}
	b = strconv.AppendInt(b, millionths/1e6, 10)
	return fmt.Appendf(b, ".%06d", millionths%1e6)
}

// dice draws by a generator whose stream is defined, and by integers only, so that
// a release of Go changes nothing.
type dice struct{ *rand.PCG }

// below is 0 to n-1.
func (d dice) below(n int) int {
	high, _ := bits.Mul64(d.Uint64(), uint64(n))
	return int(high)
}
