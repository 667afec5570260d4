package tunnel

import (
	"bytes"
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

	"paddock/wire"
)

// directPair is a pair whose link takes channels too.
func directPair(t testing.TB, s *Server, secure bool) *pair {
	t.Helper()
	p := &pair{t: t, direct: true}
	if secure {
		p.linkTLS = linkCertificate(t)
	}
	return p.begin(s)
}

// linkCertificate makes what both sides of a link by TLS need.
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

// overChannels runs a test with bare channels, and with those that are secured.
func overChannels(t *testing.T, test func(t *testing.T, p *pair)) {
	for name, secure := range map[string]bool{"bare": false, "secured": true} {
		t.Run(name, func(t *testing.T) {
			p := directPair(t, &Server{}, secure)
			test(t, p)
			if d := p.server.Stats().Direct; d.Carried == 0 || len(d.Fallbacks) > 0 {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestDirectVectors(t *testing.T) {
	a := &ticket{}
	for i := range ticketBytes {
		if i < ticketID {
			a.id[i] = byte(i)
		} else {
			a.secret[i-ticketID] = byte(i)
		}
	}
	says := map[string][]byte{"client": a.hello(), "server": a.proof("server")}
	for _, c := range exchangeCases(t) {
		if c.message == "direct" && !bytes.Equal(says[c.want], c.bytes) {
			t.Errorf("%s: %x, want %x", c.name, says[c.want], c.bytes)
		}
	}
}

// What both send at once arrives whole, and counts.
func TestDirectBothWays(t *testing.T) {
	overChannels(t, func(t *testing.T, p *pair) {
		visitor := dialTCP(t, p.tcp(echoTCP))
		all := pattern(2 << 20)
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
		p.eventually("not counted", func() bool {
			d := p.server.Stats().Direct
			return d.Sent == int64(len(all)) && d.Received == int64(len(all)) && d.Now == 0
		})
	})
}

// Who ends his half gets the whole reply, and who answers before he has read does too.
func TestDirectHalfClose(t *testing.T) {
	overChannels(t, func(t *testing.T, p *pair) {
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

func TestDirectTargetHalfClose(t *testing.T) {
	overChannels(t, func(t *testing.T, p *pair) {
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

// A connection that is cut at one end is cut at the other.
func TestDirectReset(t *testing.T) {
	overChannels(t, func(t *testing.T, p *pair) {
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

func TestDirectResetByTheTarget(t *testing.T) {
	overChannels(t, func(t *testing.T, p *pair) {
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

// When one direction has ended, the other one may be silent for a while and no longer.
func TestDirectLinger(t *testing.T) {
	p := directPair(t, &Server{Limits: Limits{Linger: 20 * time.Millisecond}}, false)
	visitor := dialTCP(t, p.tcp(func(c *net.TCPConn) {
		_, _ = io.Copy(io.Discard, c)
		_, _ = c.Read(make([]byte, 1))
		<-t.Context().Done()
	}))
	_ = visitor.CloseWrite()
	if _, err := visitor.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the visitor sees %v", err)
	}
}

// Visitors by SNI too; his ClientHello goes over the link, the rest by a channel that is bare
// though the link is TLS.
func TestDirectSNI(t *testing.T) {
	p := directPair(t, &Server{}, true)
	inner := linkCertificate(t)
	inner.ClientAuth = tls.NoClientCert
	target := p.target(func(c *net.TCPConn) {
		s := tls.Server(c, inner)
		defer s.Close()
		_, _ = io.Copy(s, s)
	})
	p.client(ClientConfig{Tunnels: []Tunnel{{Name: "sni", Protocol: SNI, Host: "tls.example.com", Target: target, Direct: true}}})
	front := listenLocal(t)
	served := make(chan error, 1)
	go func() { served <- p.server.ServeTLS(front, nil) }()
	defer func() {
		_ = p.server.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	visitor := tls.Client(dialTCP(t, front.Addr().String()), &tls.Config{ServerName: "tls.example.com", InsecureSkipVerify: true})
	all, back := pattern(1<<20), make([]byte, 1<<20)
	go func() { _, _ = visitor.Write(all) }()
	if _, err := io.ReadFull(visitor, back); err != nil || !bytes.Equal(all, back) {
		t.Error(err)
	}
	_ = visitor.Close()
	p.eventually("not carried by a channel", func() bool {
		d := p.server.Stats().Direct
		return d.Carried == 1 && d.Now == 0
	})
}

// Kicking the client ends what channels carry, at both ends; so does the end of the server.
func TestDirectKick(t *testing.T) {
	for name, end := range map[string]func(p *pair){
		"kick":  func(p *pair) { p.server.Kick(p.server.Sessions()[0].Identity) },
		"close": func(p *pair) { _ = p.server.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p := directPair(t, &Server{}, false)
			ended := make(chan error, 1)
			visitor := dialTCP(t, p.tcp(func(c *net.TCPConn) {
				_, _ = c.Write([]byte{1})
				_, err := c.Read(make([]byte, 1))
				ended <- err
			}))
			if _, err := visitor.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if x := p.server.Sessions()[0]; x.Direct != 1 || x.Streams != 1 {
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
	}
}

// A client that ends lets its visitors come to their end first.
func TestDirectDrain(t *testing.T) {
	p := directPair(t, &Server{}, false)
	c, stop := p.client(ClientConfig{Tunnels: []Tunnel{{Name: "tcp", Protocol: TCP, Remote: "127.0.0.1:0", Target: p.target(echoTCP), Direct: true}}})
	visitor := dialTCP(t, c.Bindings()[0].Where)
	_, _ = visitor.Write([]byte{1})
	if _, err := visitor.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	var link *wire.Conn
	for link = range p.wire.All() {
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
		return d.DialContext(ctx, "tcp", p.link.Addr().String())
	}}
}

// A visitor for whom no channel comes is carried by the link, and those after him at once.
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
			var fallen []Fallen
			p := directPair(t, &Server{Limits: Limits{DirectWait: c.wait}, Hooks: Hooks{Fallen: func(f Fallen) {
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
	p := directPair(t, &Server{Limits: Limits{Direct: 1}}, false)
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
	issue := func() *awaited {
		a := &awaited{ticket: newTicket(), came: make(chan *directChannel, 1), expiry: time.NewTimer(time.Hour)}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.tickets == nil {
			d.tickets = map[[ticketID]byte]*awaited{}
		}
		d.tickets[a.id] = a
		return a
	}
	try := func(hello []byte) error {
		conn := dialTCP(t, p.link.Addr().String())
		_, _ = conn.Write(hello)
		_, err := conn.Read(make([]byte, 1)) // the server's first byte, or the end
		_ = conn.Close()
		return err
	}
	good, forged, used, late, secured := issue(), issue(), issue(), issue(), issue()
	go func() { _, _ = (<-good.came).Write([]byte{1}) }()
	if err := try(good.hello()); err != nil {
		t.Errorf("a good one: %v", err)
	}
	used.came <- nil
	d.mu.Lock()
	used.over, secured.secured = true, true
	d.mu.Unlock()
	d.mu.Lock()
	late.over = true
	d.mu.Unlock()
	wrong := &ticket{id: forged.id}
	for name, hello := range map[string][]byte{
		"used before": good.hello(), "used": used.hello(), "withdrawn": late.hello(), "another secret": wrong.hello(),
		"nobody's": newTicket().hello(), "not secured": secured.hello(), "another preface": append([]byte("\x8aBARE\r\n\x02"), forged.hello()[8:]...),
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

// A channel that comes over TLS with another key than its client's link is nobody's: a ticket
// of one client is of no use to another.
func TestDirectTicketOfAnotherClient(t *testing.T) {
	p := directPair(t, &Server{}, true)
	other := linkCertificate(t)
	at := p.tcpBy(wire.ClientConfig{}, echoTCP, func(c *Client) {
		r := *c.reach.Load()
		r.secure = r.secure.Clone()
		r.secure.Certificates = other.Certificates
		c.reach.Store(&r)
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

// Strangers who dial for channels hold places of those who open, no more of them than there
// are, and nothing once they have said something wrong.
func TestDirectFlood(t *testing.T) {
	const floods = 200
	p := directPair(t, &Server{}, false)
	at := p.tcp(echoTCP)
	var group sync.WaitGroup
	for range floods {
		group.Go(func() {
			conn, err := net.Dial("tcp", p.link.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = conn.Write(newTicket().hello())
			_, _ = conn.Read(make([]byte, 1))
		})
	}
	group.Wait()
	p.eventually("strangers are being looked at", func() bool { return p.wire.Stats().Opening == 0 })
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

// A server that listens for no channels says so, and carries visitors by the link.
func TestDirectNotOffered(t *testing.T) {
	p := newPair(t, &Server{})
	p.direct = true
	visitor := dialTCP(t, p.tcp(echoTCP))
	_, _ = visitor.Write([]byte{1})
	if _, err := visitor.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if d := p.server.Stats().Direct; d.Carried != 0 || len(d.Fallbacks) != 0 {
		t.Errorf("%+v", d)
	}
}
