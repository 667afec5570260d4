package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"paddock/wire"
)

// web serves handler over streams of kind "http" that the acceptor opens to the
// dialer, as a tunnel does, and returns a client on the other end.
func web(t *testing.T, handler http.Handler) *http.Client {
	t.Helper()
	mux := wire.NewMux()
	l := mux.Listener("http")
	srv := &http.Server{Handler: handler}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	_, a := connect(t, &wire.Config{Mux: mux}, nil)
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return a.Open(ctx, "http", wire.OpenOptions{})
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return &http.Client{Transport: transport}
}

func TestHTTPOverStreams(t *testing.T) {
	const large = 24 << 20 // more than the windows of stream and connection
	var mu sync.Mutex
	peers := map[string]bool{}
	client := web(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		peers[r.RemoteAddr] = true
		mu.Unlock()
		switch r.URL.Path {
		case "/large":
			for range large >> 16 {
				_, _ = w.Write(make([]byte, 1<<16))
			}
		case "/echo":
			_, _ = io.Copy(w, r.Body)
		}
	}))
	for range 3 {
		body := bytes.Repeat([]byte("body"), 100_000)
		r, err := client.Post("http://backend/echo", "text/plain", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("echo: %d bytes, %v", len(got), err)
		}
	}
	r, err := client.Get("http://backend/large")
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, r.Body)
	r.Body.Close()
	if n != large || err != nil {
		t.Fatalf("large: %d bytes, %v", n, err)
	}
}

// TestHTTPKeepsAlive counts streams: several requests, one after the other, share
// one.
func TestHTTPKeepsAlive(t *testing.T) {
	mux := wire.NewMux()
	l := mux.Listener("http")
	counted := &countingListener{Listener: l}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	})}
	go func() { _ = srv.Serve(counted) }()
	d, _ := connect(t, nil, &wire.Config{Mux: mux})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.Open(ctx, "http", wire.OpenOptions{Confirm: true})
	}}
	for range 5 {
		r, err := (&http.Client{Transport: transport}).Get("http://backend/")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	transport.CloseIdleConnections()
	if err := srv.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if n := counted.count(); n != 1 {
		t.Errorf("%d streams", n)
	}
}

type countingListener struct {
	net.Listener
	mu sync.Mutex
	n  int
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.n++
		l.mu.Unlock()
	}
	return c, err
}

func (l *countingListener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// TestHTTPCancel cancels a request; its handler notices.
func TestHTTPCancel(t *testing.T) {
	entered, noticed := make(chan struct{}), make(chan struct{})
	client := web(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		close(noticed)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-entered
		cancel()
	}()
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://backend/", nil)
	if _, err := client.Do(r); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-noticed
}

func TestListenerHalfClose(t *testing.T) {
	mux := wire.NewMux()
	l := mux.Listener("raw")
	d, _ := connect(t, nil, &wire.Config{Mux: mux})
	s, err := d.Open(t.Context(), "raw", wire.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, _ = s.Write([]byte("question"))
	_ = s.CloseWrite()
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(peer)
	if string(got) != "question" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	_, _ = peer.Write([]byte("answer"))
	if err := peer.Close(); err != nil {
		t.Error(err)
	}
	if got, err = io.ReadAll(s); string(got) != "answer" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestListenerBacklog(t *testing.T) {
	mux := wire.NewMux()
	l := mux.Listener("raw")
	d, _ := connect(t, nil, &wire.Config{Mux: mux})
	open := func() wire.Code {
		_, err := d.Open(context.Background(), "raw", wire.OpenOptions{Confirm: true})
		var e *wire.Error
		if errors.As(err, &e) && !e.NotStarted {
			t.Errorf("%v may have started", e)
		}
		if err != nil && e == nil {
			t.Error(err)
		}
		if e == nil {
			return 0
		}
		return e.Code
	}
	const more = 5
	outcomes := make(chan wire.Code)
	for range wire.Backlog + more {
		go func() { outcomes <- open() }()
	}
	expect := func(n int, want wire.Code) {
		t.Helper()
		for range n {
			if got := <-outcomes; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	}
	expect(more, wire.ResourceExhausted)
	if n := l.Refused(); n != more {
		t.Errorf("%d refused", n)
	}
	for range wire.Backlog - 1 {
		if _, err := l.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	expect(wire.Backlog-1, 0)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	expect(1, wire.Unavailable) // the one that still waited
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after Close: %v", err)
	}
	if got := open(); got != wire.Unavailable {
		t.Errorf("after Close: %v", got)
	}
}
