package history

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/fence/track"
	"paddock/internal/city"
	"paddock/internal/platform/journal"
)

// TestADay: a day of vehicles comes back exactly, while it is gathered, from fragments and from
// blocks, and after a restart.
func TestADay(t *testing.T) {
	d := newDrive()
	j, err := journal.Open(journal.Options{Dir: t.TempDir()})
	ok(t, err)
	t.Cleanup(func() { ok(t, j.Close()) })
	first := d.fleet().Step(d.step, nil)
	d.middle = first[0]
	s := newSource(t, j, zone(d.middle, d.half))
	h, err := Open(Options{Journal: j, MaxGathered: 100 * d.vehicles})
	ok(t, err)
	s.reader.Store(h)
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- h.Run(ctx) }()
	d.play(s, d.fleet(), func() {})
	ok(t, h.Settle(ctx))
	d.verify(t, h)
	stop()
	ok(t, <-ran)
	if stats := h.Stats(); stats.Fragments == 0 || stats.Lag != 0 || stats.Gaps != 0 {
		t.Errorf("%+v", stats)
	}
	ok(t, h.Close(context.Background()))
	h, err = Open(Options{Journal: j})
	ok(t, err)
	d.verify(t, h)
	settled(t, h) // finds the fragments
	h.at = track.MillisOf(time.Now()) + hour
	h.findDue()
	settled(t, h)
	if stats := h.Stats(); stats.Blocks == 0 {
		t.Errorf("%+v", stats)
	}
	d.verify(t, h)
	h, err = Open(Options{Journal: j})
	ok(t, err)
	if settled(t, h); len(h.open) != 0 || len(h.known) != d.vehicles || !h.allKnown {
		t.Fatalf("%d open hours, %d known objects", len(h.open), len(h.known))
	}
	d.verify(t, h)
	turns := 0
	for _, all := range d.turns {
		turns += len(all)
	}
	t.Logf("%d fixes, %d turns, begin %s", d.steps()*d.vehicles, turns, d.begin.Time().Format(time.RFC3339))
}

// cutting is a journal that is copied behind each change of the history.
type cutting struct {
	*journal.Memory
	cut func()
}

func (c *cutting) Change(remove []journal.Span, put ...journal.Value) error {
	err := c.Memory.Change(remove, put...)
	c.cut()
	return err
}

// TestCrashes: wherever the writer ends, another one that goes on has everything, once.
func TestCrashes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m := journal.NewMemory()
	s := newSource(t, m, zone(city.Fix{Lon: 1, Lat: 1}, 0.5))
	ids := []string{"a", "b", "c"}
	begin := track.Millis(dayOf(track.MillisOf(time.Now()))-1)*day - 20*60_000
	var left []*journal.Memory
	h, err := Open(Options{Journal: &cutting{m, func() { left = append(left, m.Clone()) }}, MaxGathered: 60})
	ok(t, err)
	for n := range 400 {
		var batch []track.Position
		for i, id := range ids {
			at := begin + track.Millis(n)*6_000
			switch r.IntN(10) {
			case 0:
				at -= track.Millis(r.IntN(100)) * 6_000 // late, of a time that mostly has one
			case 1:
				batch = append(batch, track.Position{Fleet: fleetName, ID: id, Lon: 5, Lat: 5, Time: at + 1})
			}
			batch = append(batch, track.Position{Fleet: fleetName, ID: id, Lon: float64(n/(5+i)) / 10, Lat: 1, Time: at, Props: []byte(fmt.Sprint(n))})
		}
		s.send(batch...)
		if r.IntN(3) == 0 {
			_, err := h.step()
			ok(t, err)
		}
		if r.IntN(40) == 0 {
			merged(t, h)
		}
	}
	settled(t, h)
	merged(t, h)
	want := describe(t, h, ids...)
	if strings.Count(want, "\n") < 1200 || strings.Count(want, "Begin") < 6 {
		t.Fatal(want)
	}
	records := map[uint64][]byte{}
	ok(t, m.Records(1, func(n uint64, b []byte) error { records[n] = slices.Clone(b); return nil }))
	var pieces []journal.Piece
	ok(t, m.Pieces(0, func(p journal.Piece) error { pieces = append(pieces, p); return nil }))
	for n, c := range left {
		if n%3 != 0 && testing.Short() {
			continue
		}
		_, newest := c.Bounds()
		for number := newest + 1; records[number] != nil; number++ { // what came behind the crash
			_, err := c.Append(records[number])
			ok(t, err)
		}
		for _, p := range pieces {
			if committed := c.Committed(); p.First >= committed.Next() {
				ok(t, c.Commit(p))
			}
		}
		again, err := Open(Options{Journal: c, MaxGathered: 50})
		ok(t, err)
		settled(t, again)
		if got := describe(t, again, ids...); got != want {
			t.Fatalf("crash %d of %d: got\n%s\nwant\n%s", n, len(left), got, want)
		}
		merged(t, again)
		if got := describe(t, again, ids...); got != want {
			t.Fatalf("crash %d of %d, merged", n, len(left))
		}
	}
	t.Logf("%d crashes", len(left))
}

// A trimmed record that was not read is a gap that is counted, and the history goes on.
func TestGaps(t *testing.T) {
	m := journal.NewMemory()
	s := newSource(t, m)
	at := func(n int) track.Position {
		return track.Position{Fleet: fleetName, ID: "v", Time: track.Millis(n) * 1000}
	}
	h, err := Open(Options{Journal: m})
	ok(t, err)
	s.send(at(1))
	settled(t, h)
	merged(t, h)
	before, _ := m.Bounds()
	_, newest := m.Bounds()
	if h.Needed() != newest+1 || before != 1 {
		t.Errorf("record %d is needed of %d", h.Needed(), newest)
	}
	s.send(at(2))
	s.send(at(3))
	ok(t, m.TrimRecords(newest+2))
	settled(t, h)
	if got := trackOf(t, h, "v"); len(got) != 2 || got[1].Time != 3000 || h.Stats().Gaps != 1 {
		t.Errorf("%+v, %+v", got, h.Stats())
	}
}

func TestRemoval(t *testing.T) {
	ctx := context.Background()
	m := journal.NewMemory()
	s := newSource(t, m, zone(city.Fix{Lon: 1, Lat: 1}, 0.5))
	h, err := Open(Options{Journal: m})
	ok(t, err)
	running, stop := context.WithCancel(ctx)
	ran := make(chan error)
	go func() { ran <- h.Run(running) }()
	defer func() { stop(); <-ran }()
	fill := func(first, last int) {
		for n := first; n < last; n++ {
			for _, id := range []string{"a", "a\x00", "b"} {
				s.send(track.Position{Fleet: fleetName, ID: id, Lon: float64(n % 2), Lat: float64(n % 2), Time: track.Millis(n) * day / 4})
			}
		}
		ok(t, h.Settle(ctx))
	}
	fill(0, 30)
	h.mu.Lock()
	ok(t, h.store())
	h.mu.Unlock()
	merged(t, h)
	fill(30, 40)
	if got := len(trackOf(t, h, "a")); got != 40 {
		t.Fatalf("%d fixes", got)
	}
	rest := describe(t, h, "a\x00", "b")
	for _, want := range []bool{true, false} {
		if erased, err := h.Erase(ctx, Object{fleetName, "a"}); err != nil || erased != want {
			t.Errorf("erased: %v, %v", erased, err)
		}
		if got := trackOf(t, h, "a"); len(got) != 0 {
			t.Errorf("%d fixes are left", len(got))
		}
	}
	kept := ""
	for line := range strings.Lines(rest) {
		if !strings.Contains(line, "ID:a} ") {
			kept += line
		}
	}
	if got := describe(t, h, "a\x00", "b"); got != kept || got == rest {
		t.Errorf("the others are now\n%s\nwant\n%s", got, kept)
	}
	again, err := Open(Options{Journal: m.Clone()})
	ok(t, err)
	settled(t, again)
	if got := describe(t, again, "a", "a\x00", "b"); got != kept {
		t.Errorf("opened again: got\n%s\nwant\n%s", got, kept)
	}

	// By age, by days; then by size: each day counts 10 here.
	size := func(s journal.Span) (uint64, error) {
		if !strings.HasPrefix(s.From, blocks) {
			return 0, nil
		}
		number, _, _ := cutNumber(s.From[len(blocks):])
		return uint64(10 - number), nil
	}
	ok(t, h.Trim(track.Millis(3*day+5).Time(), 0, size))
	if got := trackOf(t, h, "b"); len(got) != 28 || got[0].Time != 3*day {
		t.Errorf("%d fixes from %d on", len(got), got[0].Time)
	}
	ok(t, h.Trim(time.Time{}, 4, size))
	if got := trackOf(t, h, "b"); len(got) != 16 || got[0].Time != 6*day {
		t.Errorf("%d fixes from %d on", len(got), got[0].Time)
	}
	visits, _, err := h.Visits(ctx, VisitQuery{From: math.MinInt64, To: math.MaxInt64, Limit: 1000})
	ok(t, err)
	for _, v := range visits {
		if !v.Open && v.End < 6*day {
			t.Errorf("%+v", v)
		}
	}
	openVisits := func() (n int) {
		names, err := m.Names(visiting)
		ok(t, err)
		return len(names)
	}
	if openVisits() == 0 {
		t.Error("no visit is open")
	}
	ok(t, h.Trim(track.Millis(100*day).Time(), 0, size))
	if found, _ := objectsAt(t, h, 1000*day, Query{Limit: 10}); len(found) != 0 || openVisits() != 0 {
		t.Errorf("%d objects, %d open visits", len(found), openVisits())
	}
	fill(400, 401)
	if found, _ := objectsAt(t, h, 1000*day, Query{Limit: 10}); len(found) != 3 {
		t.Errorf("%d objects", len(found))
	}
}

// Lists of objects and visits come in pages.
// meddled is a journal with which something happens before each read of records and of events.
type meddled struct {
	journal.Journal
	records, pieces func() error
}

func (m *meddled) Records(from uint64, f func(number uint64, record []byte) error) error {
	if err := m.records(); err != nil {
		return err
	}
	return m.Journal.Records(from, f)
}

func (m *meddled) Pieces(from uint64, f func(p journal.Piece) error) error {
	if err := m.pieces(); err != nil {
		return err
	}
	return m.Journal.Pieces(from, f)
}

// TestGapsWhileReading: records and events that are removed just before they are read are counted,
// too.
func TestGapsWhileReading(t *testing.T) {
	m := journal.NewMemory()
	s := newSource(t, m, zone(city.Fix{Lon: 1, Lat: 1}, 0.5))
	h, err := Open(Options{Journal: &meddled{m, func() error { return m.TrimRecords(4) }, func() error { return m.TrimPieces(2) }}})
	ok(t, err)
	for n := range 4 {
		s.send(track.Position{Fleet: fleetName, ID: "v", Lon: float64(n % 2), Lat: float64(n % 2), Time: track.Millis(n) * 1000})
	}
	settled(t, h)
	if oldest, _ := m.Bounds(); oldest != 4 || m.OldestEvent() != 2 || h.Stats().Gaps != 3+1 {
		t.Errorf("from record %d and event %d on: %+v", oldest, m.OldestEvent(), h.Stats())
	}
}

// TestFailedRead: objects that were found before records could not be read are listed after the
// next attempt.
func TestFailedRead(t *testing.T) {
	m := journal.NewMemory()
	s := newSource(t, m)
	reads := 0
	h, err := Open(Options{Journal: &meddled{m, func() error {
		if reads++; reads == 2 {
			return errors.New("not readable at present")
		}
		return nil
	}, func() error { return nil }}})
	ok(t, err)
	settled(t, h)
	reads = 0
	for n, fed := range []bool{false, true, false} { // the second one comes from the pipeline
		if s.reader.Store(nil); fed {
			s.reader.Store(h)
		}
		s.send(track.Position{Fleet: fleetName, ID: fmt.Sprint("v", n), Time: 1000})
	}
	if _, err := h.step(); err == nil {
		t.Error("no failure")
	}
	settled(t, h)
	if found, _ := objectsAt(t, h, day, Query{Limit: 10}); len(found) != 3 {
		t.Errorf("%d objects are listed", len(found))
	}
}

// TestPositionsBehindRemoval: a position that comes for a day that was just removed is there until
// the next removal, also if its hour was being gathered, and takes no room for ever.
func TestPositionsBehindRemoval(t *testing.T) {
	m := journal.NewMemory()
	s := newSource(t, m)
	h, err := Open(Options{Journal: m})
	ok(t, err)
	for n := range 2 {
		s.send(track.Position{Fleet: fleetName, ID: "v", Time: day + track.Millis(n)*1000})
		settled(t, h)
		if n == 0 {
			ok(t, h.Trim(track.Millis(5*day).Time(), 0, nil))
		}
	}
	for _, when := range []string{"gathered", "stored"} {
		if got := trackOf(t, h, "v"); len(got) != 1 || got[0].Time != day+1000 {
			t.Errorf("%s: %+v", when, got)
		}
		if found, _ := objectsAt(t, h, 9*day, Query{Limit: 10}); len(found) != 1 {
			t.Errorf("%s: %d objects", when, len(found))
		}
		merged(t, h)
	}
	if h.fixes != 0 {
		t.Errorf("%d fixes count as gathered", h.fixes)
	}
}

func TestPages(t *testing.T) {
	ctx := context.Background()
	m := journal.NewMemory()
	s := newSource(t, m, zone(city.Fix{Lon: 1, Lat: 1}, 0.5))
	h, err := Open(Options{Journal: m})
	ok(t, err)
	for n, id := range []string{"b2", "b1", "a", "b\x00", "c"} {
		for i := range 6 {
			s.send(track.Position{Fleet: fleetName, ID: id, Lon: float64(i % 2), Lat: float64(i % 2), Time: track.Millis(n)*day + track.Millis(i)*hour/2})
		}
	}
	settled(t, h)
	var got []string
	q := Query{Limit: 2, Prefix: "b", Fleet: fleetName}
	for more := true; more; more = q.After != "" {
		var found []Past
		found, q.After = objectsAt(t, h, 2*day, q)
		for _, p := range found {
			got = append(got, fmt.Sprintf("%q %d", p.ID, p.Time))
		}
	}
	if want := []string{`"b1" 95400000`, `"b2" 9000000`}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	got, q = nil, Query{Limit: 2}
	for more := true; more; more = q.After != "" {
		q.After, err = h.At(ctx, 10*day, q, func(p Past) bool {
			got = append(got, p.ID)
			return false
		})
		ok(t, err)
		got = append(got, ".")
	}
	if want := "a.b\x00.b1.b2.c."; strings.Join(got, "") != want {
		t.Errorf("one by one: %q", got)
	}
	defer func(n int) { maxLooks = n }(maxLooks)
	maxLooks = 1
	got, q = nil, Query{Limit: 2}
	for more := true; more; more = q.After != "" {
		var found []Past
		if found, q.After = objectsAt(t, h, 5*hour, q); len(found) > 1 {
			t.Errorf("%d objects of one look", len(found))
		}
		for _, p := range found {
			got = append(got, p.ID)
		}
	}
	if want := []string{"b2"}; !slices.Equal(got, want) {
		t.Errorf("looks are bounded: %q", got)
	}
	all, next, err := h.Visits(ctx, VisitQuery{From: math.MinInt64, To: math.MaxInt64, Limit: 100})
	if err != nil || next != "" || len(all) != 15 || !all[14].Open {
		t.Fatalf("%d visits, %q, %v", len(all), next, err)
	}
	v := VisitQuery{From: math.MinInt64, To: math.MaxInt64, Limit: 4}
	var paged []Visit
	for more := true; more; more = v.After != "" {
		var found []Visit
		found, v.After, err = h.Visits(ctx, v)
		ok(t, err)
		paged = append(paged, found...)
	}
	if !slices.Equal(paged, all) {
		t.Errorf("in pages: %+v\nwant %+v", paged, all)
	}
	for _, c := range []struct {
		q    VisitQuery
		want int
	}{{VisitQuery{ID: "a"}, 3}, {VisitQuery{Fleet: "none"}, 0}, {VisitQuery{Fence: "middle", Set: "zones", ID: "c"}, 3}, {VisitQuery{From: 2 * day, To: 3 * day}, 5}} {
		c.q.Limit = 100
		if c.q.To == 0 {
			c.q.To = math.MaxInt64
		}
		found, _, err := h.Visits(ctx, c.q)
		if err != nil || len(found) != c.want {
			t.Errorf("%+v: %d visits, %v: %+v", c.q, len(found), err, found)
		}
	}
}
