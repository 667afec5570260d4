package httpapi

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"paddock/fence/track"
	"paddock/internal/process/keyring"
)

// viewer is a client of the live feed.
type viewer struct {
	*town
	conn *websocket.Conn
	ctx  context.Context
}

func (tw *town) live(headers ...string) *viewer {
	tw.Helper()
	ctx, cancel := context.WithTimeout(tw.Context(), patience)
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	conn, _, err := websocket.Dial(ctx, tw.url+"/v1/live", &websocket.DialOptions{HTTPHeader: header, HTTPClient: tw.client})
	must(tw.TB, err)
	conn.SetReadLimit(8 << 20)
	tw.Cleanup(func() {
		cancel()
		_ = conn.CloseNow()
	})
	return &viewer{tw, conn, ctx}
}

func (v *viewer) ask(request string) {
	v.Helper()
	must(v.TB, v.conn.Write(v.ctx, websocket.MessageText, []byte(request)))
}

// liveFrame is any text frame.
type liveFrame struct {
	Type    string
	Version string
	Cursor  string
	Demo    bool
	Names   [][3]any
	Events  []cloudEvent
	States  []int
	Count   *int
	Reason  string
	Sets    []setJSON
	Objects int
	Fences  int
	P99     *float64 `json:"event_p99_ms"`
	T       int64
	dots    *dots
}

// dots is a binary frame, decoded as docs/reference/live.md describes.
type dots struct {
	thinned bool
	at      float64
	dots    []dot
	cells   []cell
}

// cell is a place with its number of objects.
type cell struct{ objects, silent int }

type dot struct {
	handle       uint32
	lon, lat     float64
	heading      uint16
	state, speed uint8
}

func (v *viewer) frame() (f liveFrame) {
	v.Helper()
	kind, data, err := v.conn.Read(v.ctx)
	must(v.TB, err)
	if kind == websocket.MessageText {
		must(v.TB, json.Unmarshal(data, &f))
		return f
	}
	le := binary.LittleEndian
	count := le.Uint32(data[4:])
	cells := data[0] == 2
	if len(data)%16 != 0 || len(data) < 16+16*int(count) || !cells && len(data) != 16+16*int(count) || data[0] > 2 || data[1] > 1 || data[2] != 0 || data[3] != 0 {
		v.Fatalf("frame of %d bytes, header %x", len(data), data[:16])
	}
	d := &dots{thinned: data[1] == 1, at: math.Float64frombits(le.Uint64(data[8:]))}
	data = data[16:]
	if cells {
		for b := data[:16*count]; len(b) > 0; b = b[16:] {
			d.cells = append(d.cells, cell{int(le.Uint32(b[8:])), int(le.Uint32(b[12:]))})
		}
		data = data[16*count:]
	}
	for b := data; len(b) > 0; b = b[16:] {
		d.dots = append(d.dots, dot{
			le.Uint32(b), float64(int32(le.Uint32(b[4:]))) / 1e7, float64(int32(le.Uint32(b[8:]))) / 1e7,
			le.Uint16(b[12:]), b[14], b[15],
		})
	}
	if cells {
		return liveFrame{Type: "cells", dots: d}
	}
	return liveFrame{Type: "dots", dots: d}
}

// until reads frames up to one of this type that wanted accepts.
func (v *viewer) until(kind string, wanted func(liveFrame) bool) liveFrame {
	v.Helper()
	for {
		if f := v.frame(); f.Type == kind && (wanted == nil || wanted(f)) {
			return f
		}
	}
}

// closed reads to the end and returns how the server closed.
func (v *viewer) closed() (websocket.StatusCode, string) {
	v.Helper()
	for {
		if _, _, err := v.conn.Read(v.ctx); err != nil {
			ce, ok := errors.AsType[websocket.CloseError](err)
			if !ok {
				v.Errorf("cut without a status: %v", err)
			}
			return ce.Code, ce.Reason
		}
	}
}

func TestLiveFeed(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.Demo = true }})
	v := tw.live()
	if hello := v.frame(); hello.Type != "hello" || hello.Version != "v0.0-test" || !hello.Demo || hello.Cursor != "run1-0" || hello.T == 0 {
		t.Errorf("got %+v", hello)
	}
	v.ask(`{"view":[-10,-10,20,20]}`)
	if sets := v.until("sets", nil).Sets; len(sets) != 2 || sets[1].Name != "squares" || sets[1].Generation != 1 {
		t.Errorf("got %+v", sets)
	}
	tw.expect(tw.post("/v1/positions", fmt.Sprintf(`[{"id":"v","fleet":"trams","lon":-1.25,"lat":5.5,"t":%d,"speed":9.4,"heading":123.45},{"id":"far","lon":150,"lat":1}]`, tw.begun)), 200, "")
	names := v.until("names", nil).Names
	if len(names) != 1 || names[0][1] != "trams" || names[0][2] != "v" {
		t.Fatalf("names %v: only what is in the view", names)
	}
	handle := uint32(names[0][0].(float64))
	d := v.until("dots", nil).dots
	if want := (dot{handle, -1.25, 5.5, 12345, 0, 9}); len(d.dots) != 1 || d.dots[0] != want || d.thinned || d.at < float64(tw.begun) {
		t.Errorf("got %+v, want %+v", d, want)
	}
	tw.expect(tw.post("/v1/positions", fmt.Sprintf(`{"id":"v","fleet":"trams","lon":7,"lat":5.5,"t":%d}`, tw.begun+1000)), 200, "")
	var got []cloudEvent
	for len(got) < 2 {
		f := v.until("events", nil)
		got = append(got, f.Events...)
		if f.Cursor != fmt.Sprintf("run1-%d", len(got)) {
			t.Errorf("cursor %s after %d events", f.Cursor, len(got))
		}
	}
	if got[0].String() != "trams/v/1 enter squares/a" {
		t.Errorf("got %v", got)
	}
	v.until("dots", func(f liveFrame) bool { // speed and heading are of the last report
		return len(f.dots.dots) == 1 && f.dots.dots[0] == dot{handle, 7, 5.5, 65535, f.dots.dots[0].state, 255}
	})
	if s := v.until("stats", nil); s.Fences != 3 || s.T == 0 {
		t.Errorf("got %+v", s)
	}
	v.ask(`{"view":[170,-10,-170,20]}`) // across the antimeridian: no objects
	v.until("dots", func(f liveFrame) bool { return len(f.dots.dots) == 0 })
	v.ask(`{"view":[140,-10,-170,20]}`)
	v.until("dots", func(f liveFrame) bool { return len(f.dots.dots) == 1 })
	v.ask(`{"view":[-10,-10,20,20]}`) // objects that return to the view are named again
	if again := v.until("names", nil).Names; len(again) != 1 || again[0] != names[0] {
		t.Errorf("named %v, want %v", again, names)
	}
	tw.expect(tw.send(request{method: http.MethodPut, path: "/v1/sets/squares/fences/new", body: triangle}), 201, "")
	v.until("sets", func(f liveFrame) bool { return len(f.Sets) == 2 && f.Sets[1].Generation == 2 && f.Sets[1].Fences == 3 })
}

// After a removal a handle may stand for another object, so the names are sent again.
func TestLiveNamesAfterARemoval(t *testing.T) {
	const n = 20 // over all shards
	tw := newTown(t, options{})
	v := tw.live()
	v.ask(`{"view":[-10,-10,20,20]}`)
	named := map[float64]string{} // by handle
	await := func(prefix string) {
		t.Helper()
		v.until("names", func(f liveFrame) bool {
			for _, name := range f.Names {
				named[name[0].(float64)] = name[2].(string)
			}
			known := map[string]bool{}
			for _, id := range named {
				if strings.HasPrefix(id, prefix) {
					known[id] = true
				}
			}
			return len(known) == n
		})
	}
	for i := range n {
		tw.move(fmt.Sprint("a", i), 0, 1, 1)
	}
	await("a")
	for i := range n {
		tw.expect(tw.send(request{method: http.MethodDelete, path: fmt.Sprint("/v1/objects/a", i)}), 204, "")
		tw.move(fmt.Sprint("b", i), 0, 1, 1)
	}
	await("b")
	v.until("dots", func(f liveFrame) bool { return len(f.dots.dots) == n })
}

func TestLiveFilter(t *testing.T) {
	tw := newTown(t, options{})
	v := tw.live()
	v.frame()
	v.ask(`{"events":{"event":"exit","object":"w"},"cursor":"run1-0"}`)
	tw.swing("v", 2)
	tw.swing("w", 2)
	var got []cloudEvent
	for len(got) < 2 {
		got = append(got, v.until("events", nil).Events...)
	}
	if fmt.Sprint(got) != "[w/2 exit squares/a w/4 exit squares/a]" {
		t.Errorf("got %v", got)
	}
	// With a cursor: otherwise the filter applies from the moment at which the server receives it.
	v.ask(`{"events":{"set":"","fence":"","event":"","object":""},"cursor":"run1-8"}`)
	tw.swing("x", 1)
	v.until("events", func(f liveFrame) bool { return len(f.Events) > 0 && f.Events[0].Data.Object.ID == "x" })
}

// A dashboard that reconnects resumes at its cursor, or receives the size of the gap.
func TestLiveResume(t *testing.T) {
	tw := newTown(t, options{records: 6})
	tw.swing("v", 5) // events 1 to 10, of which 5 to 10 are kept
	for name, c := range map[string]struct {
		cursor string
		gap    int // -1: unknown
		first  int // seq; 0: no past events
	}{
		"kept":           {"run1-8", 0, 9},
		"partly kept":    {"run1-2", 2, 5},
		"of another run": {"run0-8", -1, 0},
		"nonsense":       {"8", -1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := tw.live()
			v.frame()
			v.ask(`{"cursor":"` + c.cursor + `"}`)
			if c.gap != 0 {
				gap := v.until("gap", nil)
				if gap.Reason == "" || gap.Cursor == "" || (gap.Count == nil) != (c.gap < 0) || gap.Count != nil && *gap.Count != c.gap {
					t.Errorf("got %+v, count %v", gap, gap.Count)
				}
			}
			if c.first == 0 {
				v.until("stats", nil) // comes after the past events
				return
			}
			if e := v.until("events", nil).Events[0]; e.Data.Seq != c.first {
				t.Errorf("got %v", e)
			}
		})
	}
}

func TestBadLiveMessages(t *testing.T) {
	tw := newTown(t, options{})
	for name, c := range map[string]struct {
		message string
		status  websocket.StatusCode
		reason  string
	}{
		"no JSON":         {"hello", websocket.StatusInvalidFramePayloadData, "not a request of the live feed"},
		"no object":       {"[1]", websocket.StatusInvalidFramePayloadData, "not a request of the live feed"},
		"wrong type":      {`{"view":"all"}`, websocket.StatusInvalidFramePayloadData, "not a request of the live feed"},
		"bad event":       {`{"events":{"event":"entr"}}`, websocket.StatusInvalidFramePayloadData, "events.event: there is no such event; the reference of the live feed has their names"},
		"too long":        {`{"cursor":"` + strings.Repeat("x", 5000) + `"}`, websocket.StatusMessageTooBig, ""},
		"after good ones": {`{"view":[0,0,1,1]}|{"cursor":"run1-0"}|{`, websocket.StatusInvalidFramePayloadData, "not a request of the live feed"},
	} {
		t.Run(name, func(t *testing.T) {
			v := tw.live()
			for m := range strings.SplitSeq(c.message, "|") {
				v.ask(m)
			}
			status, reason := v.closed()
			if status != c.status || c.reason != "" && reason != c.reason {
				t.Errorf("closed with %d %q", status, reason)
			}
		})
	}
}

// A request that is not a handshake, or is from another site's page, is refused with a problem.
func TestLiveHandshake(t *testing.T) {
	tw := newTown(t, options{})
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"plain GET":       {nil, 426},
		"other upgrade":   {[]string{"Connection", "Upgrade", "Upgrade", "h2c"}, 426},
		"foreign origin":  {append([]string{"Origin", "https://elsewhere.example"}, upgrade...), 403},
		"null origin":     {append([]string{"Origin", "null"}, upgrade...), 403},
		"old version":     {[]string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "8", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}, 400},
		"no key":          {[]string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13"}, 400},
		"a key too short": {[]string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAA"}, 400},
	} {
		r := tw.get("/v1/live", c.headers...)
		detail := decode[Problem](tw, r).Detail
		if detail == "" {
			t.Errorf("%s: no detail", name)
		}
		tw.problem(r, c.status, detail)
	}
	tw.problem(tw.get("/v1/live?view=all"), 400, `query: unknown parameter "view": there are none`)
	tw.live("Origin", tw.url).frame()
}

// A dashboard that does not read is disconnected; meanwhile it holds only its position in the log.
func TestLiveClientThatDoesNotRead(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.WriteTimeout = 50 * time.Millisecond }, records: 200_000, logBytes: 1 << 30})
	v := tw.live()
	v.frame()
	v.ask(`{"cursor":"run1-0"}`)
	for i := range 20 { // more than socket buffers take
		tw.swing(fmt.Sprintf("v%d", i), 1000)
	}
	ended := make(chan struct{})
	go func() { // stop waits for the feed, which ends only when the client is dropped
		defer close(ended)
		tw.api.streams.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the client is still served")
	}
}

// Before the first event there is no p99 of events, rather than one of 0 ms.
func TestLiveFeedEventP99(t *testing.T) {
	tw := newTown(t, options{})
	v := tw.live()
	if s := v.until("stats", nil); s.P99 != nil {
		t.Errorf("%v ms without an event", *s.P99)
	}
	tw.swing("v", 3)
	v.until("stats", func(s liveFrame) bool { return s.P99 != nil && *s.P99 > 0 })
}

func TestLiveFeedEndsWithTheLog(t *testing.T) {
	tw := newTown(t, options{})
	v := tw.live()
	v.frame()
	v.ask(`{"cursor":"run1-0"}`)
	v.until("stats", nil)
	tw.swing("v", 3)
	tw.log.End()
	seen := 0
	for seen < 6 {
		seen += len(v.until("events", nil).Events)
	}
	if status, reason := v.closed(); status != websocket.StatusGoingAway || reason != "shutting down" {
		t.Errorf("closed with %d %q", status, reason)
	}
	tw.stop()
}

// When there is no time left, feeds are cut.
func TestLiveFeedsAreCutInTheEnd(t *testing.T) {
	tw := newTown(t, options{})
	v := tw.live()
	v.frame()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tw.api.Close(ctx) // the log goes on: without the context this would hang
	if _, _, err := v.conn.Read(v.ctx); err == nil {
		_, _, err = v.conn.Read(v.ctx)
		if err == nil {
			t.Error("still open")
		}
	}
	tw.problem(tw.get("/v1/live"), 503, "shutting down")
}

// The filter of objects acts before the bounds of a frame, and with it events have states.
func TestLiveObjectFilter(t *testing.T) {
	tw := newTown(t, options{})
	v := tw.live()
	tw.expect(tw.post("/v1/positions", fmt.Sprintf(`[{"id":"Bus-1","fleet":"red","lon":1,"lat":1,"t":%d,"speed":9},
		{"id":"bus-2","fleet":"blue","lon":1,"lat":1,"t":%[1]d,"speed":0},{"id":"tram-1","fleet":"red","lon":1,"lat":1,"t":%[1]d,"speed":0}]`, tw.begun)), 200, "")
	for request, want := range map[string]int{
		`{"fleet":"red"}`:                            2,
		`{"states":["dwelling","silent"]}`:           2,
		`{"text":"BUS"}`:                             2,
		`{"text":"1 red"}`:                           2,
		`{"fleet":"red","text":"bus"}`:               1,
		`{"fleet":"green"}`:                          0,
		`{"fleet":"red","states":["moving"]}`:        1,
		`{"states":["silent"],"fleet":"","text":""}`: 0,
		`{}`: 3,
	} {
		v.ask(`{"objects":` + request + `}`)
		v.until("dots", func(f liveFrame) bool { return len(f.dots.dots) == want })
	}
	v.ask(`{"objects":{"states":["moving"]}}`)
	v.until("dots", func(f liveFrame) bool { return len(f.dots.dots) == 1 })
	v.ask(`{"cursor":"run1-0"}`)
	tw.expect(tw.post("/v1/positions", fmt.Sprintf(`{"id":"bus-2","fleet":"blue","lon":-1.25,"lat":5.5,"t":%d,"speed":0}`, tw.begun+1000)), 200, "")
	v.until("events", func(f liveFrame) bool {
		return len(f.Events) > 0 && len(f.States) == len(f.Events) && f.States[0] == int(track.Dwelling)
	})
	v.ask(`{"objects":{"states":["asleep"]}}`)
	if status, reason := v.closed(); status != websocket.StatusInvalidFramePayloadData || !strings.HasPrefix(reason, `objects.states: "asleep"`) {
		t.Errorf("closed with %d %q", status, reason)
	}
}

// A key that may not read objects learns their states by no filter either.
func TestLiveStatesNeedAKeyForObjects(t *testing.T) {
	ring, err := keyring.Open(nil)
	must(t, err)
	defer ring.Close()
	must(t, ring.Add(keyring.Key{Name: "reader", SHA256: keyring.DigestOf("secret"), Verbs: []string{"events:read"}}))
	tw := newTown(t, options{config: func(c *Config) { c.Keys = ring }})
	v := tw.live("Authorization", "Bearer secret")
	v.frame()
	v.ask(`{"cursor":"run1-0","objects":{"states":["moving"]}}`)
	tw.swing("v", 1)
	if f := v.until("events", nil); len(f.Events) == 0 || f.States != nil {
		t.Errorf("the states of objects are %v", f.States)
	}
}

// More objects than a screen can show are sent as numbers in cells, to a client that can show them.
func TestLiveCells(t *testing.T) {
	const n = 5_001
	tw := newTown(t, options{})
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":\"v%d\",\"lon\":%g,\"lat\":1}\n", i, 1+float64(i%10)/1000)
	}
	tw.expect(tw.send(request{method: http.MethodPost, path: "/v1/positions", body: b.String(), headers: []string{"Content-Type", "application/x-ndjson"}}), 200, "")
	v := tw.live()
	v.until("dots", func(f liveFrame) bool { return len(f.dots.dots) == n }) // a client without cells
	v.ask(`{"cell":10,"single":{"fleet":"default","id":"v7"}}`)
	f := v.until("cells", nil).dots
	total := 0
	for _, c := range f.cells {
		total += c.objects
	}
	if total != n || len(f.cells) > 4 || len(f.dots) != 1 || f.dots[0].lon != 1.007 {
		t.Errorf("%d objects in %d cells, and %v", total, len(f.cells), f.dots)
	}
	v.ask(`{"objects":{"text":"v123"}}`) // few enough again
	v.until("dots", func(f liveFrame) bool { return len(f.dots.dots) == 11 })
}

func TestLateInTheLastMinute(t *testing.T) {
	var m lastMinute
	begun := time.UnixMilli(0)
	for i, want := range []uint64{0, 3, 6, 9} { // 3 a second
		if got := m.add(begun.Add(time.Duration(i)*time.Second), uint64(100+3*i)); got != want {
			t.Errorf("after %d s: %d, want %d", i, got, want)
		}
	}
	if got := m.add(begun.Add(62*time.Second), 109); got != 3 {
		t.Errorf("%d of the last minute", got)
	}
	if got := m.add(begun.Add(time.Hour), 109); got != 0 {
		t.Errorf("%d after an hour", got)
	}
}
