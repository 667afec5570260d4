package website

import (
	"bufio"
	"fmt"
	"io"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"paddock/internal/netio/plainhttp"
)

var shortSite = map[string]string{
	"index.html": "<h1>front</h1>", "app.js": "let a = 1", "app.js.br": "B", "app.js.gz": "GZ", "app.js.zst": "ZST", "big.bin": large[:maxFast+1],
	"sub/index.html": "sub", "empty.txt": "",
}

var date = regexp.MustCompile(`Date: [^\r]+\r\n`)

// The fast path and net/http give the same bytes, except for the date, and each answers the
// requests meant for it.
func TestFastPathGivesTheSame(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, shortSite)
	s := serve(t, dir, inMemory)
	long := httptest.NewServer(s.Site)
	defer long.Close()
	longer := &served{addr: strings.TrimPrefix(long.URL, "http://")}
	for _, tc := range []struct {
		request string // followed by the end of the stream
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
			t.Errorf("%q: the fast path answered: %v", tc.request, short)
		}
	}
}

// Pipelined requests are answered in order, on either path, however the bytes are cut.
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
		if cut%2 == 0 { // so that the first part is usually read alone
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

// A client that reads late receives all of many answers.
func TestSlowReaderGetsAll(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a.bin": large[:maxFast], "large.bin": large})
	s := serve(t, dir, inMemory)
	const n = 100
	conn := s.dial(t)
	go func() { // ends with its writes
		_, _ = io.WriteString(conn, strings.Repeat("GET /a.bin HTTP/1.1\r\nHost: localhost\r\n\r\n", n)+"GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_ = conn.CloseWrite()
	}()
	in := bufio.NewReaderSize(conn, 16)
	for range n {
		if r := readReply(t, in, "GET"); r.body != large[:maxFast] {
			t.Fatalf("%d: %d bytes", r.status, len(r.body))
		}
	}
	if r := readReply(t, in, "GET"); r.body != large {
		t.Fatalf("%d: %d bytes", r.status, len(r.body))
	}
}

// The cost of a plain request after it is parsed: the look-up of its page, and the copy of the
// answer.
func BenchmarkFast(b *testing.B) {
	answer := fastAnswer(b)
	b.ReportAllocs()
	for b.Loop() {
		if answer() == 0 {
			b.Fatal("the fast path leaves it")
		}
	}
}

// fastAnswer returns a function that answers on the fast path and returns the number of bytes.
func fastAnswer(tb testing.TB) (answer func() int) {
	dir := tb.TempDir()
	plant(tb, dir, map[string]string{"index.html": large[:3516]})
	s := open(tb, dir, inMemory)
	r := plainhttp.Read("GET /index.html?v=1 HTTP/1.1\r\nHost: localhost:8080\r\nAccept-Encoding: gzip, br\r\n\r\n", time.Now())
	var out []byte
	return func() int {
		out = s.appendAnswer(out[:0], r)
		return len(out)
	}
}

func TestFastPathDoesNotAllocate(t *testing.T) {
	answer := fastAnswer(t)
	if allocs := testing.AllocsPerRun(100, func() { answer() }); allocs != 0 || answer() < 3516 {
		t.Errorf("%v allocations, %d bytes", allocs, answer())
	}
}
