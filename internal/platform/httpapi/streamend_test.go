package httpapi

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/events"
)

// pipeListener accepts one connection within the process, then waits for Close.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// A stream that was quiet for longer than a write may take still ends as HTTP requires, so its
// client can distinguish the end from a broken connection.
func TestStreamEndsWellAfterAQuietTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := events.NewLog(10, 1<<20, "e")
		api := New(Config{Catalog: &fence.Catalog{}, Log: log, WriteTimeout: 10 * time.Second, Heartbeat: time.Hour})
		ours, theirs := net.Pipe()
		l := &pipeListener{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
		l.conns <- theirs
		server := NewServer(api, slog.New(slog.DiscardHandler))
		served := make(chan error)
		go func() { served <- server.Serve(l) }()

		if _, err := io.WriteString(ours, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(ours), nil)
		if err != nil {
			t.Fatal(err)
		}
		log.Append([]events.Record{{JSON: events.Plain([]byte(`{"one":1}`)), Kind: track.Enter}})
		body := make([]byte, len("id: e-1\nevent: enter\ndata: {\"one\":1}\n\n"))
		if _, err := io.ReadFull(res.Body, body); err != nil {
			t.Errorf("%v: %q", err, body)
		}
		time.Sleep(time.Minute) // longer than the write timeout, shorter than the heartbeat
		log.End()
		if rest, err := io.ReadAll(res.Body); err != nil || len(rest) != 0 {
			t.Errorf("the stream ended with %q, %v", rest, err)
		}
		_ = server.Close()
		if err := <-served; err != http.ErrServerClosed {
			t.Error(err)
		}
		_ = ours.Close()
	})
}
