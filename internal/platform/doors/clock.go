package doors

import (
	"slices"
	"strings"
	"time"
)

// ClockAhead and ClockBehind are the distances of a position's time from its arrival beyond which
// Door.Clock is called. A position is behind for other reasons too: the device was offline.
const (
	ClockAhead  = 10 * time.Second
	ClockBehind = time.Hour
)

// maxClocks bounds the fleets of a door whose clocks are kept. Those of further fleets are counted
// under the name "*".
const maxClocks = 32

// Clock is the positions of one fleet whose times lie ahead of their arrival, or far behind it.
type Clock struct {
	Fleet         string
	Ahead, Behind uint64        // positions since the start, taken or not
	Last          time.Time     // arrival of the last one
	Object        string        // that sent it
	By            time.Duration // of it: above zero is ahead
}

// Clock notes a position whose time is not that of its arrival.
func (d *Door) Clock(fleet, object string, by time.Duration) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i := slices.IndexFunc(d.clocks, func(c Clock) bool { return c.Fleet == fleet })
	if i < 0 && len(d.clocks) >= maxClocks {
		fleet = "*"
		i = slices.IndexFunc(d.clocks, func(c Clock) bool { return c.Fleet == fleet })
	}
	if i < 0 {
		i = len(d.clocks)
		d.clocks = append(d.clocks, Clock{Fleet: strings.Clone(fleet)})
	}
	c := &d.clocks[i]
	if by > 0 {
		c.Ahead++
	} else {
		c.Behind++
	}
	c.Last, c.Object, c.By = time.Now(), cut(object, maxObject), by
}

// Clocks returns what Clock has noted, by fleet.
func (d *Door) Clocks() []Clock {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.clocks)
}

// Clocks calls f for each door that has noted clocks.
func (s *Doors) Clocks(f func(door string, clocks []Clock)) {
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	for _, d := range list {
		if clocks := d.Clocks(); len(clocks) > 0 {
			f(d.name, clocks)
		}
	}
}
