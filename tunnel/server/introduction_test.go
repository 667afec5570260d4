package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/process/keyid"
	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/proxyproto"
	"paddock/tunnel/internal/relay"
	"paddock/tunnel/internal/tunneltest"
)

// The addresses of the visitor in these tests, and of its destination.
var (
	someVisitor = netip.MustParseAddrPort("192.0.2.1:56324")
	someDoor    = netip.MustParseAddrPort("198.51.100.2:443")
)

// introductions returns headers that a proxy may send, each with whether it names someVisitor.
func introductions() []struct {
	name, header string
	tells        bool
} {
	told := proxyproto.Header{Source: someVisitor, Destination: someDoor}
	full := told
	full.ALPN, full.Authority = "h2", strings.Repeat("a", 255)
	nobody := proxyproto.Header{}
	return []struct {
		name, header string
		tells        bool
	}{
		{"v1", "PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n", true},
		{"v2", string(told.Append(nil)), true},
		{"v2 with more than is usual", string(full.Append(nil)), true},
		{"UNKNOWN", "PROXY UNKNOWN\r\n", false},
		{"LOCAL", string(nobody.Append(nil)), false},
	}
}

// fronts is a server with one front of each kind, the target behind each, and the addresses that
// each target received.
type fronts struct {
	*pair
	tls, tcp       string
	frontID, sniID keyid.ID
	headers        chan proxyproto.Header // of PROXY, that targets of SNI and TCP have got
	refused        chan string
}

// newFronts requires the header from this machine, or from no address.
func newFronts(t *testing.T, introduced, direct bool) *fronts {
	t.Helper()
	f := &fronts{headers: make(chan proxyproto.Header, 8), refused: make(chan string, 64)}
	s := &Server{
		// Forwarding fields that visitors send are not believed, whichever proxy forwards them.
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Hooks:          Hooks{Refused: func(r Refusal) { f.refused <- fmt.Sprint(r.Reason, " ", r.Peer, " ", r.Err) }},
	}
	if introduced {
		s.ProxyProtocolFrom = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("127.0.0.0/8")}
	}
	f.pair = &pair{Pair: tunneltest.Pair{T: t, Direct: direct}}
	f.begin(s)
	frontConfig, frontID := selfMade(t)
	targetConfig, targetID := selfMade(t)
	f.frontID, f.sniID = frontID, targetID
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("X-Forwarded-For"), " ", r.Header.Get("Forwarded"))
	}))
	t.Cleanup(site.Close)
	c, _ := f.client(client.Config{Tunnels: []client.Tunnel{
		{Name: "web", Protocol: tunnel.HTTP, Host: "web.example", Target: site.Listener.Addr().String()},
		{Name: "sni", Protocol: tunnel.SNI, Host: "sni.example", ProxyProtocol: true, Target: echo(t, targetConfig, func(b []byte) {
			h, _, err := proxyproto.Parse(b)
			if err != nil {
				t.Error(err)
			}
			f.headers <- h
		})},
		{Name: "tcp", Protocol: tunnel.TCP, Remote: "127.0.0.1:0", ProxyProtocol: true, Direct: direct, Target: f.target(f.echoIntroduced)},
	}})
	f.tcp = c.Bindings()[2].Where
	f.tls = f.secure(frontConfig)
	return f
}

// echoIntroduced is a target that reads the visitor's address, and then echoes its bytes.
func (f *fronts) echoIntroduced(c *net.TCPConn) {
	var b []byte
	for room := make([]byte, 64); ; {
		n, err := c.Read(room)
		b = append(b, room[:n]...)
		h, length, bad := proxyproto.Parse(b)
		switch {
		case bad != nil || err != nil:
			f.T.Errorf("%x: %v, %v", b, bad, err)
			return
		case length > 0:
			f.headers <- h
			_, _ = c.Write(b[length:])
			_, _ = io.Copy(c, c)
			return
		}
	}
}

// visit dials and sends begin, in pieces of this many bytes, 0 for all at once.
func (f *fronts) visit(address, begin string, piece int) *net.TCPConn {
	conn := dialTCP(f.T, address)
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	for rest := begin; rest != ""; {
		n := len(rest)
		if piece > 0 {
			n = min(n, piece)
		}
		if _, err := io.WriteString(conn, rest[:n]); err != nil {
			break // refused already
		}
		rest = rest[n:]
	}
	return conn
}

// whose returns the address of the visitor at the other end of a connection, with a header and
// without one.
func whose(conn net.Conn, told bool) string {
	if told {
		return someVisitor.Addr().String()
	}
	return relay.AddrPort(conn.LocalAddr()).Addr().String()
}

// A proxy's header names the visitor, at each front, in both versions, however it is cut, alone or
// with the visitor's first bytes: in the fields and in the header that the target receives.
func TestIntroducedVisitors(t *testing.T) {
	f := newFronts(t, true, false)
	const request = "GET / HTTP/1.1\r\nHost: web.example\r\nX-Forwarded-For: 6.6.6.6\r\nConnection: close\r\n\r\n"
	answered := func(conn net.Conn, in io.Reader, who string, tells bool) {
		t.Helper()
		res, err := http.ReadResponse(bufio.NewReader(in), nil)
		if err != nil {
			t.Error(err)
			return
		}
		body, _ := io.ReadAll(res.Body)
		want := who + " for=" + who + ";"
		if !tells {
			want = "6.6.6.6, " + want // the trusted proxy has added it
		}
		if !strings.HasPrefix(string(body), want) {
			t.Errorf("%s, want %s", body, want)
		}
		_ = conn.Close()
	}
	handshake := func(conn net.Conn, name string, id keyid.ID, protocols ...string) *tls.Conn {
		t.Helper()
		config := &tls.Config{ServerName: name, NextProtos: protocols}
		pin(config, id)
		secured := tls.Client(conn, config)
		if err := secured.Handshake(); err != nil {
			t.Error(err)
		}
		return secured
	}
	passed := func(conn net.Conn, tells bool) {
		t.Helper()
		want := proxyproto.Header{Source: relay.AddrPort(conn.LocalAddr()), Destination: relay.AddrPort(conn.RemoteAddr())}
		if tells {
			want.Source, want.Destination = someVisitor, someDoor
		}
		h := <-f.headers
		if h.Authority = ""; h != want {
			t.Errorf("the target was told %+v, want %+v", h, want)
		}
	}
	for _, c := range introductions() {
		for _, piece := range []int{0, 1} {
			t.Run(fmt.Sprint(c.name, " by ", piece), func(t *testing.T) {
				conn := f.visit(f.Front.Addr().String(), c.header+request, piece)
				answered(conn, conn, whose(conn, c.tells), c.tells)

				conn = f.visit(f.tls, c.header, piece)
				secured := handshake(conn, "web.example", f.frontID)
				_, _ = io.WriteString(secured, request)
				answered(conn, secured, whose(conn, c.tells), c.tells)

				conn = f.visit(f.tls, c.header, piece)
				secured = handshake(conn, "sni.example", f.sniID)
				passed(conn, c.tells)
				_, _ = io.WriteString(secured, "question")
				_ = secured.CloseWrite()
				if reply, err := io.ReadAll(secured); string(reply) != "question" || err != nil {
					t.Errorf("%q, %v", reply, err)
				}

				conn = f.visit(f.tcp, c.header+"question", piece)
				passed(conn, c.tells)
				_ = conn.CloseWrite()
				if reply, err := io.ReadAll(conn); string(reply) != "question" || err != nil {
					t.Errorf("%q, %v", reply, err)
				}
			})
		}
	}
	if len(f.refused) > 0 {
		t.Error(<-f.refused)
	}
}

// HTTP/2 is served by net/http, which receives the address too.
func TestIntroducedHTTP2(t *testing.T) {
	f := newFronts(t, true, false)
	for _, at := range []string{"http://" + f.Front.Addr().String(), "https://" + f.tls} {
		config := &tls.Config{ServerName: "web.example"}
		pin(config, f.frontID)
		protocols := new(http.Protocols)
		protocols.SetHTTP2(true)
		protocols.SetUnencryptedHTTP2(true)
		transport := &http.Transport{Protocols: protocols, TLSClientConfig: config, DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
			return f.visit(address, introductions()[1].header, 0), nil
		}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "web.example"
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.ProtoMajor != 2 || !strings.HasPrefix(string(body), "192.0.2.1 for=192.0.2.1;") {
			t.Errorf("%s: %s", res.Proto, body)
		}
		transport.CloseIdleConnections()
	}
}

// If a required header is missing, invalid or incomplete, the connection ends and is counted with
// its reason, and no target receives it.
func TestBadIntroductions(t *testing.T) {
	f := newFronts(t, true, false)
	const request = "GET / HTTP/1.1\r\nHost: web.example\r\n\r\n"
	good := introductions()[1].header
	cases := []struct{ name, begin, why string }{
		{"none", request, "no header"},
		{"TLS at once", "\x16\x03\x01\x00\x05", "no header"},
		{"half of v1", "PROXY TCP4 192.0.2.1 198.51", "27 bytes of one: unexpected EOF"},
		{"half of v2", good[:20], "20 bytes of one: unexpected EOF"},
		{"one byte", "P", "1 bytes of one: unexpected EOF"},
		{"v1 without end", "PROXY TCP4 " + strings.Repeat("1", 200), "too long"},
		{"v2 too long", good[:14] + "\xff\xff" + request, "too long: 65551 bytes"},
		{"another family", "PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n" + request, "no address of TCP4"},
		{"a family that is none", good[:13] + "\x41" + good[14:] + request, "family and transport 0x41"},
		{"a command that is none", good[:12] + "\x2f" + good[13:] + request, "version and command 0x2f"},
		{"addresses cut", good[:15] + "\x0b" + good[16:] + request, "11 bytes of addresses"},
	}
	counted := uint64(0)
	for _, at := range []string{f.Front.Addr().String(), f.tls, f.tcp} {
		for _, c := range cases {
			conn := f.visit(at, c.begin, 0)
			_ = conn.CloseWrite()
			if got, _ := io.ReadAll(conn); len(got) > 0 {
				t.Errorf("%s: was answered %q", c.name, got)
			}
			counted++
			prefix := "unintroduced " + conn.LocalAddr().String() + " tunnel: no header of the PROXY protocol: "
			if got := <-f.refused; !strings.HasPrefix(got, prefix) || !strings.Contains(got, c.why) {
				t.Errorf("%s: %s, want %s", c.name, got, c.why)
			}
		}
	}
	if n := f.server.Stats().Refused["unintroduced"]; n != counted || len(f.headers) > 0 {
		t.Errorf("%d of %d were counted, %d have reached a target", n, counted, len(f.headers))
	}
	// A health check is counted neither as a visitor nor as a fault.
	for _, at := range []string{f.Front.Addr().String(), f.tls, f.tcp} {
		conn := f.visit(at, "", 0)
		_ = conn.CloseWrite()
		_, _ = io.ReadAll(conn)
	}
	f.Eventually("visitors are left", func() bool {
		s := f.server.Stats()
		return s.Visitors == 0 && s.Raw == 0
	})
	if len(f.refused) > 0 {
		t.Error(<-f.refused)
	}
}

// A header from an address that is not listed is taken for data: invalid as a request and as TLS,
// and for TCP bytes like any others.
func TestHeadersOfStrangers(t *testing.T) {
	f := newFronts(t, false, false)
	for _, c := range introductions() {
		conn := f.visit(f.Front.Addr().String(), c.header+"GET / HTTP/1.1\r\nHost: web.example\r\n\r\n", 0)
		if got, _ := io.ReadAll(conn); !bytes.HasPrefix(got, []byte("HTTP/1.1 400 ")) && !bytes.HasPrefix(got, []byte("HTTP/1.1 505 ")) {
			t.Errorf("%s, HTTP: %q", c.name, got)
		}
		if got := <-f.refused; !strings.HasPrefix(got, "malformed "+conn.LocalAddr().String()) {
			t.Errorf("%s, HTTP: %s", c.name, got)
		}
		conn = f.visit(f.tls, c.header, 0)
		if got, _ := io.ReadAll(conn); len(got) > 0 {
			t.Errorf("%s, TLS: %q", c.name, got)
		}
		if got := <-f.refused; !strings.HasPrefix(got, "malformed "+conn.LocalAddr().String()) {
			t.Errorf("%s, TLS: %s", c.name, got)
		}
		conn = f.visit(f.tcp, c.header, 0)
		_ = conn.CloseWrite()
		if got, err := io.ReadAll(conn); string(got) != c.header || err != nil {
			t.Errorf("%s, TCP: %q, %v", c.name, got, err)
		}
		if h := <-f.headers; h.Source != relay.AddrPort(conn.LocalAddr()) {
			t.Errorf("%s, TCP: the target was told %v", c.name, h.Source)
		}
	}
}

// An introduced visitor's bytes are still moved by the system between two sockets.
func TestIntroducedDirect(t *testing.T) {
	f := newFronts(t, true, true)
	conn := f.visit(f.tcp, introductions()[0].header+"question", 0)
	_ = conn.CloseWrite()
	if reply, err := io.ReadAll(conn); string(reply) != "question" || err != nil {
		t.Errorf("%q, %v", reply, err)
	}
	if h := <-f.headers; h.Source != someVisitor {
		t.Errorf("the target was told %v", h.Source)
	}
	if d := f.server.Stats().Direct; d.Carried != 1 || len(d.Fallbacks) > 0 {
		t.Errorf("%+v", d)
	}
	if !relay.IsSocket(relay.SocketOf(&proxied{Conn: conn})) || !relay.IsSocket(relay.SocketOf(&visitor{Conn: &proxied{Conn: conn}})) {
		t.Error("the socket is not found")
	}
}

// The number of visitors from one address is bounded, whichever proxies forward them; the proxy
// itself is bound only by the total.
func TestIntroducedCrowd(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	onPlaza(t, tunnel.Limits{Visitors: 12, VisitorsEach: 2}, ok, func(p *plaza) {
		p.server.ProxyProtocolFrom = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
		var there []*walker
		come := func(by, header string, n, want int) {
			t.Helper()
			before := p.server.Stats().Visitors
			for range n {
				w := p.walkIn(by)
				fmt.Fprint(w, header)
				synctest.Wait()
				there = append(there, w)
			}
			if got := p.server.Stats().Visitors - before; got != want {
				t.Errorf("%d of %d by %s, who said %q, were let in, want %d", got, n, by, header, want)
			}
		}
		const one, other = "PROXY TCP4 192.0.2.1 198.51.100.2 1 443\r\n", "PROXY TCP6 2001:db8::1 2001:db8::2 1 443\r\n"
		come("203.0.113.1", one, 3, 2)
		come("203.0.113.2", one, 1, 0)
		come("192.0.2.1", "", 1, 0) // and the proxy's own address has no free place either
		come("203.0.113.2", other, 3, 2)
		come("203.0.113.1", "PROXY UNKNOWN\r\n", 3, 3)
		come("203.0.113.1", "PROXY TCP4 203.0.113.1 198.51.100.2 1 443\r\n", 3, 3) // a health check
		come("203.0.113.1", "PROXY TCP4 192.0.2.9 198.51.100.2 1 443\r\n", 2, 2)   // 12 in all
		if s := p.server.Stats(); s.Overloads["visitors each"] != 4 || s.Overloads["visitors"] != 0 || s.Refused["overloaded"] != 4 {
			t.Errorf("%+v", s)
		}
		come("203.0.113.1", one, 1, 0)
		if s := p.server.Stats(); s.Overloads["visitors"] != 1 {
			t.Errorf("%+v", s)
		}
		for _, w := range there {
			_ = w.Close()
		}
		synctest.Wait()
		if n := len(p.server.visitorConns.each); n != 0 || p.server.visitorConns.now() != 0 {
			t.Errorf("%d addresses are remembered", n)
		}
	})
}

// A proxy has three seconds for its header, and the server's end waits for none.
func TestSlowIntroduction(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	onPlaza(t, tunnel.Limits{}, ok, func(p *plaza) {
		p.server.ProxyProtocolFrom = []netip.Prefix{netip.MustParsePrefix("203.0.113.1/32")}
		var refusal Refusal
		p.server.Hooks.Refused = func(f Refusal) { refusal = f }
		for _, header := range []string{"", "PROXY TCP4 192.0.2.1 198.51.100.2 1 443\r\n"} {
			w, begun := p.walkIn("203.0.113.1"), time.Now()
			go w.trickle(header, 10)
			if text, took := w.got(begun); text != "" || took != introductionTime {
				t.Errorf("%q after %v", text, took)
			}
			if refusal.Reason != Unintroduced || refusal.Waited != introductionTime || !errors.Is(refusal.Err, errIntroduction) || !isTimeout(refusal.Err) {
				t.Errorf("%+v", refusal)
			}
		}
		// Once it has come, the visitor's own times count.
		w, begun := p.walkIn("203.0.113.1"), time.Now()
		fmt.Fprint(w, "PROXY TCP4 192.0.2.1 198.51.100.2 1 443\r\n")
		if _, took := w.got(begun); took != 10*time.Second {
			t.Errorf("who says nothing may stay %v", took)
		}
		w = p.walkIn("203.0.113.1")
		begun = time.Now()
		_ = p.server.Close()
		if _, took := w.got(begun); took != 0 {
			t.Errorf("the end has waited %v", took)
		}
	})
}

// A network of IPv4 is one also where it is written as one of IPv6.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		network, address string
		want             bool
	}{
		{"10.0.0.0/8", "10.1.2.3", true},
		{"::ffff:10.0.0.0/104", "10.1.2.3", true},
		{"::ffff:10.0.0.0/104", "11.1.2.3", false},
		{"::ffff:10.0.0.0/104", "2001:db8::1", false},
		{"2001:db8::/32", "2001:db8::1", true},
		{"::/0", "10.1.2.3", false},
	} {
		if got := within([]netip.Prefix{netip.MustParsePrefix(c.network)}, netip.MustParseAddr(c.address)); got != c.want {
			t.Errorf("%s in %s: %v", c.address, c.network, got)
		}
	}
}
