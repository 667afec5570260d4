package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// Erase removes all positions and visits of an object, and reports whether there were any. When it
// returns they stay away, even after a loss of power. Run must be running.
func (h *History) Erase(ctx context.Context, o Object) (erased bool, err error) {
	if err := h.Settle(ctx); err != nil {
		return false, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	object := o.name()
	maps.DeleteFunc(h.open, func(s slot, _ *opened) bool { return s.object() == object })
	for s := range h.gathered {
		if s.object() == object {
			erased = true
			h.drop(s)
		}
	}
	if err := h.store(); err != nil { // no record that holds them is read again
		return false, err
	}
	remove, err := h.visitsOf(o)
	if err != nil {
		return false, err
	}
	_, err = h.j.Get(lastDays + object)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return false, err
	}
	erased = erased || err == nil || len(remove) > 0
	days, err := h.daysWith(nil, dayOf(math.MinInt64), dayOf(math.MaxInt64))
	if err != nil {
		return false, err
	}
	for _, number := range days {
		remove = append(remove, within(ofDay(fragments, number, object)), within(ofDay(blocks, number, object)))
	}
	remove = append(remove, journal.Only(lastDays+object))
	delete(h.known, object)
	for len(remove) > 0 {
		n := min(len(remove), batchValues)
		if err := h.j.Change(remove[:n]); err != nil {
			return false, err
		}
		remove = remove[n:]
	}
	if err := h.j.Put(progressValue("records", h.stored.Load())); err != nil { // waits for the disk
		return false, err
	}
	h.o.Logger.Info("the history of an object was erased", "fleet", o.Fleet, "object", o.ID)
	return erased, nil
}

// Trim removes the days before a time, and the oldest days while the rest takes more than a number
// of bytes, which size estimates for a span. Zeros: no bound.
func (h *History) Trim(before time.Time, most uint64, size func(journal.Span) (uint64, error)) error {
	days, err := h.days(dayOf(math.MinInt64), dayOf(math.MaxInt64))
	if err != nil {
		return err
	}
	first := int64(math.MinInt64)
	if !before.IsZero() {
		first = dayOf(track.MillisOf(before))
	}
	for i := 0; most > 0 && i < len(days)-1; i++ { // the last day stays
		if days[i] < first {
			continue
		}
		n, err := sizeFrom(days[i], size)
		if err != nil {
			return err
		}
		if n <= most {
			break
		}
		first = days[i+1]
	}
	if len(days) > 0 && days[0] < first {
		return h.removeBefore(first)
	}
	return h.j.Change([]journal.Span{endedBefore(first)})
}

// sizeFrom returns the bytes of the positions from a day on.
func sizeFrom(number int64, size func(journal.Span) (uint64, error)) (uint64, error) {
	total := uint64(0)
	for _, kind := range []string{blocks, fragments} {
		n, err := size(journal.Span{From: ofDay(kind, number, ""), To: journal.PrefixEnd(kind)})
		if err != nil {
			return 0, fmt.Errorf("the size of the history: %w", err)
		}
		total += n
	}
	return total, nil
}

// Span returns the names of everything that a history stores.
func Span() journal.Span { return journal.Span{From: blocks, To: journal.PrefixEnd(visiting)} }

// removeBefore removes everything of earlier days, and the open visits of objects that have no
// later ones: without an exit, as by a rule that tells of enters alone, they would stay for ever.
func (h *History) removeBefore(first int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	remove := []journal.Span{endedBefore(first)}
	for _, kind := range []string{blocks, fragments} {
		remove = append(remove, journal.Span{From: kind, To: ofDay(kind, first, "")})
	}
	if err := h.j.Change(remove); err != nil {
		return err
	}
	maps.DeleteFunc(h.open, func(s slot, _ *opened) bool { return s.day() < first })
	clear(h.current)
	for s := range h.gathered {
		if s.day() < first {
			h.drop(s)
		}
	}
	var gone []journal.Span
	objects := map[string]bool{} // of which nothing is left
	err := h.j.Values(lastDays, "", func(v journal.Value) error {
		if last, _, ok := cutNumber(string(v.Bytes)); !ok || last < first {
			gone = append(gone, journal.Only(v.Name))
			delete(h.known, v.Name[len(lastDays):])
			objects[v.Name[len(lastDays):]] = true
		}
		return nil
	})
	for s := range h.gathered {
		delete(objects, s.object())
	}
	if err == nil && len(objects) > 0 {
		err = h.j.Values(visiting, "", func(stored journal.Value) error {
			if v, err := parseVisit(stored); err == nil && dayOf(v.Begin) < first && objects[v.Object.name()] {
				gone = append(gone, journal.Only(stored.Name))
			}
			return nil
		})
	}
	for len(gone) > 0 && err == nil {
		n := min(len(gone), batchValues)
		err = h.j.Change(gone[:n])
		gone = gone[n:]
	}
	return err
}
