package bus

import (
	"maps"
	"slices"
	"sync"
)

// maxRejected bounds the refused connections that receive an error at one time; beyond it they are
// just closed.
const maxRejected = 64

// registry holds the listeners and the connections of a server, and its phase: whether it takes
// connections.
type registry struct {
	mu        sync.Mutex
	listeners []*listener // in the order in which they were opened; nil before Start
	clients   map[*client]struct{}
	rejected  int // of the clients
	active    int // clients that have been taken and have not ended
	locals    map[*Local]struct{}
	stopping  bool
	drained   chan struct{} // not nil in lame duck mode; closed when no client is left
}

// add takes c, and calls start for it, unless the server is ending. A client beyond most is
// rejected: it receives an error.
func (g *registry) add(c *client, most int, start func()) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ending():
		return ErrClosed
	case len(g.clients)-g.rejected < most:
		g.active++
	case g.rejected >= maxRejected:
		return errMaxConns
	default:
		g.rejected++
		c.rejected = errMaxConns
	}
	g.clients[c] = struct{}{}
	start()
	return nil
}

// ending reports whether no more connections are taken. g.mu is held.
func (g *registry) ending() bool { return g.stopping || g.drained != nil }

// retire takes c out of the open connections.
func (g *registry) retire(c *client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.retired = true
	if c.rejected == nil {
		g.active--
	}
}

// remove forgets c, whose goroutines have ended.
func (g *registry) remove(c *client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.clients, c)
	if c.rejected != nil {
		g.rejected--
	}
	g.checkDrained()
}

// connected returns the number of network connections.
func (g *registry) connected() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.active
}

// all returns the clients, including clients that are ending.
func (g *registry) all() []*client {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.clients))
}

// open returns the open connections.
func (g *registry) open() []endpoint {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]endpoint, 0, len(g.clients)+len(g.locals))
	for c := range g.clients {
		if !c.retired {
			list = append(list, c)
		}
	}
	for l := range g.locals {
		list = append(list, l)
	}
	return list
}

// addLocal keeps a new l until its Close, or closes it at once.
func (g *registry) addLocal(l *Local) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.closed = g.stopping; !l.closed {
		g.locals[l] = struct{}{}
	}
}

func (g *registry) dropLocal(l *Local) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.locals, l)
}

func (g *registry) closeLocals() {
	g.mu.Lock()
	locals := slices.Collect(maps.Keys(g.locals))
	g.mu.Unlock()
	for _, l := range locals {
		l.Close()
	}
}

// stop begins the end of the server. The first call calls start, and reports true.
func (g *registry) stop(start func()) (first bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return false
	}
	g.stopping = true
	start()
	return true
}

// enterLameDuck begins lame duck mode, in which no connection is taken.
func (g *registry) enterLameDuck() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.stopping:
		return ErrClosed
	case g.drained != nil:
		return ErrLameDuck
	}
	g.drained = make(chan struct{})
	g.checkDrained()
	return nil
}

// checkDrained ends lame duck mode's wait once no client is connected. g.mu is held.
func (g *registry) checkDrained() {
	if g.drained == nil || len(g.clients) > 0 {
		return
	}
	select {
	case <-g.drained:
	default:
		close(g.drained)
	}
}

// closeListeners closes the listeners that are open.
func (g *registry) closeListeners() {
	g.mu.Lock()
	defer g.mu.Unlock()
	closeAll(g.listeners)
}

// listener returns the listener of a kind; nil = none is open.
func (g *registry) listener(kind listenerKind) *listener {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, l := range g.listeners {
		if l.kind == kind {
			return l
		}
	}
	return nil
}

// accepting reports whether the server listens and takes connections.
func (g *registry) accepting() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.listeners != nil && !g.ending()
}
