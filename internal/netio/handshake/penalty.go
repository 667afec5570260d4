package handshake

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// freeFailures is the number of successive failures from an address without a penalty, because
	// many machines may share one address.
	freeFailures = 4
	// minPause and maxPause bound the penalty of an address. It doubles with each further failure.
	minPause, maxPause = time.Second, time.Minute
	// maxPauses bounds the remembered addresses.
	maxPauses = 4_096
)

// PenaltyBox records the addresses from which handshakes fail. It pauses an address after repeated
// failures, such as wrong tokens or another protocol, until a peer of that address is
// authenticated. The zero value is empty. The methods are safe for concurrent use.
type PenaltyBox struct {
	mu sync.Mutex
	of map[netip.Prefix]*pause // guarded by mu
	// swept is the time of the last sweep: a sweep is too expensive for each address for which
	// there is no room.
	swept time.Time // guarded by mu
}

// pause holds the failures of an address.
type pause struct {
	failures int
	until    time.Time
}

// Network returns the prefix that counts as one address, as NetworkOf does. ok is false if there is
// no IP address.
func Network(a net.Addr) (of netip.Prefix, ok bool) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	of = NetworkOf(t.AddrPort().Addr())
	return of, of.IsValid()
}

// translated is the network in which a translator between IPv6 and IPv4 shows each address of
// IPv4, in its last four bytes: RFC 6052 section 2.1.
var translated = netip.MustParsePrefix("64:ff9b::/96")

// NetworkOf returns the prefix that counts as one address: for IPv6, all addresses that one machine
// may choose from. It is the zero Prefix for the zero Addr.
func NetworkOf(a netip.Addr) netip.Prefix {
	a, bits := a.Unmap().WithZone(""), 32
	if translated.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits)
	return p
}

// Failed counts a failure. A connection that is closed without data, as by a port scan, is not a
// failure.
func (p *PenaltyBox) Failed(peer net.Addr) {
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
func (p *PenaltyBox) FailedElsewhere(peer net.Addr) {
	if t, ok := peer.(*net.TCPAddr); ok && !t.IP.IsLoopback() {
		p.Failed(t)
	}
}

// forget makes room: it drops addresses whose pauses ended long ago. p.mu is held.
func (p *PenaltyBox) forget(now time.Time) bool {
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

// Forgive forgets the failures of an address.
func (p *PenaltyBox) Forgive(peer net.Addr) {
	from, ok := Network(peer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		delete(p.of, from)
	}
}

// Paused reports whether an address is paused.
func (p *PenaltyBox) Paused(peer net.Addr) bool {
	from, ok := Network(peer)
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.of[from]
	return ok && known != nil && time.Now().Before(known.until)
}
