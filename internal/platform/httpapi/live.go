package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/httpapi/livemap"
	"paddock/internal/process/keyring"
)

const (
	// liveTick is the interval of events to a dashboard. Every liveDots-th tick also sends
	// positions, every liveStats-th the figures.
	liveTick  = 100 * time.Millisecond
	liveDots  = 2
	liveStats = 10

	liveEvents   = 1000    // in one frame
	liveScans    = 64      // of the log in one tick, each of some hundred records
	liveMessage  = 4 << 10 // bytes in one message of a client
	livePatience = 2 * time.Second
)

// getLive serves the dashboard's feed: one WebSocket with positions within the client's view,
// events, and figures. The server thins out the positions.
func (a *API) getLive(w http.ResponseWriter, r *http.Request) error {
	if err := a.addViewer(); err != nil {
		return err
	}
	defer a.dropViewer()
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return nil // Accept has answered
	}
	conn.SetReadLimit(liveMessage)
	c := &liveClient{
		api: a, grant: keyring.From(r.Context()), peer: r.RemoteAddr, conn: conn, requests: make(chan liveRequest), ended: make(chan struct{}),
	}
	c.viewer = livemap.NewViewer(a.cfg.Pipeline, c.grant)
	c.serve()
	return nil
}

// errKeyEnded ends a live feed whose key was removed.
var errKeyEnded = errors.New("the key has ended")

// addViewer counts a new live feed, or returns why it is refused.
func (a *API) addViewer() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.draining {
		return fail(http.StatusServiceUnavailable, "shutting down")
	}
	if a.viewers >= a.cfg.MaxLive {
		a.refused.live.Add(1)
		return fail(http.StatusServiceUnavailable, "%d live feeds are open, which is the limit", a.cfg.MaxLive)
	}
	a.viewers++
	a.streams.Add(1)
	return nil
}

func (a *API) dropViewer() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.viewers--
	a.streams.Done()
}

// liveRequest is a message of a client. Absent fields change nothing.
type liveRequest struct {
	livemap.Request

	Events *events.Filter `json:"events"` // selects events
	Cursor *string        `json:"cursor"` // continue after it
}

// liveClient is one dashboard. Its fields belong to the goroutine of serve.
type liveClient struct {
	api      *API
	conn     *websocket.Conn
	grant    *keyring.Grant
	peer     string           // its address
	requests chan liveRequest // unbuffered, from read to run
	ended    chan struct{}    // closed when requests are no longer received
	fault    string           // the error in a request; owned by read until serve has waited for it

	viewer  *livemap.Viewer
	unseen  events.Filter // what the key is not for is left out
	filter  events.Filter
	reader  *events.Reader
	told    uint64               // the cursor that the client has
	seen    *events.Subscription // of reader
	sets    string               // the last description of the sets
	records []events.Record
	frame   []byte
}

// serve talks to the client until it disconnects, or until the log ends and all of it has been
// sent. The close handshake needs an intact connection, which a context that ends during a read
// would cut.
func (c *liveClient) serve() {
	ctx, cancel := context.WithCancel(c.api.ctx)
	defer cancel()
	if !c.grant.Can(keyring.EventsRead) {
		c.unseen.Sees = func(string, string) bool { return false }
	} else {
		c.unseen = limitEvents(c.unseen, c.grant)
	}
	c.filter = c.unseen
	read := make(chan struct{})
	go func() { // ends with the connection
		defer close(read)
		defer cancel()
		c.fault = c.read(c.api.ctx)
	}()
	err := c.run(ctx)
	close(c.ended)
	status, reason := websocket.StatusNormalClosure, ""
	switch {
	case errors.Is(err, errKeyEnded):
		status, reason = websocket.StatusPolicyViolation, keyring.ErrEnded.Error()
	case errors.Is(err, events.ErrEnded):
		status, reason = websocket.StatusGoingAway, "shutting down"
	case errors.Is(err, context.Canceled):
		<-read // has ended first, or is about to
		if c.fault != "" {
			status, reason = websocket.StatusInvalidFramePayloadData, c.fault
		}
	}
	_ = c.conn.Close(status, reason)
	<-read
}

// read forwards the client's requests until the connection ends or a message is invalid; then it
// returns the error.
func (c *liveClient) read(ctx context.Context) (fault string) {
	for {
		_, data, err := c.conn.Read(ctx)
		if err != nil {
			return ""
		}
		req, err := parseLiveRequest(data)
		if err != nil {
			return err.Error()
		}
		select {
		case c.requests <- req:
		case <-c.ended:
		}
	}
}

// parseLiveRequest parses a message. Its error is short enough for a close frame.
func parseLiveRequest(data []byte) (req liveRequest, err error) {
	if json.Unmarshal(data, &req) != nil {
		return req, errors.New("not a request of the live feed")
	}
	if req.Events != nil && req.Events.Validate() != nil {
		return req, errors.New("events.event: there is no such event; the reference of the live feed has their names")
	}
	if req.Objects != nil {
		if err := req.Objects.Validate(); err != nil {
			return req, fmt.Errorf("objects.%w", err)
		}
	}
	return req, nil
}

func (c *liveClient) run(ctx context.Context) (err error) {
	log := c.api.cfg.Log
	c.reader = log.Reader(log.Latest(), c.filter)
	c.seen = log.Subscribe(c.reader, "dashboard", c.peer)
	defer func() { c.seen.End(err) }()
	c.records = make([]events.Record, 0, liveEvents)
	if err := c.greet(ctx); err != nil {
		return err
	}
	ticker := time.NewTicker(liveTick)
	defer ticker.Stop()
	for n := 0; ; n++ {
		if err := c.step(ctx, n); err != nil {
			return err
		}
		if err := c.wait(ctx, ticker.C, false); err != nil {
			return err
		}
	}
}

// wait handles requests until the next tick, so that many requests do not cause more frames. With
// one it returns after a request.
func (c *liveClient) wait(ctx context.Context, tick <-chan time.Time, one bool) error {
	for {
		select {
		case req := <-c.requests:
			if err := c.obey(req); err != nil || one {
				return err
			}
		case <-tick:
			return nil
		case <-c.api.cfg.Log.Done():
			return nil
		case <-c.grant.Done():
			return errKeyEnded
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// greet sends the greeting and waits briefly for the first request, so that a client that resumes
// receives nothing before its cursor is known.
func (c *liveClient) greet(ctx context.Context) error {
	c.told = c.reader.Position()
	hello := map[string]any{
		"type": "hello", "version": c.api.cfg.Version, "t": time.Now().UnixMilli(),
		"cursor": c.api.cfg.Log.Cursor(c.told), "demo": c.api.cfg.Demo, "bus": c.api.cfg.BusURL,
		"tunnel": c.api.cfg.Tunnel != nil, "history": c.api.cfg.History != nil,
	}
	if b := c.api.cfg.Basemap.Describe(); b != nil {
		hello["basemap"] = b
	}
	if err := c.send(hello); err != nil {
		return err
	}
	patience := time.NewTimer(livePatience)
	defer patience.Stop()
	return c.wait(ctx, patience.C, true)
}

func (c *liveClient) obey(req liveRequest) error {
	c.viewer.Obey(&req.Request)
	if req.Events != nil {
		c.filter = *req.Events
		c.filter.Sees = c.unseen.Sees
		c.reader = c.api.cfg.Log.Reader(c.reader.Position(), c.filter)
		c.seen.Follow(c.reader)
	}
	if req.Cursor == nil {
		return nil
	}
	after, err := c.api.cfg.Log.ParseCursor(*req.Cursor)
	if err != nil {
		// The cursor is of an earlier run of the process, so the number of missed events is
		// unknown.
		return c.send(map[string]any{
			"type": "gap", "count": nil, "reason": "the server was restarted",
			"cursor": c.api.cfg.Log.Cursor(c.reader.Position()),
		})
	}
	c.reader = c.api.cfg.Log.Reader(after, c.filter)
	c.told = c.reader.Position()
	c.seen.Follow(c.reader)
	return nil
}

// step sends the messages of the n-th tick. Behind the end of the log these are the rest of its
// events.
func (c *liveClient) step(ctx context.Context, n int) error {
	ended := c.api.cfg.Log.Ended()
	more, err := c.sendEvents(ctx)
	switch {
	case err != nil:
		return err
	case ended && !more:
		return events.ErrEnded
	case ended:
		return nil
	}
	if n%liveDots == 0 && c.grant.Can(keyring.ObjectsRead) {
		if err := c.sendDots(); err != nil {
			return err
		}
	}
	if n%liveStats == 0 {
		if err := c.sendPosition(); err != nil {
			return err
		}
		if err := c.sendSets(); err != nil {
			return err
		}
		return c.send(c.figures())
	}
	return nil
}

// sendEvents sends the events that are selected among the next records. Few of very many may be, so
// it looks at a bounded number; more reports that others wait.
func (c *liveClient) sendEvents(ctx context.Context) (more bool, err error) {
	more = true
	for i := 0; more && i < liveScans; i++ {
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case c.grant.HasEnded():
			return false, errKeyEnded
		}
		var records []events.Record
		var gap events.Gap
		records, gap, more = c.reader.TrySome(c.records[:0])
		if err := c.sendBatch(records, gap); err != nil {
			return false, err
		}
	}
	return more, nil
}

// sendBatch sends events in one frame, after the gap before them.
func (c *liveClient) sendBatch(records []events.Record, gap events.Gap) error {
	if gap.Count() > 0 {
		object := map[string]any{"type": "gap", "cursor": c.api.cfg.Log.Cursor(gap.To), "count": nil} // null: unknown
		gap.Describe(object)
		if err := c.send(object); err != nil {
			return err
		}
		c.told = gap.To
	}
	if len(records) == 0 {
		return nil
	}
	b := append(c.frame[:0], `{"type":"events","cursor":"`...)
	c.told = c.reader.Position()
	b = append(b, c.api.cfg.Log.Cursor(c.told)...)
	b = append(b, `","events":[`...)
	for i := range records {
		if i > 0 {
			b = append(b, ',')
		}
		b = records[i].JSON.Append(b)
	}
	b = append(b, ']')
	if c.viewer.FiltersStates() && c.grant.Can(keyring.ObjectsRead) {
		b = c.appendStates(b, records)
	}
	c.frame = append(b, '}')
	return c.write(websocket.MessageText, c.frame)
}

// sendPosition tells a client that goes on without events how far it has come, so that it does not
// begin where it was after a reconnect.
func (c *liveClient) sendPosition() error {
	if c.told == c.reader.Position() {
		return nil
	}
	c.told = c.reader.Position()
	return c.send(map[string]any{"type": "events", "cursor": c.api.cfg.Log.Cursor(c.told), "events": []any{}})
}

// sendSets sends the description of the sets if it has changed.
func (c *liveClient) sendSets() error {
	b, err := json.Marshal(map[string]any{"type": "sets", "sets": describeSets(c.api.cfg.Catalog, c.grant)})
	if err != nil || string(b) == c.sets {
		return err
	}
	c.sets = string(b)
	return c.write(websocket.MessageText, b)
}

// appendStates appends the states of the events' objects, for a client that shows objects in some
// states only.
func (c *liveClient) appendStates(b []byte, records []events.Record) []byte {
	b = append(b, `,"states":[`...)
	for i := range records {
		if i > 0 {
			b = append(b, ',')
		}
		state := track.Unknown
		if d, ok := c.api.cfg.Pipeline.Dot(records[i].Fleet, records[i].Object); ok {
			state = d.State
		}
		b = strconv.AppendInt(b, int64(state), 10)
	}
	return append(b, ']')
}

func (c *liveClient) sendDots() error {
	named, frame := c.viewer.Draw(c.api.live.dots())
	if frame == nil {
		return nil
	}
	if len(named) > 0 {
		names := make([][3]any, 0, len(named))
		for _, n := range named {
			names = append(names, [3]any{n.Handle, n.Fleet, n.ID})
		}
		if err := c.send(map[string]any{"type": "names", "names": names}); err != nil {
			return err
		}
	}
	return c.write(websocket.MessageBinary, frame)
}

// figures returns the figures of the last second. Those of other fleets and sets are not for a key
// with limits: it gets the numbers of what it sees.
func (c *liveClient) figures() liveFigures {
	f := c.api.live.stats()
	if !c.grant.Limited() && c.grant.Can(keyring.EventsRead) && c.grant.Can(keyring.ObjectsRead) {
		return f
	}
	own := liveFigures{Type: f.Type, T: f.T}
	own.Objects, own.Silent = c.viewer.Counts()
	for s := range c.api.cfg.Catalog.All() {
		if c.grant.Set(s.Name()) {
			own.Fences += s.Snapshot().Len()
		}
	}
	return own
}

func (c *liveClient) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.write(websocket.MessageText, b)
}

// write sends a frame with a deadline. A client that misses it loses its connection.
func (c *liveClient) write(kind websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeout(c.api.ctx, c.api.cfg.WriteTimeout)
	defer cancel()
	return c.conn.Write(ctx, kind, b)
}
