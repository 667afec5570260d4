package gofence_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/fence"
	"paddock/internal/platform/httpapi/gofence"
	"paddock/internal/process/access"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// serve listens on a free port of loopback until the test ends and returns the
// address.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	return serveWith(t, &http.Server{Handler: h})
}

// server is an http.Server, or a plainhttp.Server.
type server interface {
	Serve(net.Listener) error
	Close() error
}

// doors returns the two servers of the interface: net/http alone, and net/http behind the fast
// path. All tests apply to both.
func doors(h *gofence.Handler, token string) map[string]server {
	return map[string]server{
		"cold":  gofence.NewFallback(h, access.NewGuard(token), discard),
		"plain": gofence.NewServer(h, token, discard),
	}
}

func serveWith(t testing.TB, server server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// dial connects until the test ends.
func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(ioTimeout)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func load(t testing.TB, fsys fs.FS, kind fence.Kind) *fence.Catalog {
	t.Helper()
	c, _, err := fence.LoadDir(fsys, fence.Options{Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
