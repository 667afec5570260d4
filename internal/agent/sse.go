package agent

import (
	"context"
	"errors"
	"net/http"
	"time"

	"paddock/internal/platform/events"
)

const (
	// heartbeat bounds the silence of a stream of events.
	heartbeat = 15 * time.Second
	// streamWrite bounds one write to a reader.
	streamWrite = 10 * time.Second
	streamBatch = 256
)

// getEvents streams the platform's events as server-sent events: new ones, or those after
// Last-Event-ID while they are kept here.
func (a *Agent) getEvents(w http.ResponseWriter, r *http.Request) error {
	log := a.feed.log
	after := log.Latest()
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		at, err := log.ParseCursor(id)
		if errors.Is(err, events.ErrBadCursor) {
			return fail(http.StatusBadRequest, "Last-Event-ID: %v", err)
		}
		if err != nil || at+1 < log.Oldest() {
			return fail(http.StatusGone, "Last-Event-ID: the events after it are not kept here; begin without it")
		}
		after = at
	}
	if !a.streams.acquire() {
		return fail(http.StatusServiceUnavailable, "%d streams of events are open, which is the limit", maxStreams)
	}
	defer a.streams.release()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	s := &eventStream{log, w, http.NewResponseController(w)}
	_ = s.control.SetReadDeadline(time.Time{})
	if err := s.send(nil); err != nil {
		return nil
	}
	s.follow(r.Context(), log.Reader(after, events.Filter{}))
	return nil
}

// eventStream is the answer to one reader. It belongs to the handler's goroutine.
type eventStream struct {
	log     *events.Log
	w       http.ResponseWriter
	control *http.ResponseController
}

// follow writes events as they arrive, until the reader disconnects or the log ends.
func (s *eventStream) follow(ctx context.Context, reader *events.Reader) {
	records := make([]events.Record, 0, streamBatch)
	for {
		quiet, cancel := context.WithTimeout(ctx, heartbeat)
		batch, gap, err := reader.Next(quiet, records[:0])
		cancel()
		var b []byte
		switch {
		case err == nil:
			if gap.Count() > 0 {
				b = events.AppendServerSent(b, s.log.Cursor(gap.To), "gap", s.log.GapJSON(gap))
			}
			for i := range batch {
				kind := batch[i].Kind.String()
				if batch[i].Subject == "" {
					kind = "gap"
				}
				b = events.AppendServerSent(b, s.log.Cursor(batch[i].Cursor), kind, batch[i].JSON.Bytes())
			}
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			b = []byte(":\n\n")
		default:
			return
		}
		if s.send(b) != nil {
			return
		}
	}
}

func (s *eventStream) send(b []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWrite))
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.control.Flush()
}
