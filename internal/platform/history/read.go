package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// contents is what there is of an hour of an object.
type contents struct {
	block     []byte
	fragments [][]byte
	gathered  []Fix
}

// fixes returns the fixes of the hour, ordered by time, in the memory of dst if there is room.
func (c *contents) fixes(dst []Fix) (fixes []Fix, err error) {
	fixes = dst[:0]
	if len(c.block) > 0 {
		if fixes, err = appendFixes(fixes, c.block); err != nil || len(c.fragments)+len(c.gathered) == 0 {
			return fixes, err // a block is in order
		}
	}
	for _, b := range c.fragments {
		if fixes, err = appendFixes(fixes, b); err != nil {
			return nil, err
		}
	}
	return ordered(append(fixes, c.gathered...)), nil
}

// readBytes bounds the blocks that are read at once. They may exceed it by those of an hour.
const readBytes = 1 << 20

// hours returns the contents of some hours of a day of an object, with the last hour: an earlier
// one than to if the contents are large. What is read first moves towards what is read last, so
// that nothing is missed.
func (h *History) hours(object string, number int64, from, to int) (all [24]contents, last int, err error) {
	h.mu.Lock()
	for n := from; n <= to; n++ {
		if list := h.gathered[slotOf(object, track.Millis(number)*day+track.Millis(n)*hour)]; list != nil {
			all[n].gathered = slices.Clone(*list)
		}
	}
	h.mu.Unlock()
	size := 0
	for _, kind := range []string{fragments, blocks} {
		prefix := ofDay(kind, number, object)
		err := h.j.Values(prefix, prefix+string([]byte{byte(from)}), func(v journal.Value) error {
			n, ok := hourIn(v.Name[len(prefix):])
			switch {
			case !ok:
				return fmt.Errorf("%w: %q is no block", journal.ErrDamaged, v.Name)
			case n > to:
				return journal.ErrEnough
			case n > from && size > readBytes:
				to = n - 1
				return journal.ErrEnough
			case kind == blocks:
				all[n].block = slices.Clone(v.Bytes)
			default:
				all[n].fragments = append(all[n].fragments, slices.Clone(v.Bytes))
			}
			size += len(v.Bytes)
			return nil
		})
		if err != nil && !errors.Is(err, journal.ErrEnough) {
			return all, to, err
		}
	}
	return all, to, nil
}

// days returns the days that have fixes of any object, in order, within two days.
func (h *History) days(first, last int64) ([]int64, error) {
	h.mu.Lock()
	gathered := slices.Collect(maps.Keys(h.slots))
	h.mu.Unlock()
	return h.daysWith(gathered, first, last)
}

func (h *History) daysWith(gathered []int64, first, last int64) (all []int64, err error) {
	for _, n := range gathered {
		if first <= n && n <= last {
			all = append(all, n)
		}
	}
	for _, kind := range []string{fragments, blocks} {
		for at := first; at <= last; at++ {
			err := h.j.Values(kind, ofDay(kind, at, ""), func(v journal.Value) error {
				n, _, ok := cutNumber(v.Name[len(kind):])
				if !ok {
					return fmt.Errorf("%w: %q is no block", journal.ErrDamaged, v.Name)
				}
				at = n
				return journal.ErrEnough
			})
			if err == nil || at > last {
				break
			}
			if !errors.Is(err, journal.ErrEnough) {
				return nil, err
			}
			all = append(all, at)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Track calls f for the fixes of an object from one time on, before another one, in order, in parts
// of at most an hour, until f returns false. A part is valid until f returns.
func (h *History) Track(ctx context.Context, o Object, from, to track.Millis, f func([]Fix) bool) error {
	if from >= to {
		return nil
	}
	days, err := h.days(dayOf(from), dayOf(to-1))
	if err != nil {
		return err
	}
	return h.onDays(ctx, o.name(), days, from, to, f)
}

// onDays is Track on these days.
func (h *History) onDays(ctx context.Context, object string, days []int64, from, to track.Millis, f func([]Fix) bool) error {
	var fixes []Fix
	for _, number := range days {
		first, last := 0, 23
		if number == dayOf(from) {
			first = hourOf(from)
		}
		if number == dayOf(to-1) {
			last = hourOf(to - 1)
		}
		for n := first; n <= last; {
			hours, end, err := h.hours(object, number, n, last)
			if err != nil {
				return err
			}
			for ; n <= end; n++ {
				if fixes, err = hours[n].fixes(fixes); err != nil {
					return err
				}
				if part := cut(fixes, from, to); len(part) > 0 && !f(part) {
					return nil
				}
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Walk calls f for the fixes of each object within a time, by fleet, then id, in parts as Track
// does, until f fails. "" selects all fleets, or all ids.
func (h *History) Walk(ctx context.Context, selected Object, from, to track.Millis, f func(Object, []Fix) error) error {
	if from >= to {
		return nil
	}
	days, err := h.days(dayOf(from), dayOf(to-1))
	if err != nil {
		return err
	}
	prefix := lastDays
	if selected.Fleet != "" {
		prefix += string(appendText(nil, selected.Fleet))
	}
	return h.j.Values(prefix, "", func(v journal.Value) error {
		o, object, _, ok := cutObject(v.Name[len(lastDays):])
		if !ok || selected.ID != "" && selected.ID != o.ID {
			return ctx.Err()
		}
		last, _, _ := cutNumber(string(v.Bytes))
		end, _ := slices.BinarySearch(days, last+1)
		var failed error
		err := h.onDays(ctx, object, days[:end], from, to, func(fixes []Fix) bool {
			failed = f(o, fixes)
			return failed == nil
		})
		return errors.Join(err, failed)
	})
}

// cut returns the fixes from one time on, before another one.
func cut(fixes []Fix, from, to track.Millis) []Fix {
	before := func(t track.Millis) int {
		n, _ := slices.BinarySearchFunc(fixes, t, func(f Fix, t track.Millis) int { return cmp.Compare(f.Time, t) })
		return n
	}
	return fixes[before(from):before(to)]
}

// Past is an object with the last fix of some time.
type Past struct {
	Object
	Fix
}

// Query selects objects for a list.
type Query struct {
	Fleet  string // only this fleet; "" is all
	Prefix string // only ids that begin with it
	After  string // only objects behind the one with this key, see Key
	Limit  int
}

// Key returns the text by which objects are in order.
func (o Object) Key() string { return o.name() }

// At calls f for the last fix of each selected object at a time or before it, by fleet, then id,
// until f returns false: it takes no more after this one. If more follow, next is the key to go on
// after. It may be given after fewer objects than q.Limit, or none, if many had to be looked at.
func (h *History) At(ctx context.Context, at track.Millis, q Query, f func(Past) bool) (next string, err error) {
	days, err := h.days(dayOf(math.MinInt64), dayOf(at))
	if err != nil {
		return "", err
	}
	taken, looks, last, full := 0, 0, "", false
	prefix := lastDays
	if q.Fleet != "" {
		prefix += string(appendText(nil, q.Fleet))
	}
	from := prefix
	if q.After != "" {
		from = lastDays + q.After + "\x00"
	}
	err = h.j.Values(prefix, max(prefix, from), func(v journal.Value) error {
		o, object, _, ok := cutObject(v.Name[len(lastDays):])
		if !ok || !strings.HasPrefix(o.ID, q.Prefix) {
			return ctx.Err()
		}
		if looks >= maxLooks {
			next = last
			return journal.ErrEnough
		}
		lastDay, _, _ := cutNumber(string(v.Bytes))
		fix, ok, n, err := h.lastFix(object, at, lastDay, days)
		if looks += n; err != nil {
			return err
		}
		if ok && full {
			next = last
			return journal.ErrEnough
		}
		if last = o.Key(); ok {
			taken++
			full = !f(Past{o, fix}) || taken == q.Limit
		}
		return ctx.Err()
	})
	if errors.Is(err, journal.ErrEnough) {
		err = nil
	}
	return next, err
}

// maxLooks is the number of looks at a day of an object after which At ends.
var maxLooks = 50_000

// lastFix returns the last fix of an object at a time or before it, on these days, but not behind
// the last one of the object, and the number of days that it has looked at.
func (h *History) lastFix(object string, at track.Millis, last int64, days []int64) (f Fix, ok bool, looks int, err error) {
	for _, number := range slices.Backward(days) {
		if number > last {
			continue
		}
		looks++
		to := 23
		if number == dayOf(at) {
			to = hourOf(at)
		}
		for _, part := range [][2]int{{to, to}, {0, to - 1}} { // mostly it is in the last hour
			f, ok, err = h.lastOf(object, number, part[0], part[1], at)
			if ok || err != nil {
				return f, ok, looks, err
			}
		}
	}
	return f, false, looks, nil
}

// lastOf returns the last fix of some hours at a time or before it.
func (h *History) lastOf(object string, number int64, from, to int, at track.Millis) (f Fix, ok bool, err error) {
	for from <= to {
		hours, end, err := h.hours(object, number, from, to)
		if err != nil {
			return f, false, err
		}
		for n := end; n >= from; n-- {
			fixes, err := hours[n].fixes(nil)
			if err != nil {
				return f, false, err
			}
			if fixes = cut(fixes, math.MinInt64, at+1); len(fixes) > 0 {
				f, ok = fixes[len(fixes)-1], true
				break
			}
		}
		from = end + 1
	}
	return f, ok, nil
}
