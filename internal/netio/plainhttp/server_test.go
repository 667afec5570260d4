package plainhttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")) // half a second for the client to read an error
}

// patience is far longer than any step of these tests takes.
const patient = 20 * time.Second

// echo answers every path with a description of the request. Plain requests are answered only under
// /hot.
type echo struct{ onHot func() }

func echoText(method, target, body string) string {
	return fmt.Sprintf("%s %s %q", method, target, body)
}

func (e echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "body", http.StatusBadRequest)
		return
	}
	text := echoText(r.Method, r.RequestURI, string(body))
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = io.WriteString(w, text)
}

func (e echo) answer(dst []byte, r *Request) []byte {
	if !bytes.HasPrefix(r.Path, []byte("/hot")) || r.Method == HEAD {
		return nil
	}
	if e.onHot != nil {
		e.onHot()
	}
	text := echoText(r.Method.String(), string(r.Target), string(r.Body))
	dst = fmt.Appendf(dst, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n", len(text))
	return append(r.AppendEnd(dst), text...)
}

// before returns a server that answers under /hot, and before a cold one.
func before(cold *http.Server) *Server { return New(Options{Answer: echo{}.answer, Fallback: cold}) }

func coldServer() *http.Server {
	return &http.Server{
		Handler: echo{}, ReadHeaderTimeout: patient, IdleTimeout: patient, WriteTimeout: patient, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
}

// listening serves until the test ends.
func listening(t testing.TB, s interface {
	Serve(net.Listener) error
	Close() error
},
) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// dials counts connections.
var dials atomic.Uint32

// dial connects, from a separate local address if all of 127.0.0.0/8 exists: fuzzing would exhaust
// the ports of one address.
func dial(t testing.TB, addr string) *net.TCPConn {
	t.Helper()
	var d net.Dialer
	if n := dials.Add(1); runtime.GOOS == "linux" {
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 1, byte(n>>8), byte(n))}
	}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patient)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

// converse sends the pieces and closes its half. It returns the received answers, one line for
// each.
func converse(t testing.TB, addr string, pieces ...string) []string {
	t.Helper()
	answers, _ := talk(t, addr, pieces...)
	return answers
}

// talk is converse, and reports whether the server reset the connection. A server that closes with
// unread bytes does so, and the client may lose the last answer.
func talk(t testing.TB, addr string, pieces ...string) (answers []string, reset bool) {
	t.Helper()
	c := dial(t, addr)
	defer c.Close()
	var sender sync.WaitGroup
	sender.Go(func() {
		for _, p := range pieces {
			if _, err := io.WriteString(c, p); err != nil {
				return // the server may close the connection early
			}
		}
		_ = c.CloseWrite()
	})
	in := bufio.NewReader(c)
	for {
		a, err := readAnswer(in)
		if err != nil {
			reset = errors.Is(err, syscall.ECONNRESET)
			break
		}
		answers = append(answers, a)
	}
	_ = c.Close()
	sender.Wait()
	return answers, reset
}

// readAnswer reads an answer as a text that is the same for both servers.
func readAnswer(in *bufio.Reader) (string, error) {
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	if r.StatusCode != http.StatusContinue && r.Header.Get("Date") == "" && r.StatusCode < 400 {
		return "", errors.New("no date")
	}
	var fields []string
	for name, values := range r.Header {
		if name != "Date" {
			fields = append(fields, fmt.Sprint(name, values))
		}
	}
	slices.Sort(fields)
	return fmt.Sprintf("%d %v close=%v %s", r.StatusCode, fields, r.Close, body), nil
}

const (
	hotGet  = "GET /hot?a=b HTTP/1.1\r\nHost: x\r\n\r\n"
	hotPost = "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
	coldGet = "GET /cold HTTP/1.1\r\nHost: x\r\n\r\n"
)

// streams are byte streams that clients, or attackers, send on one connection.
var streams = map[string]string{
	"nothing":                        "",
	"hot":                            hotGet,
	"hot, hot":                       hotGet + hotPost,
	"cold":                           coldGet,
	"hot, cold, hot":                 hotPost + coldGet + hotGet,
	"cold, hot, cold":                coldGet + hotPost + coldGet,
	"many":                           strings.Repeat(hotPost+hotGet, 500) + coldGet + strings.Repeat(hotGet, 100),
	"cut in the head":                hotPost[:30],
	"cut in the method":              "PO",
	"cut in the body":                hotPost[:len(hotPost)-1],
	"hot, cut":                       hotGet + hotPost[:30],
	"no body":                        "POST /hot HTTP/1.1\r\nHost: x\r\n\r\n",
	"an empty body":                  "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" + hotGet,
	"GET with a body":                "GET /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + hotGet,
	"chunked":                        "POST /hot HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + hotGet,
	"chunked, and a length":          "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hotGet,
	"a length, and chunked":          "POST /hot HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hotGet,
	"another coding":                 "POST /hot HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello" + hotGet,
	"identity":                       "POST /hot HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello" + hotGet,
	"chunked, HTTP/1.0":              "POST /hot HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + hotGet,
	"two equal lengths":              "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + hotGet,
	"two lengths":                    "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + hotGet,
	"lengths in a list":              "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\nhello" + hotGet,
	"a length with a sign":           "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello" + hotGet,
	"a negative length":              "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\nhello" + hotGet,
	"a length with zeros":            "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 0005\r\n\r\nhello" + hotGet,
	"a length in hexadecimal":        "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 0x5\r\n\r\nhello" + hotGet,
	"an empty length":                "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\nhello" + hotGet,
	"a length beyond all":            "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nhello" + hotGet,
	"a length by underscore":         "POST /hot HTTP/1.1\r\nHost: x\r\nContent_Length: 5\r\n\r\n" + hotGet,
	"a folded field":                 "POST /hot HTTP/1.1\r\nHost: x\r\nX: a\r\n Content-Length: 5\r\n\r\nhello" + hotGet,
	"a folded length":                "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n 5\r\n\r\nhello" + hotGet,
	"a field that begins with space": "GET /hot HTTP/1.1\r\n Host: x\r\nHost: x\r\n\r\n" + hotGet,
	"a space before the colon":       "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\nhello" + hotGet,
	"a field without a colon":        "GET /hot HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n" + hotGet,
	"a field without a name":         "GET /hot HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n" + hotGet,
	"line feeds alone":               "GET /hot HTTP/1.1\nHost: x\n\n" + hotGet,
	"one line feed alone":            "GET /hot HTTP/1.1\r\nHost: x\nX: y\r\n\r\n" + hotGet,
	"a line feed ends the head":      "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\n" + hotGet + hotGet,
	"a return within a field":        "GET /hot HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n" + hotGet,
	"a zero byte within a field":     "GET /hot HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n" + hotGet,
	"a byte beyond ASCII":            "GET /hot HTTP/1.1\r\nHost: x\r\nX: \xff\r\n\r\n" + hotGet,
	"a zero byte within a name":      "GET /hot HTTP/1.1\r\nHost: x\r\nX\x00: a\r\n\r\n" + hotGet,
	"lines before the request":       "\r\n\r\n" + hotGet,
	"an end of line after the body":  hotPost + "\r\n" + hotGet,
	"a byte after the body":          hotPost + "0",
	"three bytes after the body":     hotPost + "000",
	"four bytes after the body":      hotPost + "0000",
	"ends of lines after the body":   hotPost + "\n\r\n\r" + hotGet,
	"many after the body":            hotPost + "\r\n\r\n\r\n" + hotGet,
	"an end of line after a GET":     hotGet + "\r\n" + hotGet,
	"Expect":                         "POST /hot HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello" + hotGet,
	"another Expect":                 "POST /hot HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nContent-Length: 5\r\n\r\nhello" + hotGet,
	"Upgrade":                        "GET /hot HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n" + hotGet,
	"the preface of HTTP/2":          "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + hotGet,
	"Connection: close":              "GET /hot HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + hotGet,
	"Connection: keep-alive":         "GET /hot HTTP/1.1\r\nHost: x\r\nConnection: Keep-Alive\r\n\r\n" + hotGet,
	"Connection names a field":       "POST /hot HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Content-Length\r\nContent-Length: 5\r\n\r\nhello" + hotGet,
	"HTTP/1.0":                       "GET /hot HTTP/1.0\r\nHost: x\r\n\r\n" + hotGet,
	"HTTP/1.0, keep-alive":           "GET /hot HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n" + hotGet,
	"HTTP/0.9":                       "GET /hot\r\n\r\n" + hotGet,
	"HTTP/1.2":                       "GET /hot HTTP/1.2\r\nHost: x\r\n\r\n" + hotGet,
	"no such version":                "GET /hot HTTP/1.1x\r\nHost: x\r\n\r\n" + hotGet,
	"two spaces":                     "GET  /hot HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"a tab":                          "GET /hot\tHTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"a space in the target":          "GET /hot ter HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"a whole address":                "GET http://y/hot HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"an address in the query":        "GET /hot?u=http://y/z@w:q HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"an odd query":                   "GET /hot?%zz;\"<>\\^`{|}? HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"two slashes":                    "GET //hot HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"two slashes within":             "GET /hot//a HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"dots":                           "GET /hot/../cold HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"an escape":                      "GET /hot%2e HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"a broken escape":                "GET /hot%zz HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"a fragment":                     "GET /hot#a HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"no host":                        "GET /hot HTTP/1.1\r\n\r\n" + hotGet,
	"an empty host":                  "GET /hot HTTP/1.1\r\nHost:\r\n\r\n" + hotGet,
	"two hosts":                      "GET /hot HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + hotGet,
	"a host with a port":             "GET /hot HTTP/1.1\r\nHost: x.y-z:8080\r\n\r\n" + hotGet,
	"a host with two ports":          "GET /hot HTTP/1.1\r\nHost: x:1:2\r\n\r\n" + hotGet,
	"a host in brackets":             "GET /hot HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n" + hotGet,
	"a broken host":                  "GET /hot HTTP/1.1\r\nHost: ]x[\r\n\r\n" + hotGet,
	"a host with a user":             "GET /hot HTTP/1.1\r\nHost: a@b\r\n\r\n" + hotGet,
	"HEAD":                           "HEAD /cold HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
	"a method in lower case":         "get /hot HTTP/1.1\r\nHost: x\r\n\r\n" + hotGet,
	"many parts":                     "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 5\r\n\r\nhello" + hotGet,
	"a coded body":                   "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello" + hotGet,
	"a long head":                    "GET /hot HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", maxHead) + "\r\n\r\n" + hotGet,
	"a head that just fits":          "GET /hot HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", maxHead-len("GET /hot HTTP/1.1\r\nHost: x\r\nX: \r\n\r\n")) + "\r\n\r\n" + hotGet,
	"a head that just does not fit":  "GET /hot HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 1+maxHead-len("GET /hot HTTP/1.1\r\nHost: x\r\nX: \r\n\r\n")) + "\r\n\r\n" + hotGet,
	"a head beyond all":              "GET /hot HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 80<<10) + "\r\n\r\n" + hotGet,
	"many fields":                    "GET /hot HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("A: b\r\n", 500) + "\r\n" + hotGet,
	"a body of 8 KiB":                "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 8192\r\n\r\n" + strings.Repeat("b", 8192) + hotGet,
	"a body of 16 KiB":               "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 16384\r\n\r\n" + strings.Repeat("b", 16384) + hotGet,
	"a body of 99999 bytes":          "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n" + strings.Repeat("b", 99999) + hotGet,
	"a body that looks like a head":  "POST /hot HTTP/1.1\r\nHost: x\r\nContent-Length: " + fmt.Sprint(len(coldGet)) + "\r\n\r\n" + coldGet + hotGet,
	"noise":                          "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}

// The answers to any stream are those of net/http alone, so there are never two readings of one
// stream.
func TestOneReading(t *testing.T) {
	alone := listening(t, coldServer())
	both := listening(t, before(coldServer()))
	for name, stream := range streams {
		want := converse(t, alone, stream)
		if got := converse(t, both, stream); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %.2000q\nwant %.2000q", name, got, want)
		}
	}
}

// The answers do not depend on how a stream is cut into segments.
func TestSegments(t *testing.T) {
	alone := listening(t, coldServer())
	both := listening(t, before(coldServer()))
	stream := hotPost + hotGet + hotPost + coldGet + hotPost + "\r\n" + hotGet
	want := converse(t, alone, stream)
	if len(want) != 6 {
		t.Fatalf("%q", want)
	}
	for i := range stream {
		if got := converse(t, both, stream[:i], stream[i:]); !slices.Equal(got, want) {
			t.Errorf("cut at %d: %q", i, got)
		}
	}
	if got := converse(t, both, strings.Split(stream, "")...); !slices.Equal(got, want) {
		t.Errorf("byte by byte: %q", got)
	}
	stream = hotPost + "\r\n" + hotGet
	want = converse(t, alone, stream)
	for i := range stream {
		if got := converse(t, both, stream[:i], stream[i:]); !slices.Equal(got, want) {
			t.Errorf("with an end of line, cut at %d: %q", i, got)
		}
	}
}

func FuzzOneReading(f *testing.F) {
	for _, stream := range streams {
		f.Add([]byte(stream))
	}
	alone := listening(f, coldServer())
	both := listening(f, before(coldServer()))
	f.Fuzz(func(t *testing.T, stream []byte) {
		want, wantReset := talk(t, alone, string(stream))
		got, gotReset := talk(t, both, string(stream))
		n := min(len(want), len(got))
		if wantReset && n == len(want) || gotReset && n == len(got) { // the missing answers were lost with the reset
			want, got = want[:n], got[:n]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\ngot  %q\nwant %q", stream, got, want)
		}
	})
}

// Hot requests reach the hot side, however they are cut, until the first other request.
func TestSides(t *testing.T) {
	s := before(coldServer())
	addr := listening(t, s)
	for _, tc := range []struct {
		pieces []string
		want   Stats
	}{
		{[]string{hotGet + hotPost, hotGet}, Stats{3, 0}},
		{[]string{hotPost[:10], hotPost[10:50], hotPost[50:] + hotGet}, Stats{2, 0}},
		{[]string{hotPost + coldGet + hotPost}, Stats{1, 1}},
		{[]string{coldGet}, Stats{0, 1}},
		{[]string{""}, Stats{0, 0}},
	} {
		before := s.Stats()
		converse(t, addr, tc.pieces...)
		after := s.Stats()
		if got := (Stats{after.Requests - before.Requests, after.HandedOver - before.HandedOver}); got != tc.want {
			t.Errorf("%q: %+v, want %+v", tc.pieces, got, tc.want)
		}
	}
}

// A panic ends its own connection only.
func TestPanic(t *testing.T) {
	var calm atomic.Bool
	log := &bytes.Buffer{}
	once := echo{onHot: func() {
		if !calm.Swap(true) {
			panic("boom")
		}
	}}
	s := New(Options{Answer: once.answer, Fallback: coldServer(), Logger: slog.New(slog.NewTextHandler(log, nil))})
	addr := listening(t, s)
	if got := converse(t, addr, hotGet+hotGet); len(got) != 0 {
		t.Errorf("answered %q", got)
	}
	if got := converse(t, addr, hotGet); len(got) != 1 {
		t.Errorf("afterwards %q", got)
	}
	if err := s.Close(); err != nil { // the writers to the log have ended then
		t.Error(err)
	}
	if !strings.Contains(log.String(), "boom") || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("log: %s", log)
	}
}

// A connection that sends nothing, or stops within a request, is closed.
func TestTimeouts(t *testing.T) {
	cold := coldServer()
	cold.ReadHeaderTimeout, cold.IdleTimeout = 10*time.Millisecond, 20*time.Millisecond
	addr := listening(t, before(cold))
	for _, tc := range []struct {
		sent    string
		answers int
	}{{"", 0}, {hotPost, 1}, {hotPost + hotGet[:10], 1}, {hotPost[:10], 0}, {coldGet, 1}} {
		c := dial(t, addr)
		if _, err := io.WriteString(c, tc.sent); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(c)
		for range tc.answers {
			if _, err := readAnswer(in); err != nil {
				t.Errorf("%q: %v", tc.sent, err)
			}
		}
		if _, err := io.ReadAll(in); err != nil {
			t.Errorf("%q: %v", tc.sent, err)
		}
	}
}

// A shutdown closes idle connections, completes running and half-received requests on either side,
// and leaves no goroutine.
func TestShutdown(t *testing.T) {
	entered, finish := make(chan struct{}), make(chan struct{})
	cold := coldServer()
	cold.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-finish
		echo{}.ServeHTTP(w, r)
	})
	var later atomic.Bool
	served := echo{onHot: func() {
		if !later.Swap(true) {
			entered <- struct{}{}
			<-finish
		}
	}}
	s := New(Options{Answer: served.answer, Fallback: cold})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()

	connect := func(sent string) (*net.TCPConn, *bufio.Reader) {
		c := dial(t, l.Addr().String())
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		return c, bufio.NewReader(c)
	}
	_, hot := connect(hotPost)
	<-entered
	_, idle := connect(hotPost)
	if _, err := readAnswer(idle); err != nil {
		t.Fatal(err)
	}
	_, silent := connect("")
	_, running := connect(coldGet)
	<-entered

	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.Background()) }()
	for _, in := range []*bufio.Reader{idle, silent} {
		if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("an idle connection: %v", err)
		}
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Serve: %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("Shutdown did not wait: %v", err)
	default:
	}
	close(finish)
	for name, in := range map[string]*bufio.Reader{"hot": hot, "cold": running} {
		answer, err := readAnswer(in)
		if err != nil || !strings.Contains(answer, "close=true") {
			t.Errorf("%s: %q, %v", name, answer, err)
		}
		if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("%s afterwards: %v", name, err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

// A shutdown whose time is up returns an error, and Close ends the rest.
func TestShutdownGivesUp(t *testing.T) {
	entered, finish := make(chan struct{}), make(chan struct{})
	s := New(Options{Answer: echo{onHot: func() { close(entered); <-finish }}.answer, Fallback: coldServer()})
	addr := listening(t, s)
	c := dial(t, addr)
	if _, err := io.WriteString(c, hotGet); err != nil {
		t.Fatal(err)
	}
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	close(finish)
}
