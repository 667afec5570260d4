package doors

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"paddock/fence"
	"paddock/internal/platform/position"
	"paddock/lab/internal/figure"
)

const (
	// grid is the number of steps of coordinates in a degree: positions have seven decimals.
	grid = 1e7
	// stride is the way of a vehicle from one position to the next, in degrees of latitude: 10 m.
	stride = 10 / 111_320.0
	// legs is the number of positions after which a vehicle turns round.
	legs = 200
	// margin keeps streets on the globe: latitudes of starts are at most this, and longitudes 90
	// more.
	margin = 89.0
	// tries bounds the search for a start inside a fence.
	tries = 50
)

// Places are the fences that vehicles move among.
type Places struct {
	Subject string       // the sets, in words
	Sets    []*fence.Set // that have fences
	Largest *fence.Set
}

// ReadPlaces reads the sets of a directory.
func ReadPlaces(dir string) (*Places, error) {
	catalog, _, err := fence.LoadDir(os.DirFS(dir), fence.Options{})
	if err != nil {
		return nil, err
	}
	p := &Places{}
	var names []string
	fences := 0
	for set := range catalog.All() {
		set.Settle()
		n := set.Snapshot().Len()
		if n == 0 {
			continue
		}
		p.Sets, names, fences = append(p.Sets, set), append(names, set.Name()), fences+n
		if p.Largest == nil || n > p.Largest.Snapshot().Len() {
			p.Largest = set
		}
	}
	if p.Largest == nil {
		return nil, fmt.Errorf("%s has no fences", dir)
	}
	p.Subject = fmt.Sprintf("%d sets, %s fences (%s)", len(names), figure.Count(int64(fences)), strings.Join(names, ", "))
	return p, nil
}

// Vehicle is an object that drives up and down a street of 2 km.
type Vehicle struct {
	ID         string
	lon, lat   int32 // in steps of the grid
	dLon, dLat int32
	leg        int
	time       int64 // of its last position
}

// Fleet is the vehicles of one connection. It belongs to one goroutine.
type Fleet struct {
	Name     string // "": the default one
	Vehicles []Vehicle
	// First is the time of the first position of each vehicle, and Every the one to the next, in
	// milliseconds: positions of the past. 0: they are sent when they are made.
	First, Every int64
	// Noise is the greatest error of a coordinate, in steps of 1e-7 degrees.
	Noise int32

	next   int
	random rand.PCG
}

// Fleets deals vehicles to connections. The same numbers give the same vehicles.
func (p *Places) Fleets(vehicles, conns int) []*Fleet {
	random := rand.New(rand.NewPCG(uint64(vehicles), 1))
	all := make([]*Fleet, conns)
	for i := range all {
		all[i] = &Fleet{}
	}
	for i := range vehicles {
		f := all[i%conns]
		f.Vehicles = append(f.Vehicles, p.vehicle(fmt.Sprintf("vehicle-%d", i), random))
	}
	return all
}

// vehicle returns a vehicle that starts in a fence of the largest set.
func (p *Places) vehicle(id string, random *rand.Rand) Vehicle {
	snap := p.Largest.Snapshot()
	box := snap.Bounds()
	var lon, lat float64
	var found []fence.Ref
	for range tries {
		lon = box.MinLon + random.Float64()*(box.MaxLon-box.MinLon)
		lat = box.MinLat + random.Float64()*(box.MaxLat-box.MinLat)
		if found = snap.Append(found[:0], lon, lat); len(found) > 0 {
			break
		}
	}
	heading := random.Float64() * 2 * math.Pi
	lon, lat = min(max(lon, -margin-90), margin+90), min(max(lat, -margin), margin)
	v := Vehicle{ID: id, lon: int32(lon * grid), lat: int32(lat * grid), leg: random.IntN(legs)}
	v.dLat = int32(stride * math.Cos(heading) * grid)
	v.dLon = int32(stride * math.Sin(heading) / math.Max(0.1, math.Cos(lat*math.Pi/180)) * grid)
	return v
}

// Step moves the next vehicle. Its position is later than the one before, and as late as now if the
// vehicle does not report more than once in a millisecond.
func (f *Fleet) Step(now int64, out *position.Position) {
	v := &f.Vehicles[f.next]
	if f.next++; f.next == len(f.Vehicles) {
		f.next = 0
	}
	if v.leg++; v.leg == legs {
		v.leg, v.dLon, v.dLat = 0, -v.dLon, -v.dLat
	}
	v.lon += v.dLon
	v.lat += v.dLat
	if f.Every > 0 {
		now = max(f.First, v.time+f.Every)
	}
	v.time = max(now, v.time+1)
	lon, lat := f.err(v.lon), f.err(v.lat)
	*out = position.Position{Fleet: f.Name, ID: v.ID, Time: v.time, Lon: float64(lon) / grid, Lat: float64(lat) / grid}
}

// err returns a coordinate with an error.
func (f *Fleet) err(steps int32) int32 {
	if f.Noise == 0 {
		return steps
	}
	return steps + int32(f.random.Uint64()%uint64(2*f.Noise+1)) - f.Noise
}

// Now returns the time of a position that is sent now.
func Now() int64 { return time.Now().UnixMilli() }
