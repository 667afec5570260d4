package website

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

var shortSite = map[string]string{
	"index.html": "<h1>front</h1>", "app.js": "let a = 1", "app.js.br": "B", "app.js.gz": "GZ", "app.js.zst": "ZST", "big.bin": large[:maxShort+1],
	"sub/index.html": "sub", "empty.txt": "",
}

var date = regexp.MustCompile(`Date: [^\r]+\r\n`)

// Both ways give the same bytes, the date aside, and each takes what it shall.
func TestShortAndLongWayGiveTheSame(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, shortSite)
	s := serve(t, dir, inMemory)
	long := httptest.NewServer(s.Site)
	defer long.Close()
	longer := &served{addr: strings.TrimPrefix(long.URL, "http://")}
	for _, tc := range []struct {
		request string // after which comes the end
		short   bool
	}{
		{"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
		{"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
		{"GET /?q=%20 HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
		{"GET /sub/ HTTP/1.1\r\nhOST:127.0.0.1:80\r\nConnection: Keep-Alive\r\nUser-Agent: \r\n\r\n", true},
		{"GET /empty.txt HTTP/1.1\r\nHost: [::1]\r\nCookie: a=b\r\nAccept: */*\r\n\r\n", true},
		{"GET /app.js HTTP/1.1\r\nHost: localhost\r\n\r\n", true},
		{"GET /app.js HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n", true},
		{"GET /app.js HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip;q=1, *;q=0.1\r\n\r\n", true},
		{"HEAD /app.js HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: zstd\r\n\r\n", true},
		{"GET /app.js HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n", true},

		{"GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n", false},
		{"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n", false},
		{"GET /sub HTTP/1.1\r\nHost: localhost\r\n\r\n", false},
		{"GET /%61pp.js HTTP/1.1\r\nHost: localhost\r\n\r\n", false},
		{"GET http://localhost/app.js HTTP/1.1\r\nHost: localhost\r\n\r\n", false},
		{"GET / HTTP/1.0\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-1\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: *\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nIf-Modified-Since: Thu, 29 Feb 2024 12:30:45 GMT\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: br\r\nAccept-Encoding: gzip\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", false},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", false},
		{"GET / HTTP/1.1\r\nHost: localhost\r\nX: \xff\r\n\r\n", false},
		{"OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n", false},
		{"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", false},
		{"DELETE /app.js HTTP/1.1\r\nHost: localhost\r\n\r\n", false},
	} {
		before := s.Stats().Short
		got := date.ReplaceAllString(s.raw(t, tc.request), "")
		if want := date.ReplaceAllString(longer.raw(t, tc.request), ""); got != want {
			t.Errorf("%q:\nshort %q\nlong  %q", tc.request, got, want)
		}
		if short := s.Stats().Short > before; short != tc.short {
			t.Errorf("%q: the short way answered: %v", tc.request, short)
		}
	}
}

// Pipelined requests are answered in order, whichever way each takes, and however
// the bytes are cut.
func TestPipelined(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, shortSite)
	s := serve(t, dir, inMemory)
	requests := strings.Repeat("GET /app.js HTTP/1.1\r\nHost: localhost\r\n\r\n", 3) +
		"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n" +
		"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n" +
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	methods := []string{"GET", "GET", "GET", "HEAD", "GET", "GET"}
	want := replies(t, s.raw(t, requests), methods...)
	if fmt.Sprint(want[0].body, want[1].body, want[2].body, want[3].body, want[4].status, want[5].body) != "let a = 1let a = 1let a = 1404<h1>front</h1>" {
		t.Fatalf("%+v", want)
	}
	for cut := range len(requests) {
		conn := s.dial(t)
		_, err := io.WriteString(conn, requests[:cut])
		must(t, err)
		if cut%2 == 0 { // so that the first part is read alone, as a rule
			if n := strings.Count(requests[:cut], "\r\n\r\n"); n > 0 {
				in := bufio.NewReader(io.LimitReader(conn, 1))
				_, err := in.Peek(1)
				must(t, err)
				_, err = io.WriteString(conn, requests[cut:])
				must(t, err)
				must(t, conn.CloseWrite())
				rest, err := io.ReadAll(conn)
				must(t, err)
				sameReplies(t, cut, replies(t, "H"+string(rest), methods...), want)
				continue
			}
		}
		_, err = io.WriteString(conn, requests[cut:])
		must(t, err)
		must(t, conn.CloseWrite())
		all, err := io.ReadAll(conn)
		must(t, err)
		sameReplies(t, cut, replies(t, string(all), methods...), want)
	}
}

func sameReplies(t *testing.T, cut int, got, want []reply) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("cut at %d: %+v, want %+v", cut, got, want)
	}
}

// A client that reads late gets everything, also of many answers at once.
func TestSlowReaderGetsAll(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a.bin": large[:maxShort], "large.bin": large})
	s := serve(t, dir, inMemory)
	const n = 100
	conn := s.dial(t)
	go func() { // ends with what it writes
		_, _ = io.WriteString(conn, strings.Repeat("GET /a.bin HTTP/1.1\r\nHost: localhost\r\n\r\n", n)+"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_ = conn.CloseWrite()
	}()
	in := bufio.NewReaderSize(conn, 16)
	for range n {
		if r := readReply(t, in, "GET"); r.body != large[:maxShort] {
			t.Fatalf("%d: %d bytes", r.status, len(r.body))
		}
	}
	if r := readReply(t, in, "GET"); r.body != large {
		t.Fatalf("%d: %d bytes", r.status, len(r.body))
	}
}

// Whatever the short way takes for a plain request, net/http reads alike: the same
// end, the same path, no body, the connection kept.
func FuzzReadPlain(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"HEAD /a/b?c=d HTTP/1.1\r\nHost: [::1]:8080\r\nAccept-Encoding: gzip;q=0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.1\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\nabc",
		"GET / HTTP/1.1\r\nHost: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.1\nHost: a\n\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nConnection: Upgrade\r\n\r\n",
		"GET /a#b HTTP/1.1\r\nHost: a,b\r\nExpect: 100-continue\r\nTE: trailers\r\nTrailer: x\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r plain
		n := readPlain(b, &r)
		if n == 0 {
			return
		}
		if n > len(b) {
			t.Fatalf("%d of %d bytes", n, len(b))
		}
		in := bufio.NewReader(bytes.NewReader(b))
		theirs, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", b[:n], err)
		}
		if left := len(b) - n; in.Buffered() != min(left, in.Buffered()) || len(b) <= 4096 && in.Buffered() != left {
			t.Errorf("%q: net/http has %d bytes left, not %d", b, in.Buffered(), left)
		}
		method := "GET"
		if r.head {
			method = "HEAD"
		}
		if theirs.Method != method || theirs.URL.Path != string(r.path) || theirs.RequestURI != string(r.target) || theirs.Host != string(r.host) {
			t.Errorf("%q: %s %s %s for %s", b[:n], theirs.Method, theirs.RequestURI, theirs.URL.Path, theirs.Host)
		}
		if theirs.Body != http.NoBody || theirs.Close || theirs.ContentLength != 0 || theirs.TransferEncoding != nil || !theirs.ProtoAtLeast(1, 1) {
			t.Errorf("%q: %+v", b[:n], theirs)
		}
		for name := range theirs.Header {
			if strings.HasPrefix(name, "If-") || name == "Range" || name == "Expect" || name == "Upgrade" || name == "Trailer" {
				t.Errorf("%q has %s", b[:n], name)
			}
		}
		if got := strings.Join(theirs.Header["Accept-Encoding"], ","); got != string(r.acceptEncoding) {
			t.Errorf("%q: Accept-Encoding %q", b[:n], got)
		}
	})
}

// What a plain request costs beside the kernel: it is read, its page is found, and
// the answer put together.
func BenchmarkShort(b *testing.B) {
	s, c, buffers := shortOfSocket(b)
	request := []byte("GET /index.html HTTP/1.1\r\nHost: localhost:8080\r\n\r\n")
	b.ReportAllocs()
	for b.Loop() {
		if rest := c.gather(buffers, request, s.clock.now.Load()); len(rest) != 0 {
			b.Fatalf("%q is left", rest)
		}
		buffers.out = buffers.out[:0]
	}
}

func BenchmarkReadPlain(b *testing.B) {
	for name, request := range map[string]string{
		"bare": "GET /index.html HTTP/1.1\r\nHost: localhost:8080\r\n\r\n",
		"browser": "GET /static/app.js?v=17 HTTP/1.1\r\nHost: localhost:8080\r\nConnection: keep-alive\r\nsec-ch-ua: \"Chromium\";v=\"140\"\r\n" +
			"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\nAccept: */*\r\n" +
			"Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\nReferer: http://localhost:8080/\r\n" +
			"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\n\r\n",
	} {
		b.Run(name, func(b *testing.B) {
			var r plain
			b.SetBytes(int64(len(request)))
			for b.Loop() {
				if readPlain([]byte(request), &r) == 0 {
					b.Fatal("it is not plain")
				}
			}
		})
	}
}

// shortOfSocket returns a connection of the short way that writes nowhere.
func shortOfSocket(tb testing.TB) (*Server, *shortConn, *buffers) {
	dir := tb.TempDir()
	plant(tb, dir, map[string]string{"index.html": large[:3516]})
	s := &Server{site: open(tb, dir, inMemory)}
	s.clock.set(time.Now())
	return s, &shortConn{site: s.site, clock: &s.clock}, new(buffers)
}

func TestShortWayDoesNotAllocate(t *testing.T) {
	s, c, buffers := shortOfSocket(t)
	request := []byte("GET /index.html?v=1 HTTP/1.1\r\nHost: localhost:8080\r\nAccept-Encoding: gzip, br\r\n\r\n")
	requests := bytes.Repeat(request, 10)
	if allocs := testing.AllocsPerRun(100, func() {
		if rest := c.gather(buffers, requests, s.clock.now.Load()); len(rest) != 0 {
			t.Fatalf("%q is left", rest)
		}
		buffers.out = buffers.out[:0]
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
