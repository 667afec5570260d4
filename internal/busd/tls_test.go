package busd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// writeCertificate makes a certificate for 127.0.0.1 that signs itself, as cert.pem
// and key.pem in a directory.
func writeCertificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "depot"}, DNSNames: []string{"localhost"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return pool
}

// The certificate of a file serves clients, web pages and monitoring. With verify, clients need one
// too, and monitoring requests do not.
func TestTLSOfAFile(t *testing.T) {
	dir := t.TempDir()
	trusted := writeCertificate(t, dir)
	block := fmt.Sprintf("{cert_file: %q, key_file: %q, ca_file: %q, verify: %%v, timeout: 5, min_version: \"1.3\"}",
		filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "cert.pem"))
	r := start(t, "port: -1, https: -1, ports_file_dir: \"$DIR\", tls "+fmt.Sprintf(block, true)+
		"\nwebsocket {port: -1, tls "+fmt.Sprintf(block, false)+"}")
	p := r.ports()
	if !strings.HasPrefix(p.WebSocket[0], "wss://") || !strings.HasPrefix(p.Monitoring[0], "https://") {
		t.Errorf("got %+v", p)
	}
	local := func(url string) string { return strings.Replace(url, "127.0.0.1", "localhost", 1) }
	ca := nats.Secure(&tls.Config{RootCAs: trusted})
	if nc, err := nats.Connect(local(p.NATS[0]), ca); err == nil {
		nc.Close()
		t.Error("let in without a certificate")
	}
	nc, err := nats.Connect(local(p.NATS[0]), ca, nats.ClientCert(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")))
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	web, err := nats.Connect(local(p.WebSocket[0]), ca)
	if err != nil {
		t.Fatal(err)
	}
	web.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	res, err := client.Get(local(p.Monitoring[0]) + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if err := r.stop(syscall.SIGINT); err != nil {
		t.Error(err)
	}
	inOrder(t, r.seen, "Starting https monitor on ", "Listening for client connections on ", "TLS required for client connections", "Server is ready")
}
