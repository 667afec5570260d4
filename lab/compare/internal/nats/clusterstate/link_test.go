package clusterstate

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// link passes connections on to one server, and can be cut.
type link struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// newLink returns a link to a server's URL.
func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	l := &link{listener: listener, to: strings.TrimPrefix(to, "nats://")}
	var accepting sync.WaitGroup
	accepting.Go(l.accept)
	t.Cleanup(func() {
		_ = listener.Close() // ends accept
		l.set(true)
		accepting.Wait()
	})
	return l
}

// URL returns the URL of this side of the link.
func (l *link) URL() string { return "nats://" + l.listener.Addr().String() }

// set cuts the link, or mends it.
func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if cut {
		for _, c := range l.conns {
			_ = c.Close() // the other side notices
		}
		l.conns = nil
	}
}

func (l *link) accept() {
	var passing sync.WaitGroup
	defer passing.Wait()
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.to)
		if err != nil {
			_ = near.Close() // it tries again
			continue
		}
		l.mu.Lock()
		l.conns = append(l.conns, near, far)
		cut := l.cut
		l.mu.Unlock()
		if cut {
			l.set(true)
			continue
		}
		pass := func(from, to net.Conn) {
			_, _ = io.Copy(to, from) // until one of them is closed
			_, _ = from.Close(), to.Close()
		}
		passing.Go(func() { pass(near, far) })
		passing.Go(func() { pass(far, near) })
	}
}
