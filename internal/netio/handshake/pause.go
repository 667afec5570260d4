package handshake

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// freeFailures is how many connections in a row may fail from an address for nothing:
	// behind one address there may be many machines.
	freeFailures = 4
	// minPause and maxPause bound how long an address is not listened to after a further
	// one: it doubles from one to the other.
	minPause, maxPause = time.Second, time.Minute
	// maxPauses bounds the addresses that are remembered.
	maxPauses = 4_096
)

// Pauses remember from where connections fail before it is known whose they are. Whoever
// guesses, or speaks something else, is not listened to for a while; the first one from
// his address who is let in ends that. The zero value remembers nothing yet; the methods
// may be called by any number of goroutines.
type Pauses struct {
	mu sync.Mutex
	of map[netip.Prefix]*pause // guarded by mu
	// swept is when room was made for the last time: to look at all costs too much for
	// each of those whom there is no room for.
	swept time.Time // guarded by mu
}

// pause is what is remembered of an address.
type pause struct {
	failures int
	until    time.Time
}

// Network is what counts as one address: of IPv6, all that one machine may choose from. ok
// is false where there is none.
func Network(a net.Addr) (of netip.Prefix, ok bool) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	address, bits := t.AddrPort().Addr().Unmap().WithZone(""), 32
	if address.Is6() {
		bits = 64
	}
	p, err := address.Prefix(bits)
	return p, err == nil
}

// Failed counts one. Who has only looked whether the port is open has not failed.
func (p *Pauses) Failed(peer net.Addr) {
	from, ok := Network(peer)
	if !ok {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.of[from]
	if known == nil {
		if len(p.of) >= maxPauses && !p.forget(now) {
			return
		}
		if p.of == nil {
			p.of = map[netip.Prefix]*pause{}
		}
		known = &pause{}
		p.of[from] = known
	}
	if known.failures++; known.failures > freeFailures {
		known.until = now.Add(min(minPause<<min(known.failures-freeFailures-1, 10), maxPause))
	} else {
		known.until = now
	}
}

// FailedElsewhere counts a failure like Failed, unless the peer is on this machine: its own
// addresses are never paused.
func (p *Pauses) FailedElsewhere(peer net.Addr) {
	if t, ok := peer.(*net.TCPAddr); ok && !t.IP.IsLoopback() {
		p.Failed(t)
	}
}

// forget makes room: it drops those whose pauses are over for long. p.mu is held.
func (p *Pauses) forget(now time.Time) bool {
	if now.Sub(p.swept) < minPause {
		return false
	}
	p.swept = now
	for from, known := range p.of {
		if now.Sub(known.until) > maxPause {
			delete(p.of, from)
		}
	}
	return len(p.of) < maxPauses
}

// Forgive ends what there is of an address.
func (p *Pauses) Forgive(peer net.Addr) {
	from, ok := Network(peer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		delete(p.of, from)
	}
}

// Now says whether an address is not listened to at present.
func (p *Pauses) Now(peer net.Addr) bool {
	from, ok := Network(peer)
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.of[from]
	return ok && known != nil && time.Now().Before(known.until)
}
