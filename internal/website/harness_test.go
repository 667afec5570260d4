package website

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"paddock/internal/process/lifecycle"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is far longer than any step of these tests takes.
const patience = 30 * time.Second

// old is the time of files that were not written just now.
var old = time.Date(2024, 2, 29, 12, 30, 45, 123456789, time.UTC)

// plant writes files with the time old. A name that ends in a slash is a directory.
func plant(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
		must(t, os.Chtimes(path, old, old))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a site that the test closes.
func open(t testing.TB, dir string, o Options) *Site {
	t.Helper()
	s, err := Open(dir, o)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// inMemory are options under which the fast path serves small files.
var inMemory = Options{CacheBytes: 1 << 20}

// served is a site behind a socket.
type served struct {
	*Site
	server lifecycle.Service
	addr   string
	ended  chan error
}

func serve(t testing.TB, dir string, o Options) *served { return serveTLS(t, dir, o, nil) }

func serveTLS(t testing.TB, dir string, o Options, certificates *tls.Config) *served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := &served{Site: open(t, dir, o), addr: l.Addr().String(), ended: make(chan error, 1)}
	s.server = s.Service(l, certificates)
	go func() { s.ended <- s.server.Run(t.Context()) }() // until the test shuts it down
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = s.server.Drain(ctx)
		if err := <-s.ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return s
}

func (s *served) dial(t testing.TB) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn.(*net.TCPConn)
}

// reply is an answer that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
	close  bool
}

// raw sends bytes, then nothing more, and returns the received bytes until the server closes the
// connection.
func (s *served) raw(t testing.TB, request string) string {
	t.Helper()
	conn := s.dial(t)
	_, err := io.WriteString(conn, request)
	must(t, err)
	must(t, conn.CloseWrite())
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%q: %v after %q", request, err, all)
	}
	return string(all)
}

// asker sends one request after another over a connection, and opens another one when it has ended.
type asker struct {
	*served
	conn net.Conn // nil = there is none
	in   *bufio.Reader
}

// ask sends a GET and returns its answer, with the lengths and chunks of the body decoded.
func (a *asker) ask(t testing.TB, request string) string {
	t.Helper()
	if a.conn == nil {
		a.conn = a.dial(t)
		a.in = bufio.NewReader(a.conn)
	}
	_, err := io.WriteString(a.conn, request)
	must(t, err)
	r := readReply(t, a.in, "GET")
	if r.close {
		must(t, a.conn.Close())
		a.conn = nil
	}
	return fmt.Sprintf("%d %v\n%s", r.status, r.header, r.body)
}

// replies reads the answers to requests of these methods.
func replies(t testing.TB, answered string, methods ...string) (all []reply) {
	t.Helper()
	in := bufio.NewReader(strings.NewReader(answered))
	for _, method := range methods {
		all = append(all, readReply(t, in, method))
	}
	if rest, _ := io.ReadAll(in); len(rest) > 0 {
		t.Fatalf("after %d answers there is %q", len(methods), rest)
	}
	return all
}

func readReply(t testing.TB, in *bufio.Reader, method string) reply {
	t.Helper()
	r, err := http.ReadResponse(in, &http.Request{Method: method})
	must(t, err)
	body, err := io.ReadAll(r.Body)
	must(t, err)
	_ = r.Body.Close()
	r.Header.Del("Date")
	return reply{r.StatusCode, r.Header, string(body), r.Close}
}

// get sends a request of one line and fields.
func (s *served) get(t testing.TB, method, target string, fields ...string) reply {
	t.Helper()
	request := method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n"
	for i := 0; i < len(fields); i += 2 {
		request += fields[i] + ": " + fields[i+1] + "\r\n"
	}
	return replies(t, s.raw(t, request+"\r\n"), method)[0]
}

// age makes pages in memory due for a comparison with their files.
func (s *Site) age() {
	s.cache.mu.RLock()
	defer s.cache.mu.RUnlock()
	for e := s.cache.order.Front(); e != nil; e = e.Next() {
		e.Value.(*page).checked.Store(0)
	}
}

// large is longer than the kernel's buffers, and than the bound of pages in memory.
var large = strings.Repeat("0123456789abcdef", 512<<10)

// secret is in every file outside of the directory, and in none within.
const secret = "SECRET"

func leaks(b []byte) bool { return bytes.Contains(b, []byte(secret)) }
