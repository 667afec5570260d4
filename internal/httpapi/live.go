package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"paddock/fence/track"
	"paddock/internal/events"
	"paddock/internal/ingest"
)

const (
	// liveTick is how often a dashboard gets events; every liveDots-th time also
	// positions, every liveStats-th the figures.
	liveTick  = 100 * time.Millisecond
	liveDots  = 2
	liveStats = 10

	liveEvents   = 1000    // in one frame
	liveMessage  = 4 << 10 // bytes that a client may send at once
	livePatience = 2 * time.Second
	liveThinned  = 20_000 // dots in one frame
)

// getLive is the dashboard's feed: one WebSocket that carries positions within
// the client's view, events, and figures. The server does the thinning.
func (a *API) getLive(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	if !a.addStream() {
		return fail(http.StatusServiceUnavailable, "shutting down")
	}
	defer a.streams.Done()
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return nil // Accept has answered
	}
	conn.SetReadLimit(liveMessage)
	c := &liveClient{api: a, conn: conn, requests: make(chan liveRequest), known: map[uint32]bool{}}
	c.serve()
	return nil
}

func (a *API) addStream() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.draining {
		return false
	}
	a.streams.Add(1)
	return true
}

// liveRequest is what a client may send. Fields that are absent change nothing.
type liveRequest struct {
	View   *[4]float64    `json:"view"`   // west, south, east, north: positions only for it
	Events *events.Filter `json:"events"` // which events
	Cursor *string        `json:"cursor"` // go on behind it
}

// liveClient is one dashboard. Its fields belong to the goroutine of serve.
type liveClient struct {
	api      *API
	conn     *websocket.Conn
	requests chan liveRequest // unbuffered, from read to serve

	view    *[4]float64 // nil: the whole world
	filter  events.Filter
	reader  *events.Reader
	known   map[uint32]bool // handles that the client has names for
	sets    string          // what it was told of the sets
	records []events.Record
	dots    []track.Dot
	frame   []byte
}

// serve talks to the client until it goes, or until the log ends and all of it
// has been sent.
func (c *liveClient) serve() {
	ctx, cancel := context.WithCancel(c.api.ctx)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer cancel()
		c.read(ctx)
	})
	err := c.run(ctx)
	status, reason := websocket.StatusNormalClosure, ""
	if errors.Is(err, events.ErrEnded) {
		status, reason = websocket.StatusGoingAway, "shutting down"
	}
	cancel()
	_ = c.conn.Close(status, reason)
	reading.Wait()
}

// read passes on what the client asks for, until the connection ends.
func (c *liveClient) read(ctx context.Context) {
	for {
		_, data, err := c.conn.Read(ctx)
		if err != nil {
			return
		}
		var req liveRequest
		if err := json.Unmarshal(data, &req); err != nil {
			_ = c.conn.Close(websocket.StatusInvalidFramePayloadData, "not a request of the live feed")
			return
		}
		select {
		case c.requests <- req:
		case <-ctx.Done():
			return
		}
	}
}

func (c *liveClient) run(ctx context.Context) error {
	log := c.api.cfg.Log
	c.reader = log.Reader(log.Latest(), events.Filter{})
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
		select {
		case req := <-c.requests:
			if err := c.obey(ctx, req); err != nil {
				return err
			}
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// greet says hello and waits a little for the first request, so that a client
// that resumes gets nothing before its cursor has come.
func (c *liveClient) greet(ctx context.Context) error {
	hello := map[string]any{
		"type": "hello", "version": c.api.cfg.Version, "t": time.Now().UnixMilli(),
		"cursor": c.api.cfg.Log.Cursor(c.reader.Position()), "demo": c.api.cfg.Demo,
	}
	if err := c.send(ctx, hello); err != nil {
		return err
	}
	patience := time.NewTimer(livePatience)
	defer patience.Stop()
	select {
	case req := <-c.requests:
		return c.obey(ctx, req)
	case <-patience.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *liveClient) obey(ctx context.Context, req liveRequest) error {
	if req.View != nil {
		c.view = req.View
	}
	if req.Events != nil {
		c.filter = *req.Events
		c.reader = c.api.cfg.Log.Reader(c.reader.Position(), c.filter)
	}
	if req.Cursor == nil {
		return nil
	}
	after, err := c.api.cfg.Log.ParseCursor(*req.Cursor)
	if err != nil {
		// Of an earlier run of the process: how much was missed, nobody knows.
		return c.send(ctx, map[string]any{
			"type": "gap", "count": nil, "reason": "the server was restarted",
			"cursor": c.api.cfg.Log.Cursor(c.reader.Position()),
		})
	}
	c.reader = c.api.cfg.Log.Reader(after, c.filter)
	return nil
}

// step sends what is due at the n-th tick.
func (c *liveClient) step(ctx context.Context, n int) error {
	ended := c.api.cfg.Log.Ended()
	if err := c.sendEvents(ctx); err != nil {
		return err
	}
	if ended {
		return events.ErrEnded
	}
	if n%liveDots == 0 {
		if err := c.sendDots(ctx); err != nil {
			return err
		}
	}
	if n%liveStats == 0 {
		if err := c.sendSets(ctx); err != nil {
			return err
		}
		return c.send(ctx, c.api.live.stats())
	}
	return nil
}

func (c *liveClient) sendEvents(ctx context.Context) error {
	for {
		records, gap := c.reader.TryNext(c.records[:0])
		if gap.Count() > 0 {
			if err := c.send(ctx, map[string]any{
				"type": "gap", "count": gap.Count(), "cursor": c.api.cfg.Log.Cursor(gap.To),
				"reason": "fell behind what the log keeps",
			}); err != nil {
				return err
			}
		}
		if len(records) == 0 {
			return nil
		}
		b := append(c.frame[:0], `{"type":"events","cursor":"`...)
		b = append(b, c.api.cfg.Log.Cursor(c.reader.Position())...)
		b = append(b, `","events":[`...)
		for i := range records {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, records[i].JSON...)
		}
		c.frame = append(b, "]}"...)
		if err := c.write(ctx, websocket.MessageText, c.frame); err != nil {
			return err
		}
		if len(records) < cap(c.records) {
			return nil
		}
	}
}

// sendSets tells which sets there are, when that has changed.
func (c *liveClient) sendSets(ctx context.Context) error {
	b, err := json.Marshal(map[string]any{"type": "sets", "sets": describeSets(c.api.cfg.Catalog)})
	if err != nil || string(b) == c.sets {
		return err
	}
	c.sets = string(b)
	return c.write(ctx, websocket.MessageText, b)
}

func (c *liveClient) sendDots(ctx context.Context) error {
	at, all := c.api.live.dots()
	c.dots = c.dots[:0]
	for i := range all {
		if inView(c.view, &all[i]) {
			c.dots = append(c.dots, all[i])
		}
	}
	thinned := len(c.dots) > liveThinned
	if thinned {
		c.dots = thin(c.dots, liveThinned)
	}
	if err := c.sendNames(ctx); err != nil {
		return err
	}
	c.frame = appendDots(c.frame[:0], at, c.dots, thinned)
	return c.write(ctx, websocket.MessageBinary, c.frame)
}

// sendNames tells whose the handles are that the client has not seen yet.
func (c *liveClient) sendNames(ctx context.Context) error {
	var unknown []uint32
	for i := range c.dots {
		if h := c.dots[i].Handle; !c.known[h] {
			c.known[h] = true
			unknown = append(unknown, h)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	names := make([][3]any, 0, len(unknown))
	for _, n := range c.api.cfg.Pipeline.Names(make([]ingest.Named, 0, len(unknown)), unknown) {
		names = append(names, [3]any{n.Handle, n.Fleet, n.ID})
	}
	return c.send(ctx, map[string]any{"type": "names", "names": names})
}

func (c *liveClient) send(ctx context.Context, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.write(ctx, websocket.MessageText, b)
}

func (c *liveClient) write(ctx context.Context, kind websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return c.conn.Write(ctx, kind, b)
}
