package server

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/tunneltest"
)

// An event reaches the visitor when it has been flushed, not when the answer ends.
func TestServerSentEvents(t *testing.T) {
	p := newPair(t, &Server{})
	next := make(chan string)
	p.web(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for event := range next {
			fmt.Fprintf(w, "data: %s\n\n", event)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	go func() { next <- "0" }() // else there is no head yet
	res, err := p.HTTP.Do(p.Request(http.MethodGet, "example.com", "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	for i := range 20 {
		line, err := in.ReadString('\n')
		if want := fmt.Sprintf("data: %d\n", i); err != nil || line != want {
			t.Fatalf("%q, %v, want %q", line, err, want)
		}
		_, _ = in.ReadString('\n')
		if i < 19 {
			next <- fmt.Sprint(i + 1)
		}
	}
	close(next)
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("%q behind the last event, %v", rest, err)
	}
}

func TestTrailersBothWays(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", r.Trailer.Get("X-Up")+" seen")
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}))
	r := p.Request(http.MethodPost, "example.com", "/", io.MultiReader(strings.NewReader("up")))
	r.Trailer = http.Header{"X-Up": {"7"}}
	res, body := p.Do(r)
	if body != "body" || res.Trailer.Get("X-Sum") != "7 seen" || res.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("%q, trailers %v", body, res.Trailer)
	}
}

// Trailers say no more about the origin of a request than its head may: some services read both
// as one.
func TestTrailersClaimNoOrigin(t *testing.T) {
	claims := []string{
		"X-Forwarded-For", "x_forwarded_for", "X-Real-Ip", "Forwarded", "Client-Ip", "X-Forwarded-Port", "X-Original-Url", "X-Request-Id",
	}
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		auth    string
		want    string
	}{
		"stranger": {nil, "", "authorization x-sum"},
		"guarded":  {nil, "me:a", "x-sum"},
		"proxy":    {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "", "authorization client-ip x-forwarded-port x-original-url x-sum"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{TrustedProxies: c.trusted})
			seen := make(chan string, 1)
			web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				announced := strings.ToLower(strings.Join(slices.Sorted(maps.Keys(r.Trailer)), " "))
				_, _ = io.Copy(io.Discard, r.Body)
				seen <- announced
				seen <- strings.ToLower(strings.Join(slices.Sorted(maps.Keys(r.Trailer)), " "))
			}))
			t.Cleanup(web.Close)
			p.client(client.Config{Tunnels: []client.Tunnel{{
				Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: web.Listener.Addr().String(), Auth: c.auth,
			}}})
			conn := dialTCP(t, p.Front.Addr().String())
			names := append([]string{"X-Sum", "Authorization"}, claims...)
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: example.com\r\nAuthorization: Basic bWU6YQ==\r\nTransfer-Encoding: chunked\r\nTrailer: %s\r\n\r\n0\r\n", strings.Join(names, ", "))
			for _, name := range names {
				fmt.Fprintf(conn, "%s: 6.6.6.6\r\n", name)
			}
			fmt.Fprint(conn, "\r\n")
			for _, which := range []string{"announced", "sent"} {
				if got := <-seen; got != c.want {
					t.Errorf("%s: the target saw %q, want %q", which, got, c.want)
				}
			}
		})
	}
}

func TestEarlyHints(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		_, _ = io.WriteString(w, "page")
	}))
	hints := ""
	r := p.Request(http.MethodGet, "example.com", "/", nil)
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = fmt.Sprint(code, " ", h.Get("Link"))
			return nil
		},
	}))
	res, body := p.Do(r)
	if hints != "103 </style.css>" || body != "page" || res.Header.Get("Link") != "" {
		t.Errorf("hints %q, then %q %v", hints, body, res.Header)
	}
}

// On Expect the target decides: 100 lets the body come, a final answer keeps it back.
func TestExpect(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/no" {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}))
	for path, want := range map[string]int{"/yes": 200, "/no": 413} {
		read := &countingReader{r: strings.NewReader(strings.Repeat("x", 1000))}
		r := p.Request(http.MethodPost, "example.com", path, read)
		r.ContentLength = 1000
		r.Header.Set("Expect", "100-continue")
		res, body := p.Do(r)
		if res.StatusCode != want || (want == 200) != (len(body) == 1000) || (want == 200) != (read.n.Load() > 0) {
			t.Errorf("%s: %d, %d bytes back, %d sent", path, res.StatusCode, len(body), read.n.Load())
		}
	}
}

type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// An answer that comes before the upload has ended reaches the visitor.
func TestEarlyRefusalOfAnUpload(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	}))
	conn, err := net.Dial("tcp", p.Front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 1000000\r\n\r\nbegin")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != 413 {
		t.Fatalf("%v %v", res, err)
	}
}

func TestWebSocket(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.CloseNow()
		c.SetReadLimit(8 << 20)
		for {
			kind, b, err := c.Read(r.Context())
			if err != nil {
				return
			}
			if err := c.Write(r.Context(), kind, b); err != nil {
				return
			}
		}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws://"+p.Front.Addr().String(), &websocket.DialOptions{Host: "example.com"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	c.SetReadLimit(8 << 20)
	for _, size := range []int{0, 1, 125, 126, 65_536, 4 << 20} {
		sent := make([]byte, size)
		_, _ = rand.Read(sent)
		if err := c.Write(ctx, websocket.MessageBinary, sent); err != nil {
			t.Fatal(err)
		}
		_, got, err := c.Read(ctx)
		if err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("%d bytes: %d come back, %v", size, len(got), err)
		}
	}
	if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
}

// Bytes that are glued to the 101 come first; a direction that ends leaves the other
// one alone.
func TestUpgradedHalfClose(t *testing.T) {
	p := newPair(t, &Server{})
	l := tunneltest.Listen(t)
	served := make(chan error, 1)
	go func() {
		served <- func() error {
			conn, err := l.Accept()
			if err != nil {
				return err
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			if _, err := http.ReadRequest(in); err != nil {
				return err
			}
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nglued;")
			all, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			_, err = conn.Write(append(all, " is all"...))
			return err
		}()
	}()
	defer l.Close()
	p.client(client.Config{Tunnels: []client.Tunnel{{Name: "up", Protocol: tunnel.HTTP, Host: "example.com", Target: l.Addr().String()}}})
	conn, err := net.Dial("tcp", p.Front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nglued too;")
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != 101 || res.Header.Get("Upgrade") != "echo" {
		t.Fatalf("%v %v", res, err)
	}
	fmt.Fprint(conn, "late")
	_ = conn.(*net.TCPConn).CloseWrite()
	all, err := io.ReadAll(in)
	if want := "glued;glued too;late is all"; string(all) != want || err != nil {
		t.Errorf("%q, %v, want %q", all, err, want)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A target that fails behind its head must not look as if it had ended.
func TestBrokenAnswersAreCut(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		status int // 0: the body is cut
	}{
		"short":       {"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nbegin", 0},
		"chunk":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n", 0},
		"bad chunk":   {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\nxyz\r\n", 0},
		"small short": {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nbegin", 502},
		"nothing":     {"", 502},
		"no http":     {"SSH-2.0-OpenSSH\r\n\r\n", 502},
		"smuggling":   {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 502},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{})
			p.raw(func(conn net.Conn, in *bufio.Reader) {
				if _, err := http.ReadRequest(in); err == nil {
					_, _ = io.WriteString(conn, c.answer)
				}
			})
			res, err := p.HTTP.Do(p.Request(http.MethodPost, "example.com", "/", nil))
			if err != nil {
				if c.status != 0 || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatal(err)
				}
				return
			}
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			switch {
			case c.status == 0 && err == nil && res.StatusCode != 502:
				t.Errorf("%d %q looks whole", res.StatusCode, b)
			case c.status != 0 && res.StatusCode != c.status:
				t.Errorf("%d %q, want %d", res.StatusCode, b, c.status)
			}
		})
	}
}

// raw is a client with one HTTP tunnel, example.com, to whatever fn does with each
// connection.
func (p *pair) raw(fn func(conn net.Conn, in *bufio.Reader)) (accepted func() int) {
	p.T.Helper()
	l := tunneltest.Listen(p.T)
	count := make(chan int, 1)
	count <- 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			count <- 1 + <-count
			fn(conn, bufio.NewReader(conn))
			_ = conn.Close()
		}
	}()
	p.T.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	p.client(client.Config{Tunnels: []client.Tunnel{{Name: "raw", Protocol: tunnel.HTTP, Host: "example.com", Target: l.Addr().String()}}})
	return func() int {
		n := <-count
		count <- n
		return n
	}
}
