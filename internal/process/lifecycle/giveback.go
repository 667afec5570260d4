package lifecycle

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// giveBackLook is how often it is looked how much is under way, and giveBackAfter for how
	// long it must have been below 1 / giveBackPart of its most, or nothing, before memory is
	// given back.
	giveBackLook, giveBackAfter = time.Second, 5 * time.Second
	giveBackPart                = 10
	// giveBackLeast, and 1 / giveBackShare of what was left the last time, is what has to have
	// been taken since for a collection to be worth its while.
	giveBackLeast, giveBackShare = 2 << 20, 16
)

// GiveBack returns a service that gives memory back to the system after each load. Without
// it nothing is collected where little is allocated any more, and what the load has taken
// stays for minutes. underWay returns how much there is to do, in any unit; it is called
// once a second.
func GiveBack(name string, underWay func() int) Service {
	return Service{Name: name, Run: (&giveBack{underWay, heldOfSystem, collect}).run}
}

type giveBack struct {
	underWay func() int
	held     func() uint64 // bytes
	free     func()
}

// Allocated returns a function for GiveBack: how many KiB have been allocated since it
// was called last.
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

// run looks until ctx ends.
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

// heldOfSystem is how much the runtime has of the system's memory.
func heldOfSystem() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}

// collect gives back what is free: twice, as pools let go of theirs at the second collection.
func collect() {
	runtime.GC()
	debug.FreeOSMemory()
}
