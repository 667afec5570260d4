package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/journal"
)

const (
	// maxUnstored bounds the memory for positions that a crash has left in records, in bytes: some
	// ten million.
	maxUnstored = 256 << 20
	// visitsPart is the number of visits that are read at once.
	visitsPart = 1000
)

// Stored is the past in a journal that no platform uses. Nothing is written.
type Stored struct {
	j *journal.Overlay
	h *history.History
}

// OpenStored returns the past in a journal, which Close closes. What a crash has left in records is
// part of it.
func OpenStored(ctx context.Context, j journal.Journal, log *slog.Logger) (_ *Stored, err error) {
	s := &Stored{}
	if s.j, err = journal.NewOverlay(j, maxUnstored); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	if s.h, err = history.Open(history.Options{Journal: s.j, Logger: log}); err == nil {
		err = s.h.Close(ctx)
	}
	if errors.Is(err, journal.ErrOverlay) {
		err = fmt.Errorf("the history is far behind the records: start the platform with this directory once, so that it catches up: %w", err)
	}
	if err != nil {
		return nil, errors.Join(err, s.j.Close())
	}
	return s, ctx.Err()
}

// Positions implements [Source].
func (s *Stored) Positions(ctx context.Context, q Query, f func(history.Object, []history.Fix) error) error {
	return s.h.Walk(ctx, history.Object{Fleet: q.Fleet, ID: q.Object}, q.From, q.To, f)
}

// Visits implements [Source].
func (s *Stored) Visits(ctx context.Context, q Query, f func([]history.Visit) error) error {
	query := history.VisitQuery{Fleet: q.Fleet, ID: q.Object, From: q.From, To: q.To, Limit: visitsPart}
	for {
		found, next, err := s.h.Visits(ctx, query)
		if err == nil {
			err = f(found)
		}
		if err != nil || next == "" {
			return err
		}
		query.After = next
	}
}

// Events implements [Source].
func (s *Stored) Events(ctx context.Context, _ Query, f func([]byte) error) error {
	return s.j.Pieces(0, func(p journal.Piece) error {
		if p.Gap {
			return ctx.Err()
		}
		rest := p.Events
		for range p.Count {
			r, after, err := events.ParseRecord(rest)
			if err == nil {
				err = f(r.JSON.Bytes())
			}
			if err != nil {
				return err
			}
			rest = after
		}
		return ctx.Err()
	})
}

// Close implements [Source].
func (s *Stored) Close() error { return s.j.Close() }
