// Package acme checks that the platform gets its certificate from an authority: pebble, the test
// authority of Let's Encrypt, with the DNS server of its tests. Both are started on loopback.
package acme

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock/lab/compare/internal/harness/programs"
)

const (
	// patience bounds every wait; it is never the expected outcome.
	patience = 2 * time.Minute
	domain   = "fleet.example.com"
)

// The platform asks the authority for a certificate with the first visitor of a name, shows its
// control of it on its own port, keeps the certificate over a restart, and asks for no other name.
func TestCertificateOfAnAuthority(t *testing.T) {
	dir := t.TempDir()
	const pebble = "github.com/letsencrypt/pebble/v2/cmd/"
	for name, of := range map[string][2]string{
		"paddock": {"../../../..", "./cmd/paddock"}, "pebble": {".", pebble + "pebble"}, "dns": {".", pebble + "pebble-challtestsrv"},
	} {
		if err := programs.Build(filepath.Join(dir, name), of[0], of[1]); err != nil {
			t.Fatal(err)
		}
	}
	ports, err := programs.FreePorts(5)
	if err != nil {
		t.Fatal(err)
	}
	https, directory, management, dns, challenges := ports[0], ports[1], ports[2], ports[3], ports[4]
	root, cert, key := authority(t, dir)
	config := filepath.Join(dir, "pebble.json")
	text, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": at(directory), "managementListenAddress": at(management), "certificate": cert, "privateKey": key,
		"httpPort": 1, "tlsPort": https, "keyAlgorithm": "ecdsa", "retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles": map[string]any{"default": map[string]any{"description": "one hour", "validityPeriod": 3600}},
	}})
	if err == nil {
		err = os.WriteFile(config, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, nil, "Starting management server", "dns", "-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-dnsserver", at(dns), "-management", at(challenges), "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "")
	run(t, dir, []string{"PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0"}, "ACME directory available", "pebble", "-config", config, "-dnsserver", at(dns), "-strict")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(t, root)}}, Timeout: patience}
	defer client.CloseIdleConnections()
	issuer := fetch(t, client, "https://"+at(management)+"/roots/0")
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(issuer) {
		t.Fatalf("%s", issuer)
	}

	data := filepath.Join(dir, "data")
	args := []string{"up", "--data", data, "--listen", at(https), "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0"}
	env := []string{
		"PADDOCK_HTTP_ACME=" + domain, "PADDOCK_HTTP_ACME_EMAIL=ops@example.com",
		"PADDOCK_HTTP_ACME_DIRECTORY=https://" + at(directory) + "/dir", "PADDOCK_HTTP_ACME_ROOT=" + root,
	}
	visit := func() *big.Int {
		t.Helper()
		visitor := &http.Client{Timeout: patience, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: domain}, DisableKeepAlives: true,
		}}
		res, err := visitor.Get("https://" + at(https) + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatal(res.Status)
		}
		return res.TLS.PeerCertificates[0].SerialNumber
	}
	stop := run(t, dir, env, "Dashboard:", "paddock", args...)
	first := visit()
	if c, err := tls.Dial("tcp", at(https), &tls.Config{RootCAs: roots, ServerName: "other.example.com"}); err == nil {
		t.Error("another name has a certificate", c.Close())
	}
	stop()
	stop = run(t, dir, env, "Dashboard:", "paddock", args...)
	defer stop()
	if again := visit(); again.Cmp(first) != 0 {
		t.Errorf("certificate %v after a restart, %v before", again, first)
	}
}

func at(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// run starts a program, waits until it prints that it has started, and returns a function that ends
// it.
func run(t *testing.T, dir string, env []string, started, name string, args ...string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, filepath.Join(dir, name), args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	var log strings.Builder
	go func() { // ends with the program
		defer close(ended)
		lines := bufio.NewScanner(out)
		for signalled := false; lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if !signalled && strings.Contains(lines.Text(), started) {
				signalled = true
				close(ready)
			}
		}
	}()
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		cancel()
		<-ended
		_ = cmd.Wait() // ended by a signal
		if t.Failed() {
			t.Logf("%s:\n%s", name, log.String())
		}
	}
	t.Cleanup(stop)
	select {
	case <-ready:
	case <-ended:
		t.Fatalf("%s has ended:\n%s", name, log.String())
	case <-time.After(patience):
		t.Fatalf("%s does not start", name)
	}
	return stop
}

// authority writes a certificate for loopback that signs itself, for the authority's own interface.
func authority(t *testing.T, dir string) (root, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "authority.pem"), filepath.Join(dir, "authority.key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, cert, key
}

func pool(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(text)
	return p
}

// fetch reads a page of the authority, which may not listen yet.
func fetch(t *testing.T, client *http.Client, url string) []byte {
	t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(50 * time.Millisecond) {
		res, err := client.Get(url)
		if err == nil {
			text, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err == nil && res.StatusCode == http.StatusOK {
				return text
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", url, err)
		}
	}
}
