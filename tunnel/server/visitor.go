package server

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/netio/handshake"
	"paddock/internal/netio/nowait"
	"paddock/tunnel"
	"paddock/tunnel/internal/relay"
)

// visitors bounds the connections of the fronts, in total and from one address, and how long each
// may stall a write.
type visitors struct {
	net.Listener
	s *Server
}

// Accept drops connections over a bound before they cost anything.
func (v *visitors) Accept() (net.Conn, error) {
	for {
		conn, err := v.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := relay.AddrPort(conn.RemoteAddr()).Addr()
		counted := v.s.countedAs(from)
		if err = v.s.visitorConns.enter(counted, v.s.limits.Visitors, v.s.limits.VisitorsEach); err == nil {
			return &visitor{Conn: conn, s: v.s, from: from, counted: counted, stall: v.s.limits.Stall, now: nowait.NewWriter(conn)}, nil
		}
		v.s.refused(Refusal{Reason: Overloaded, Peer: conn.RemoteAddr().String(), Err: err})
		_ = conn.Close()
	}
}

// visitor is a connection whose writes fail if no bytes are taken for stall: otherwise a visitor
// that does not read would hold its answer for ever.
type visitor struct {
	net.Conn
	s       *Server
	from    netip.Addr
	counted netip.Prefix // where it counts, zero for a proxy
	stall   time.Duration
	armed   relay.AtomicTime // when the write deadline was set last
	once    sync.Once

	trying sync.Mutex
	now    *nowait.Writer // nil: writes may wait; guarded by trying
}

// introduced reads the visitor's address from a proxy's header; the visitor then counts for its own
// address. first holds the visitor's bytes that came with it; without ok the connection was
// dropped. It is called once, before anything else.
func (c *visitor) introduced() (first []byte, ok bool) {
	if !c.s.introduces(c.from) {
		return nil, true
	}
	began := time.Now()
	conn, first, err := c.s.introduced(c.Conn)
	c.Conn = conn
	if from := relay.AddrPort(conn.RemoteAddr()).Addr(); err == nil && from != c.from {
		counted := c.s.countedAs(from)
		if err = c.s.visitorConns.countForwarded(counted, c.s.limits.VisitorsEach); err == nil {
			c.from, c.counted = from, counted
		}
	}
	if err == nil {
		return first, true
	}
	if !errors.Is(err, io.EOF) {
		c.s.refused(Refusal{Reason: reasonOf(c.s.ctx, err), Peer: c.RemoteAddr().String(), Waited: time.Since(began), Err: err})
	}
	_ = c.Close()
	return nil, false
}

// Write writes as much as is taken at once, and then pieces, each within stall.
func (c *visitor) Write(p []byte) (total int, err error) {
	const piece = 64 << 10
	if total = c.tryWrite(p); total == len(p) {
		return total, nil
	}
	p = p[total:]
	for {
		c.arm()
		n, err := c.Conn.Write(p[:min(len(p), piece)])
		total += n
		if p = p[n:]; err != nil || len(p) == 0 {
			return total, err
		}
	}
}

// tryWrite writes p[:n] without waiting. An error is returned by the next write.
func (c *visitor) tryWrite(p []byte) (n int) {
	if c.now == nil || !c.trying.TryLock() {
		return 0
	}
	defer c.trying.Unlock()
	n, _ = c.now.TryWrite(p)
	return n
}

// arm moves the deadline, at most once for each sixteenth of stall.
func (c *visitor) arm() {
	if now := time.Now(); now.Sub(c.armed.Get()) > c.stall/16 {
		c.armed.Set(now)
		_ = c.Conn.SetWriteDeadline(now.Add(c.stall))
	}
}

// CloseWrite ends the written half, for upgraded connections.
func (c *visitor) CloseWrite() error { return relay.CloseWrite(c.Conn) }

// NetConn is the connection beneath.
func (c *visitor) NetConn() net.Conn { return c.Conn }

// Close gives the place back.
func (c *visitor) Close() error {
	c.once.Do(func() { c.s.visitorConns.leave(c.counted) })
	return c.Conn.Close()
}

// Bare returns the connection below the server's wrappers.
func (c *visitor) Bare() net.Conn { return c.Conn }

// connCounts is how many connections of visitors there are: at all fronts together, or at all
// addresses of TCP tunnels. Each of them takes a descriptor of the process.
type connCounts struct {
	mu   sync.Mutex
	all  int                  // guarded by mu
	each map[netip.Prefix]int // guarded by mu; by network, without proxies themselves

	refused, refusedEach atomic.Uint64 // since there were too many in all, from one address
}

// Reasons to refuse a visitor before any of its bytes is read.
var (
	errCrowd     = fmt.Errorf("%w: as many visitors as there may be", tunnel.ErrOverloaded)
	errCrowdEach = fmt.Errorf("%w: as many visitors as there may be from one address", tunnel.ErrOverloaded)
)

// countedAs is the network to which a visitor's connection counts: zero for the address of a proxy,
// because behind it there are many visitors.
func (s *Server) countedAs(from netip.Addr) netip.Prefix {
	if s.manyBehind(from) {
		return netip.Prefix{}
	}
	return handshake.NetworkOf(from)
}

// enter counts one more from a network, if there may be one: the error wraps ErrOverloaded.
// Without a network only the bound of all counts.
func (c *connCounts) enter(from netip.Prefix, most, each int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= most {
		c.refused.Add(1)
		return errCrowd
	}
	if err := c.one(from, each); err != nil {
		return err
	}
	c.all++
	return nil
}

// countForwarded counts a visitor that a proxy has forwarded for a network, if the network is
// below its bound.
func (c *connCounts) countForwarded(from netip.Prefix, each int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.one(from, each)
}

// one counts one more from a network. mu is held.
func (c *connCounts) one(from netip.Prefix, each int) error {
	if !from.IsValid() {
		return nil
	}
	if c.each[from] >= each {
		c.refusedEach.Add(1)
		return errCrowdEach
	}
	if c.each == nil {
		c.each = map[netip.Prefix]int{}
	}
	c.each[from]++
	return nil
}

func (c *connCounts) leave(from netip.Prefix) {
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
func (c *connCounts) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
