package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/coder/websocket"

	"paddock/internal/platform/events"
	"paddock/internal/process/keyring"
)

// isSocket reports whether a request asks for a WebSocket.
func isSocket(r *http.Request) bool { return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") }

// getEventSocket streams events over a WebSocket: a text message for each, with the fields that
// server-sent events have. A client sends nothing.
func (a *API) getEventSocket(w http.ResponseWriter, r *http.Request, reader *events.Reader, tile38 bool) error {
	if err := a.addStream(); err != nil {
		return err
	}
	defer a.streams.Done()
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return nil // Accept has answered
	}
	s := &eventSocket{api: a, conn: conn, grant: keyring.From(r.Context()), tile38: tile38, peer: r.RemoteAddr}
	s.serve(reader)
	return nil
}

// serve talks to the client until it disconnects, or its key ends, or until the log ends and all of
// it has been sent.
func (s *eventSocket) serve(reader *events.Reader) {
	ctx, cancel := s.grant.While(s.api.ctx)
	defer cancel()
	read, spoke := make(chan struct{}), false
	go func() { // ends with the connection, or with a message
		defer close(read)
		defer cancel()
		_, _, err := s.conn.Reader(s.api.ctx)
		spoke = err == nil
	}()
	seen := s.api.cfg.Log.Subscribe(reader, "websocket", s.peer)
	err := s.follow(ctx, reader)
	seen.End(err)
	if errors.Is(err, events.ErrEnded) {
		_ = s.conn.Close(websocket.StatusGoingAway, "shutting down") // the client may be gone
		<-read
		return
	}
	if s.grant.HasEnded() {
		_ = s.conn.Close(websocket.StatusPolicyViolation, keyring.ErrEnded.Error())
		<-read
		return
	}
	if ctx.Err() != nil {
		<-read
		if spoke {
			_ = s.conn.Close(websocket.StatusPolicyViolation, "a client sends nothing")
		}
	}
	_ = s.conn.CloseNow() // it is gone, or does not answer
	<-read
}

// addStream counts a stream that no http.Server waits for, or returns why it is refused.
func (a *API) addStream() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.draining {
		return fail(http.StatusServiceUnavailable, "shutting down")
	}
	a.streams.Add(1)
	return nil
}

// eventSocket is the answer to one subscriber. It belongs to the handler's goroutine.
type eventSocket struct {
	api    *API
	conn   *websocket.Conn
	grant  *keyring.Grant
	tile38 bool
	peer   string
	buf    []byte
}

// follow writes events as they occur, until the client disconnects, its key ends, or the log ends.
func (s *eventSocket) follow(ctx context.Context, reader *events.Reader) error {
	records := make([]events.Record, 0, streamBatch)
	for {
		quiet, cancel := context.WithTimeout(ctx, s.api.cfg.Heartbeat)
		batch, gap, err := reader.Next(quiet, records[:0])
		cancel()
		switch {
		case err == nil:
			err = s.send(batch, gap)
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			err = s.ping(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// send writes a batch, after the gap before it.
func (s *eventSocket) send(records []events.Record, gap events.Gap) error {
	log := s.api.cfg.Log
	if gap.Count() > 0 {
		if err := s.write(log.Cursor(gap.To), "gap", log.GapJSON(gap)); err != nil {
			return err
		}
	}
	for i := range records {
		r := &records[i]
		text := r.JSON.Bytes()
		if s.tile38 {
			text = events.AppendTile38(nil, r)
		}
		if err := s.write(log.Cursor(r.Cursor), r.Kind.String(), text); err != nil {
			return err
		}
	}
	return nil
}

// write writes a message with a deadline. A client that misses it loses its connection.
func (s *eventSocket) write(cursor, kind string, json []byte) error {
	b := append(append(s.buf[:0], `{"id":"`...), cursor...) // neither needs an escape
	b = append(append(b, `","event":"`...), kind...)
	b = append(append(b, `","data":`...), json...)
	s.buf = append(b, '}')
	ctx, cancel := context.WithTimeout(s.api.ctx, s.api.cfg.WriteTimeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, s.buf)
}

// ping checks that a quiet client is there.
func (s *eventSocket) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.api.cfg.WriteTimeout)
	defer cancel()
	return s.conn.Ping(ctx)
}
