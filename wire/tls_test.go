package wire_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/wire"
	"paddock/wire/wiretest"
)

// certificate makes a self-signed one for 127.0.0.1, and the pool that trusts it.
var certificate = sync.OnceValues(func() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"wire.test"},
		KeyUsage: x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	leaf, _ := x509.ParseCertificate(der)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
})

func serverTLS() *tls.Config {
	c, _ := certificate()
	return &tls.Config{Certificates: []tls.Certificate{c}}
}

func clientTLS() *tls.Config {
	_, pool := certificate()
	return &tls.Config{RootCAs: pool, ServerName: "wire.test"}
}

// serve runs a Server on loopback until the test ends.
func serve(tb testing.TB, s *wire.Server) (address string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	serveOn(tb, s, l)
	return l.Addr().String()
}

func serveOn(tb testing.TB, s *wire.Server, l net.Listener) {
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		if err := <-served; err != nil {
			tb.Errorf("Serve: %v", err)
		}
	})
}

func dial(tb testing.TB, address string, cfg *wire.Config) *wire.Conn {
	tb.Helper()
	c, err := wire.Dial(context.Background(), "tcp", address, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) lines() int { return strings.Count(l.String(), "\n") }

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func TestTLSCarriesEverything(t *testing.T) {
	s := &wire.Server{Config: &wire.Config{Mux: echoMux(), TLS: serverTLS()}}
	c := dial(t, serve(t, s), &wire.Config{TLS: clientTLS()})
	exercise(t, c)
}

// exercise sends calls and streams of many sizes at once over c, whose peer serves
// echoMux.
func exercise(t *testing.T, c *wire.Conn) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for _, n := range []int{0, 1, 100, 5_000, 16_376, 16_384, 60_000} {
				body := bytes.Repeat([]byte{byte(i)}, n)
				if got, err := c.Call(t.Context(), "echo", body); err != nil || !bytes.Equal(got, body) {
					t.Errorf("echo of %d bytes: %d bytes, %v", n, len(got), err)
				}
			}
		})
		wg.Go(func() { echoStream(t, c, 1<<20+i) })
	}
	wg.Wait()
}

func echoStream(t *testing.T, c *wire.Conn, size int) {
	s, err := c.Open(t.Context(), "echo", wire.OpenOptions{})
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Close()
	sent := make([]byte, size)
	for i := range sent {
		sent[i] = byte(i * 7 >> 5)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for rest := sent; len(rest) > 0; {
			n, err := s.Write(rest[:min(len(rest), 100_001)])
			if err != nil {
				t.Error(err)
				return
			}
			rest = rest[n:]
		}
		_ = s.CloseWrite()
	})
	got, err := io.ReadAll(s)
	wg.Wait()
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("stream: %d of %d bytes, %v", len(got), size, err)
	}
}

// pipes is a listener of connections in memory, which have no file descriptor.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// TestTLSInMemory has no system calls to put between TLS and the network.
func TestTLSInMemory(t *testing.T) {
	s := &wire.Server{Config: &wire.Config{Mux: echoMux(), TLS: serverTLS()}}
	l := newPipes()
	serveOn(t, s, l)
	a, b := wiretest.Pipe(0)
	l.conns <- b
	secured, err := wire.SecureDialer(t.Context(), a, "wire.test", clientTLS())
	if err != nil {
		t.Fatal(err)
	}
	c, err := wire.NewConn(secured, nil)
	if err != nil {
		t.Fatal(err)
	}
	exercise(t, c)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestTLSOfOthers is a tls.Conn that the application has made: it works, uncorked.
func TestTLSOfOthers(t *testing.T) {
	s := &wire.Server{Config: &wire.Config{Mux: echoMux(), TLS: serverTLS()}}
	config := clientTLS()
	config.NextProtos = []string{wire.ALPN}
	nc, err := tls.Dial("tcp", serve(t, s), config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := wire.NewConn(nc, nil)
	if err != nil {
		t.Fatal(err)
	}
	exercise(t, c)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestTLSRefuses(t *testing.T) {
	var log logged
	s := &wire.Server{Config: &wire.Config{TLS: serverTLS(), Logger: log.logger()}}
	address := serve(t, s)
	for name, change := range map[string]func(*tls.Config){
		"another protocol": func(c *tls.Config) { c.NextProtos = []string{"h2"} },
		"no protocol":      func(*tls.Config) {},
		"TLS 1.2":          func(c *tls.Config) { c.NextProtos, c.MaxVersion = []string{wire.ALPN}, tls.VersionTLS12 },
	} {
		config := clientTLS()
		change(config)
		nc, err := tls.Dial("tcp", address, config)
		if err != nil {
			continue // expected for the ones that TLS itself refuses
		}
		_ = nc.SetDeadline(time.Now().Add(5 * time.Second))
		if n, err := nc.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: server sent %d bytes", name, n)
		}
		_ = nc.Close()
	}
	c := dial(t, address, nil)
	var e *wire.Error
	if err := c.Ready(t.Context()); !errors.As(err, &e) || e.Code != wire.FailedPrecondition {
		t.Errorf("plain client: %v", err)
	}
	waitFor(t, func() bool { return log.lines() == 4 && s.Stats().Failed == 4 && s.Stats().Opening == 0 })
	if got := log.String(); !strings.Contains(got, "without TLS") {
		t.Errorf("log: %s", got)
	}
}

func TestTLSClientOnPlainPort(t *testing.T) {
	var log logged
	s := &wire.Server{Config: &wire.Config{Logger: log.logger()}}
	_, err := wire.Dial(t.Context(), "tcp", serve(t, s), &wire.Config{TLS: clientTLS()})
	if err == nil || !strings.Contains(err.Error(), "without TLS") {
		t.Errorf("dialer: %v", err)
	}
	waitFor(t, func() bool { return log.lines() == 1 && s.Stats().Failed == 1 })
	if got := log.String(); !strings.Contains(got, "TLS client on a plain listener") {
		t.Errorf("log: %s", got)
	}
}

// waitFor waits until what goroutines of others bring about is true.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("it did not come true in time")
		}
		<-time.After(time.Millisecond)
	}
}

func TestPeerKey(t *testing.T) {
	pair, pool := certificate()
	config := serverTLS()
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, pool
	want := sha256.Sum256(pair.Leaf.RawSubjectPublicKeyInfo)
	keys := map[[32]byte]string{want: "gate"}
	var mu sync.Mutex
	pinned := wire.VerifyKeys(func(sum [32]byte) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		name, ok := keys[sum]
		return name, ok
	})
	s := &wire.Server{Config: &wire.Config{Mux: echoMux(), TLS: config, Verify: pinned}}
	address := serve(t, s)
	own := clientTLS()
	own.Certificates = []tls.Certificate{pair}
	c := dial(t, address, &wire.Config{TLS: own, Verify: pinned})
	if _, err := c.Call(t.Context(), "echo", nil); err != nil {
		t.Fatal(err)
	}
	for peer := range s.All() {
		if got := peer.Identity(); got != (wire.Identity{Scheme: "tls", Name: "gate"}) {
			t.Errorf("identity %v", got)
		}
	}
	if got, ok := wire.PeerKey(c); !ok || got != want {
		t.Errorf("key %x, %v", got, ok)
	}
	mu.Lock()
	delete(keys, want)
	mu.Unlock()
	c = dial(t, address, &wire.Config{TLS: own})
	var e *wire.Error
	if _, err := c.Call(t.Context(), "echo", nil); !errors.As(err, &e) || e.Code != wire.Unauthenticated {
		t.Errorf("unknown key: %v", err)
	}
}
