package lifecycle

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// giveBackLook is the interval of the checks. Memory is returned after giveBackAfter without
	// work, or with less than 1/giveBackPart of the peak since the last return.
	giveBackLook, giveBackAfter = time.Second, 5 * time.Second
	giveBackPart                = 10
	// A collection is worth its cost once giveBackLeast bytes, and 1/giveBackShare of the memory
	// after the last return, have been taken since.
	giveBackLeast, giveBackShare = 2 << 20, 16
)

// GiveBack returns a service that returns memory to the system after each load. Without it the
// garbage collector does not run once allocation stops, and the memory of the load stays resident
// for minutes. underWay returns the amount of present work, in any unit; it is called once a
// second.
func GiveBack(name string, underWay func() int) Service {
	return Service{Name: name, Run: (&giveBack{underWay, heldOfSystem, collect}).run}
}

type giveBack struct {
	underWay func() int
	held     func() uint64 // bytes
	free     func()
}

// Allocated returns a function for GiveBack. The function returns the KiB that were allocated since
// its last call.
func Allocated() func() int {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var last uint64
	return func() int {
		metrics.Read(sample)
		before := last
		last = sample[0].Value.Uint64()
		return int((last - before) >> 10)
	}
}

// run checks until ctx ends.
func (b *giveBack) run(ctx context.Context) error {
	ticks := time.NewTicker(giveBackLook)
	defer ticks.Stop()
	most, calm, left := 0, time.Duration(0), uint64(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		n := b.underWay()
		most, calm = max(most, n), calm+giveBackLook
		switch {
		case n > 0 && n*giveBackPart >= most:
			calm = 0
		case calm >= giveBackAfter:
			if b.held() >= left+max(giveBackLeast, left/giveBackShare) {
				b.free()
				left = b.held()
			}
			most, calm = n, 0
		}
	}
}

// heldOfSystem returns the bytes that the runtime has taken from the system and not returned.
func heldOfSystem() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// collect returns free memory to the system. It collects twice, because pools release their
// contents at the second collection.
func collect() {
	runtime.GC()
	debug.FreeOSMemory()
}
