package tunneld

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"paddock/wire"
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

// pauses remember from where connections fail before they are authenticated. Whoever
// guesses, or speaks something else, is not listened to for a while; the first one from
// his address who is let in ends that.
type pauses struct {
	mu sync.Mutex
	of map[netip.Prefix]*pause
}

// pause is what is remembered of an address.
type pause struct {
	failures int
	until    time.Time
}

func newPauses() *pauses { return &pauses{of: map[netip.Prefix]*pause{}} }

// network is what counts as one address: of IPv6, all that one machine may choose from.
func network(a net.Addr) (netip.Prefix, bool) {
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

// failed counts one. Who has said nothing, as those who only look whether the port is
// open, and who was sent away by an operator, has not failed.
func (p *pauses) failed(peer net.Addr, err error) {
	var e *wire.Error
	from, ok := network(peer)
	if !ok || errors.Is(err, io.EOF) || errors.As(err, &e) && e.Code == wire.PermissionDenied {
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
		known = &pause{}
		p.of[from] = known
	}
	if known.failures++; known.failures > freeFailures {
		known.until = now.Add(min(minPause<<min(known.failures-freeFailures-1, 10), maxPause))
	} else {
		known.until = now
	}
}

// forget makes room: it drops those whose pauses are over for long. p.mu is held.
func (p *pauses) forget(now time.Time) bool {
	for from, known := range p.of {
		if now.Sub(known.until) > maxPause {
			delete(p.of, from)
		}
	}
	return len(p.of) < maxPauses
}

// forgive ends what there is of an address.
func (p *pauses) forgive(peer net.Addr) {
	from, ok := network(peer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		delete(p.of, from)
	}
}

// now says whether an address is not listened to at present.
func (p *pauses) now(peer net.Addr) bool {
	from, ok := network(peer)
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.of[from]
	return ok && known != nil && time.Now().Before(known.until)
}

// pausing is a listener that closes what comes from an address in its pause.
type pausing struct {
	net.Listener
	pauses *pauses
}

// Accept waits for one from elsewhere.
func (l *pausing) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || !l.pauses.now(conn.RemoteAddr()) {
			return conn, err
		}
		_ = conn.Close()
	}
}
