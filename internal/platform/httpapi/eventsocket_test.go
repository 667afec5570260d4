package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// socket opens a WebSocket of events.
func (tw *town) socket(query string, headers ...string) (*websocket.Conn, *http.Response, error) {
	tw.Helper()
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	ctx, cancel := context.WithTimeout(tw.Context(), patience)
	tw.Cleanup(cancel)
	conn, res, err := websocket.Dial(ctx, tw.url+"/v1/events"+query, &websocket.DialOptions{HTTPHeader: header, HTTPClient: tw.client})
	if err == nil {
		tw.Cleanup(func() { _ = conn.CloseNow() })
	}
	return conn, res, err
}

// socketMessage is a message of a WebSocket of events.
type socketMessage struct {
	ID, Event string
	Data      json.RawMessage
}

// next returns the next message.
func (tw *town) next(conn *websocket.Conn) (m socketMessage) {
	tw.Helper()
	ctx, cancel := context.WithTimeout(tw.Context(), patience)
	defer cancel()
	kind, text, err := conn.Read(ctx)
	must(tw.TB, err)
	if err := json.Unmarshal(text, &m); err != nil || kind != websocket.MessageText {
		tw.Fatalf("%v, %v: %s", kind, err, text)
	}
	return m
}

// A WebSocket has the events that its filter selects, one a message, with the fields of server-sent
// events. A cursor goes on behind it.
func TestEventSocket(t *testing.T) {
	tw := newTown(t, options{})
	all, _, err := tw.socket("")
	must(t, err)
	exits, _, err := tw.socket("?event=exit&format=tile38")
	must(t, err)
	tw.move("v1", 0, 50, 50)
	tw.move("v1", 1, 3, 3)
	tw.move("v1", 2, 50, 50)
	stream := strings.Split(string(tw.get("/v1/events?wait=0&format=sse").body), "\n")
	for i := range 2 {
		m := tw.next(all)
		if got := "id: " + m.ID + "|event: " + m.Event + "|data: " + string(m.Data); got != strings.Join(stream[4*i:4*i+3], "|") {
			t.Errorf("%s\nwant %s", got, stream[4*i:4*i+3])
		}
	}
	if m := tw.next(exits); m.Event != "exit" || !strings.HasPrefix(string(m.Data), `{"command":"set"`) {
		t.Errorf("%+v %s", m, m.Data)
	}
	behind, _, err := tw.socket("?cursor=run1-1")
	must(t, err)
	if m := tw.next(behind); m.ID != "run1-2" || m.Event != "exit" {
		t.Errorf("%+v", m)
	}
	last, _, err := tw.socket("?cursor=run1-0", "Last-Event-ID", "run1-1")
	must(t, err)
	if m := tw.next(last); m.ID != "run1-2" {
		t.Errorf("%+v", m)
	}

	// What cannot be is refused before the handshake.
	for query, status := range map[string]int{"?wait=0": 400, "?format=sse": 400, "?event=entr": 400, "?cursor=x": 400, "?cursor=other-1": 410} {
		if _, res, err := tw.socket(query); err == nil || res == nil || res.StatusCode != status {
			t.Errorf("%s: %v, %v", query, res, err)
		}
	}
	if _, res, err := tw.socket("", "Origin", "http://other.example"); err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("another origin: %v, %v", res, err)
	}

	// A client that speaks is closed, and the end of the log closes the others.
	must(t, behind.Write(t.Context(), websocket.MessageText, []byte("hello")))
	if _, _, err := behind.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("after a message: %v", err)
	}
	for _, c := range []*websocket.Conn{exits, behind, last} {
		_ = c.CloseNow()
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := all.Read(context.Background())
		ended <- err
	}()
	tw.log.End()
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("at the end: %v", err)
	}
}

// A cursor whose events are gone is refused, and the newest events are there.
func TestEventSocketBegins(t *testing.T) {
	tw := newTown(t, options{records: 2})
	tw.move("v1", 0, 50, 50)
	for n := range 3 {
		tw.move("v1", 2*n+1, 3, 3)
		tw.move("v1", 2*n+2, 50, 50)
	}
	_, res, err := tw.socket("?cursor=run1-0")
	if err == nil || res.StatusCode != http.StatusGone {
		t.Errorf("%v, %v", res, err)
	}
	conn, _, err := tw.socket("?last=2")
	must(t, err)
	if m := tw.next(conn); m.ID != "run1-5" {
		t.Errorf("%+v", m)
	}
}

// A client that is quiet is pinged.
func TestEventSocketPings(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.Heartbeat = 10 * time.Millisecond }})
	pinged := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, tw.url+"/v1/events", &websocket.DialOptions{HTTPClient: tw.client, OnPingReceived: func(ctx context.Context, _ []byte) bool {
		select {
		case pinged <- struct{}{}:
		case <-ctx.Done():
		}
		return true
	}})
	must(t, err)
	defer func() { _ = conn.CloseNow() }()
	conn.CloseRead(ctx)
	<-pinged
	<-pinged // the first one was answered
}

// A client that does not answer is closed.
func TestEventSocketCloses(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.Heartbeat, c.WriteTimeout = 10*time.Millisecond, 50*time.Millisecond }})
	silent, err := net.Dial("tcp", strings.TrimPrefix(tw.url, "http://"))
	must(t, err)
	defer silent.Close()
	_, err = io.WriteString(silent, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	must(t, err)
	must(t, silent.SetReadDeadline(time.Now().Add(patience)))
	if _, err := io.Copy(io.Discard, silent); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a client that does not answer was not closed")
	}
}
