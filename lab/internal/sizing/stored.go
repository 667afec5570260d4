package sizing

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"paddock/lab/internal/doors"
)

// Stored is what a day of a fleet takes on disk.
type Stored struct {
	Vehicles  int     `json:"vehicles"`
	Every     Seconds `json:"every_s"`
	Positions int64   `json:"positions"`
	Events    int64   `json:"events"`
	Bytes     int64   `json:"bytes"` // of all files after a clean end
	// PerPosition is all bytes a position, with its events and the newest records; History is that
	// of positions and visits alone.
	PerPosition float64 `json:"bytes_per_position"`
	History     float64 `json:"history_bytes_per_position"`
	PerEvent    float64 `json:"bytes_per_event"` // of JSON
}

// noise is the error of a receiver in steps of 1e-7 degrees of latitude: up to 5 m. Without it the
// past of a straight street would take next to nothing.
const noise = 450

// day stores a day of some vehicles, as fast as it is taken, and measures the files.
func (b *bench) day(ctx context.Context, every time.Duration) (err error) {
	data := filepath.Join(b.root, "data")
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	s := Stored{Vehicles: b.Day, Every: Seconds(every.Seconds())}
	b.Say("a day of %d vehicles, a position each %v", b.Day, every)
	err = b.beside(ctx, data, func(p *doors.Platform) error {
		fleets := b.places.Fleets(b.Day, min(conns, b.Day))
		for _, f := range fleets {
			f.Noise, f.First, f.Every = noise, time.Now().Add(-day).UnixMilli(), every.Milliseconds()
		}
		w, err := newSender(doors.Wire, 0).Wire(ctx, p.Wire, fleets, doors.Load{Positions: b.Day, Times: int(day / every)})
		if err != nil {
			return err
		}
		r, err := p.Read(ctx)
		s.Positions, s.Events = w.Positions, r.Events
		return err
	})
	if err != nil {
		return err
	}
	if _, s.Bytes, err = doors.Files(data); err != nil {
		return err
	}
	err = b.beside(ctx, data, func(p *doors.Platform) error { // which has all of it in files now
		counters, err := p.Counters(ctx)
		s.History = counters["paddock_history_bytes"] / float64(s.Positions)
		s.PerEvent = counters["paddock_event_log_bytes"] / max(counters["paddock_event_log_records"], 1)
		return err
	})
	if err != nil {
		return err
	}
	s.PerPosition = float64(s.Bytes) / float64(s.Positions)
	b.Say("  %.1f bytes a position, %.1f of them history", s.PerPosition, s.History)
	b.report.Stored = append(b.report.Stored, s)
	return nil
}
