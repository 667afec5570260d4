package durable

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

// places are the fences that vehicles move among.
type places struct {
	subject string // the sets, in words
	largest *fence.Snapshot
}

// readPlaces reads the sets of a directory.
func readPlaces(dir string) (*places, error) {
	catalog, _, err := fence.LoadDir(os.DirFS(dir), fence.Options{})
	if err != nil {
		return nil, err
	}
	p := &places{}
	var names []string
	fences := 0
	for set := range catalog.All() {
		set.Settle()
		snap := set.Snapshot()
		if snap.Len() == 0 {
			continue
		}
		if names = append(names, set.Name()); p.largest == nil || snap.Len() > p.largest.Len() {
			p.largest = snap
		}
		fences += snap.Len()
	}
	if p.largest == nil {
		return nil, fmt.Errorf("%s has no fences", dir)
	}
	p.subject = fmt.Sprintf("%d sets, %s fences (%s)", len(names), figure.Count(int64(fences)), strings.Join(names, ", "))
	return p, nil
}

// vehicle is an object that drives up and down a street of 2 km.
type vehicle struct {
	id         string
	lon, lat   int32 // in steps of the grid
	dLon, dLat int32
	leg        int
	time       int64 // of its last position
}

// fleet is the vehicles of one connection. It belongs to one goroutine.
type fleet struct {
	vehicles []vehicle
	next     int
}

// fleets deals vehicles to connections. The same numbers give the same vehicles.
func (p *places) fleets(vehicles, conns int) []*fleet {
	random := rand.New(rand.NewPCG(uint64(vehicles), 1))
	all := make([]*fleet, conns)
	for i := range all {
		all[i] = &fleet{}
	}
	for i := range vehicles {
		f := all[i%conns]
		f.vehicles = append(f.vehicles, p.vehicle(fmt.Sprintf("vehicle-%d", i), random))
	}
	return all
}

// vehicle returns a vehicle that starts in a fence of the largest set.
func (p *places) vehicle(id string, random *rand.Rand) vehicle {
	box := p.largest.Bounds()
	var lon, lat float64
	var found []fence.Ref
	for range tries {
		lon = box.MinLon + random.Float64()*(box.MaxLon-box.MinLon)
		lat = box.MinLat + random.Float64()*(box.MaxLat-box.MinLat)
		if found = p.largest.Append(found[:0], lon, lat); len(found) > 0 {
			break
		}
	}
	heading := random.Float64() * 2 * math.Pi
	lon, lat = min(max(lon, -margin-90), margin+90), min(max(lat, -margin), margin)
	v := vehicle{id: id, lon: int32(lon * grid), lat: int32(lat * grid), leg: random.IntN(legs)}
	v.dLat = int32(stride * math.Cos(heading) * grid)
	v.dLon = int32(stride * math.Sin(heading) / math.Max(0.1, math.Cos(lat*math.Pi/180)) * grid)
	return v
}

// step moves the next vehicle. Its position is later than the one before, and as late as now if the
// vehicle does not report more than once in a millisecond.
func (f *fleet) step(now int64, out *position.Position) {
	v := &f.vehicles[f.next]
	if f.next++; f.next == len(f.vehicles) {
		f.next = 0
	}
	if v.leg++; v.leg == legs {
		v.leg, v.dLon, v.dLat = 0, -v.dLon, -v.dLat
	}
	v.lon += v.dLon
	v.lat += v.dLat
	v.time = max(now, v.time+1)
	*out = position.Position{ID: v.id, Time: v.time, Lon: float64(v.lon) / grid, Lat: float64(v.lat) / grid}
}

func millis() int64 { return time.Now().UnixMilli() }
