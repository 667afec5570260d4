package history

import (
	"context"
	"math"
	"testing"

	"paddock/fence/track"
	"paddock/internal/city"
	"paddock/internal/platform/journal"
)

// readings counts the walks over a journal.
type readings struct {
	journal.Journal
	records, pieces int
}

func (r *readings) Records(from uint64, f func(uint64, []byte) error) error {
	r.records++
	return r.Journal.Records(from, f)
}

func (r *readings) Pieces(from uint64, f func(journal.Piece) error) error {
	r.pieces++
	return r.Journal.Pieces(from, f)
}

// What fits into the feed is not read from the journal again, and the rest is.
func TestFeed(t *testing.T) {
	j := &readings{Journal: journal.NewMemory()}
	s := newSource(t, j, zone(city.Fix{Lon: 1, Lat: 1}, 0.5))
	h, err := Open(Options{Journal: j})
	ok(t, err)
	settled(t, h) // the records from before
	s.reader.Store(h)
	sent := 0
	send := func(batches int) {
		for range batches {
			var batch []track.Position
			for range 4 {
				sent++
				batch = append(batch, track.Position{Fleet: fleetName, ID: "v", Time: track.Millis(sent) * 1000, Lon: float64(sent % 2), Lat: 1})
			}
			s.send(batch...)
		}
	}
	check := func(why string, records, pieces int) {
		t.Helper()
		j.records, j.pieces = 0, 0
		settled(t, h)
		if j.records != records || j.pieces != pieces {
			t.Errorf("%s: the journal was read %d times for records, %d times for events", why, j.records, j.pieces)
		}
		if got := trackOf(t, h, "v"); len(got) != sent || got[0].Lon != 1 || got[1].Lon != 0 {
			t.Errorf("%s: %d fixes of %d", why, len(got), sent)
		}
		visits, _, err := h.Visits(context.Background(), VisitQuery{To: math.MaxInt64, Limit: 1000})
		if err != nil || len(visits) != sent/2 || visits[0].End != 1500 || visits[0].ID() != "city/v/1" || visits[0].Reason != "move" {
			t.Errorf("%s: %v, %d visits", why, err, len(visits))
		}
	}
	send(3)
	check("all fits", 0, 0)
	h.positions.bound, h.visits.bound = 9, 9
	send(5)
	check("two fit", 1, 1)
	send(2)
	check("all fits again", 0, 0)
	h.Applied(1, 0, [][]track.Position{{{ID: "x"}}}) // was read before
	send(1)
	check("one comes late", 0, 0)
	if _, _, ok := h.positions.pop(1 << 40); ok || h.positions.size != 0 || h.visits.size != 0 {
		t.Errorf("%d and %d are left", h.positions.size, h.visits.size)
	}
}
