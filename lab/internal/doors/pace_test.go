package doors

import (
	"math"
	"testing"
	"time"

	"paddock/internal/platform/position"
	"paddock/wire"
)

// A load with a rate sends no more than that, over all connections together, and its batches have
// times from when they were due.
func TestPace(t *testing.T) {
	_, p := zones(t)
	addr := platformStub(t, func(p *wire.Posts) error {
		for range p.All() { //nolint:revive // all are taken
		}
		return nil
	})
	const conns, batch, rate = 2, 5, 200.0
	s := &Sender{Batch: batch, Window: 3}
	length := 300 * time.Millisecond
	w, err := s.Wire(t.Context(), addr, p.Fleets(100, conns), Load{Length: length, PerSecond: rate})
	if most := rate*length.Seconds() + conns*batch; err != nil || w.Positions < batch || float64(w.Positions) > most || w.Elapsed < length {
		t.Errorf("%d positions in %v, at most %g: %v", w.Positions, w.Elapsed, most, err)
	}
	w, err = s.Wire(t.Context(), addr, p.Fleets(10, conns), Load{Positions: 10, Times: 7})
	if err != nil || w.Positions != 70 {
		t.Errorf("%+v, %v: each of 10 vehicles sends seven times", w, err)
	}
}

// Vehicles of the past have the times that are asked for, and places with a bounded error.
func TestThePast(t *testing.T) {
	_, p := zones(t)
	plain, past := p.Fleets(3, 1)[0], p.Fleets(3, 1)[0]
	past.First, past.Every, past.Noise = 1_000_000, 2_000, 50
	other := 0
	for i := range 300 {
		var a, b position.Position
		plain.Step(Now(), &a)
		past.Step(Now(), &b)
		if want := int64(1_000_000 + 2_000*(i/3)); b.Time != want || a.ID != b.ID {
			t.Fatalf("position %d is of %d, want %d", i, b.Time, want)
		}
		off := math.Max(math.Abs(a.Lon-b.Lon), math.Abs(a.Lat-b.Lat)) * grid
		if off > 50.5 {
			t.Fatalf("position %d is %g steps off", i, off)
		}
		if off > 0.5 {
			other++
		}
	}
	if other < 250 {
		t.Errorf("%d of 300 have an error", other)
	}
}
