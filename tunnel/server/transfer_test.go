package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/wire"
)

// The hook is called once for each relayed connection, at its end, with the bytes of each direction
// and the side that ended it; whether the link carries it or a channel of its own.
func TestCarriedIsTold(t *testing.T) {
	const asked, answered = 100_000, 300_000
	came := make(chan struct{}, 1)
	for _, c := range []struct {
		name           string
		target         func(conn *net.TCPConn)
		visitor        func(conn *net.TCPConn)
		received, sent int64
		end            tunnel.End
		directEnd      tunnel.End // "" is end
	}{
		{"both end", func(conn *net.TCPConn) {
			_, _ = io.Copy(io.Discard, conn)
			_, _ = conn.Write(make([]byte, answered))
		}, func(conn *net.TCPConn) {
			_, _ = conn.Write(make([]byte, asked))
			_ = conn.CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
		}, asked, answered, tunnel.Closed, ""},
		{"the visitor resets", func(conn *net.TCPConn) {
			_, _ = io.ReadFull(conn, make([]byte, asked))
			came <- struct{}{}
			_, _ = io.Copy(io.Discard, conn)
		}, func(conn *net.TCPConn) {
			_, _ = conn.Write(make([]byte, asked))
			<-came
			_ = conn.SetLinger(0)
		}, asked, 0, tunnel.CutByVisitor, tunnel.CutSomewhere},
		{"the target resets", func(conn *net.TCPConn) {
			_, _ = io.ReadFull(conn, make([]byte, asked))
			_ = conn.SetLinger(0)
		}, func(conn *net.TCPConn) {
			_, _ = conn.Write(make([]byte, asked))
			_, _ = io.Copy(io.Discard, conn)
		}, asked, 0, tunnel.CutByTarget, tunnel.CutSomewhere},
		{"one half says nothing", func(conn *net.TCPConn) {
			_, _ = io.Copy(io.Discard, conn)
			_, _ = conn.Write([]byte("x"))
			<-came // behind linger
		}, func(conn *net.TCPConn) {
			_ = conn.CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			came <- struct{}{}
		}, 0, 1, tunnel.CutSilent, ""},
	} {
		for _, direct := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " direct=", direct), func(t *testing.T) {
				told := make(chan Served, 4)
				s := &Server{Limits: tunnel.Limits{Linger: 200 * time.Millisecond}, Hooks: Hooks{Served: func(v Served) { told <- v }}}
				p := newPair
				if direct {
					p = func(t testing.TB, s *Server) *pair { return directPair(t, s, false) }
				}
				pair := p(t, s)
				address := pair.tcp(c.target)
				conn := dialTCP(t, address)
				peer := conn.LocalAddr().String()
				c.visitor(conn)
				_ = conn.Close()
				v := <-told
				want := Served{Protocol: tunnel.TCP, Tunnel: address, Identity: v.Identity, Peer: peer, Received: c.received, Sent: c.sent, Took: v.Took, End: c.end, Direct: direct}
				ends := []tunnel.End{c.end}
				if direct && c.directEnd != "" {
					ends = []tunnel.End{tunnel.CutByVisitor, tunnel.CutByTarget, tunnel.CutSomewhere} // which side is first, and whether the kernel reports it, is chance
					want.Received, want.Sent = v.Received, v.Sent                                     // the kernel does not report bytes that it moved before a failure
				}
				for _, want.End = range ends {
					if v == want {
						break
					}
				}
				if v != want || v.Identity == "" || v.Took <= 0 {
					t.Errorf("\n got %+v\nwant %+v", v, want)
				}
			})
		}
	}
}

// The end of the link, or of the server, is reported as such.
func TestCarriedEndsWithOthers(t *testing.T) {
	told := make(chan Served, 4)
	p := newPair(t, &Server{Hooks: Hooks{Served: func(v Served) { told <- v }}})
	hold := func(conn *net.TCPConn) {
		_, _ = conn.Write([]byte("hello"))
		_, _ = io.Copy(io.Discard, conn)
	}
	visit := func() {
		conn := dialTCP(t, p.tcp(hold))
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
	}
	visit()
	for c := range p.Wire.All() {
		c.Abort(wire.PermissionDenied)
	}
	if v := <-told; v.End != tunnel.CutLost || v.Sent != 5 {
		t.Errorf("without its link: %+v", v)
	}
	visit()
	go p.server.Close()
	if v := <-told; v.End != tunnel.CutStopped || v.Sent != 5 {
		t.Errorf("without the server: %+v", v)
	}
}

// An upgraded connection is reported at its end, with the bytes of each direction behind the head.
func TestUpgradedIsTold(t *testing.T) {
	told := make(chan Served, 4)
	p := newPair(t, &Server{Hooks: Hooks{Served: func(v Served) { told <- v }}})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { serveEcho(w) }))
	conn, in := p.upgrade()
	for range 3 {
		if err := echoes(conn, in, "twelve bytes"); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case v := <-told:
		t.Fatalf("before its end: %+v", v)
	default:
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, in)
	_ = conn.Close()
	if v := <-told; v.Protocol != tunnel.HTTP || v.Status != 101 || v.Path != "/echo" || v.Method != "GET" || v.Host != "example.com" ||
		v.Received != 39 || v.Sent != 39 || v.End != tunnel.Closed || v.RequestID == "" {
		t.Errorf("%+v", v)
	}
}
