package server

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/tunneltest"
)

// greets starts a service that sends a text to each connection after its first byte, and then
// echoes until the peer ends. With TLS if config is not nil.
func greets(t testing.TB, text string, config *tls.Config) (address string) {
	t.Helper()
	l := tunneltest.Listen(t)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				if config != nil {
					conn = tls.Server(conn, config)
				}
				_, _ = io.ReadFull(conn, make([]byte, 1))
				_, _ = io.WriteString(conn, text)
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// greeted connects, and returns the text of the service that answers.
func greeted(t testing.TB, conn net.Conn) string {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	b := make([]byte, 3)
	_, err := conn.Write(b[:1])
	if err == nil {
		_, err = io.ReadFull(conn, b)
	}
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// raw is how visitors reach a group of a protocol for raw connections.
type raw struct {
	want client.Tunnel
	tls  *tls.Config // of services
	dial func() net.Conn
}

// overRaw runs a test for SNI and TCP.
func overRaw(t *testing.T, limits tunnel.Limits, test func(m *members, r *raw)) {
	t.Run("sni", func(t *testing.T) {
		m := newMembers(t, &Server{Limits: limits})
		config, id := selfMade(t)
		address := m.secure(nil)
		test(m, &raw{client.Tunnel{Protocol: tunnel.SNI, Host: "example.com", Group: "web"}, config, func() net.Conn {
			config := &tls.Config{ServerName: "example.com"}
			pin(config, id)
			return tls.Client(dialTCP(t, address), config)
		}})
	})
	t.Run("tcp", func(t *testing.T) {
		m := newMembers(t, &Server{Limits: limits})
		l := tunneltest.Listen(t)
		address := l.Addr().String()
		_ = l.Close()
		test(m, &raw{client.Tunnel{Protocol: tunnel.TCP, Remote: address, Group: "web"}, nil, func() net.Conn { return dialTCP(t, address) }})
	})
}

// joinsRaw starts a member whose service answers with its name.
func (m *members) joinsRaw(agent string, r *raw) (c *client.Client, stop func()) {
	m.T.Helper()
	w := r.want
	w.Target = greets(m.T, agent, r.tls)
	c, stop = m.ask(agent, w)
	m.bound(c)
	return c, stop
}

// Visitors are spread over the members by their number of connections. A leaving member gets no
// more, and cuts no connection. A lost member loses only its own.
func TestGroupRaw(t *testing.T) {
	overRaw(t, tunnel.Limits{}, func(m *members, r *raw) {
		_, stop := m.joinsRaw("one", r)
		m.joinsRaw("two", r)
		m.joinsRaw("six", r)
		open := map[string][]net.Conn{}
		for range 12 {
			conn := r.dial()
			who := greeted(m.T, conn)
			open[who] = append(open[who], conn)
		}
		if len(open["one"]) != 4 || len(open["two"]) != 4 || len(open["six"]) != 4 {
			m.T.Errorf("%d, %d and %d visitors", len(open["one"]), len(open["two"]), len(open["six"]))
		}
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			stop()
		}()
		m.server.Kick("two")
		m.Eventually("two is there", func() bool { return m.server.Stats().Groups[0].Here < 3 })
		for range 8 {
			conn := r.dial()
			if who := greeted(m.T, conn); who != "one" && who != "six" { // the announcement that one leaves may still be on its way
				m.T.Error(who)
			} else {
				open[who] = append(open[who], conn)
			}
		}
		for _, who := range []string{"one", "six"} {
			for _, conn := range open[who] {
				b := []byte("x")
				_, _ = conn.Write(b)
				if _, err := io.ReadFull(conn, b); err != nil {
					m.T.Errorf("%s: %v", who, err)
				}
				_ = conn.Close()
			}
		}
		for _, conn := range open["two"] {
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				m.T.Error("a visitor of who was lost is there")
			}
			_ = conn.Close()
		}
		<-stopped
		for range 4 {
			conn := r.dial()
			if who := greeted(m.T, conn); who != "six" {
				m.T.Error(who)
			}
			_ = conn.Close()
		}
	})
}

// An address is listened on as long as one of the group is there, or may come back.
func TestGroupKeepsItsPort(t *testing.T) {
	overRaw(t, tunnel.Limits{Lease: 50 * time.Millisecond}, func(m *members, r *raw) {
		_, stop := m.joinsRaw("one", r)
		_, last := m.joinsRaw("two", r)
		stop()
		m.Eventually("one is a member", func() bool { return len(m.server.Held()) == 1 })
		conn := r.dial()
		if who := greeted(m.T, conn); who != "two" {
			t.Error(who)
		}
		_ = conn.Close()
		last()
		m.Eventually("the name is held", func() bool { return m.server.Stats().Names == 0 })
		m.joinsRaw("six", r)
		conn = r.dial()
		if who := greeted(m.T, conn); who != "six" {
			t.Error(who)
		}
		_ = conn.Close()
	})
}

// A visitor of a member whose service refuses the connection, or that is full, is moved to another
// member with all the bytes it has sent; also if it sends no more.
func TestGroupRawOfWhichOneRefuses(t *testing.T) {
	overRaw(t, tunnel.Limits{}, func(m *members, r *raw) {
		down := r.want
		down.Target = "127.0.0.1:1"
		c, _ := m.ask("down", down)
		m.bound(c)
		m.joinsRaw("two", r)
		var open []net.Conn
		for range 10 { // existing visitors make the other member the next choice
			conn := r.dial()
			open = append(open, conn)
			if who := greeted(m.T, conn); who != "two" {
				m.T.Error(who)
			}
		}
		if n := m.server.Stats().Resent; n == 0 {
			m.T.Error("nobody came to the member that is down")
		}
		for range 5 {
			conn := r.dial()
			open = append(open, conn)
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			_, _ = conn.Write([]byte("abc"))
			_ = conn.(interface{ CloseWrite() error }).CloseWrite()
			if got, err := io.ReadAll(conn); string(got) != "twobc" {
				m.T.Errorf("%q, %v", got, err)
			}
		}
		for _, conn := range open {
			_ = conn.Close()
		}
	})
}
