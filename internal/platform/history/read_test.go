package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// A day of large properties is read in parts, of fragments and of blocks, and nothing is left out.
func TestALargeDayIsReadInParts(t *testing.T) {
	const perHour, all = 10, 200
	m := journal.NewMemory()
	s := newSource(t, m)
	h, err := Open(Options{Journal: m})
	ok(t, err)
	var batch []track.Position
	for n := range all {
		props := json.RawMessage(fmt.Sprintf(`{"n":%d,"x":%q}`, n, strings.Repeat("x", 16_000)))
		batch = append(batch, track.Position{Fleet: fleetName, ID: "v", Lon: 1, Lat: 1, Time: track.Millis(n) * hour / perHour, Props: props})
	}
	s.send(batch...)
	settled(t, h)
	h.mu.Lock()
	ok(t, h.store())
	h.mu.Unlock()
	for _, form := range []string{"fragments", "blocks"} {
		parts := 0
		for from := 0; from < all/perHour; parts++ {
			hours, end, err := h.hours(Object{fleetName, "v"}.name(), 0, from, 23)
			ok(t, err)
			size := 0
			for n := from; n <= end; n++ {
				size += len(hours[n].block)
				for _, b := range hours[n].fragments {
					size += len(b)
				}
			}
			if size == 0 || size > readBytes+perHour*17_000 {
				t.Errorf("%s: %d bytes of the hours %d to %d", form, size, from, end)
			}
			from = end + 1
		}
		if parts < 3 {
			t.Errorf("%s: %d parts", form, parts)
		}
		fixes := trackOf(t, h, "v")
		if len(fixes) != all {
			t.Errorf("%s: %d fixes", form, len(fixes))
		}
		for n, f := range fixes {
			if f.Props != string(batch[n].Props) {
				t.Fatalf("%s: fix %d has %.20s", form, n, f.Props)
			}
		}
		for n := range batch {
			found, _ := objectsAt(t, h, batch[n].Time+hour/perHour-1, Query{Limit: 1})
			if len(found) != 1 || found[0].Time != batch[n].Time {
				t.Fatalf("%s: at fix %d: %+v", form, n, found)
			}
		}
		if f, there, _, err := h.lastFix(Object{fleetName, "v"}.name(), day-1, 0, []int64{0}); err != nil || !there || f != fixes[all-1] {
			t.Errorf("%s: the last fix is of %d, %v", form, f.Time, err)
		}
		for _, s := range sampleOf(t, h, Sampling{To: day, Limit: all}) {
			if len(s.Fixes) != all || s.Fixes[all/2].Props != "" {
				t.Errorf("%s: a sample of %d fixes, with %.20q", form, len(s.Fixes), s.Fixes[all/2].Props)
			}
		}
		merged(t, h)
	}
}
