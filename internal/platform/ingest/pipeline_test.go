package ingest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/subjects"
	"paddock/internal/platform/views"
)

// published keeps the events of a pipeline. While gate is not nil, Publish waits until it is
// closed.
type published struct {
	gate chan struct{}

	mu      sync.Mutex
	records []events.Record
}

func (p *published) Publish(records []events.Record) {
	if p.gate != nil {
		<-p.gate
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records = append(p.records, records...)
}

// texts returns the events so far, as "enter zone/a v1 move", in order.
func (p *published) texts(t *testing.T) (texts []string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.records {
		_, after, ok := strings.Cut(string(r.JSON.Bytes()), `"reason":"`)
		reason, _, ok2 := strings.Cut(after, `"`)
		if !ok || !ok2 {
			t.Fatalf("no reason: %s", r.JSON.Bytes())
		}
		texts = append(texts, fmt.Sprintf("%s %s/%s %s %s", r.Kind, r.Set, r.Fence, r.Object, reason))
	}
	return texts
}

func (p *published) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.records)
}

// unitSquare returns the square of longitude and latitude 0 to 1, moved east.
func unitSquare(key string, east float64) fence.Fence {
	return fence.Fence{Key: key, Geometry: geometry.MultiPolygon{{{
		{Lon: east, Lat: 0}, {Lon: east + 1, Lat: 0}, {Lon: east + 1, Lat: 1}, {Lon: east, Lat: 1},
	}}}}
}

// addSet adds a set of these fences to the catalog.
func addSet(t *testing.T, c *fence.Catalog, name string, fences ...fence.Fence) *fence.Set {
	t.Helper()
	s, err := fence.NewSet(name, fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Replace(&geojson.Collection{Fences: fences}); err != nil {
		t.Fatal(err)
	}
	if err := c.Add(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// newPipeline starts a pipeline that tracks the square a of the set zone.
func newPipeline(t *testing.T, pub Publisher, c Config) (*Pipeline, *fence.Catalog) {
	t.Helper()
	catalog := &fence.Catalog{}
	addSet(t, catalog, "zone", unitSquare("a", 0))
	c.Fences, c.Publisher = views.New(catalog, nil), pub
	p := New(c)
	t.Cleanup(func() { p.Close(context.Background()) })
	return p, catalog
}

// fix returns position number n of an object that is in the square at odd n.
func fix(id string, n int) track.Position {
	lon := 1.5
	if n%2 == 1 {
		lon = 0.5
	}
	return track.Position{Fleet: "f", ID: id, Lon: lon, Lat: 0.5, Time: arrival + track.Millis(n)*1000, Arrived: arrival}
}

func fixes(id string, from, count int) *Batch {
	b := &Batch{}
	for n := range count {
		b.Positions = append(b.Positions, fix(id, from+n))
	}
	return b
}

// submit passes in a batch that must be accepted completely.
func submit(t *testing.T, p *Pipeline, b *Batch) {
	t.Helper()
	r, err := p.Submit(t.Context(), b)
	if err != nil || r.Accepted != len(b.Positions) || len(r.Rejected) > 0 {
		t.Errorf("%d of %d accepted: %+v, %v", r.Accepted, len(b.Positions), r, err)
	}
}

// submitNow passes in a position of the object v, in the square, of the present time.
func submitNow(t *testing.T, p *Pipeline) {
	t.Helper()
	q := fix("v", 1)
	q.Arrived = track.MillisOf(time.Now())
	q.Time = q.Arrived
	submit(t, p, &Batch{Positions: []track.Position{q}})
}

// Each object's events are in the order of its positions, for any doors and any number of
// concurrent ones.
func TestOrderPerObject(t *testing.T) {
	const objects, rounds, each = 8, 20, 7
	pub := &published{}
	p, _ := newPipeline(t, pub, Config{Workers: 3})
	var doors sync.WaitGroup
	for i := range objects {
		doors.Go(func() {
			id := fmt.Sprintf("waits%d", i)
			for n := range rounds {
				submit(t, p, fixes(id, n*each, each))
			}
		})
		doors.Go(func() { // continues before its answer, twice at most
			id := fmt.Sprintf("hurries%d", i)
			room := make(chan struct{}, 2)
			for n := range rounds {
				room <- struct{}{}
				if err := p.TrySubmit(fixes(id, n*each, each), func(r Result) {
					if r.Accepted != each {
						t.Errorf("%s: %+v", id, r)
					}
					<-room
				}); err != nil {
					t.Error(err)
				}
			}
			for range cap(room) { // wait for the missing answers
				room <- struct{}{}
			}
		})
	}
	doors.Wait()

	seen := map[string]int{}
	for _, text := range pub.texts(t) {
		f := strings.Fields(text)
		id := f[2]
		seen[id]++
		if want := map[bool]string{true: "enter", false: "exit"}[seen[id]%2 == 1]; f[0] != want {
			t.Fatalf("event %d of %s is %s", seen[id], id, f[0])
		}
	}
	for id, n := range seen {
		if n != rounds*each-1 { // all but the first position, which is outside
			t.Errorf("%s: %d events", id, n)
		}
	}
	if len(seen) != 2*objects {
		t.Errorf("events of %d objects", len(seen))
	}
	if got := p.Metrics.Totals(); got.Accepted != 2*objects*rounds*each || got.Events != uint64(pub.count()) {
		t.Errorf("counted %+v", got)
	}
}

// Doors that send for the same object concurrently may make each other's positions late, but never
// turn the object's time back.
func TestDoorsThatShareAnObject(t *testing.T) {
	const doors, rounds = 6, 50
	pub := &published{}
	p, _ := newPipeline(t, pub, Config{})
	var accepted, late [doors]int
	var sending sync.WaitGroup
	for i := range doors {
		sending.Go(func() {
			for n := range rounds {
				r, err := p.Submit(t.Context(), fixes("shared", n, 1))
				if err != nil {
					t.Error(err)
				}
				accepted[i] += r.Accepted
				late[i] += r.Late
			}
		})
	}
	sending.Wait()
	total := 0
	for i := range doors {
		total += accepted[i]
		if accepted[i]+late[i] != rounds {
			t.Errorf("door %d: %d accepted, %d late", i, accepted[i], late[i])
		}
	}
	if total > rounds {
		t.Errorf("%d of %d different positions were accepted", total, rounds)
	}
	for i, text := range pub.texts(t) {
		if want := [2]string{"enter", "exit"}[i%2]; !strings.HasPrefix(text, want) {
			t.Fatalf("event %d: %s", i, text)
		}
	}
}

// blocked returns a pipeline with room for some positions, two of which it is busy with, within a
// bubble of fake time.
func blocked(t *testing.T, room int) (*Pipeline, *published) {
	t.Helper()
	pub := &published{gate: make(chan struct{})}
	p, _ := newPipeline(t, pub, Config{Workers: 1, MaxWaiting: room})
	if err := p.TrySubmit(fixes("busy", 0, 2), nil); err != nil {
		t.Fatal(err)
	}
	synctest.Wait() // until the record waits in Publish
	return p, pub
}

// results gathers answers in the order of their batches.
type results struct {
	mu  sync.Mutex
	got map[int]Result
}

func (r *results) of(i int) func(Result) {
	return func(res Result) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.got == nil {
			r.got = map[int]Result{}
		}
		if _, twice := r.got[i]; twice {
			res.Accepted = -1
		}
		r.got[i] = res
	}
}

func (r *results) list() map[int]Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}

func TestTrySubmitRefusesWhatFindsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, pub := blocked(t, 10)
		var answers results
		for i := range 8 {
			if err := p.TrySubmit(fixes("waits", 10*i, 1), answers.of(i)); err != nil {
				t.Fatal(err)
			}
		}
		refused := fixes("refused", 0, 2)
		refused.Indexes = []int{5, 7} // of the batch as it was sent
		if err := p.TrySubmit(refused, answers.of(101)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := answers.list(); len(got) != 1 || got[101].Overloaded != 2 || got[101].Accepted != 0 ||
			len(got[101].Rejected) != 2 || !strings.HasPrefix(got[101].Rejected[1].Reason, "overloaded") || got[101].Rejected[1].Index != 7 {
			t.Errorf("without room: %+v", got)
		}
		close(pub.gate)
		synctest.Wait()
		for i, r := range answers.list() {
			if i != 101 && r.Accepted != 1 {
				t.Errorf("batch %d: %+v", i, r)
			}
		}
		if err := p.TrySubmit(fixes("large", 0, 100), answers.of(100)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if r := answers.list()[100]; r.Accepted != 100 {
			t.Errorf("a large batch while nothing waits: %+v", r)
		}
		if n := p.Metrics.Totals().Overloaded; n != 2 {
			t.Errorf("%d counted as overloaded", n)
		}
	})
}

func TestSubmitWaitsForRoomUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, pub := blocked(t, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		r, err := p.Submit(ctx, fixes("impatient", 0, 2))
		if err != nil || r.Overloaded != 2 || r.Accepted != 0 || time.Since(begun) != time.Minute {
			t.Errorf("after %v: %+v, %v", time.Since(begun), r, err)
		}

		patient := make(chan Result)
		go func() {
			r, _ := p.Submit(t.Context(), fixes("patient", 0, 2))
			patient <- r
		}()
		synctest.Wait()
		select {
		case r := <-patient:
			t.Errorf("an answer although nothing has moved: %+v", r)
		default:
		}
		close(pub.gate)
		if r := <-patient; r.Accepted != 2 {
			t.Errorf("with room: %+v", r)
		}
	})
}

// A position is answered after its events are published, not before.
func TestAnswerFollowsPublication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pub := &published{gate: make(chan struct{})}
		p, _ := newPipeline(t, pub, Config{Workers: 2})
		var answers results
		if err := p.TrySubmit(fixes("v", 0, 2), answers.of(0)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := answers.list(); len(got) != 0 {
			t.Errorf("answered while Publish runs: %+v", got)
		}
		close(pub.gate)
		synctest.Wait()
		if got := answers.list(); got[0].Accepted != 2 || pub.count() != 1 {
			t.Errorf("%+v with %d events", got, pub.count())
		}
	})
}

func TestCloseAppliesWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const queued = 20
		p, pub := blocked(t, maxWaiting)
		var answers results
		for i := range queued {
			if err := p.TrySubmit(fixes(fmt.Sprint("v", i), 0, 3), answers.of(i)); err != nil {
				t.Fatal(err)
			}
		}
		closed := make(chan int)
		for range 2 { // the second one waits as well
			go func() {
				p.Close(context.Background())
				closed <- pub.count()
			}()
		}
		synctest.Wait()
		if err := p.TrySubmit(fixes("after", 0, 1), func(Result) { t.Error("answered") }); !errors.Is(err, ErrClosed) {
			t.Errorf("TrySubmit while closing: %v", err)
		}
		if _, err := p.Submit(t.Context(), fixes("after", 0, 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("Submit while closing: %v", err)
		}
		close(pub.gate)
		for range 2 {
			if n := <-closed; n != 1+2*queued {
				t.Errorf("%d events were out when Close returned", n)
			}
		}
		got := answers.list()
		for i := range queued {
			if got[i].Accepted != 3 {
				t.Errorf("queued %d: %+v", i, got[i])
			}
		}
	})
}

// Questions to a closed pipeline are answered, with empty results.
func TestClosedPipelineKnowsNothing(t *testing.T) {
	p, _ := newPipeline(t, &published{}, Config{})
	submit(t, p, fixes("v", 0, 1))
	if _, ok := p.Object("f", "v"); !ok {
		t.Error("the object is unknown")
	}
	p.Close(context.Background())
	if _, ok := p.Object("f", "v"); ok {
		t.Error("an object after the end")
	}
	if all, more := p.Objects(Query{Limit: 10}); len(all) != 0 || more {
		t.Errorf("objects %v after the end", all)
	}
	if dots := p.Dots(nil); len(dots) != 0 {
		t.Errorf("dots %v after the end", dots)
	}
}

// The handles of removed objects are told, of so many as are kept.
func TestRemovedSince(t *testing.T) {
	p, _ := newPipeline(t, &published{}, Config{})
	var want []uint32
	remove := func(id string) {
		t.Helper()
		submit(t, p, fixes(id, 0, 1))
		d, ok := p.Dot("f", id)
		if removed, err := p.Remove("f", id); err != nil || !ok || !removed {
			t.Fatal(ok, removed, err)
		}
		want = append(want, d.Handle)
	}
	for i := range 5 {
		remove(fmt.Sprint("v", i))
	}
	if removed, _ := p.Remove("f", "nothing"); removed || p.Removed() != 5 {
		t.Errorf("%d objects removed", p.Removed())
	}
	for n := range 6 {
		if got, ok := p.RemovedSince(uint64(n)); !ok || !slices.Equal(got, want[n:]) {
			t.Errorf("since %d: %v of %v, %v", n, got, want, ok)
		}
	}
	for range len(p.gone.last) {
		remove("v")
	}
	if got, ok := p.RemovedSince(5); !ok || !slices.Equal(got, want[5:]) {
		t.Errorf("%d of %d handles, %v", len(got), len(want)-5, ok)
	}
	if got, ok := p.RemovedSince(4); ok {
		t.Errorf("%d handles although more were removed than are kept", len(got))
	}
}

// The limit of a list bounds its memory too: the objects of no partition are kept beyond it.
func TestALimitedListIsSmall(t *testing.T) {
	const all, limit = 3200, 40
	p, _ := newPipeline(t, &published{}, Config{})
	for i := range all {
		submit(t, p, fixes(fmt.Sprint("v", i), 0, 1))
	}
	var ids []string
	for after, more := "", true; more; {
		var page []track.Object
		page, more = p.Objects(Query{After: after, Limit: limit})
		if cap(page) > 10*limit {
			t.Fatalf("room for %d objects in a page of %d", cap(page), limit)
		}
		for i := range page {
			ids = append(ids, page[i].ID)
			after = ObjectKey(page[i].Fleet, page[i].ID)
		}
	}
	if len(ids) != all || !slices.IsSorted(ids) || len(slices.Compact(ids)) != all {
		t.Errorf("%d objects in the pages", len(ids))
	}
}

// Each partition takes its share of the objects, so the bound on all holds for any number of
// workers.
func TestMaxObjects(t *testing.T) {
	const limit, sent = 640, 3200
	for _, workers := range []int{1, 7} {
		pub := &published{}
		p, _ := newPipeline(t, pub, Config{Workers: workers, Track: track.Options{MaxObjects: limit}})
		var of [subjects.Partitions]int
		most := 0
		b := &Batch{}
		for i := range sent {
			o := fix(fmt.Sprint("v", i), 0)
			b.Positions = append(b.Positions, o)
			if q := subjects.Partition(o.Fleet, o.ID); of[q] < shareOf(limit) {
				of[q]++
				most++
			}
		}
		r, err := p.Submit(t.Context(), b)
		if err != nil || r.Accepted != most || r.Full != sent-most || !strings.HasPrefix(r.Rejected[0].Reason, "too many objects") {
			t.Errorf("%d accepted, %d full, want %d: %v", r.Accepted, r.Full, most, err)
		}
		if n, _ := p.Counts(); n != most || n < limit || n > 3*limit {
			t.Errorf("%d objects, want %d", n, most)
		}
		again := &Batch{} // known objects are still updated
		for i := range sent {
			again.Positions = append(again.Positions, fix(fmt.Sprint("v", i), 1))
		}
		if r, _ := p.Submit(t.Context(), again); r.Accepted != most || pub.count() != most {
			t.Errorf("%d of the known ones accepted, %d events", r.Accepted, pub.count())
		}
	}
}

// A batch that is submitted after a change of the fences sees the change.
func TestChangedFencesAreSeenByTheNextBatch(t *testing.T) {
	pub := &published{}
	p, catalog := newPipeline(t, pub, Config{})
	n := 0
	next := func(want ...string) { // stays in the square
		t.Helper()
		n++
		before := pub.count()
		q := fix("v", 1)
		q.Time += track.Millis(n)
		submit(t, p, &Batch{Positions: []track.Position{q}})
		if got := pub.texts(t)[before:]; !slices.Equal(got, want) {
			t.Errorf("position %d: %q, want %q", n, got, want)
		}
	}
	next() // the first position causes no event
	zone, _ := catalog.Get("zone")
	replace := func(fences ...fence.Fence) {
		t.Helper()
		if _, err := zone.Replace(&geojson.Collection{Fences: fences}); err != nil {
			t.Fatal(err)
		}
	}
	replace(unitSquare("a", 0))
	next() // the same shape again
	replace(unitSquare("a", 5))
	next("exit zone/a v fence_changed")
	replace(unitSquare("a", 0), unitSquare("b", 0.25))
	next("enter zone/a v fence_changed", "enter zone/b v fence_added")
	zone.Delete("b")
	next("exit zone/b v fence_removed")
	catalog.Remove("zone")
	next("exit zone/a v fence_removed")
	addSet(t, catalog, "zone", unitSquare("a", 0))
	next("enter zone/a v fence_added")
	catalog.Remove("zone")
	addSet(t, catalog, "zone", unitSquare("a", 0)) // another set, though its name is the same
	next("exit zone/a v fence_removed", "enter zone/a v fence_added")
	addSet(t, catalog, "area", unitSquare("c", 0))
	next("enter area/c v fence_added")
}

// Without positions, a worker checks the fences and the clock by itself.
func TestTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pub := &published{}
		p, catalog := newPipeline(t, pub, Config{Track: track.Options{TTL: time.Minute}})
		submitNow(t, p)
		addSet(t, catalog, "area", unitSquare("c", 0))
		time.Sleep(tick)
		synctest.Wait()
		if got, want := pub.texts(t), []string{"enter area/c v fence_added"}; !slices.Equal(got, want) {
			t.Errorf("after a tick: %q, want %q", got, want)
		}
		time.Sleep(time.Minute - 2*tick)
		synctest.Wait()
		if _, silent := p.Counts(); pub.count() != 1 || silent != 0 {
			t.Errorf("before the TTL: %q, %d silent", pub.texts(t), silent)
		}
		time.Sleep(2 * tick)
		synctest.Wait()
		want := []string{"enter area/c v fence_added", "exit zone/a v ttl", "exit area/c v ttl"}
		if got := pub.texts(t); !slices.Equal(got, want) {
			t.Errorf("after the TTL: %q, want %q", got, want)
		}
		if all, silent := p.Counts(); all != 1 || silent != 1 {
			t.Errorf("%d objects, %d silent", all, silent)
		}
	})
}

// While the wall clock is set back, an object whose positions have no times goes on, and is not
// silent.
func TestNoTimesWhileTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var step atomic.Int64 // of the wall clock
		pub := &published{}
		p, _ := newPipeline(t, pub, Config{Track: track.Options{TTL: time.Minute}, Now: func() time.Time { return time.Now().Add(time.Duration(step.Load())) }})
		for range 20 {
			var d Decoder
			d.Arrived, d.Present = p.Times()
			b, err := d.Decode([]byte(`{"id":"v","lon":0.5,"lat":0.5}`))
			if err != nil {
				t.Fatal(err)
			}
			submit(t, p, b)
			step.Store(int64(-2 * time.Hour))
			time.Sleep(30 * time.Second)
		}
		if got := pub.texts(t); len(got) != 0 {
			t.Errorf("%q", got)
		}
	})
}

// The lag of events is by the clock of the records, which may be another one than that of this
// machine.
func TestLagByTheClockOfRecords(t *testing.T) {
	for _, by := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			pub := &published{gate: make(chan struct{})}
			p, _ := newPipeline(t, pub, Config{Now: func() time.Time { return time.Now().Add(by) }})
			time.AfterFunc(time.Second, func() { close(pub.gate) })
			submit(t, p, fixes("v", 0, 2))
			if lag := p.Metrics.Totals().EventP99.Round(100 * time.Millisecond); pub.count() != 1 || lag != time.Second {
				t.Errorf("a clock apart by %v: a lag of %v", by, lag)
			}
		})
	}
}

// While nothing can be stored, work that is due waits, without a busy loop, and does not delay the
// end.
func TestDueWhileNothingIsStored(t *testing.T) {
	for _, room := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			pub := &published{}
			p, _ := newPipeline(t, pub, Config{Track: track.Options{TTL: time.Minute}})
			submitNow(t, p)
			p.Refuse("the disk is full")
			time.Sleep(time.Hour)
			synctest.Wait()
			if n := pub.count(); n > 0 {
				t.Errorf("%d events", n)
			}
			if room {
				p.Refuse("")
				time.Sleep(tick)
				synctest.Wait()
				if got, want := pub.texts(t), []string{"exit zone/a v ttl"}; !slices.Equal(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}
			closing := time.Now()
			p.Close(t.Context())
			if d := time.Since(closing); d > tick {
				t.Errorf("the end took %v", d)
			}
		})
	}
}

// A batch of many records is not overtaken by the next ones of its sender, which has not waited for
// its end. Senders that wait are not held up meanwhile.
func TestLongBatchIsNotOvertaken(t *testing.T) {
	pub := &published{}
	p, _ := newPipeline(t, pub, Config{})
	type end struct {
		id   string
		late int
	}
	ends := make(chan end, 4)
	p.turn <- struct{}{} // no record is made
	first := 1
	for _, n := range []int{2*maxPart + 1, 1, maxPart} {
		if err := p.TrySubmit(fixes("v", first, n), func(r Result) { ends <- end{"v", r.Late} }); err != nil {
			t.Fatal(err)
		}
		first += n
	}
	done := make(chan struct{})
	waits := p.newPending(fixes("w", 1, 1), func(*pending) { ends <- end{"w", 0}; close(done) })
	if !p.room.try(waits) {
		t.Fatal("no room")
	}
	go func() { _ = p.do(&request{pending: waits}, done) }() // as Submit
	for p.Waiting() < first {
		runtime.Gosched()
	}
	<-p.turn
	if e := <-ends; e.id != "w" {
		t.Error("another sender had to wait for the whole batch")
	}
	for range 3 {
		if e := <-ends; e.late > 0 {
			t.Errorf("%d positions of %s are late", e.late, e.id)
		}
	}
}

// overlapping returns n fences that all hold the unit square of longitude and latitude.
func overlapping(n int) []fence.Fence {
	fences := make([]fence.Fence, n)
	for i := range fences {
		fences[i] = unitSquare(fmt.Sprint("f", i), 0)
	}
	return fences
}

// jumps returns positions of one object, alternately inside and outside.
func jumps(id string, count int) *Batch {
	b := &Batch{}
	for i := range count {
		p := fix(id, i)
		p.Lon, p.Lat = 0.5+9*float64(i%2), 0.5
		b.Positions = append(b.Positions, p)
	}
	return b
}

// parts records how much is published at once.
type parts struct {
	published
	records, bytes atomic.Int64 // the most
}

func (p *parts) Publish(records []events.Record) {
	bytes := 0
	for i := range records {
		bytes += records[i].JSON.Len()
	}
	p.records.Store(max(p.records.Load(), int64(len(records))))
	p.bytes.Store(max(p.bytes.Load(), int64(bytes)))
	p.published.Publish(records)
}

// The events of a job are published in parts, however many and however large they are.
func TestEventsArePublishedInParts(t *testing.T) {
	const size = 100_000
	large := overlapping(20)
	for i := range large {
		large[i].Properties = []byte(`{"p":"` + strings.Repeat("x", size) + `"}`)
	}
	for name, c := range map[string]struct {
		fences    []fence.Fence
		positions int
	}{"many": {overlapping(300), 50}, "large": {large, 20}} {
		t.Run(name, func(t *testing.T) {
			pub := &parts{}
			p, catalog := newPipeline(t, pub, Config{Workers: 1})
			addSet(t, catalog, "s", c.fences...)
			submit(t, p, jumps("v", c.positions))
			if n, want := pub.count(), (len(c.fences)+1)*(c.positions-1); n != want {
				t.Errorf("%d events, want %d", n, want)
			}
			if n := pub.records.Load(); n > publishRecords {
				t.Errorf("%d records at once", n)
			}
			if n := pub.bytes.Load(); n > publishBytes+2*size {
				t.Errorf("%d bytes at once", n)
			}
		})
	}
}

// A long job lets positions of other objects pass, even while subscribers are behind for ever.
// Later positions of its own object wait for it.
func TestALongJobLetsOthersPass(t *testing.T) {
	const long = 400
	var congested atomic.Bool
	congested.Store(true)
	pub := &published{}
	p, catalog := newPipeline(t, pub, Config{Workers: 1, Congested: congested.Load})
	addSet(t, catalog, "s", overlapping(300)...)
	var got results
	if err := p.TrySubmit(jumps("v", long), got.of(0)); err != nil {
		t.Fatal(err)
	}
	late := &Batch{Positions: jumps("v", long+2).Positions[long:]}
	if err := p.TrySubmit(late, got.of(1)); err != nil {
		t.Fatal(err)
	}
	submit(t, p, jumps("other", 1)) // waits for its answer
	if n := len(got.list()); n != 0 {
		t.Fatalf("%d of the long job and of the one behind it are answered", n)
	}
	congested.Store(false)
	p.Close(context.Background())
	for i, want := range []int{long, 2} {
		if r := got.list()[i]; r.Accepted != want {
			t.Errorf("job %d: %+v, want %d accepted", i, r, want)
		}
	}
}

// A pipeline whose time is up refuses unapplied positions, and ends.
func TestCloseRefusesWhatItHasNoTimeFor(t *testing.T) {
	const long = 400
	p, catalog := newPipeline(t, &published{}, Config{Workers: 1, Congested: func() bool { return true }})
	addSet(t, catalog, "s", overlapping(300)...)
	var got results
	if err := p.TrySubmit(jumps("v", long), got.of(0)); err != nil {
		t.Fatal(err)
	}
	submit(t, p, jumps("other", 1))
	over, cancel := context.WithCancel(context.Background())
	cancel()
	p.Close(over)
	r := got.list()[0]
	if r.Accepted == 0 || r.Overloaded == 0 || r.Accepted+r.Overloaded != long || !strings.HasPrefix(r.Rejected[0].Reason, "not applied: shutting down") {
		t.Errorf("%+v", r)
	}
	if n := p.Metrics.Totals().Overloaded; n != uint64(r.Overloaded) {
		t.Errorf("%d counted, %d refused", n, r.Overloaded)
	}
}

// The events of the same batches, and their order, are the same for any number of workers.
func TestOrderIsTheSameForAnyWorkers(t *testing.T) {
	var want []string
	for _, workers := range []int{1, 2, 7} {
		pub := &published{}
		p, catalog := newPipeline(t, pub, Config{Workers: workers})
		addSet(t, catalog, "s", overlapping(30)...) // more events than a partition causes at once
		for n := range 6 {
			b := &Batch{}
			for i := range 200 {
				b.Positions = append(b.Positions, fix(fmt.Sprint("v", i), n))
			}
			submit(t, p, b)
		}
		var got []string
		for _, r := range pub.records {
			got = append(got, string(r.JSON.Bytes()))
		}
		if len(got) != 200*5*31 {
			t.Fatalf("%d events", len(got))
		}
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("%d workers: another order", workers)
		}
	}
}
