package bridge

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"paddock/bus"
)

// What the bridge's user must not publish is counted, and costs no other message.
func TestPermissionsOfTheBridge(t *testing.T) {
	here := newSite(t)
	there := newSiteAt(t, bus.Config{Port: -1, Users: []bus.User{
		{Name: "admin", Password: "a"},
		{Name: "bridge", Password: "b", Permissions: &bus.Permissions{Publish: bus.SubjectPermission{Allow: []string{"out.good"}}}},
	}, NoAuthUser: "admin"})
	cfg := Config{Name: "limited", URLs: []string{there.url()}, User: "bridge", Password: "wrong", Export: []string{"out.*"}, MaxPending: DefaultPending}
	here.apply(cfg)
	await(t, "refusal", func() bool { return here.state(0).Fault != "" })
	cfg.Password = "b"
	here.apply(cfg)
	here.awaitConnected(0)
	got := there.follow("out.*")
	here.publish(&nats.Msg{Subject: "out.bad"}, &nats.Msg{Subject: "out.good"})
	if m := got.await(t, 1); m[0].Subject != "out.good" {
		t.Errorf("%s", m[0].Subject)
	}
	await(t, "count", func() bool { return here.state(0).Out.Dropped[Refused] == 1 })
}

// certificate writes a certificate for localhost that signs itself, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	secretDER, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secretDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// A bridge trusts the server by the file of an authority, and shows a certificate of its own, with
// the handshake before INFO and after it.
func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	for _, first := range []bool{false, true} {
		here := newSite(t)
		there := newSiteAt(t, bus.Config{Port: -1, TLS: &bus.TLS{HandshakeFirst: first, Config: &tls.Config{
			Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		}}})
		_, port, _ := net.SplitHostPort(there.server.Addr().String())
		cfg := Config{Name: "tls", URLs: []string{"nats://localhost:" + port}, TLS: &TLS{CA: cert, Cert: cert, Key: key, HandshakeFirst: first}, Import: []string{"in"}, MaxPending: DefaultPending}
		if err := cfg.TLS.Check(); err != nil {
			t.Error(err)
		}
		here.apply(cfg)
		here.awaitConnected(0)
		got := here.follow("in")
		local := there.server.Local("test")
		if err := local.Publish("in", "", nil, nil); err != nil {
			t.Fatal(err)
		}
		got.await(t, 1)
		cfg.TLS = &TLS{HandshakeFirst: first} // the system's authorities, and no certificate
		here.apply(cfg)
		await(t, "refusal", func() bool { return here.state(0).Fault != "" })
	}
}

func TestCheckCreds(t *testing.T) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "user.creds")
	text := "-----BEGIN NATS USER JWT-----\neyJ0eXAi\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" + string(seed) + "\n------END USER NKEY SEED------\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckCreds(file); err != nil {
		t.Error(err)
	}
}
