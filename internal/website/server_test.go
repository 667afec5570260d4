package website

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A shutdown ends idle connections at once, and completes the requests in progress.
func TestShutdown(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a.txt": "a", "large.bin": large})
	s := serve(t, dir, inMemory)
	idle, short, long, busy := s.dial(t), s.dial(t), s.dial(t), s.dial(t)
	_, _ = io.WriteString(short, "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
	_, _ = io.WriteString(long, "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n")
	_, _ = io.WriteString(busy, "GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
	shortIn, longIn, busyIn := bufio.NewReader(short), bufio.NewReader(long), bufio.NewReaderSize(busy, 16)
	if a, b := readReply(t, shortIn, "GET"), readReply(t, longIn, "GET"); a.status != 200 || b.status != 404 {
		t.Fatalf("%+v %+v", a, b)
	}
	_, err := busyIn.Peek(1)
	must(t, err)
	shut := make(chan error, 1)
	go func() { // ends when all requests are answered
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		shut <- s.server.Drain(ctx)
	}()
	for name, conn := range map[string]io.Reader{"idle": idle, "short": shortIn, "long": longIn} {
		if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if r := readReply(t, busyIn, "GET"); r.body != large {
		t.Errorf("%d bytes of the large file", len(r.body))
	}
	if err := <-shut; err != nil {
		t.Error(err)
	}
}

// A shutdown whose time is up does not wait for clients.
func TestShutdownInTime(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"large.bin": large, "a.bin": large[:maxFast]})
	s := serve(t, dir, inMemory)
	for _, name := range []string{"large.bin", "a.bin"} {
		conn := s.dial(t) // reads nothing
		go func() {       // ends when the connection does
			for {
				if _, err := io.WriteString(conn, strings.Repeat("GET /"+name+" HTTP/1.1\r\nHost: localhost\r\n\r\n", 50)); err != nil {
					return
				}
			}
		}()
		_, err := bufio.NewReaderSize(conn, 16).Peek(1)
		must(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.server.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestOverTLS(t *testing.T) {
	dir := t.TempDir()
	large := large[:2<<20] // large answers take long under the race detector
	plant(t, dir, map[string]string{"a.txt": "a", "large.bin": large})
	certificate, pool := selfSigned(t)
	s := serveTLS(t, dir, inMemory, &tls.Config{Certificates: []tls.Certificate{certificate}})
	for _, http2 := range []bool{false, true} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: http2}
		client := &http.Client{Transport: transport, Timeout: patience}
		for name, want := range map[string]string{"a.txt": "a", "large.bin": large} {
			r, err := client.Get("https://" + s.addr + "/" + name)
			must(t, err)
			body, err := io.ReadAll(r.Body)
			must(t, err)
			_ = r.Body.Close()
			if string(body) != want || (r.ProtoMajor == 2) != http2 {
				t.Errorf("%s: %s, %d bytes", name, r.Proto, len(body))
			}
		}
		transport.CloseIdleConnections()
	}
}

// selfSigned returns a certificate for 127.0.0.1, and a pool that trusts it.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	certificate, err := x509.ParseCertificate(der)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// shelf is a writer that the test reads.
type shelf struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shelf) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func TestRequestLog(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a.txt": "abc"})
	for _, errorsOnly := range []bool{false, true} {
		var common, object shelf
		for _, out := range []*shelf{&common, &object} {
			log := NewRequestLog(out, out == &object, errorsOnly)
			s := serve(t, dir, Options{CacheBytes: 1 << 20, Requests: log})
			s.get(t, "GET", "/a.txt?x=1")
			s.get(t, "HEAD", "/a.txt")
			s.get(t, "GET", `/none"\`)
			log.Close()
		}
		lines := strings.Split(strings.TrimSpace(common.b.String()), "\n")
		want := []string{`] "GET /a.txt?x=1 HTTP/1.1" 200 3`, `] "HEAD /a.txt HTTP/1.1" 200 0`, `] "GET /none\x22\x5c HTTP/1.1" 404 10`}
		if errorsOnly {
			want = want[2:]
		}
		if len(lines) != len(want) {
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		for i, line := range lines {
			if !strings.HasPrefix(line, "127.0.0.1 - - [") || !strings.HasSuffix(line, want[i]) {
				t.Errorf("%q, want %q", line, want[i])
			}
		}
		lines = strings.Split(strings.TrimSpace(object.b.String()), "\n")
		var last struct {
			Method, Target, Remote string
			Status                 int
			Bytes                  int64
			Time                   time.Time
		}
		must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
		if last.Method != "GET" || last.Target != `/none"\` || last.Status != 404 || last.Bytes != 10 || last.Remote != "127.0.0.1" || last.Time.IsZero() || len(lines) != len(want) {
			t.Errorf("%d lines: %+v", len(lines), last)
		}
	}
}

// stuck is a writer that blocks.
type stuck struct{ release chan struct{} }

func (s stuck) Write(b []byte) (int, error) {
	<-s.release
	return len(b), nil
}

// Lines for a blocked output are dropped and counted; requests do not wait for them.
func TestRequestLogIsBounded(t *testing.T) {
	out := stuck{make(chan struct{})}
	log := NewRequestLog(out, false, false)
	line := request{remote: "127.0.0.1:1", method: "GET", target: "/" + strings.Repeat("x", 1000), proto: "HTTP/1.1", status: 200}
	for range 3 * maxUnwritten / 1000 {
		log.add(line)
	}
	log.mu.Lock()
	size, lost := len(log.lines), log.lost
	log.mu.Unlock()
	if size > maxUnwritten+2000 || lost == 0 {
		t.Errorf("%d bytes wait, %d lines lost", size, lost)
	}
	close(out.release)
	log.Close()
	if told := string(log.tellLost(nil, 3)); told != "# 3 requests came faster than they could be written\n" {
		t.Errorf("%q", told)
	}
}
