package tunneld

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"paddock/internal/lifecycle"
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

// giveBack gives memory back to the system after each load: where little is allocated any
// more nothing is collected, and what the load has taken would stay for minutes, and what
// those take who only ask how it is would come on top.
type giveBack struct {
	underWay func() int
	held     func() uint64 // bytes
	free     func()
}

// addGiveBack adds it as a service of the group.
func addGiveBack(g *lifecycle.Group, underWay func() int) {
	g.Add(lifecycle.Service{Name: "tunnel memory", Run: (&giveBack{underWay, heldOfSystem, collect}).run})
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
