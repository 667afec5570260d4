package history

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// sampleOf reads all pages of a sample, each with at least one object.
func sampleOf(t *testing.T, h *History, q Sampling) (all []Series) {
	t.Helper()
	for {
		next, err := h.Sample(context.Background(), q, func(s Series) {
			s.Fixes = slices.Clone(s.Fixes)
			all = append(all, s)
		})
		ok(t, err)
		if next == "" {
			return all
		}
		if len(all) == 0 || next < all[len(all)-1].Key() {
			t.Fatalf("the page after %q ends with %q", q.After, next)
		}
		q.After = next
	}
}

// bruteSample is a sample of all fixes of some objects.
func bruteSample(fixes map[Object][]Fix, q Sampling) (all []Series) {
	for o, list := range fixes {
		if q.Object.Fleet != "" && q.Object.Fleet != o.Fleet || q.Object.ID != "" && q.Object.ID != o.ID || q.Sees != nil && !q.Sees(o.Fleet) {
			continue
		}
		s, in, taken := Series{Object: o}, false, map[track.Millis]bool{}
		for i, f := range list {
			behind := i+1 == len(list) || list[i+1].Time >= q.From
			last := f.Time < q.From && f.Time >= q.From-q.Back && behind
			if !last && (f.Time < q.From || f.Time >= q.To) {
				continue
			}
			in = in || q.In == nil || q.In(f.Lon, f.Lat)
			interval := f.Time
			if q.Every > 0 {
				interval -= f.Time % q.Every
			}
			if !last && taken[interval] {
				continue
			}
			taken[interval] = !last
			s.Fixes = append(s.Fixes, f)
		}
		if in && len(s.Fixes) > 0 {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b Series) int { return cmp.Compare(a.Key(), b.Key()) })
	return all
}

// TestSample: samples are those of brute force, whether positions are gathered, in fragments or in
// blocks, with any bound of a page.
func TestSample(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := newSource(t, journal.NewMemory())
	h, err := Open(Options{Journal: s.j})
	ok(t, err)
	begin := track.Millis(20_000)*day - 3*hour // the time passes midnight
	fixes := map[Object][]Fix{}
	objects := []Object{{"city", "a"}, {"city", "b"}, {"city", "c\x00d"}, {"cit", "ya"}, {"taxi", "a"}, {"taxi", "z"}}
	for n := range 2500 {
		var batch []track.Position
		for i, o := range objects {
			if r.IntN(3) > 0 || n/100%(i+2) == 1 {
				continue // gaps, of some minutes each
			}
			at := begin + track.Millis(n)*8_000 + track.Millis(r.IntN(8_000))
			batch = append(batch, track.Position{Fleet: o.Fleet, ID: o.ID, Lon: 10 * r.Float64(), Lat: float64(i), Time: at})
			fixes[o] = append(fixes[o], Fix{Time: at, Lon: batch[len(batch)-1].Lon, Lat: float64(i)})
		}
		s.send(batch...)
		if n == 800 || n == 1600 {
			settled(t, h)
			if n == 800 {
				merged(t, h)
			} else {
				h.mu.Lock()
				ok(t, h.store())
				h.mu.Unlock()
			}
		}
	}
	settled(t, h)
	found, pages := 0, 0
	for n := range 400 {
		from := begin + track.Millis(r.Int64N(int64(6*hour)))
		q := Sampling{
			From: from, To: from + track.Millis(r.Int64N(int64(hour))), Every: []track.Millis{0, 1000, 10_000, 60_000}[r.IntN(4)],
			Back: track.Millis(r.Int64N(900_000)), Limit: []int{1, 200, 100_000}[r.IntN(3)],
		}
		switch r.IntN(4) {
		case 0:
			q.Object = objects[r.IntN(len(objects))]
		case 1:
			q.Object.Fleet = "city"
		case 2:
			q.Object.ID = "a"
			q.Sees = func(fleet string) bool { return fleet != "taxi" }
		}
		if r.IntN(2) == 0 {
			w := 10 * r.Float64()
			q.In = func(lon, lat float64) bool { return lon >= w && lon < w+0.3 && lat < 3 }
		}
		want, got := bruteSample(fixes, q), sampleOf(t, h, q)
		for _, list := range got {
			for i := range list.Fixes {
				list.Fixes[i].Arrived = 0
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("sample %d, %+v: %d objects, want %d\n%v\n%v", n, q, len(got), len(want), got, want)
		}
		found += len(got)
		if q.Limit == 1 {
			pages++
		}
	}
	if found < 400 || pages < 50 {
		t.Fatalf("%d objects found, %d samples with pages", found, pages)
	}
}

// A sample of no time, or of an empty history, has no object.
func TestSampleOfNoTime(t *testing.T) {
	h, err := Open(Options{Journal: journal.NewMemory()})
	ok(t, err)
	for _, q := range []Sampling{{From: 5, To: 5, Limit: 1}, {From: 5, To: 5, Back: 5, Limit: 1}, {From: 0, To: 100 * day, Limit: 1}} {
		next, err := h.Sample(context.Background(), q, func(s Series) { t.Errorf("%+v: %+v", q, s) })
		if ok(t, err); next != "" {
			t.Errorf("%+v: next %q", q, next)
		}
	}
}
