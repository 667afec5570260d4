package history

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/city"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/views"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// source is a pipeline that writes a journal, without a history.
type source struct {
	testing.TB
	j journal.Journal
	p *ingest.Pipeline

	// reader is the history that the pipeline feeds, and whose records stay in the journal. Nil:
	// none, and all stay.
	reader atomic.Pointer[History]
}

// Applied and Committed implement [ingest.Follower].
func (s *source) Applied(number uint64, at track.Millis, batches [][]track.Position) {
	if h := s.reader.Load(); h != nil {
		h.Applied(number, at, batches)
	}
}

func (s *source) Committed(first uint64, records []events.Record) {
	if h := s.reader.Load(); h != nil {
		h.Committed(first, records)
	}
}

// needed is Config.Needed of the pipeline.
func (s *source) needed() uint64 {
	if h := s.reader.Load(); h != nil {
		return h.Needed()
	}
	return 1
}

type discard struct{}

func (discard) Publish([]events.Record) {}

// fleetName is the fleet of all objects of these tests.
const fleetName = "city"

func newSource(t testing.TB, j journal.Journal, fences ...fence.Fence) *source {
	t.Helper()
	catalog := &fence.Catalog{}
	if len(fences) > 0 {
		set, err := fence.NewSet("zones", fence.Options{})
		ok(t, err)
		_, err = set.Replace(&geojson.Collection{Fences: fences})
		ok(t, err)
		ok(t, catalog.Add(set))
	}
	kept, err := views.Open(views.Options{Catalog: catalog, Journal: j})
	ok(t, err)
	s := &source{TB: t, j: j}
	p, err := ingest.Open(t.Context(), ingest.Config{
		Journal: j, Fences: kept, Track: track.Options{Initial: track.InitialEnter}, Needed: s.needed, Follower: s,
	})
	ok(t, err)
	s.p = p
	p.Start(discard{})
	ok(t, p.Settle())
	t.Cleanup(func() { p.Close(context.Background()) })
	return s
}

func (s *source) send(positions ...track.Position) {
	s.Helper()
	if _, err := s.p.Submit(context.Background(), &ingest.Batch{Positions: positions}); err != nil {
		s.Fatal(err)
	}
}

// settled follows the journal to its end.
func settled(t testing.TB, h *History) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = h.step()
		ok(t, err)
	}
}

// merged makes blocks of all fragments.
func merged(t testing.TB, h *History) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	ok(t, h.store())
	for s := range h.open {
		ok(t, h.mergeHour(s))
	}
}

// trackOf returns all fixes of an object, whose times must increase.
func trackOf(t testing.TB, h *History, id string) (all []Fix) {
	t.Helper()
	last := track.Millis(math.MinInt64)
	ok(t, h.Track(context.Background(), Object{fleetName, id}, math.MinInt64, math.MaxInt64, func(fixes []Fix) bool {
		for _, f := range fixes {
			if f.Time <= last {
				t.Errorf("%s: %d behind %d", id, f.Time, last)
			}
			last = f.Time
		}
		all = append(all, fixes...)
		return true
	}))
	return all
}

// objectsAt returns a page of the objects at a time.
func objectsAt(t testing.TB, h *History, at track.Millis, q Query) (found []Past, next string) {
	t.Helper()
	next, err := h.At(context.Background(), at, q, func(p Past) bool {
		found = append(found, p)
		return true
	})
	ok(t, err)
	return found, next
}

// zone is a square fence in the middle of the city.
func zone(center city.Fix, half float64) fence.Fence {
	w, s, e, n := center.Lon-half, center.Lat-half, center.Lon+half, center.Lat+half
	return fence.Fence{Key: "middle", ID: []byte(`"middle"`), Geometry: geometry.MultiPolygon{{{{Lon: w, Lat: s}, {Lon: e, Lat: s}, {Lon: e, Lat: n}, {Lon: w, Lat: n}}}}}
}

// drive is a day of a city's vehicles, and what it should leave behind, recorded by the test alone.
type drive struct {
	vehicles int
	step     time.Duration
	begin    track.Millis
	middle   city.Fix // of the fence
	half     float64

	sums  []hash.Hash64 // of each vehicle's fixes, in order
	count []int
	noon  []city.Fix
	turns [][]turn // entries and exits
	ids   []string
}

// turn is an entry or an exit between two fixes.
type turn struct{ after, until track.Millis }

// newDrive returns yesterday: of few vehicles with a fix in 20 s, or of as many as the environment
// says, with a fix a second.
func newDrive() *drive {
	d := &drive{vehicles: 4, step: 20 * time.Second, half: 0.01}
	if n, err := strconv.Atoi(os.Getenv("PADDOCK_HISTORY_DAY")); err == nil && n > 1 {
		d.vehicles, d.step = n, time.Second
	}
	d.begin = track.Millis(dayOf(track.MillisOf(time.Now()))-1) * day
	return d
}

func (d *drive) steps() int { return int(time.Duration(24) * time.Hour / d.step) }

// fleet returns the vehicles at the beginning of the day.
func (d *drive) fleet() *city.Fleet {
	return city.New(city.Config{Seed: 4, Districts: 200, Vehicles: d.vehicles}).Fleet()
}

// sum adds a fix to a hash: everything but the arrival.
func sum(h hash.Hash64, at track.Millis, lon, lat float64, speed, heading, accuracy float32) {
	var b [36]byte
	binary.LittleEndian.PutUint64(b[:], uint64(at))
	binary.LittleEndian.PutUint64(b[8:], math.Float64bits(lon))
	binary.LittleEndian.PutUint64(b[16:], math.Float64bits(lat))
	for i, v := range []float32{speed, heading, accuracy} {
		binary.LittleEndian.PutUint32(b[24+4*i:], math.Float32bits(v))
	}
	_, _ = h.Write(b[:])
}

func (d *drive) inside(f *city.Fix) bool {
	return math.Abs(f.Lon-d.middle.Lon) < d.half && math.Abs(f.Lat-d.middle.Lat) < d.half
}

// play sends the whole day, step by step. The first vehicle sends some fixes an hour late, and the
// second one some of them twice, with another place.
func (d *drive) play(s *source, fleet *city.Fleet, behind func()) {
	d.turns, d.ids = make([][]turn, d.vehicles), make([]string, d.vehicles)
	d.noon, d.count = make([]city.Fix, d.vehicles), make([]int, d.vehicles)
	for range d.vehicles {
		d.sums = append(d.sums, xxhash.New())
	}
	var fixes []city.Fix
	var late []track.Position
	inside, last := make([]bool, d.vehicles), make([]track.Millis, d.vehicles)
	for n := range d.steps() {
		at := d.begin + track.Millis(n)*track.Millis(d.step.Milliseconds())
		fixes = fleet.Step(d.step, fixes[:0])
		batch := make([]track.Position, 0, d.vehicles+1)
		for i := range fixes {
			f := &fixes[i]
			d.ids[i] = f.ID
			sum(d.sums[i], at, f.Lon, f.Lat, float32(f.Speed), float32(f.Heading), float32(f.Accuracy))
			d.count[i]++
			if at <= d.begin+day/2 {
				d.noon[i] = *f
			}
			p := track.Position{
				Fleet: fleetName, ID: f.ID, Lon: f.Lon, Lat: f.Lat, Time: at,
				Speed: track.Measured(f.Speed), Heading: track.Measured(f.Heading), Accuracy: track.Measured(f.Accuracy),
			}
			if i == 0 && n%7 == 3 {
				late = append(late, p)
				continue
			}
			batch = append(batch, p)
			if is := d.inside(f); is != inside[i] {
				d.turns[i] = append(d.turns[i], turn{last[i], at})
				inside[i] = is
			}
			if last[i] = at; i == 1 && n%5 == 0 {
				p.Lon++
				batch = append(batch, p)
			}
		}
		if len(late) > 0 && (late[0].Time < at-hour || n == d.steps()-1) {
			batch = append(batch, late...)
			late = nil
		}
		s.send(batch...)
		behind()
	}
}

// verify compares a history with the day.
func (d *drive) verify(t testing.TB, h *History) {
	t.Helper()
	ctx := context.Background()
	for i, id := range d.ids {
		read, n := xxhash.New(), 0
		ok(t, h.Track(ctx, Object{fleetName, id}, d.begin, d.begin+day, func(fixes []Fix) bool {
			for _, f := range fixes {
				sum(read, f.Time, f.Lon, f.Lat, f.Speed.Value, f.Heading.Value, f.Accuracy.Value)
			}
			n += len(fixes)
			return true
		}))
		if n != d.count[i] || read.Sum64() != d.sums[i].Sum64() {
			t.Errorf("%s: %d fixes of %d, or others", id, n, d.count[i])
		}
		d.verifyVisits(t, h, i)
	}
	found, next := objectsAt(t, h, d.begin+day/2, Query{Limit: d.vehicles})
	if len(found) != d.vehicles || next != "" {
		t.Fatalf("%d objects at noon, %q", len(found), next)
	}
	noon := map[string]city.Fix{}
	for i := range d.noon {
		noon[d.noon[i].ID] = d.noon[i]
	}
	for _, p := range found {
		if f := noon[p.ID]; p.Lon != f.Lon || p.Lat != f.Lat {
			t.Errorf("%s is at %v %v at noon, want %v %v", p.ID, p.Lon, p.Lat, f.Lon, f.Lat)
		}
	}
}

// verifyVisits compares the visits of a vehicle with its turns: entry, exit, entry and so on.
func (d *drive) verifyVisits(t testing.TB, h *History, i int) {
	t.Helper()
	found, _, err := h.Visits(context.Background(), VisitQuery{ID: d.ids[i], From: math.MinInt64, To: math.MaxInt64, Limit: 1e6})
	ok(t, err)
	turns := d.turns[i]
	if len(found) != (len(turns)+1)/2 {
		t.Errorf("%s: %d visits, want those of %d turns", d.ids[i], len(found), len(turns))
		return
	}
	for n, v := range found {
		if begun := turns[2*n]; v.Begin < begun.after || v.Begin > begun.until || v.Fence != "middle" || v.Set != "zones" {
			t.Errorf("%s: visit %+v, want the entry %+v", d.ids[i], v, begun)
		}
		if open := 2*n+1 == len(turns); v.Open != open {
			t.Errorf("%s: visit %+v is the last: %v", d.ids[i], v, open)
		} else if !open && (v.End < turns[2*n+1].after || v.End > turns[2*n+1].until) {
			t.Errorf("%s: visit %+v, want the exit %+v", d.ids[i], v, turns[2*n+1])
		}
	}
}

// describe returns what a history holds of some objects, as text.
func describe(t testing.TB, h *History, ids ...string) string {
	t.Helper()
	text := ""
	for _, id := range ids {
		for _, f := range trackOf(t, h, id) {
			text += fmt.Sprintf("%s %d %v %v %s\n", id, f.Time, f.Lon, f.Lat, f.Props)
		}
	}
	visits, _, err := h.Visits(context.Background(), VisitQuery{From: math.MinInt64, To: math.MaxInt64, Limit: 1e6})
	ok(t, err)
	for _, v := range visits {
		text += fmt.Sprintf("%+v\n", v)
	}
	return text
}
