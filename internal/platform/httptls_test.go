package platform_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"paddock/internal/city"
	"paddock/internal/platform"
	"paddock/internal/process/config"
)

// pairOf writes a certificate for loopback with a serial number, and its key.
func pairOf(t *testing.T, cert, key string, serial int64) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "paddock"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		next := file + ".next" // as tools that renew certificates do
		if err := os.WriteFile(next, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool
}

// HTTP with a certificate takes TLS 1.2 and 1.3 and nothing older or plain, with HTTP/1.1, HTTP/2
// and the dashboard's WebSocket. The platform's own traffic trusts it.
func TestHTTPS(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Default()
	cfg.HTTP.Cert, cfg.HTTP.Key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	trust := pairOf(t, cfg.HTTP.Cert, cfg.HTTP.Key, 1)
	r := start(t, cfg, square(t))
	if !strings.HasPrefix(r.URL(), "https://127.0.0.1:") {
		t.Fatal(r.URL())
	}
	for proto, force := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, ForceAttemptHTTP2: force}}
		res, err := client.Get(r.URL() + "v1/search?lon=0.5&lat=0.5")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.Proto != proto || res.StatusCode != http.StatusOK || !strings.Contains(string(text), `"id"`) {
			t.Errorf("%s: %s %s %s", proto, res.Proto, res.Status, text)
		}
		client.CloseIdleConnections()
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}}}
	defer client.CloseIdleConnections()
	conn, _, err := websocket.Dial(t.Context(), "wss"+strings.TrimPrefix(r.URL(), "https")+"v1/live", &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.CloseNow()
	traffic := r.SendByHTTP()
	defer traffic.Close()
	if err := traffic.Send(t.Context(), []city.Fix{{ID: "car", Lon: 0.5, Lat: 0.5}}, time.Now()); err != nil {
		t.Error(err)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(r.URL(), "https://"), "/")
	for version, want := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: trust, MinVersion: version, MaxVersion: version})
		if (err == nil) != want {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if c != nil {
			_ = c.Close()
		}
	}
	res, err := client.Get("http://" + address + "/v1/sets")
	if err != nil {
		t.Fatal(err)
	}
	if _ = res.Body.Close(); res.StatusCode != http.StatusBadRequest {
		t.Errorf("plain HTTP: %s", res.Status)
	}
	bySSL(t, address)
}

// bySSL checks with openssl that old versions and weak ciphers are refused.
func bySSL(t *testing.T, address string) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Log("openssl is not installed")
		return
	}
	for flags, want := range map[string]bool{
		"-tls1_1": false, "-tls1": false, "-tls1_2": true, "-tls1_3": true,
		"-tls1_2 -cipher NULL:@SECLEVEL=0": false, "-tls1_2 -cipher RC4:@SECLEVEL=0": false, "-tls1_2 -cipher kRSA:@SECLEVEL=0": false,
		"-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256": true,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cmd := exec.CommandContext(ctx, "openssl", append([]string{"s_client", "-connect", address}, strings.Fields(flags)...)...)
		out, err := cmd.CombinedOutput()
		cancel()
		if got := err == nil && !strings.Contains(string(out), "Cipher is (NONE)"); got != want {
			t.Errorf("openssl s_client %s: %v %s", flags, err, out)
		}
	}
}

// heard waits for a text in a log.
type heard struct {
	text string
	seen chan struct{} // closed by the first one
	once sync.Once
}

func (h *heard) Write(p []byte) (int, error) {
	if strings.Contains(string(p), h.text) {
		h.once.Do(func() { close(h.seen) })
	}
	return len(p), nil
}

// A renewed certificate is in use without a restart and without a failed request; one that cannot
// be used changes nothing.
func TestRenewedCertificate(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Default()
	cfg.HTTP.Cert, cfg.HTTP.Key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pairOf(t, cfg.HTTP.Cert, cfg.HTTP.Key, 1)
	refused := &heard{text: "a changed certificate cannot be used", seen: make(chan struct{})}
	r := startWith(t, platform.Options{Config: cfg, Catalog: square(t), Logger: slog.New(slog.NewTextHandler(refused, nil))})
	address := strings.TrimSuffix(strings.TrimPrefix(r.URL(), "https://"), "/")
	serial := func() int64 {
		c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) // only its number is looked at
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	until := func(want int64) {
		t.Helper()
		for deadline := time.Now().Add(patience); serial() != want; {
			if time.Now().After(deadline) {
				t.Fatalf("certificate %d is in use, not %d", serial(), want)
			}
			<-time.After(50 * time.Millisecond)
		}
	}
	stop := make(chan struct{})
	var requests sync.WaitGroup
	for kept := range 2 {
		requests.Go(func() {
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: kept == 0}}
			defer client.CloseIdleConnections()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				res, err := client.Get(r.URL() + "v1/sets")
				if err != nil {
					t.Errorf("request %d: %v", n, err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
	until(1)
	pairOf(t, cfg.HTTP.Cert, cfg.HTTP.Key, 2)
	until(2)
	if err := os.WriteFile(cfg.HTTP.Cert, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	<-refused.seen
	if n := serial(); n != 2 {
		t.Errorf("certificate %d", n)
	}
	pairOf(t, cfg.HTTP.Cert, cfg.HTTP.Key, 3)
	until(3)
	close(stop)
	requests.Wait()
}
