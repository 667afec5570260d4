package http1_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/load"
	"paddock/load/http1"
)

// A service reads requests from a connection and answers them as a test has it, until it
// gives false.
type service func(c net.Conn, n int) bool

// serve listens, and gives the address. n counts the requests of all connections.
func serve(t *testing.T, answer service) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		tasks sync.WaitGroup
		mu    sync.Mutex
		n     int
		conns = map[net.Conn]bool{}
	)
	tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[c] = true
			mu.Unlock()
			tasks.Go(func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						return
					}
					mu.Lock()
					k := n
					n++
					mu.Unlock()
					if !answer(c, k) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range conns {
			c.Close()
		}
		mu.Unlock()
		tasks.Wait()
	})
	return l.Addr().String()
}

// says answers each request with a text, in parts that are written one after another.
func says(parts ...string) service {
	return func(c net.Conn, _ int) bool {
		for _, part := range parts {
			if _, err := io.WriteString(c, part); err != nil {
				return false
			}
		}
		return true
	}
}

// closes answers, and then ends the connection.
func closes(s service) service {
	return func(c net.Conn, n int) bool {
		s(c, n)
		return false
	}
}

// resets answers, and then resets the connection.
func resets(s service) service {
	return func(c net.Conn, n int) bool {
		s(c, n)
		_ = c.(*net.TCPConn).SetLinger(0)
		return false
	}
}

// silent does not answer.
func silent(net.Conn, int) bool { return true }

// first answers the first request of a run differently.
func first(a, then service) service {
	return func(c net.Conn, n int) bool {
		if n == 0 {
			return a(c, n)
		}
		return then(c, n)
	}
}

const (
	count   = 10 // requests of a run
	patient = 10 * time.Second
)

// Whatever a service does, each request is counted once, under the right class, by both
// engines; and the run ends.
func TestOddities(t *testing.T) {
	good := says(sized("5", "hello"))
	for _, tc := range []struct {
		name    string
		service service
		method  string
		depth   int
		class   load.Class
		n       int64 // of the class; the others are good
		timeout time.Duration
	}{
		{name: "length", service: good, class: load.ClassOK, n: count},
		{name: "length, pipelined", service: good, depth: 4, class: load.ClassOK, n: count},
		{name: "in parts", service: says("HTTP/1.1 200 OK\r\nCont", "ent-Length: 5\r\n\r", "\nhel", "lo"), class: load.ClassOK, n: count},
		{name: "1xx first", service: says("HTTP/1.1 103 Early Hints\r\n\r\n", sized("5", "hello")), class: load.ClassOK, n: count},
		{name: "204", service: says("HTTP/1.1 204 No Content\r\n\r\n"), class: load.ClassOK, n: count},
		{name: "304", service: says("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), class: load.ClassOK, n: count},
		{name: "HEAD", method: "HEAD", service: says(sized("5", "")), class: load.ClassOK, n: count},
		{name: "chunked with trailers", service: says(chunked("5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n")), depth: 3, class: load.ClassOK, n: count},
		{name: "to the end", service: closes(says("HTTP/1.1 200 OK\r\n\r\nhello")), class: load.ClassOK, n: count},
		{name: "HTTP/1.0", service: closes(says("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello")), class: load.ClassOK, n: count},
		{name: "closed, as it says", service: closes(says("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")), class: load.ClassOK, n: count},
		{name: "500", service: first(says("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"), good), class: load.ClassStatus, n: 1},
		{name: "closed before an answer", service: first(closes(says("")), good), class: load.ClassClosed, n: 1},
		{name: "closed within a head", service: first(closes(says("HTTP/1.1 200 OK\r\nCont")), good), class: load.ClassEarlyEnd, n: 1},
		{name: "closed within a body", service: first(closes(says(sized("5", "hel"))), good), class: load.ClassEarlyEnd, n: 1},
		{name: "closed within chunks", service: first(closes(says(chunked("5\r\nhello\r\n"))), good), class: load.ClassEarlyEnd, n: 1},
		{name: "reset", service: first(resets(says("")), good), class: load.ClassReset, n: 1},
		{name: "garbage", service: first(says("\x16\x03\x01\x02\x00"), good), class: load.ClassParse, n: 1},
		{name: "an oversize head", service: first(says("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("y", 300<<10)), good), class: load.ClassParse, n: 1},
		{name: "lengths that differ", service: first(says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), good), class: load.ClassParse, n: 1},
		{name: "a bad chunk", service: first(says(chunked("xyz\r\n")), good), class: load.ClassParse, n: 1},
		{name: "no answer", service: first(silent, good), class: load.ClassTimeout, n: 1, timeout: 50 * time.Millisecond},
		{name: "half an answer", service: first(says(sized("5", "hel")), good), class: load.ClassTimeout, n: 1, timeout: 50 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engines(t, func(t *testing.T, e load.Engine) {
				r := run(t, serve(t, tc.service), load.Plan{Depth: tc.depth, Timeout: tc.timeout, Engine: e}, http1.Request{Method: tc.method})
				if v := &r.Total; v.Failed[tc.class] != tc.n || v.Failed[load.ClassOK] != count-tc.n && tc.class != load.ClassOK || v.Sent != count || r.Unanswered.Count != 0 {
					t.Errorf("%d %s of %d sent, %v, %+v", v.Failed[tc.class], tc.class, v.Sent, v.Failed, r.Samples)
				}
			})
		})
	}
}

// run sends count requests over one connection, and fails if that takes too long.
func run(t *testing.T, address string, plan load.Plan, r http1.Request) *load.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	var arena http1.Arena
	r.URL = "http://" + address
	if err := arena.Add(&r); err != nil {
		t.Fatal(err)
	}
	plan.Address, plan.Codec, plan.Count = address, &http1.Codec{Requests: &arena}, count
	result, err := load.Run(ctx, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if result.Stopped {
		t.Errorf("it did not end in %v: %v", patient, result.Total.Failed)
	}
	return result
}

// A service that ends connections between answers, and does not say so, loses the
// requests that were on their way: they are counted as such, and the others as good.
func TestClosedUnsaid(t *testing.T) {
	for _, depth := range []int{1, 3} {
		engines(t, func(t *testing.T, e load.Engine) {
			r := run(t, serve(t, closes(says(sized("5", "hello")))), load.Plan{Depth: depth, Engine: e}, http1.Request{})
			f := &r.Total.Failed
			if f[load.ClassOK] == 0 || f[load.ClassOK]+f[load.ClassClosed]+f[load.ClassReset]+f[load.ClassWrite] != count || r.Unanswered.Count != 0 {
				t.Errorf("%d deep: %v, %+v", depth, f, r.Samples)
			}
		})
	}
}

type observer func(*load.Interval)

func (f observer) Interval(v *load.Interval) { f(v) }

// Bytes that a service sends without a request are not taken for the next answer if they arrived in
// time, and they harm no other connection.
func TestUnasked(t *testing.T) {
	engines(t, func(t *testing.T, e load.Engine) {
		good := says(sized("5", "hello"))
		r := run(t, serve(t, first(says(sized("5", "hello")+sized("3", "you")), good)), load.Plan{Engine: e}, http1.Request{})
		if v := &r.Total; v.Failed[load.ClassProtocol] != 1 || v.Sent != count || r.Unanswered.Count != 0 {
			t.Errorf("%d sent, %v", v.Sent, v.Failed)
		}
	})
}

// TLS that fails is counted by its class.
func TestTLS(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	address := secure.Listener.Addr().String()
	r := run(t, address, load.Plan{TLS: &tls.Config{InsecureSkipVerify: true}}, http1.Request{}) //nolint:gosec // a test
	if v := &r.Total; r.Engine != load.Portable || v.Failed[load.ClassOK] != count {
		t.Errorf("%v", v.Failed)
	}
	for name, to := range map[string]string{"an unknown authority": address, "no TLS": serve(t, silent)} {
		var arena http1.Arena
		if err := arena.Add(&http1.Request{URL: "https://" + to}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patient)
		defer cancel()
		r, err := load.Run(ctx, load.Plan{
			Address: to, TLS: &tls.Config{ServerName: "example.com"}, Codec: &http1.Codec{Requests: &arena}, Duration: time.Hour,
		}, observer(func(v *load.Interval) {
			if v.Errors() > 0 {
				cancel()
			}
		}))
		if f, ok := errors.AsType[*load.Failed](err); ok && f.Class == load.ClassTLS {
			continue // before the run
		}
		if err != nil || r.Total.Failed[load.ClassTLS] == 0 {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
}

// A name that does not resolve, and a port without a listener, end the run before it begins.
func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for address, class := range map[string]load.Class{l.Addr().String(): load.ClassRefused, "no-such-host.invalid:80": load.ClassDNS} {
		_, err := load.Run(t.Context(), load.Plan{Address: address, Codec: form(0), Count: 1}, nil)
		if f, ok := errors.AsType[*load.Failed](err); !ok || f.Class != class {
			t.Errorf("%s: %v", address, fmt.Sprint(err))
		}
	}
}
