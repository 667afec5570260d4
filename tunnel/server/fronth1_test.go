package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"paddock/tunnel"
)

// Requests that are sent at once are answered in their order, with bodies of all kinds
// between them.
func TestPipelining(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.Path, b, r.Trailer.Get("X-Sum"))
	}))
	conn := dialTCP(t, p.Front.Addr().String())
	var sent strings.Builder
	for i := range 20 {
		fmt.Fprintf(&sent, "GET /%d HTTP/1.1\r\nHost: example.com\r\n\r\n", 3*i)
		fmt.Fprintf(&sent, "POST /%d HTTP/1.1\r\nHost: example.com\r\nContent-Length: 4\r\n\r\nbody", 3*i+1)
		fmt.Fprintf(&sent, "\r\nPOST /%d HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2;a=b\r\nbo\r\n2\r\ndy\r\n0\r\nX-Sum: %d\r\n\r\n", 3*i+2, i)
	}
	fmt.Fprint(&sent, "HEAD /head HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	sender := make(chan error, 1)
	go func() {
		_, err := io.WriteString(conn, sent.String())
		sender <- err
	}()
	in := bufio.NewReader(conn)
	for i := range 60 {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(i, err)
		}
		b, err := io.ReadAll(res.Body)
		want := fmt.Sprintf([]string{"GET /%d  ", "POST /%d body ", "POST /%d body %d"}[i%3], []any{i, i / 3}[:1+i%3/2]...)
		if string(b) != want || err != nil || res.StatusCode != 200 || res.Header.Get("Date") == "" {
			t.Fatalf("%d: %s %q, %v, want %q", i, res.Status, b, err, want)
		}
	}
	res, err := http.ReadResponse(in, &http.Request{Method: http.MethodHead})
	if err != nil || res.ContentLength != 12 || !res.Close {
		t.Fatalf("HEAD: %+v, %v", res, err)
	}
	if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
		t.Errorf("%q behind the last answer, %v", rest, err)
	}
	if err := <-sender; err != nil {
		t.Error(err)
	}
}

// HTTP/1.0 gets no chunks, and its connection is kept only if it asks for that and the
// length is known.
func TestHTTP10(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/long" {
			w.WriteHeader(http.StatusEarlyHints)
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.WriteString(w, "text")
	}))
	conn := dialTCP(t, p.Front.Addr().String())
	in := bufio.NewReader(conn)
	for range 2 {
		fmt.Fprint(conn, "GET / HTTP/1.0\r\nHost: example.com\r\nConnection: Keep-Alive\r\n\r\n")
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := io.ReadAll(res.Body); string(b) != "text" || res.Header.Get("Connection") != "keep-alive" || res.ContentLength != 4 {
			t.Errorf("%q %v", b, res.Header)
		}
	}
	fmt.Fprint(conn, "GET /long HTTP/1.0\r\nHost: example.com\r\nConnection: keep-alive\r\n\r\n")
	all, err := io.ReadAll(in)
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 200 OK\r\n") || !strings.HasSuffix(string(all), "Connection: close\r\n\r\ntext") || strings.Contains(string(all), "chunked") {
		t.Errorf("%q, %v", all, err)
	}
}

// An answer that ends with its connection, and that the target has cut, does not end cleanly for
// the visitor: not by TLS either, where an alert would mark the end as clean.
func TestCutAnswerWithoutLength(t *testing.T) {
	config, id := selfMade(t)
	for _, secure := range []bool{false, true} {
		p := newPair(t, &Server{})
		seen := make(chan struct{})
		p.raw(func(conn net.Conn, in *bufio.Reader) {
			if _, err := http.ReadRequest(in); err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n")
				<-seen
			}
		})
		var visitor net.Conn
		if secure {
			var err error
			if visitor, err = visitTLS(t, p.secure(config), "example.com", id); err != nil {
				t.Fatal(err)
			}
		} else {
			visitor = dialTCP(t, p.Front.Addr().String())
		}
		fmt.Fprint(visitor, "GET / HTTP/1.0\r\nHost: example.com\r\n\r\n")
		in := bufio.NewReader(visitor)
		head, err := http.ReadResponse(in, nil)
		if err != nil || head.StatusCode != 200 {
			t.Fatal(head, err)
		}
		if _, err := io.ReadFull(in, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		close(seen)
		if b, err := in.ReadByte(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("TLS %v: %q, %v", secure, b, err)
		}
	}
}

// A visitor that leaves before its answer ends the target's work, whether or not it has sent more
// bytes.
func TestLeavingCancels(t *testing.T) {
	for name, more := range map[string]string{"silent": "", "pipelining": "GET /next HTTP/1.1\r\nHost: example.com\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{})
			began, ended := make(chan struct{}, 2), make(chan struct{}, 2)
			p.web(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				began <- struct{}{}
				<-r.Context().Done()
				ended <- struct{}{}
			}))
			conn := dialTCP(t, p.Front.Addr().String())
			fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"+more)
			<-began
			_ = conn.Close()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Error("the target has not heard of it")
			}
		})
	}
}

// A refusal keeps the connection, unless more of the body is to come than is worth
// reading.
func TestRefusalKeepsTheConnection(t *testing.T) {
	p := newPair(t, &Server{})
	for _, c := range []struct {
		name, request string
		kept          bool
	}{
		{"no body", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
		{"short body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody", true},
		{"long body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nbody", false},
		{"chunks", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", false},
		{"expecting", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n", false},
		{"asked to close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n", false},
	} {
		conn := dialTCP(t, p.Front.Addr().String())
		in := bufio.NewReader(conn)
		for i := range 2 {
			if _, err := io.WriteString(conn, c.request); err != nil && i == 0 {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(in, nil)
			if i == 1 && !c.kept {
				if err == nil {
					t.Errorf("%s: answered again", c.name)
				}
				break
			}
			if err != nil {
				t.Fatalf("%s, %d: %v", c.name, i, err)
			}
			if b, _ := io.ReadAll(res.Body); res.StatusCode != 404 || string(b) != "404 no tunnel for this address\n" || res.Close == c.kept {
				t.Errorf("%s: %d %q, closes %v", c.name, res.StatusCode, b, res.Close)
			}
		}
		_ = conn.Close()
	}
}

// A visitor that does not complete its head is answered with the reason, and one that sends no byte
// is closed; both after the time for heads.
func TestSlowHeads(t *testing.T) {
	p := newPair(t, &Server{Limits: tunnel.Limits{Head: 50 * time.Millisecond}})
	for text, want := range map[string]string{
		"": "", "GET / HTTP/1.1\r\nHos": "HTTP/1.1 408 Request Timeout\r\n", "\r": "HTTP/1.1 408 Request Timeout\r\n", "PRI * HTTP/2": "HTTP/1.1 408 Request Timeout\r\n",
	} {
		conn := dialTCP(t, p.Front.Addr().String())
		_, _ = io.WriteString(conn, text)
		b, err := io.ReadAll(conn)
		if !strings.HasPrefix(string(b), want) || err != nil || want == "" && len(b) > 0 {
			t.Errorf("%q: %q, %v", text, b, err)
		}
	}
}

// Between requests a connection is kept for its time, and not longer; a server that
// closes does not wait for it.
func TestIdleConnections(t *testing.T) {
	p := newPair(t, &Server{Limits: tunnel.Limits{Idle: 100 * time.Millisecond}})
	get := func() (net.Conn, *bufio.Reader) {
		conn := dialTCP(t, p.Front.Addr().String())
		in := bufio.NewReader(conn)
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		return conn, in
	}
	_, in := get()
	if b, err := io.ReadAll(in); len(b) > 0 || err != nil {
		t.Errorf("idle: %q, %v", b, err)
	}
	s := newPair(t, &Server{})
	p = s
	_, in = get()
	if err := s.server.Close(); err != nil {
		t.Error(err)
	}
	if b, err := io.ReadAll(in); len(b) > 0 || err != nil {
		t.Errorf("closing: %q, %v", b, err)
	}
}
