package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/tunnel/internal/tunneltest"
	"paddock/wire"
)

// directPair is a pair whose link takes channels too.
func directPair(t testing.TB, s *Server, secure bool) *pair {
	t.Helper()
	p := &pair{Pair: tunneltest.Pair{T: t, Direct: true}}
	if secure {
		p.LinkTLS = linkCertificate(t)
	}
	return p.begin(s)
}

// linkCertificate returns a configuration for both sides of a link with TLS.
func linkCertificate(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, RootCAs: roots, ClientAuth: tls.RequestClientCert}
}

// interceptor is a way to the server on which channels are done something with.
type interceptor struct {
	links atomic.Int64
	dial  func(ctx context.Context) (net.Conn, error) // of all but the first
}

func (i *interceptor) config(p *pair) wire.ClientConfig {
	return wire.ClientConfig{Dial: func(ctx context.Context) (net.Conn, error) {
		if i.links.Add(1) > 1 {
			return i.dial(ctx)
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", p.Link.Addr().String())
	}}
}

// A visitor whose channel does not come is carried by the link, and later ones at once.
func TestDirectFallsBack(t *testing.T) {
	for name, c := range map[string]struct {
		dial func(ctx context.Context) (net.Conn, error)
		wait time.Duration
		want Fallback
	}{
		"refused": {func(context.Context) (net.Conn, error) { return nil, errors.New("no way") }, time.Minute, DirectRefused},
		"late":    {func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }, time.Millisecond, DirectLate},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var fallen []DirectFallback
			p := directPair(t, &Server{Limits: tunnel.Limits{DirectWait: c.wait}, Hooks: Hooks{DirectFallback: func(f DirectFallback) {
				mu.Lock()
				defer mu.Unlock()
				fallen = append(fallen, f)
			}}}, false)
			way := &interceptor{dial: c.dial}
			at := p.tcpBy(way.config(p), echoTCP)
			for range 2 {
				visitor := dialTCP(t, at)
				_, _ = io.WriteString(visitor, "hello")
				if _, err := io.ReadFull(visitor, make([]byte, 5)); err != nil {
					t.Fatal(err)
				}
				_ = visitor.Close()
			}
			p.idle() // the permit of the first attempt too
			mu.Lock()
			defer mu.Unlock()
			if len(fallen) != 2 || fallen[0].Reason != c.want || fallen[1].Reason != DirectPaused || fallen[0].Tunnel != at {
				t.Errorf("%+v", fallen)
			}
			d := p.server.Stats().Direct
			if d.Carried != 0 || d.Fallbacks[c.want.String()] != 1 || d.Fallbacks["paused"] != 1 {
				t.Errorf("%+v", d)
			}
		})
	}
}

// Over the bound visitors are carried by the link.
func TestDirectFull(t *testing.T) {
	p := directPair(t, &Server{Limits: tunnel.Limits{Direct: 1}}, false)
	at := p.tcp(echoTCP)
	for i := range 2 {
		visitor := dialTCP(t, at)
		_, _ = visitor.Write([]byte{1})
		if _, err := visitor.Read(make([]byte, 1)); err != nil {
			t.Fatalf("visitor %d: %v", i, err)
		}
	}
	if d := p.server.Stats().Direct; d.Now != 1 || d.Carried != 1 || d.Fallbacks["full"] != 1 {
		t.Errorf("%+v", d)
	}
}

// A ticket is good for one channel, in its time, with its secret, in the form that was asked for.
func TestDirectTickets(t *testing.T) {
	p := directPair(t, &Server{}, false)
	d := &p.server.directs
	issue := func() *pendingTicket {
		a := &pendingTicket{Ticket: message.NewTicket(), came: make(chan *relay.DirectChannel, 1), expiry: time.NewTimer(time.Hour)}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.tickets == nil {
			d.tickets = map[[message.TicketIDBytes]byte]*pendingTicket{}
		}
		d.tickets[a.ID] = a
		return a
	}
	try := func(hello []byte) error {
		conn := dialTCP(t, p.Link.Addr().String())
		_, _ = conn.Write(hello)
		_, err := conn.Read(make([]byte, 1)) // the server's first byte, or the end
		_ = conn.Close()
		return err
	}
	good, forged, used, late, secured := issue(), issue(), issue(), issue(), issue()
	go func() { _, _ = (<-good.came).Write([]byte{1}) }()
	if err := try(good.Hello()); err != nil {
		t.Errorf("a good one: %v", err)
	}
	used.came <- nil
	d.mu.Lock()
	used.over, secured.secured = true, true
	d.mu.Unlock()
	d.mu.Lock()
	late.over = true
	d.mu.Unlock()
	wrong := &message.Ticket{ID: forged.ID}
	for name, hello := range map[string][]byte{
		"used before": good.Hello(), "used": used.Hello(), "withdrawn": late.Hello(), "another secret": wrong.Hello(),
		"nobody's": message.NewTicket().Hello(), "not secured": secured.Hello(), "another preface": append([]byte("\x8aBARE\r\n\x02"), forged.Hello()[8:]...),
	} {
		if err := try(hello); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if forged.over {
		t.Error("a wrong proof has used up a ticket")
	}
	if n := p.server.Stats().Direct.Refused; n != 7 {
		t.Errorf("%d were refused", n)
	}
}

// A channel over TLS with another key than its client's link is rejected: a ticket of one client is
// of no use to another.
func TestDirectTicketOfAnotherClient(t *testing.T) {
	p := directPair(t, &Server{}, true)
	other := linkCertificate(t)
	at := p.tcpBy(wire.ClientConfig{}, echoTCP, func(c *client.Client) {
		secure := p.LinkTLS.Clone()
		secure.Certificates = other.Certificates
		c.Reach(&wire.ClientConfig{Address: p.Link.Addr().String(), Config: &wire.Config{TLS: secure}})
	})
	visitor := dialTCP(t, at)
	_, _ = visitor.Write([]byte{1})
	if _, err := visitor.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if d := p.server.Stats().Direct; d.Carried != 0 || d.Refused != 1 || d.Fallbacks["refused"] != 1 {
		t.Errorf("%+v", d)
	}
}

// Strangers that dial for channels count as connections that are opening, at most as many as are
// allowed, and are closed after their first invalid message.
func TestDirectFlood(t *testing.T) {
	const floods = 200
	p := directPair(t, &Server{}, false)
	at := p.tcp(echoTCP)
	var group sync.WaitGroup
	for range floods {
		group.Go(func() {
			conn, err := net.Dial("tcp", p.Link.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = conn.Write(message.NewTicket().Hello())
			_, _ = conn.Read(make([]byte, 1))
		})
	}
	group.Wait()
	p.Eventually("strangers are being looked at", func() bool { return p.Wire.Stats().Opening == 0 })
	if n := p.server.Stats().Direct.Refused; n != floods {
		t.Errorf("%d were refused", n)
	}
	p.server.directs.mu.Lock()
	kept := len(p.server.directs.tickets)
	p.server.directs.mu.Unlock()
	if kept != 0 {
		t.Errorf("%d tickets", kept)
	}
	visitor := dialTCP(t, at)
	_, _ = visitor.Write([]byte{1})
	if _, err := visitor.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

// A server that does not accept channels announces it, and carries visitors by the link.
func TestDirectNotOffered(t *testing.T) {
	p := newPair(t, &Server{})
	p.Direct = true
	visitor := dialTCP(t, p.tcp(echoTCP))
	_, _ = visitor.Write([]byte{1})
	if _, err := visitor.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if d := p.server.Stats().Direct; d.Carried != 0 || len(d.Fallbacks) != 0 {
		t.Errorf("%+v", d)
	}
}
