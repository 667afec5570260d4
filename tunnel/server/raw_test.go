package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
)

// The guarantees of raw connections hold for every carrier. The tests here run with each of them.

// overCarriers runs a test over the link, over plain channels, and over secured ones; and checks
// which of them carried the traffic.
func overCarriers(t *testing.T, limits tunnel.Limits, test func(t *testing.T, p *pair)) {
	for name, pair := range map[string]func(t *testing.T, s *Server) *pair{
		"link":    func(t *testing.T, s *Server) *pair { return newPair(t, s) },
		"bare":    func(t *testing.T, s *Server) *pair { return directPair(t, s, false) },
		"secured": func(t *testing.T, s *Server) *pair { return directPair(t, s, true) },
	} {
		t.Run(name, func(t *testing.T) {
			p := pair(t, &Server{Limits: limits})
			test(t, p)
			if d := p.server.Stats().Direct; (d.Carried > 0) != p.Direct || len(d.Fallbacks) > 0 {
				t.Errorf("%+v", d)
			}
		})
	}
}

// A visitor that sends without reading is held back, and all of its bytes come back. Bytes over
// channels are counted.
func TestBothWaysAtOnce(t *testing.T) {
	overCarriers(t, tunnel.Limits{}, func(t *testing.T, p *pair) {
		visitor := dialTCP(t, p.tcp(echoTCP))
		all := pattern(4 << 20)
		sent := make(chan error, 1)
		go func() {
			_, err := visitor.Write(all)
			_ = visitor.CloseWrite()
			sent <- err
		}()
		got, err := io.ReadAll(visitor)
		if err != nil || !bytes.Equal(got, all) {
			t.Errorf("%d of %d bytes, %v", len(got), len(all), err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		if p.Direct {
			p.Eventually("not counted", func() bool {
				d := p.server.Stats().Direct
				return d.Sent == int64(len(all)) && d.Received == int64(len(all)) && d.Now == 0
			})
		}
	})
}

// A side that sends, ends its half, and then reads receives the complete reply; the same holds for
// the other side.
func TestHalfClose(t *testing.T) {
	overCarriers(t, tunnel.Limits{}, func(t *testing.T, p *pair) {
		visitor := dialTCP(t, p.tcp(func(c *net.TCPConn) {
			all, err := io.ReadAll(c)
			if err != nil {
				t.Error(err)
			}
			_, _ = c.Write(append(all, make([]byte, 1<<20)...))
		}))
		_, _ = io.WriteString(visitor, "question")
		_ = visitor.CloseWrite()
		reply, err := io.ReadAll(visitor)
		if err != nil || len(reply) != len("question")+1<<20 || string(reply[:8]) != "question" {
			t.Errorf("%d bytes, %v", len(reply), err)
		}
	})
}

func TestTargetHalfClose(t *testing.T) {
	overCarriers(t, tunnel.Limits{}, func(t *testing.T, p *pair) {
		rest := make(chan string, 1)
		visitor := dialTCP(t, p.tcp(func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "greeting")
			_ = c.CloseWrite()
			all, _ := io.ReadAll(c)
			rest <- string(all)
		}))
		greeting, err := io.ReadAll(visitor)
		if string(greeting) != "greeting" || err != nil {
			t.Fatalf("%q %v", greeting, err)
		}
		_, _ = io.WriteString(visitor, "still here")
		_ = visitor.Close()
		if got := <-rest; got != "still here" {
			t.Errorf("%q", got)
		}
	})
}

// When one direction has ended, the other one may be silent for a while and no longer.
func TestLinger(t *testing.T) {
	overCarriers(t, tunnel.Limits{Linger: 20 * time.Millisecond}, func(t *testing.T, p *pair) {
		visitor := dialTCP(t, p.tcp(func(c *net.TCPConn) {
			_, _ = io.Copy(io.Discard, c)
			<-t.Context().Done()
		}))
		_ = visitor.CloseWrite()
		if _, err := visitor.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the visitor sees %v", err)
		}
	})
}

// A connection that is cut at one end is cut at the other: a reset, not an end.
func TestReset(t *testing.T) {
	overCarriers(t, tunnel.Limits{}, func(t *testing.T, p *pair) {
		ended, begun := make(chan error, 1), make(chan struct{})
		visitor := dialTCP(t, p.tcp(func(c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 1))
			close(begun)
			_, err := c.Read(make([]byte, 1))
			ended <- err
		}))
		_, _ = visitor.Write([]byte{1})
		<-begun
		_ = visitor.SetLinger(0)
		_ = visitor.Close()
		if err := <-ended; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the target sees %v", err)
		}
	})
}

func TestResetByTheTarget(t *testing.T) {
	overCarriers(t, tunnel.Limits{}, func(t *testing.T, p *pair) {
		visitor := dialTCP(t, p.tcp(func(c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 1))
			_ = c.SetLinger(0)
		}))
		_, _ = visitor.Write([]byte{1})
		if _, err := visitor.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the visitor sees %v", err)
		}
	})
}

// A kick of the client ends its relayed connections, at both ends; so does the end of the server.
func TestRawKick(t *testing.T) {
	for name, end := range map[string]func(p *pair){
		"kick":  func(p *pair) { p.server.Kick(p.server.Sessions()[0].Identity) },
		"close": func(p *pair) { _ = p.server.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			overCarriers(t, tunnel.Limits{}, func(t *testing.T, p *pair) {
				ended := make(chan error, 1)
				visitor := dialTCP(t, p.tcp(func(c *net.TCPConn) {
					_, _ = c.Write([]byte{1})
					_, err := c.Read(make([]byte, 1))
					ended <- err
				}))
				if _, err := visitor.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				if x := p.server.Sessions()[0]; (x.Direct == 1) != p.Direct || x.Streams != 1 {
					t.Errorf("%+v", x)
				}
				end(p)
				if _, err := visitor.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the visitor sees %v", err)
				}
				if err := <-ended; !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the target sees %v", err)
				}
			})
		})
	}
}

// A client that ends lets its visitors come to their end first.
func TestRawDrain(t *testing.T) {
	overCarriers(t, tunnel.Limits{}, func(t *testing.T, p *pair) {
		c, stop := p.client(client.Config{Tunnels: []client.Tunnel{{Name: "tcp", Protocol: tunnel.TCP, Remote: "127.0.0.1:0", Target: p.target(echoTCP), Direct: p.Direct}}})
		visitor := dialTCP(t, c.Bindings()[0].Where)
		_, _ = visitor.Write([]byte{1})
		if _, err := visitor.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		var link *wire.Conn
		for link = range p.Wire.All() {
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			stop()
		}()
		<-link.GoingAway()
		all := pattern(1 << 20)
		go func() {
			_, _ = visitor.Write(all)
			_ = visitor.CloseWrite()
		}()
		if got, err := io.ReadAll(visitor); err != nil || !bytes.Equal(got, all) {
			t.Errorf("%d of %d bytes, %v", len(got), len(all), err)
		}
		<-ended
	})
}

// The same for visitors by SNI. The ClientHello goes over the link, and the rest by a channel, if
// there is one, which is plain though the link is TLS.
func TestRawSNI(t *testing.T) {
	overCarriers(t, tunnel.Limits{}, func(t *testing.T, p *pair) {
		inner := linkCertificate(t)
		inner.ClientAuth = tls.NoClientCert
		target := p.target(func(c *net.TCPConn) {
			s := tls.Server(c, inner)
			defer s.Close()
			_, _ = io.Copy(s, s)
		})
		p.client(client.Config{Tunnels: []client.Tunnel{{Name: "sni", Protocol: tunnel.SNI, Host: "tls.example.com", Target: target, Direct: p.Direct}}})
		visitor := tls.Client(dialTCP(t, p.secure(nil)), &tls.Config{ServerName: "tls.example.com", InsecureSkipVerify: true})
		all, back := pattern(1<<20), make([]byte, 1<<20)
		go func() { _, _ = visitor.Write(all) }()
		if _, err := io.ReadFull(visitor, back); err != nil || !bytes.Equal(all, back) {
			t.Error(err)
		}
		_ = visitor.Close()
		if p.Direct {
			p.Eventually("not carried by a channel", func() bool {
				d := p.server.Stats().Direct
				return d.Carried == 1 && d.Now == 0
			})
		}
	})
}
