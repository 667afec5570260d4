package load

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// portableRead is the buffer of a connection.
	portableRead = 64 << 10
	// portableOut is how much a connection takes to write before the loop has to wait.
	portableOut = 1 << 20
)

// portable is the engine over package net: one goroutine is the loop, and each connection has two.
// It supports TLS and runs on any system, and the other engine is compared with it.
type portable struct{ plan *Plan }

// netLoop is one thread of the engine. It is the transport of its loop.
type netLoop struct {
	plan   *Plan
	d      *driver
	clock  clock
	events chan netEvent
	conns  map[*conn]*netConn // connected, or dialing
	ending chan struct{}      // closed at the end
	live   context.Context    // ends with it
	tasks  sync.WaitGroup
}

// netEvent is a message from a connection's goroutines to the loop.
type netEvent struct {
	c    *netConn
	kind netKind
	in   []byte // of netReceived
	err  error

	tcp, tls time.Duration // of netConnected, see conn
}

type netKind uint8

const (
	netConnected netKind = iota
	netReceived
	netEnded
	netDrained
)

// netConn is one lifetime of a connection.
type netConn struct {
	of *conn

	mu    sync.Mutex // guards the following fields
	nc    net.Conn   // nil = not connected yet
	gone  bool
	out   []byte
	full  bool          // write has refused some
	wake  chan struct{} // the writer has something to do
	taken chan []byte   // the reader's buffer, back from the loop
}

func (p *portable) drive(d *driver, _ int, clock clock) error {
	l := &netLoop{
		plan: p.plan, d: d, clock: clock, events: make(chan netEvent, 256),
		conns: map[*conn]*netConn{}, ending: make(chan struct{}),
	}
	d.tr = l
	var (
		waited int64 // ns
		cancel context.CancelFunc
	)
	l.live, cancel = context.WithCancel(context.Background())
	d.use = func() ThreadUse { return ThreadUse{Waited: time.Duration(waited)} }
	defer l.tasks.Wait()
	defer cancel()
	defer close(l.ending)
	d.start(clock.now())
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !d.turn(clock.now()) {
		now := clock.now()
		d.slept = d.deadline()
		timer.Reset(time.Duration(max(d.slept-now, 0)))
		select {
		case e := <-l.events:
			d.woken = clock.now()
			waited += max(min(d.slept, d.woken)-now, 0)
			d.slept = min(d.slept, d.woken)
			l.handle(e)
		case <-timer.C:
			d.woken = clock.now()
			waited += max(min(d.slept, d.woken)-now, 0)
		}
	}
	for c := range l.conns {
		l.hangUp(c)
	}
	return nil
}

// tell hands an event to the loop; false if that has ended.
func (l *netLoop) tell(e netEvent) bool {
	select {
	case l.events <- e:
		return true
	case <-l.ending:
		return false
	}
}

func (l *netLoop) handle(e netEvent) {
	c := e.c.of
	if l.conns[c] != e.c { // of a lifetime that is over
		if e.kind == netReceived {
			e.c.taken <- e.in // so that its reader learns it
		}
		return
	}
	now := l.clock.now()
	switch e.kind {
	case netConnected:
		if e.err != nil {
			delete(l.conns, c)
		}
		c.nc, c.tcp, c.tls = e.c.nc, int64(e.tcp), int64(e.tls)
		l.d.connected(c, now, e.err)
	case netReceived:
		c.rest = append(c.rest, e.in...)
		n := len(e.in)
		e.c.taken <- e.in[:cap(e.in)]
		used := l.d.received(c, now, c.rest, n)
		if l.conns[c] == e.c {
			c.rest = c.rest[:copy(c.rest, c.rest[used:])]
			if len(c.rest) > maxHead {
				l.d.fail(c, ClassParse, "an answer's head of more than 256 KiB", c.rest, now)
			}
		}
	case netEnded:
		l.d.ended(c, now, e.err)
	case netDrained:
		l.d.writable(c, now)
	}
}

// maxHead is how much of an answer may be kept because its session has not taken it.
const maxHead = 256 << 10

func (l *netLoop) dial(c *conn) {
	n := &netConn{of: c, wake: make(chan struct{}, 1), taken: make(chan []byte, 1)}
	l.conns[c] = n
	l.tasks.Go(func() {
		nc, tcp, tls, err := connect(l.live, l.plan, l.plan.Timeout)
		n.mu.Lock()
		n.nc = nc
		gone := n.gone
		n.mu.Unlock()
		if err == nil && gone {
			nc.Close()
		}
		if !l.tell(netEvent{c: n, kind: netConnected, err: err, tcp: tcp, tls: tls}) || err != nil || gone {
			if nc != nil {
				nc.Close()
			}
			return
		}
		l.tasks.Go(func() { l.write1(n, nc) })
		l.read1(n, nc)
	})
}

// connect makes a connection, and speaks TLS if the plan says so. It returns how long TCP and the
// handshake took; 0 = no TLS.
func connect(ctx context.Context, plan *Plan, timeout time.Duration) (_ net.Conn, tcp, handshake time.Duration, _ error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var d net.Dialer
	began := time.Now()
	nc, err := d.DialContext(ctx, plan.Network, plan.Address)
	tcp = time.Since(began)
	if err != nil || plan.TLS == nil {
		return nc, tcp, 0, err
	}
	t := tls.Client(nc, plan.TLS)
	if err := t.HandshakeContext(ctx); err != nil {
		nc.Close()
		return nil, tcp, 0, &Failed{ClassTLS, err}
	}
	return t, tcp, max(time.Since(began)-tcp, 1), nil
}

// read1 reads one connection to its end.
func (l *netLoop) read1(n *netConn, nc net.Conn) {
	n.taken <- make([]byte, portableRead)
	for {
		var buf []byte
		select {
		case buf = <-n.taken:
		case <-l.ending:
			return
		}
		k, err := nc.Read(buf)
		if k > 0 && !l.tell(netEvent{c: n, kind: netReceived, in: buf[:k]}) {
			return
		}
		if err != nil {
			l.tell(netEvent{c: n, kind: netEnded, err: err})
			return
		}
	}
}

// write1 writes the output of the loop until the connection ends.
func (l *netLoop) write1(n *netConn, nc net.Conn) {
	var b []byte
	for {
		select {
		case <-n.wake:
		case <-l.ending:
			return
		}
		n.mu.Lock()
		b, n.out = n.out, b[:0]
		full, gone := n.full, n.gone
		n.full = false
		n.mu.Unlock()
		if gone {
			return
		}
		if _, err := nc.Write(b); err != nil {
			return // the reader learns it too
		}
		if full && !l.tell(netEvent{c: n, kind: netDrained}) {
			return
		}
	}
}

var errGone = errors.New("the connection has ended")

func (l *netLoop) write(c *conn, b []byte) (int, error) {
	n := l.conns[c]
	if n == nil {
		return 0, errGone
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	k := min(len(b), portableOut-len(n.out))
	n.out = append(n.out, b[:k]...)
	n.full = k < len(b)
	select {
	case n.wake <- struct{}{}:
	default:
	}
	return k, nil
}

func (l *netLoop) hangUp(c *conn) {
	n := l.conns[c]
	if n == nil {
		return
	}
	delete(l.conns, c)
	n.mu.Lock()
	n.gone = true
	nc := n.nc
	n.mu.Unlock()
	if nc != nil {
		nc.Close()
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}
