package plainhttp

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// FuzzRead compares with net/http: it reads every plain request as the same one, with the same end,
// path and body, and keeps the connection.
func FuzzRead(f *testing.F) {
	for _, stream := range streams {
		f.Add([]byte(stream))
	}
	for _, seed := range []string{
		"HEAD /a/b?c=d HTTP/1.1\r\nHost: [::1]:8080\r\nAccept-Encoding: gzip;q=0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.1\r\n",
		"GET /a#b HTTP/1.1\r\nHost: a,b\r\nExpect: 100-continue\r\nTE: trailers\r\nTrailer: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: *\r\nRange: bytes=0-1\r\nIf: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nOrigin: null\r\nContent-Length: 3\r\nAuthorization: Bearer x\r\nContent-Type: a/b\r\n\r\nabcd",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Request
		if r.read(b) != plain {
			return
		}
		n := r.size + r.body
		in := bufio.NewReaderSize(bytes.NewReader(b), len(b)+16)
		theirs, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("net/http refuses %q: %v", b[:n], err)
		}
		body, err := io.ReadAll(theirs.Body)
		if err != nil || string(body) != string(r.Body) || theirs.ContentLength != int64(len(r.Body)) {
			t.Errorf("%q: body %q of %d, %v", b[:n], body, theirs.ContentLength, err)
		}
		if left := len(b) - n; in.Buffered() != left {
			t.Errorf("%q: net/http has %d bytes left, not %d", b, in.Buffered(), left)
		}
		if theirs.Method != r.Method.String() || theirs.URL.Path != string(r.Path) || theirs.URL.RawPath != "" || theirs.URL.RawQuery != string(r.Query) ||
			theirs.RequestURI != string(r.Target) || theirs.Host != string(r.Host) {
			t.Errorf("%q: %s %s %s for %s", b[:n], theirs.Method, theirs.RequestURI, theirs.URL.Path, theirs.Host)
		}
		if theirs.Close || theirs.TransferEncoding != nil || theirs.Trailer != nil || !theirs.ProtoAtLeast(1, 1) {
			t.Errorf("%q: %+v", b[:n], theirs)
		}
		for name := range theirs.Header {
			if strings.HasPrefix(name, "If-") || name == "Range" || name == "Expect" || name == "Upgrade" || name == "Trailer" || name == "Content-Encoding" {
				t.Errorf("%q has %s", b[:n], name)
			}
		}
		for name, got := range map[string][]byte{"Accept-Encoding": r.AcceptEncoding, "Authorization": r.Authorization, "Content-Type": r.ContentType} {
			if want := theirs.Header[name]; string(got) != strings.Join(want, ",") {
				t.Errorf("%q: %s is %q, not %q", b[:n], name, got, want)
			}
		}
		if fromPage := theirs.Header["Origin"] != nil || theirs.Header["Sec-Fetch-Site"] != nil; r.FromPage != fromPage {
			t.Errorf("%q: from a page: %v", b[:n], r.FromPage)
		}
	})
}

var benchmarkRequests = map[string]string{
	"search": "POST /fence/name/search HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/json\r\nContent-Length: 209\r\n\r\n" + strings.Repeat("b", 209),
	"bare":   "GET /index.html HTTP/1.1\r\nHost: localhost:8080\r\n\r\n",
	"browser": "GET /static/app.js?v=17 HTTP/1.1\r\nHost: localhost:8080\r\nConnection: keep-alive\r\nsec-ch-ua: \"Chromium\";v=\"140\"\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\nAccept: */*\r\n" +
		"Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\nReferer: http://localhost:8080/\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\n\r\n",
}

func BenchmarkRead(b *testing.B) {
	for name, request := range benchmarkRequests {
		b.Run(name, func(b *testing.B) {
			var r Request
			b.SetBytes(int64(len(request)))
			for b.Loop() {
				if r.read([]byte(request)) != plain {
					b.Fatal("it is not plain")
				}
			}
		})
	}
}

// gathering returns a function that answers two requests on a connection without a socket.
func gathering() func() (rest []byte) {
	answer := func(dst []byte, r *Request) []byte {
		return append(r.AppendEnd(append(dst, "HTTP/1.1 200 OK\r\n"...)), r.Body...)
	}
	s := New(Options{Answer: answer, Admits: func(net.Addr, string, string) (<-chan struct{}, bool) { return nil, true }, Fallback: coldServer()})
	c, b := &conn{Conn: &net.TCPConn{}, server: s, request: Request{stopping: &s.stopping}}, new(buffers)
	in := []byte(benchmarkRequests["search"] + benchmarkRequests["browser"])
	return func() []byte {
		b.out = b.out[:0]
		rest, _ := c.gather(b, in, s.clock.now.Load())
		return rest
	}
}

func BenchmarkGather(b *testing.B) {
	gather := gathering()
	b.ReportAllocs()
	for b.Loop() {
		if len(gather()) > 0 {
			b.Fatal("something is left")
		}
	}
}

func TestPlainRequestsAllocateNothing(t *testing.T) {
	gather := gathering()
	if n := testing.AllocsPerRun(100, func() {
		if len(gather()) > 0 {
			t.Fatal("something is left")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Admits is called once for values that do not change on a connection, until they have ended.
func TestAdmits(t *testing.T) {
	var asked []string
	ended := make(chan struct{})
	s := New(Options{
		Answer: echo{}.answer, Fallback: coldServer(),
		Admits: func(_ net.Addr, host, authorization string) (<-chan struct{}, bool) {
			asked = append(asked, host+" "+authorization)
			return ended, host != "evil" && authorization != "Bearer wrong"
		},
	})
	c, b := &conn{Conn: &net.TCPConn{}, server: s, request: Request{Now: time.Now()}}, new(buffers)
	request := func(host, authorization string) string {
		return "GET /hot HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: " + authorization + "\r\n\r\n"
	}
	for _, host := range []string{"x", "x", "y", "x"} {
		if rest, v := c.gather(b, []byte(request(host, "Bearer t")), s.clock.now.Load()); len(rest) > 0 || v != plain {
			t.Errorf("%s is not answered", host)
		}
	}
	close(ended)
	c.gather(b, []byte(request("x", "Bearer t")), s.clock.now.Load())
	for _, in := range []string{request("x", "Bearer wrong"), request("evil", "Bearer t"), "GET /hot HTTP/1.1\r\nHost: evil\r\n\r\n"} {
		if rest, v := c.gather(b, []byte(in), s.clock.now.Load()); string(rest) != in || v != odd {
			t.Errorf("%q is answered", in)
		}
	}
	if got := strings.Join(asked, ", "); got != "x Bearer t, y Bearer t, x Bearer t, x Bearer t, x Bearer wrong, evil Bearer t, evil " {
		t.Errorf("asked for %s", got)
	}
}
