package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/process/keyring"
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

// What is served for a key ends with it, also for a client that has many events to catch up with.
func TestStreamsEndWithTheirKeyWhileEventsWait(t *testing.T) {
	const all = 5000
	header := http.Header{"Authorization": {"Bearer secret"}}
	socket := func(path, request string) func(t *testing.T, client *http.Client) func() ([]byte, error) {
		return func(t *testing.T, client *http.Client) func() ([]byte, error) {
			conn, _, err := websocket.Dial(t.Context(), "http://localhost"+path, &websocket.DialOptions{HTTPHeader: header, HTTPClient: client})
			must(t, err)
			t.Cleanup(func() { _ = conn.CloseNow() })
			conn.SetReadLimit(1 << 20)
			if request != "" {
				must(t, conn.Write(t.Context(), websocket.MessageText, []byte(request)))
			}
			return func() ([]byte, error) {
				_, text, err := conn.Read(t.Context())
				return text, err
			}
		}
	}
	for name, open := range map[string]func(t *testing.T, client *http.Client) func() ([]byte, error){
		"events": func(t *testing.T, client *http.Client) func() ([]byte, error) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/v1/events?cursor=run1-0", nil)
			must(t, err)
			r.Header = header
			res, err := client.Do(r)
			must(t, err)
			t.Cleanup(func() { _ = res.Body.Close() })
			lines := bufio.NewReader(res.Body)
			return func() ([]byte, error) { return lines.ReadSlice('\n') }
		},
		"events as messages": socket("/v1/events?cursor=run1-0", ""),
		"live":               socket("/v1/live", `{"cursor":"run1-0"}`),
	} {
		t.Run(name, func(t *testing.T) {
			ring, err := keyring.Open(nil)
			must(t, err)
			defer ring.Close()
			must(t, ring.Add(keyring.Key{Name: "reader", SHA256: keyring.DigestOf("secret"), Verbs: []string{"events:read"}}))
			tw := newTown(t, options{config: func(c *Config) { c.Keys, c.KeyRequired = ring, true }})
			for range all {
				tw.log.Append([]events.Record{{JSON: events.Plain([]byte(`{"one":1}`)), Kind: track.Enter}})
			}
			ours, theirs := net.Pipe() // holds nothing, so that the server is not ahead of the client
			l := &pipeListener{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
			l.conns <- theirs
			server := NewFallback(tw.api, slog.New(slog.DiscardHandler))
			served := make(chan error)
			go func() { served <- server.Serve(l) }()
			client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ours, nil }}}

			next, got := open(t, client), 0
			for err == nil {
				var text []byte
				text, err = next()
				before := got
				if got += bytes.Count(text, []byte(`"one"`)); before == 0 && got > 0 {
					must(t, ring.Remove("reader"))
				}
			}
			if got == 0 || got > all/2 {
				t.Errorf("%d of %d events, though the key ended with the first ones: %v", got, all, err)
			}
			_ = server.Close()
			<-served
		})
	}
}
