package server

import (
	"fmt"
	"net/netip"
	"paddock/tunnel"
	"sync"
	"sync/atomic"
)

// headcount is how many connections of visitors there are: at all fronts together, or at all
// addresses of TCP tunnels. Each of them takes a descriptor of the process.
type headcount struct {
	mu   sync.Mutex
	all  int                // guarded by mu
	each map[netip.Addr]int // guarded by mu; by address, those of proxies themselves aside

	refused, refusedEach atomic.Uint64 // since there were too many in all, from one address
}

// Why a visitor is refused before anything of him was read.
var (
	errCrowd     = fmt.Errorf("%w: as many visitors as there may be", tunnel.ErrOverloaded)
	errCrowdEach = fmt.Errorf("%w: as many visitors as there may be from one address", tunnel.ErrOverloaded)
)

// enter counts one more from an address, if there may be one: the error wraps ErrOverloaded.
// A proxy has as many as there may be in all: behind it there are many visitors.
func (c *headcount) enter(from netip.Addr, most, each int, proxy bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= most {
		c.refused.Add(1)
		return errCrowd
	}
	if !proxy {
		if err := c.one(from, each); err != nil {
			return err
		}
	}
	c.all++
	return nil
}

// turnsOut counts one who has entered as a proxy to be from an address, if there may be one
// more from there.
func (c *headcount) turnsOut(from netip.Addr, each int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.one(from, each)
}

// one counts one more from an address. mu is held.
func (c *headcount) one(from netip.Addr, each int) error {
	if c.each[from] >= each {
		c.refusedEach.Add(1)
		return errCrowdEach
	}
	if c.each == nil {
		c.each = map[netip.Addr]int{}
	}
	c.each[from]++
	return nil
}

func (c *headcount) leave(from netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if n := c.each[from]; n > 1 {
		c.each[from] = n - 1
	} else {
		delete(c.each, from)
	}
}

// now is how many there are.
func (c *headcount) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
