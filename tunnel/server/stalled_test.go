package server

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"paddock/tunnel"
)

// flood writes to c until a write blocks, and calls full then.
func flood(c *net.TCPConn, full func()) {
	for {
		_ = c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
		if _, err := c.Write(make([]byte, 64<<10)); err != nil {
			full()
			return
		}
	}
}

// A visitor of a raw connection that reads nothing is cut like any other when its carrier ends: the
// target's connection, the client, the server.
func TestStalledVisitorIsCut(t *testing.T) {
	for name, end := range map[string]func(p *pair, target *net.TCPConn){
		"target": func(_ *pair, target *net.TCPConn) { _ = target.SetLinger(0); _ = target.Close() },
		"kick":   func(p *pair, _ *net.TCPConn) { p.server.Kick(p.server.Sessions()[0].Identity) },
		"close":  func(p *pair, _ *net.TCPConn) { _ = p.server.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			overCarriers(t, tunnel.Limits{}, func(t *testing.T, p *pair) {
				full, over := make(chan *net.TCPConn), make(chan struct{})
				visitor := dialTCP(t, p.tcp(func(c *net.TCPConn) {
					flood(c, func() { full <- c })
					<-over
				}))
				defer close(over)
				target := <-full
				ended := make(chan struct{})
				go func() {
					end(p, target)
					close(ended)
				}()
				p.Eventually("the visitor is carried", func() bool { return p.server.Stats().Raw == 0 })
				<-ended
				err := error(nil)
				for b := make([]byte, 64<<10); err == nil; {
					_, err = visitor.Read(b)
				}
				if !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the visitor sees %v", err)
				}
			})
		})
	}
}

// A target that reads nothing is notified at once when its visitor is cut.
func TestStalledTargetIsCut(t *testing.T) {
	overCarriers(t, tunnel.Limits{}, func(t *testing.T, p *pair) {
		came, over, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		visitor := dialTCP(t, p.tcp(func(c *net.TCPConn) {
			close(came)
			<-over
			err := error(nil)
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
			for b := make([]byte, 64<<10); err == nil; {
				_, err = c.Read(b)
			}
			ended <- err
		}))
		<-came
		flood(visitor, func() {})
		_ = visitor.SetLinger(0)
		_ = visitor.Close()
		p.Eventually("the visitor is carried", func() bool { return p.server.Stats().Raw == 0 && p.server.Stats().Streams == 0 })
		close(over)
		if err := <-ended; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the target sees %v", err)
		}
	})
}
