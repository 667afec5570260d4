package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/journaltest"
	"paddock/internal/platform/rulebook"
)

// powerCuts is the number of losses of power in a test.
func powerCuts() int {
	if n, err := strconv.Atoi(os.Getenv("PADDOCK_POWER_CUTS")); err == nil {
		return n
	}
	return 12
}

// fleet is objects that several doors move, and the newest position of each that was acknowledged.
type fleet struct {
	mu           sync.Mutex
	acknowledged map[string]track.Millis
}

// drive sends batches of one door's objects until stop is closed, each after the answer to the one
// before it.
func (f *fleet) drive(p *Pipeline, door int, r *rand.Rand, clock track.Millis, stop <-chan struct{}) {
	for n := track.Millis(1); ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		b := &Batch{}
		for range 1 + r.IntN(8) {
			q := fix(fmt.Sprintf("%d/%d", door, r.IntN(20)), r.IntN(2))
			q.Time = clock + 10*n + track.Millis(len(b.Positions))
			b.Positions = append(b.Positions, q)
		}
		result, err := p.Submit(context.Background(), b)
		if err != nil || result.Accepted+result.Late != len(b.Positions) {
			return // the pipeline is closed
		}
		f.mu.Lock()
		for _, q := range b.Positions {
			f.acknowledged[q.ID] = max(f.acknowledged[q.ID], q.Time)
		}
		f.mu.Unlock()
	}
}

func (f *fleet) snapshot() map[string]track.Millis {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.acknowledged)
}

// cutPower plays losses of power under load from three doors. After each the next pipeline has all
// positions that were acknowledged before, no event is in the journal twice, and as long as no
// record was removed they are the events of an independent fold of the records. A partition is
// saved after every so many positions.
func cutPower(t *testing.T, times, every int, noSync bool) error {
	r := rand.New(rand.NewPCG(5, 6))
	config := Config{CheckpointEvery: every}
	fill := func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) }
	var disk *journaltest.Disk
	var acknowledged map[string]track.Millis
	for cut := range times {
		if cut%25 == 0 { // each cut reads all that the ones before have written
			disk, acknowledged = journaltest.NewDisk(), map[string]track.Millis{}
		}
		log, err := disk.Open(noSync)
		if err != nil {
			return err
		}
		p, catalog := openWith(t, config, log, fill, crowdRules(t))
		p.Start(discard{})
		for id, at := range acknowledged {
			if o, ok := p.Object("f", id); !ok || o.Time < at {
				p.Close(context.Background())
				return errors.Join(fmt.Errorf("cut %d: %s was acknowledged at %d, and is at %d", cut, id, at, o.Time), log.Close())
			}
		}
		got := stored(t, log)
		if oldest, _ := log.Bounds(); oldest == 1 {
			if want := folded(t, config, log); !slices.Equal(got, want) {
				return fmt.Errorf("cut %d: %d events, want %d", cut, len(got), len(want))
			}
		}
		slices.Sort(got)
		if n := len(slices.Compact(slices.Clone(got))); n < len(got) {
			return fmt.Errorf("cut %d: of %d events %d are there twice", cut, len(got), len(got)-n)
		}
		f := &fleet{acknowledged: acknowledged}
		stop := make(chan struct{})
		var doors sync.WaitGroup
		clock := arrival + track.Millis(cut+1)*1_000_000
		for door := range 3 {
			mine := rand.New(rand.NewPCG(uint64(cut), uint64(door)))
			doors.Go(func() { f.drive(p, door, mine, clock, stop) })
		}
		for until := 3 + r.IntN(40); until > 0; until-- {
			if r.IntN(4) == 0 {
				zone, _ := catalog.Get("zone")
				if _, _, err := zone.Put(unitSquare("a", r.Float64()/10)); err != nil {
					return err
				}
			}
			if err := p.Settle(); err != nil {
				return err
			}
			_, _ = p.Remove("f", "nothing") // waits for a record
		}
		before := f.snapshot()
		next := disk.Cut(r)
		close(stop)
		doors.Wait()
		p.Close(context.Background())
		if !noSync && cut%5 == 0 {
			verify(t, config, log)
		}
		if err := log.Close(); err != nil {
			return err
		}
		disk, acknowledged = next, before
	}
	t.Logf("%d losses of power, %d objects, partitions saved after every %d positions", times, len(acknowledged), every)
	return nil
}

// crowdRules returns a book with rules about several objects, and one about each.
func crowdRules(t *testing.T) *rulebook.Book {
	book := rulebook.New(track.Policy{})
	for _, text := range []string{
		`{"id":"each","set":"zone"}`, `{"id":"full","set":"zone","count":{"at_least":25}}`,
		`{"id":"meeting","objects":"0/1","near":{"objects":"1/1*","metres":100}}`,
	} {
		r, err := rule.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := book.Put(r, func(*rule.Rule) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return book
}

// folded returns the events that the records of a journal cause, by a new pipeline.
func folded(t *testing.T, config Config, log journal.Journal) []string {
	t.Helper()
	copied := journal.NewMemory()
	if err := log.Records(1, func(_ uint64, record []byte) error {
		_, err := copied.Append(record)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	names, err := log.Names("")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		value, err := log.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := copied.Put(journal.Value{Name: name, Bytes: value}); err != nil {
			t.Fatal(err)
		}
	}
	openOn(t, config, copied, nil)
	return stored(t, copied)
}

// No loss of power takes an acknowledged position, or an event, or doubles one.
func TestPowerCuts(t *testing.T) {
	for _, every := range []int{checkpointEvery, 5} {
		if err := cutPower(t, powerCuts(), every, false); err != nil {
			t.Error(err)
		}
	}
}

// The test above must be able to fail: without waiting for the disk, positions are lost.
func TestPowerCutsAreNoticed(t *testing.T) {
	if err := cutPower(t, 1000, checkpointEvery, true); err == nil {
		t.Error("nothing was lost")
	} else {
		t.Log(err)
	}
}
