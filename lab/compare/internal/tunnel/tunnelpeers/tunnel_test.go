package tunnelpeers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/server"
	"paddock/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var silent = slog.New(slog.DiscardHandler)

// name is that of the tunnel: certificates have it, and it is a name of this machine.
const name = "localhost"

// certificate returns one for name, with a pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s.TLS.Certificates[0], roots
}

// certificateName is a name that certificate has.
const certificateName = "example.com"

// carry offers a target at a server and returns where visitors come in, without TLS and
// with it.
func carry(t *testing.T, target client.Tunnel, own tls.Certificate) (plain, secure string) {
	t.Helper()
	server := &server.Server{Logger: silent, Policy: tunnel.PolicyFunc(func(string, tunnel.Binding) error { return nil })}
	mux := wire.NewMux()
	server.Register(mux)
	linked := &wire.Server{Config: &wire.Config{Mux: mux, Logger: silent, Sessions: &wire.Sessions{}}}
	link, http, https := listen(t), listen(t), listen(t)
	ended := make(chan error, 4)
	go func() { ended <- linked.Serve(link) }()
	go func() { ended <- server.Serve(http, nil) }()
	go func() { ended <- server.ServeTLS(https, &tls.Config{Certificates: []tls.Certificate{own}}) }()

	bound := make(chan client.Bound, 2)
	config := client.Config{Logger: silent, OnBound: func(b client.Bound) { bound <- b }}
	for _, host := range []string{name, certificateName} {
		target.Name, target.Protocol, target.Host = host, tunnel.HTTP, host
		config.Tunnels = append(config.Tunnels, target)
	}
	client, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		ended <- client.Run(ctx, wire.ClientConfig{Address: link.Addr().String(), Config: &wire.Config{Logger: silent}})
	}()
	t.Cleanup(func() {
		cancel()
		_ = server.Close()
		_ = linked.Close()
		for range cap(ended) {
			<-ended
		}
	})
	for range config.Tunnels {
		select {
		case b := <-bound:
			if b.Err != nil {
				t.Fatal(b.Err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("not bound")
		}
	}
	return http.Addr().String(), https.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
