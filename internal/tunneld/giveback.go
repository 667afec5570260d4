package tunneld

import (
	"context"
	"runtime/debug"
	"time"

	"paddock/internal/lifecycle"
)

const (
	// giveBackLook is how often it is looked how much is under way, and giveBackAfter for how
	// long it must have been below 1 / giveBackPart of its most before memory is given back.
	giveBackLook, giveBackAfter = time.Second, 5 * time.Second
	giveBackPart                = 10
	// giveBackLeast is below what a load was none.
	giveBackLeast = 32
)

// giveBack gives memory back to the system, once after each load: where nothing is allocated
// any more nothing is collected, and what the load has taken would stay for minutes.
type giveBack struct {
	underWay func() int
	free     func() // debug.FreeOSMemory
}

// addGiveBack adds it as a service of the group.
func addGiveBack(g *lifecycle.Group, underWay func() int) {
	g.Add(lifecycle.Service{Name: "tunnel memory", Run: (&giveBack{underWay, debug.FreeOSMemory}).run})
}

// run looks until ctx ends.
func (b *giveBack) run(ctx context.Context) error {
	ticks := time.NewTicker(giveBackLook)
	defer ticks.Stop()
	most, calm := 0, time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		n := b.underWay()
		most, calm = max(most, n), calm+giveBackLook
		if n*giveBackPart >= most {
			calm = 0
		}
		if most >= giveBackLeast && calm >= giveBackAfter {
			b.free()
			most, calm = n, 0
		}
	}
}
