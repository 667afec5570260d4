package nemesis

import (
	"net"
	"sync"
	"testing"
	"time"
)

// direction is one of the two of a link.
type direction int

const (
	forth direction = iota // from the side that has connected
	back
)

// link is a TCP proxy that stands for the network between two processes. A cut holds the bytes of a
// direction back, and the ends of connections too, so that neither side is told. They arrive when
// the link is opened again, as the packets that TCP repeats do.
type link struct {
	from, to string // names of the two sides
	target   string
	listener net.Listener
	ended    sync.WaitGroup

	mu     sync.Mutex
	opened *sync.Cond
	cut    [2]bool
	delay  time.Duration // of each piece, in both directions
	closed bool
	conns  map[net.Conn]struct{}
}

// newLink opens a link, which is closed at the end of the test.
func newLink(t testing.TB, from, to, target string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{from: from, to: to, target: target, listener: listener, conns: map[net.Conn]struct{}{}}
	l.opened = sync.NewCond(&l.mu)
	l.ended.Go(l.serve)
	t.Cleanup(l.close)
	return l
}

func (l *link) address() string { return l.listener.Addr().String() }

// set cuts or opens the directions, and sets the delay.
func (l *link) set(cutForth, cutBack bool, delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.delay = [2]bool{cutForth, cutBack}, delay
	l.opened.Broadcast()
}

func (l *link) close() {
	_ = l.listener.Close()
	l.mu.Lock()
	l.closed = true
	for c := range l.conns {
		_ = c.Close()
	}
	l.opened.Broadcast()
	l.mu.Unlock()
	l.ended.Wait()
}

// keep lists a connection, or closes it if the link is closed.
func (l *link) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = c.Close()
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *link) drop(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	_ = c.Close()
}

func (l *link) serve() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		if l.keep(c) {
			l.ended.Go(func() { l.relay(c) })
		}
	}
}

// relay passes a connection on once both directions are open.
func (l *link) relay(c net.Conn) {
	defer l.drop(c)
	if !l.pass(forth) || !l.pass(back) {
		return
	}
	other, err := net.DialTimeout("tcp", l.target, 5*time.Second)
	if err != nil || !l.keep(other) {
		return
	}
	defer l.drop(other)
	var both sync.WaitGroup
	both.Go(func() { l.pump(other, c, forth) })
	both.Go(func() { l.pump(c, other, back) })
	both.Wait()
}

// pump passes the bytes of a direction on.
func (l *link) pump(to, from net.Conn, d direction) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if !l.pass(d) {
			return
		}
		if n > 0 {
			if _, err := to.Write(b[:n]); err != nil {
				_ = from.Close()
				return
			}
		}
		if err != nil {
			_ = to.Close() // a process that is gone sends nothing any more, and takes nothing
			return
		}
	}
}

// pass waits until a direction is open, and for its delay. It reports whether the link is.
func (l *link) pass(d direction) bool {
	l.mu.Lock()
	for l.cut[d] && !l.closed {
		l.opened.Wait()
	}
	delay, closed := l.delay, l.closed
	l.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	return !closed
}
