package platform_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"paddock/fence"
	"paddock/internal/platform"
	"paddock/internal/platform/faults/survival"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/journaltest"
	"paddock/internal/platform/views"
)

// powerCuts is the number of losses of power where PADDOCK_POWER_CUTS is not set.
const powerCuts = 10

// cutsOfADisk bounds the cuts of one disk: each start reads all that the ones before have written,
// as the power never lets a platform save its state.
const cutsOfADisk = 25

// cutPower plays losses of power of a platform under load by all interfaces. Each time the next one
// goes on with what was synced, and with a random part of what was not.
func cutPower(t *testing.T, times int, noSync bool) (survival.Report, error) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("%d losses of power, seed %d", times, seed)
	r := rand.New(rand.NewPCG(seed, 1))
	s, disk, dir := survival.New(), journaltest.NewDisk(), t.TempDir() // of the files beside the journal
	s.Rules = true
	start := func() *running {
		o := platform.Options{Config: keeping(dir)}
		o.OpenJournal(func(o journal.Options) (*journal.Disk, error) {
			o.NoSync = noSync
			return journal.Open(disk.Options(o))
		})
		p := startWith(t, o)
		s.URL, s.Bus, s.Wire = p.URL(), "nats://"+p.BusAddr().String(), p.WireAddr().String()
		return p
	}
	for range times {
		p := start()
		if err := s.Verify(t.Context()); err != nil {
			p.stop()
			return survival.Report{}, err
		}
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		load.Go(func() { s.Load(ctx) })
		<-time.After(time.Duration(r.IntN(60)) * time.Millisecond)
		moment := s.Moment()
		next := disk.Cut(r)
		stop()
		load.Wait()
		p.stop()
		disk = next
		s.Return(moment)
	}
	p := start()
	if err := s.Verify(t.Context()); err != nil {
		return survival.Report{}, err
	}
	if err := s.Rest(t.Context()); err != nil {
		return survival.Report{}, err
	}
	p.stop()
	p = start()
	err := s.Verify(t.Context())
	p.stop()
	if err != nil {
		return survival.Report{}, err
	}
	seen, err := s.Judge()
	if err != nil {
		return seen, err
	}
	found, err := replay(disk, dir)
	if err == nil && (!found.Whole || found.Events < seen.Events) {
		t.Errorf("the subscriber has %+v, the records give %+v", seen, found)
	}
	t.Logf("%+v, %+v", seen, found)
	return seen, err
}

// replay verifies the journal of a disk.
func replay(disk *journaltest.Disk, dir string) (ingest.Verified, error) {
	j, err := journal.Open(disk.Options(journal.Options{Dir: filepath.Join(dir, "journal"), ReadOnly: true}))
	if err != nil {
		return ingest.Verified{}, err
	}
	defer j.Close()
	kept, err := views.Open(views.Options{Catalog: &fence.Catalog{}, Journal: j})
	if err != nil {
		return ingest.Verified{}, err
	}
	return ingest.Verify(ingest.Config{Journal: j, Fences: kept}, nil)
}

// No loss of power takes an acknowledged position or edit, or an event, or doubles one.
func TestPowerCuts(t *testing.T) {
	times := powerCuts
	if n, err := strconv.Atoi(os.Getenv("PADDOCK_POWER_CUTS")); err == nil {
		times = n
	}
	for ; times > 0; times -= cutsOfADisk {
		seen, err := cutPower(t, min(times, cutsOfADisk), false)
		if err != nil || seen.Events == 0 {
			t.Fatalf("%+v, %v", seen, err)
		}
	}
}

// The test above must be able to fail: without waiting for the disk, positions are lost.
func TestPowerCutsAreNoticed(t *testing.T) {
	if _, err := cutPower(t, cutsOfADisk, true); err == nil {
		t.Error("nothing was lost")
	} else {
		t.Log(err)
	}
}
