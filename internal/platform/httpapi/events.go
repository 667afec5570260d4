package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"paddock/internal/platform/events"
	"paddock/internal/process/keyring"
)

const (
	// streamBatch bounds the events in one write.
	streamBatch = 256
	// maxEvents bounds an answer that does not wait, as events.PageBytes does.
	maxEvents = 10_000
	// cursorHeader holds the last cursor of an answer that does not wait.
	cursorHeader = "Paddock-Cursor"
)

// getEvents streams events as server-sent events, as newline-delimited JSON if the client prefers
// it, or over a WebSocket. A subscriber that falls behind the log receives a gap record and
// continues.
func (a *API) getEvents(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "set", "fence", "event", "fleet", "object", "cursor", "from", "last", "format", "limit", "wait")
	if err != nil {
		return err
	}
	f := events.Filter{Set: q.Get("set"), Fence: q.Get("fence"), Event: q.Get("event"), Fleet: q.Get("fleet"), Object: q.Get("object")}
	if err := f.Validate(); err != nil {
		return fail(http.StatusBadRequest, "query: %v", err)
	}
	wait, limit, err := eventRange(q.Get("wait"), q.Get("limit"))
	if err != nil {
		return err
	}
	enc, err := eventFormat(q.Get("format"), r.Header.Get("Accept"), wait)
	if err != nil {
		return err
	}
	if isSocket(r) && (!wait || q.Get("format") != "" && !enc.tile38) {
		return fail(http.StatusBadRequest, "query: a WebSocket takes no wait=0, and no format but tile38")
	}
	if err := permitNames(r, f.Set, f.Fleet); err != nil {
		return err
	}
	f = limitEvents(f, keyring.From(r.Context()))
	after, err := a.begin(r.Context(), q, r.Header.Get("Last-Event-ID"), wait, f)
	if err != nil {
		return err
	}
	reader := a.cfg.Log.Reader(after, f)
	if isSocket(r) {
		return a.getEventSocket(w, r, reader, enc.tile38)
	}
	s := &eventStream{api: a, log: a.cfg.Log, enc: enc, w: w, rc: http.NewResponseController(w)}
	if !wait {
		return s.past(r.Context(), reader, limit)
	}
	s.begin()
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := keyring.From(r.Context()).While(r.Context())
	defer cancel()
	seen := s.log.Subscribe(reader, "http", r.RemoteAddr)
	seen.End(s.follow(ctx, reader))
	return nil
}

// begin returns the cursor to begin after. The cursor of a browser that reconnects goes before what
// its address says.
func (a *API) begin(ctx context.Context, q url.Values, reconnected string, wait bool, f events.Filter) (uint64, error) {
	cursor, from, last := q.Get("cursor"), q.Get("from"), q.Get("last")
	if cursor != "" && from+last != "" || from != "" && last != "" {
		return 0, fail(http.StatusBadRequest, "query: cursor, from and last each say where to begin: give one of them")
	}
	switch {
	case reconnected != "":
		return a.startAt(reconnected, wait)
	case from != "":
		return a.startFrom(from)
	case last != "":
		return a.startBefore(ctx, last, f)
	}
	return a.startAt(cursor, wait)
}

// startAt returns the cursor to begin after: the latest without a cursor, or the oldest if only
// past events are requested.
func (a *API) startAt(cursor string, wait bool) (uint64, error) {
	oldest := a.cfg.Log.Oldest()
	switch {
	case cursor == "" && wait:
		return a.cfg.Log.Latest(), nil
	case cursor == "":
		return oldest - 1, nil
	}
	after, err := a.cfg.Log.ParseCursor(cursor)
	if errors.Is(err, events.ErrBadCursor) {
		return 0, fail(http.StatusBadRequest, "cursor: %v", err)
	}
	if err != nil || after+1 < oldest {
		p := fail(http.StatusGone, "cursor: the events after it are no longer kept; begin at oldest, or without a cursor")
		p.Oldest = a.cfg.Log.Cursor(oldest - 1)
		return 0, p
	}
	return after, nil
}

// startBefore returns the cursor before the last n events.
func (a *API) startBefore(ctx context.Context, last string, f events.Filter) (uint64, error) {
	n, err := count("last", last, maxEvents)
	if err != nil {
		return 0, err
	}
	return a.cfg.Log.Tail(ctx, n, f)
}

// startFrom returns the cursor before the first event that arrived at a time or later.
func (a *API) startFrom(text string) (uint64, error) {
	t, err := instant(url.Values{"from": {text}}, "from", 0)
	if err != nil {
		return 0, err
	}
	return a.cfg.Log.Since(t)
}

// eventRange reads whether to wait for events, and otherwise how many to return.
func eventRange(wait, limit string) (bool, int, error) {
	switch {
	case wait != "" && wait != "0" && wait != "1":
		return false, 0, fail(http.StatusBadRequest, "query: wait %.64q: use 0 or 1", wait)
	case limit == "":
		return wait != "0", maxEvents, nil
	case wait != "0":
		return false, 0, fail(http.StatusBadRequest, "query: limit needs wait=0: a stream has no end")
	}
	n, err := count("limit", limit, maxEvents)
	return false, n, err
}

// encoding is a form of a stream of events.
type encoding struct {
	mediaType string
	heartbeat string
	position  string // what begins a heartbeat with a cursor; "": none has one
	record    func(dst []byte, cursor, kind string, json []byte) []byte
	tile38    bool // events as notifications of Tile38
}

var (
	serverSent = encoding{
		mediaType: "text/event-stream",
		heartbeat: ":\n\n",
		position:  "id: ",
		record:    events.AppendServerSent,
	}
	jsonLines = encoding{
		mediaType: "application/x-ndjson",
		heartbeat: "\n",
		record: func(dst []byte, _, _ string, json []byte) []byte {
			return append(append(dst, json...), '\n')
		},
	}
)

func eventFormat(format, accept string, wait bool) (encoding, error) {
	enc := serverSent
	switch format {
	case "sse":
		return enc, nil
	case "ndjson":
		return jsonLines, nil
	case "", "tile38":
	default:
		return encoding{}, fail(http.StatusBadRequest, "query: format %.64q: use sse, ndjson or tile38", format)
	}
	if strings.Contains(accept, "ndjson") || !wait && !strings.Contains(accept, "event-stream") {
		enc = jsonLines
	}
	enc.tile38 = format == "tile38"
	return enc, nil
}

// eventStream is the answer to one subscriber. It belongs to the handler's goroutine.
type eventStream struct {
	api *API
	log *events.Log
	enc encoding
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf []byte

	told string // the cursor that the client has; "": none yet
}

func (s *eventStream) begin() {
	h := s.w.Header()
	h.Set("Content-Type", s.enc.mediaType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	_ = s.rc.Flush()
	_ = s.rc.SetReadDeadline(time.Time{}) // of a body, which is not expected here
}

// past answers with kept events, up to the limit, and the last cursor. Few of very many may match,
// so the search ends with the request.
func (s *eventStream) past(ctx context.Context, reader *events.Reader, limit int) error {
	l := s.api.memory.Lease()
	defer l.Release()
	for more := true; more && limit > 0 && len(s.buf) < events.PageBytes; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var records []events.Record
		var gap events.Gap
		records, gap, more = reader.TrySome(make([]events.Record, 0, min(limit, streamBatch)))
		limit -= len(records)
		s.encode(records, gap)
		if err := hold(l, int64(cap(s.buf))); err != nil {
			return err
		}
	}
	s.w.Header().Set(cursorHeader, s.log.Cursor(reader.Position()))
	return answer(s.w, s.enc.mediaType, s.buf)
}

// follow writes events as they occur, until the client disconnects, its key ends, or the log ends.
// The log ends in a drain, after all events were written. The error is why it ended.
func (s *eventStream) follow(ctx context.Context, reader *events.Reader) error {
	defer s.allowWrite() // of the last chunk, which distinguishes the end from a broken connection
	records := make([]events.Record, 0, streamBatch)
	for {
		quiet, cancel := context.WithTimeout(ctx, s.api.cfg.Heartbeat)
		batch, gap, err := reader.Next(quiet, records[:0])
		cancel()
		switch {
		case err == nil:
			s.encode(batch, gap)
			err = s.send(s.buf)
			s.buf = s.buf[:0]
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			err = s.send(s.heartbeat(reader.Position()))
		}
		if err != nil {
			return err
		}
	}
}

// heartbeat returns what a quiet stream sends. It has the cursor if the client has an earlier one:
// an id alone is no event to a browser, but the place where it goes on after a reconnect.
func (s *eventStream) heartbeat(at uint64) []byte {
	cursor := s.log.Cursor(at)
	if s.enc.position == "" || s.told == cursor {
		return []byte(s.enc.heartbeat)
	}
	s.told = cursor
	return []byte(s.enc.position + cursor + "\n\n")
}

// encode appends a batch to the buffer, after the gap before it.
func (s *eventStream) encode(records []events.Record, gap events.Gap) {
	b := s.buf
	if gap.Count() > 0 {
		s.told = s.log.Cursor(gap.To)
		b = s.enc.record(b, s.told, "gap", s.log.GapJSON(gap))
	}
	for i := range records {
		r := &records[i]
		text := r.JSON.Bytes()
		if s.enc.tile38 {
			text = events.AppendTile38(nil, r)
		}
		s.told = s.log.Cursor(r.Cursor)
		b = s.enc.record(b, s.told, r.Kind.String(), text)
	}
	s.buf = b
}

// allowWrite sets the deadline of the next write, because the previous one may have passed.
func (s *eventStream) allowWrite() {
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.api.cfg.WriteTimeout))
}

func (s *eventStream) send(b []byte) error {
	s.allowWrite()
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.rc.Flush()
}
