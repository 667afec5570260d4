package history

import (
	"context"
	"errors"
	"math"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// Sampling selects the positions that Sample reads.
type Sampling struct {
	From, To track.Millis // positions from From on, before To
	// Every is the length of an interval, counted from 1970. Of an object's positions in one, the
	// first is kept. 0 keeps all.
	Every track.Millis
	// Back is how old the last position before From may be to be a part of the sample. 0: none is.
	Back   track.Millis
	Object Object // an empty Fleet is all fleets, an empty ID all ids
	// Sees selects fleets further. Nil: all.
	Sees func(fleet string) bool
	// In selects the objects with a position in an area: one from From on, before To, kept or not,
	// or the last one before From. Nil: all.
	In func(lon, lat float64) bool

	After string // only objects behind the one with this key, see [Object.Key]
	Limit int    // positions after which Sample ends; an object is whole
}

// Series is a part of the track of an object.
type Series struct {
	Object
	Fixes []Fix // by time, without Props; the first may be older than Sampling.From
}

const (
	// maxSampled is the number of positions after which Sample ends, counted as they are read, kept
	// or not. The next page goes on.
	maxSampled = 2_000_000
	// objectCost is what the look at an object counts, in positions.
	objectCost = 100
)

// Sample calls f for each selected object that has positions, by fleet, then id. A Series is valid
// until f returns. If more objects follow, next is the After of them. It may be given though no
// object was found.
func (h *History) Sample(ctx context.Context, q Sampling, f func(Series)) (next string, err error) {
	begin := q.From - q.Back
	if begin >= q.To {
		return "", nil
	}
	days, err := h.days(dayOf(begin), dayOf(q.To-1))
	if err != nil || len(days) == 0 {
		return "", err
	}
	prefix := lastDays
	if q.Object.Fleet != "" {
		prefix += string(appendText(nil, q.Object.Fleet))
		if q.Object.ID != "" {
			prefix += string(appendText(nil, q.Object.ID))
		}
	}
	from := prefix
	if q.After != "" {
		from = max(prefix, lastDays+q.After+"\x00")
	}
	s := sampler{q: q}
	read, kept, last := 0, 0, ""
	err = h.j.Values(prefix, from, func(v journal.Value) error {
		o, object, _, ok := cutObject(v.Name[len(lastDays):])
		lastDay, _, _ := cutNumber(string(v.Bytes))
		if !ok || lastDay < days[0] || !q.selects(o) {
			return ctx.Err()
		}
		if kept >= q.Limit || read >= maxSampled {
			next = last
			return journal.ErrEnough
		}
		s.begin()
		err := h.onDays(ctx, object, days, begin, q.To, func(fixes []Fix) bool {
			read += len(fixes)
			s.add(fixes)
			return true
		})
		if err != nil {
			return err
		}
		read += objectCost
		last = o.Key()
		if fixes := s.end(); len(fixes) > 0 {
			kept += len(fixes)
			f(Series{o, fixes})
		}
		return ctx.Err()
	})
	if errors.Is(err, journal.ErrEnough) {
		err = nil
	}
	return next, err
}

func (q *Sampling) selects(o Object) bool {
	return (q.Object.ID == "" || q.Object.ID == o.ID) && (q.Sees == nil || q.Sees(o.Fleet))
}

// sampler thins the positions of one object after another.
type sampler struct {
	q       Sampling
	kept    []Fix
	before  Fix // the last one before From
	some    bool
	in      bool
	present int64 // the interval of the last kept position
}

func (s *sampler) begin() {
	s.kept, s.some, s.in, s.present = s.kept[:0], false, s.q.In == nil, math.MinInt64
}

// add takes the next positions, by time. It removes their Props, which would take much memory.
func (s *sampler) add(fixes []Fix) {
	for i := range fixes {
		f := &fixes[i]
		f.Props = ""
		if f.Time < s.q.From {
			s.before, s.some = *f, true
			continue
		}
		s.in = s.in || s.q.In(f.Lon, f.Lat)
		if s.q.Every > 0 {
			interval := floor(f.Time, s.q.Every)
			if interval == s.present {
				continue
			}
			s.present = interval
		}
		s.kept = append(s.kept, *f)
	}
}

// end returns the sample of the object: nothing unless it is selected.
func (s *sampler) end() []Fix {
	if s.some {
		s.in = s.in || s.q.In(s.before.Lon, s.before.Lat)
		s.kept = append(s.kept, Fix{})
		copy(s.kept[1:], s.kept)
		s.kept[0] = s.before
	}
	if !s.in {
		return nil
	}
	return s.kept
}
