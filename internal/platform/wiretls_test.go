package platform_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"paddock/internal/city"
	"paddock/internal/process/config"
	"paddock/wire"
)

// certify gives wire a certificate for loopback, and returns a pool that trusts it.
func certify(t *testing.T, cfg *config.Config) *x509.CertPool {
	t.Helper()
	dir := t.TempDir()
	cfg.Wire.Cert, cfg.Wire.Key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	return pairOf(t, cfg.Wire.Cert, cfg.Wire.Key, 1)
}

// Over TLS the wire door admits clients with the token, and drains as without TLS; the demo's own
// vehicles connect too.
func TestWireTLS(t *testing.T) {
	cfg := config.Default()
	cfg.Wire.Token = "s3cret"
	trust := certify(t, cfg)
	r := start(t, cfg, square(t))
	plain := r.wireConn()
	<-plain.Done()
	if err := plain.Ready(t.Context()); err == nil {
		t.Error("a connection without TLS is ready")
	}
	c, err := wire.Dial(t.Context(), "tcp", r.WireAddr().String(), &wire.Config{
		TLS: &tls.Config{RootCAs: trust}, Auth: wire.TokenAuth("bus 7", []byte("s3cret")),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	followed := r.onWire(c)
	in, out := place{lon: 0.5, lat: 0.5}, place{lon: 1.5, lat: 0.5}
	sendByWire(t, c, [][]byte{wireBody(t, "", "v1", in, shuttleTime, false), wireBody(t, "", "v1", out, shuttleTime+1, true)})
	traffic := r.SendByWire()
	for range 2 { // on one connection
		if err := traffic.Send(t.Context(), []city.Fix{{ID: "car", Lon: 0.5, Lat: 0.5}}, time.Now()); err != nil {
			t.Error(err)
		}
	}
	if n := r.Objects(); n != 2 {
		t.Errorf("%d objects", n)
	}
	r.signal()
	r.awaitEnd()
	traffic.Close()
	if got := followed.all(t); len(got) != 1 {
		t.Errorf("%d events, want that v1 has left", len(got))
	}
}

// After a restart of the platform, clients resume their TLS sessions. The ticket keys are in a file
// beside the door's key, readable by its owner alone.
func TestWireSessionsOutliveARestart(t *testing.T) {
	cfg := config.Default()
	cfg.Wire.Token = "s3cret"
	trust, sessions := certify(t, cfg), tls.NewLRUClientSessionCache(1)
	for round := range 2 {
		r := start(t, cfg, square(t))
		resumed := false
		c, err := wire.Dial(t.Context(), "tcp", r.WireAddr().String(), &wire.Config{
			Auth: wire.TokenAuth("bus 7", []byte("s3cret")),
			TLS: &tls.Config{RootCAs: trust, ClientSessionCache: sessions, VerifyConnection: func(s tls.ConnectionState) error {
				resumed = s.DidResume
				return nil
			}},
		})
		if err == nil {
			err = c.Ready(t.Context())
		}
		if err != nil || resumed != (round == 1) {
			t.Errorf("round %d: resumed %v, %v", round, resumed, err)
		}
		_ = c.Close()
		r.signal()
		r.awaitEnd()
	}
	if info, err := os.Stat(cfg.Wire.Key + ".tickets"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
