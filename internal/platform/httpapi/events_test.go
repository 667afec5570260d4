package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/keyring"
)

// cloudEvent is an event as a subscriber reads it.
type cloudEvent struct {
	Type string
	ID   string
	Data struct {
		Set    string
		Fence  struct{ ID string }
		Object struct{ ID, Fleet string }
		Reason string
		Seq    int
	}
	From, To string
	Count    int
}

func (e cloudEvent) String() string {
	return fmt.Sprintf("%s %s %s/%s", e.ID, strings.TrimPrefix(e.Type, "paddock.fence."), e.Data.Set, e.Data.Fence.ID)
}

// settle waits until every shard has seen the present fences and has published the resulting
// events: the second question is answered after that.
func (tw *town) settle() {
	for range 2 {
		tw.api.cfg.Pipeline.Objects(ingest.Query{Limit: 1})
	}
}

// past returns the kept events.
func (tw *town) past(query string) (all []cloudEvent) {
	tw.Helper()
	r := tw.get("/v1/events?wait=0" + query)
	for line := range strings.Lines(string(r.body)) {
		var e cloudEvent
		must(tw.TB, json.Unmarshal([]byte(line), &e))
		all = append(all, e)
	}
	return all
}

// swing moves an object into a and out of it, n times: two events each.
func (tw *town) swing(id string, n int) {
	tw.Helper()
	var lines strings.Builder
	for i := range 2*n + 1 {
		fmt.Fprintf(&lines, `{"id":%q,"lon":%v,"lat":5,"t":%d}`+"\n", id, -2+4*float64(i%2), int64(tw.begun)+int64(i)*100)
	}
	r := tw.post("/v1/positions", lines.String())
	tw.expect(r, 200, fmt.Sprintf(`{"accepted":%d,"late":0,"rejected":[]}`, 2*n+1))
}

// subscription is an open stream of events.
type subscription struct {
	*town
	response *http.Response
	lines    *bufio.Scanner
	cancel   context.CancelFunc
}

func (tw *town) subscribe(path string, headers ...string) *subscription {
	tw.Helper()
	ctx, cancel := context.WithTimeout(tw.Context(), patience)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, tw.url+path, nil)
	must(tw.TB, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := tw.client.Do(r)
	must(tw.TB, err)
	if resp.StatusCode != http.StatusOK {
		tw.Errorf("%s: %s", path, resp.Status)
	}
	s := &subscription{tw, resp, bufio.NewScanner(resp.Body), cancel}
	tw.Cleanup(s.end)
	return s
}

func (s *subscription) end() {
	s.cancel()
	s.response.Body.Close()
}

func (s *subscription) line() string {
	s.Helper()
	if !s.lines.Scan() {
		s.Fatalf("the stream ended: %v", s.lines.Err())
	}
	return s.lines.Text()
}

// message is one server-sent event.
type message struct {
	id, event string
	data      cloudEvent
}

// next reads a message, byte for byte in the documented form.
func (s *subscription) next() (m message) {
	s.Helper()
	var data string
	for _, field := range []struct {
		name string
		to   *string
	}{{"id: ", &m.id}, {"event: ", &m.event}, {"data: ", &data}} {
		text, ok := strings.CutPrefix(s.line(), field.name)
		if !ok {
			s.Fatalf("expected %q, got %q", field.name, text)
		}
		*field.to = text
	}
	if end := s.line(); end != "" {
		s.Fatalf("behind the message: %q", end)
	}
	must(s.TB, json.Unmarshal([]byte(data), &m.data))
	schema := "FenceEvent"
	if m.event == "gap" {
		schema = "EventGap"
	}
	if err := described().check(pointer("components", "schemas", schema), []byte(data)); err != nil {
		s.Errorf("%v: %s", err, data)
	}
	return m
}

func TestServerSentEvents(t *testing.T) {
	tw := newTown(t, options{})
	all, exits := tw.subscribe("/v1/events"), tw.subscribe("/v1/events?event=exit&object=v&set=squares&fence=a&fleet=default")
	if ct := all.response.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("Content-Type %q", ct)
	}
	tw.swing("v", 2)
	tw.swing("w", 1)
	for i, want := range []string{"v/1 enter squares/a", "v/2 exit squares/a", "v/3 enter squares/a", "v/4 exit squares/a", "w/1 enter squares/a", "w/2 exit squares/a"} {
		m := all.next()
		if m.data.String() != want || m.id != fmt.Sprintf("run1-%d", i+1) || m.event != strings.Fields(want)[1] {
			t.Errorf("got %+v, want %s", m, want)
		}
	}
	for _, want := range []string{"v/2 exit squares/a", "v/4 exit squares/a"} {
		if m := exits.next(); m.data.String() != want {
			t.Errorf("got %v, want %s", m.data, want)
		}
	}
}

// A subscriber that resumes at its cursor misses no event.
func TestResume(t *testing.T) {
	tw := newTown(t, options{})
	first := tw.subscribe("/v1/events")
	tw.swing("v", 3)
	first.next()
	seen := first.next().id
	first.end()
	for name, s := range map[string]*subscription{
		"header":        tw.subscribe("/v1/events", "Last-Event-ID", seen),
		"cursor":        tw.subscribe("/v1/events?cursor=" + seen),
		"header wins":   tw.subscribe("/v1/events?cursor=run1-5", "Last-Event-ID", seen),
		"from the past": tw.subscribe("/v1/events?format=sse&wait=0&cursor=" + seen),
	} {
		for seq := 3; seq <= 6; seq++ {
			if m := s.next(); m.data.Data.Seq != seq {
				t.Errorf("%s: got %v, want seq %d", name, m.data, seq)
			}
		}
	}
}

func TestCursorsThatAreGone(t *testing.T) {
	tw := newTown(t, options{records: 4})
	tw.swing("v", 5) // 10 events, of which 7 to 10 are kept
	const gone = "cursor: the events after it are no longer kept; begin at oldest, or without a cursor"
	for _, r := range []reply{
		tw.get("/v1/events?cursor=run1-5"), tw.get("/v1/events", "Last-Event-ID", "run1-0"), tw.get("/v1/events?cursor=run0-9"),
	} {
		tw.problem(r, 410, gone)
		oldest := decode[Problem](tw, r).Oldest
		if oldest != "run1-6" {
			t.Errorf("oldest %q", oldest)
		}
		if m := tw.subscribe("/v1/events?cursor=" + oldest).next(); m.data.Data.Seq != 7 {
			t.Errorf("got %v", m.data)
		}
	}
	tw.problem(tw.get("/v1/events?cursor=nonsense"), 400, `cursor: "nonsense": not a cursor`)
}

func TestNDJSON(t *testing.T) {
	tw := newTown(t, options{})
	s := tw.subscribe("/v1/events", "Accept", "application/x-ndjson")
	if ct := s.response.Header.Get("Content-Type"); ct != "application/x-ndjson" {
		t.Errorf("Content-Type %q", ct)
	}
	tw.swing("v", 1)
	for _, want := range []string{"v/1 enter squares/a", "v/2 exit squares/a"} {
		var e cloudEvent
		must(t, json.Unmarshal([]byte(s.line()), &e))
		if e.String() != want {
			t.Errorf("got %v", e)
		}
	}
}

func TestPastEvents(t *testing.T) {
	tw := newTown(t, options{records: 6})
	if got := tw.past(""); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	tw.swing("v", 4) // 8 events, of which 3 to 8 are kept
	pages, cursor := "", ""
	for range 4 { // pages of two, joined by the header
		path := "/v1/events?wait=0&limit=2"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		r := tw.get(path)
		cursor = r.header.Get("Paddock-Cursor")
		for line := range strings.Lines(string(r.body)) {
			var e cloudEvent
			must(t, json.Unmarshal([]byte(line), &e))
			pages += fmt.Sprint(e.Data.Seq)
		}
		pages += "|"
	}
	if pages != "34|56|78||" || cursor != "run1-8" {
		t.Errorf("pages %s, cursor %s", pages, cursor)
	}
	if got := tw.past("&event=enter"); len(got) != 3 {
		t.Errorf("got %v", got)
	}
	for query, want := range map[string]string{
		"&last=1": "[v/8 exit squares/a]", "&last=2&event=enter": "[v/5 enter squares/a v/7 enter squares/a]",
	} {
		if got := fmt.Sprint(tw.past(query)); got != want {
			t.Errorf("%s: got %s", query, got)
		}
	}
	if got := tw.past("&last=100"); len(got) != 6 {
		t.Errorf("got %v", got)
	}
	for query, detail := range map[string]string{
		"limit=5":               "query: limit needs wait=0: a stream has no end",
		"wait=0&limit=0":        `query: limit "0" is not a number from 1 to 10000`,
		"wait=0&limit=many":     `query: limit "many" is not a number from 1 to 10000`,
		"wait=no":               `query: wait "no": use 0 or 1`,
		"last=0":                `query: last "0" is not a number from 1 to 10000`,
		"last=3&cursor=run1-8":  "query: cursor, from and last each say where to begin: give one of them",
		"format=xml":            `query: format "xml": use sse, ndjson or tile38`,
		"objects=v":             `query: unknown parameter "objects": use set, fence, event, fleet, object, cursor, from, last, format, limit, wait`,
		"object=v&object=w":     `query: parameter "object" given 2 times`,
		"event=leave&cursor=xx": "",
	} {
		r := tw.get("/v1/events?" + query)
		if detail == "" { // package track has the text
			if detail = decode[Problem](tw, r).Detail; !strings.HasPrefix(detail, "query: event: ") {
				t.Errorf("detail %q", detail)
			}
		}
		tw.problem(r, 400, detail)
	}
}

// A search among many events of which none matches ends with the request.
func TestPastEndsWithItsRequest(t *testing.T) {
	tw := newTown(t, options{})
	tw.swing("v", 2000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	looked := 0
	reader := tw.log.ReaderOf(0, func(*events.Record) bool {
		looked++
		cancel()
		return false
	})
	s := &eventStream{api: tw.api, log: tw.log, w: httptest.NewRecorder()}
	if err := s.past(ctx, reader, maxEvents); !errors.Is(err, context.Canceled) || looked > int(tw.log.Latest())/2 {
		t.Errorf("%v, after %d of %d events", err, looked, tw.log.Latest())
	}
}

// HEAD returns the head of GET, and does not follow.
func TestHeadOfTheStream(t *testing.T) {
	tw := newTown(t, options{})
	tw.expect(tw.send(request{method: http.MethodHead, path: "/v1/events"}), 200, "")
}

// A slow subscriber receives the number of missed events and continues.
func TestGapInTheStream(t *testing.T) {
	tw := newTown(t, options{records: 5, config: func(c *Config) { c.WriteTimeout = patience }})
	s := tw.subscribe("/v1/events?cursor=run1-0&object=v")
	// The stream waits in its reader. The reader cannot run between two events of one batch, so it
	// finds only the last five.
	tw.swing("v", 30)
	seen, missed, last := 0, 0, 0
	for last < 60 {
		m := s.next()
		if m.event == "gap" {
			if m.data.Type != "paddock.gap" || m.id != m.data.To {
				t.Errorf("got %+v", m)
			}
			missed += m.data.Count
			continue
		}
		if m.data.Data.Seq <= last {
			t.Errorf("%d after %d", m.data.Data.Seq, last)
		}
		last = m.data.Data.Seq
		seen++
	}
	if seen+missed != 60 || missed < 55 {
		t.Errorf("saw %d, was told of %d missed", seen, missed)
	}
}

func TestHeartbeats(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.Heartbeat = time.Millisecond }})
	s := tw.subscribe("/v1/events")
	for _, want := range []string{"id: run1-0", ":", ":"} {
		if a, b := s.line(), s.line(); a != want || b != "" {
			t.Errorf("got %q, %q", a, b)
		}
	}
	s = tw.subscribe("/v1/events?format=ndjson")
	for range 3 {
		if a := s.line(); a != "" {
			t.Errorf("got %q", a)
		}
	}
}

// A stream whose filter selects nothing goes on with the log: a browser that loses its connection
// then begins where it was, and has missed nothing.
func TestHeartbeatsHaveTheCursor(t *testing.T) {
	tw := newTown(t, options{records: 4, config: func(c *Config) { c.Heartbeat = 10 * time.Millisecond }})
	s := tw.subscribe("/v1/events?object=none")
	tw.swing("v", 5)                // 10 events, of which 7 to 10 are kept
	for s.line() != "id: run1-10" { // before it there may be a gap
	}
	if line := s.line(); line != "" {
		t.Errorf("the cursor is part of an event: %q", line)
	}
	s.end()
	again := tw.subscribe("/v1/events?object=w", "Last-Event-ID", "run1-10")
	tw.swing("w", 1)
	seen := map[string]int{}
	for line := ""; line != ":" || seen["id: run1-12"] == 0; seen[line]++ { // to a heartbeat behind both events
		line = again.line()
	}
	if seen["id: run1-11"] != 1 || seen["id: run1-12"] != 1 || seen["event: exit"] != 1 {
		t.Errorf("got %v", seen)
	}
}

// A key that asks for a set or a fleet that it is not for is told so.
func TestEventsThatAKeyIsNotFor(t *testing.T) {
	ring, err := keyring.Open(nil)
	must(t, err)
	t.Cleanup(ring.Close)
	must(t, ring.Add(keyring.Key{Name: "one", SHA256: keyring.DigestOf("secret"), Verbs: []string{"events:read", "rules:write"}, Fleets: []string{"taxis"}, Sets: []string{"squares"}}))
	tw := newTown(t, options{config: func(c *Config) { c.Keys, c.KeyRequired = ring, true }})
	for path, detail := range map[string]string{
		"/v1/events?fleet=buses":                    `the key "one" is not for the fleet "buses"`,
		"/v1/events?wait=0&fleet=buses&set=squares": `the key "one" is not for the fleet "buses"`,
		"/v1/events?set=far":                        `the key "one" is not for the set "far"`,
		"/v1/rules?set=far":                         `the key "one" is not for the set "far"`,
		"/v1/events?wait=0&fleet=taxis&set=squares": "",
		"/v1/events?wait=0":                         "",
		"/v1/rules?set=squares":                     "",
		"/v1/rules?set=":                            "",
	} {
		r := tw.get(path, "Authorization", "Bearer secret")
		if detail == "" {
			tw.expect(r, 200, "")
			continue
		}
		tw.problem(r, 403, detail)
	}
}

// The server's bound on the duration of an answer does not end a stream.
func TestStreamsOutliveTheTimeOfAnAnswer(t *testing.T) {
	tw := newTown(t, options{
		config: func(c *Config) { c.Heartbeat = 10 * time.Millisecond; c.BodyTimeout = 10 * time.Millisecond },
		server: func(s *http.Server) { s.WriteTimeout = 20 * time.Millisecond },
	})
	s := tw.subscribe("/v1/events?format=ndjson")
	for range 10 { // heartbeats, for longer than both
		s.line()
	}
	tw.client.CloseIdleConnections()
	tw.swing("v", 1)
	for line := ""; line == ""; {
		line = s.line()
	}
}

// A drain ends streams after their last event, in order and without an error.
func TestStreamsEndWithTheLog(t *testing.T) {
	tw := newTown(t, options{})
	s := tw.subscribe("/v1/events?format=ndjson")
	tw.swing("v", 2)
	tw.api.Drain()
	ready := tw.get("/readyz")
	tw.expect(ready, 503, `{"status":"draining"}`)
	tw.expect(tw.get("/healthz"), 200, `{"status":"ok"}`)
	tw.log.End()
	n := 0
	for s.lines.Scan() {
		n++
	}
	if n != 4 || s.lines.Err() != nil {
		t.Errorf("%d events, %v", n, s.lines.Err())
	}
	if _, err := io.ReadAll(s.response.Body); err != nil {
		t.Error(err)
	}
}

// Events come as Tile38's notifications in both forms of a stream.
func TestEventsAsTile38(t *testing.T) {
	tw := newTown(t, options{})
	sub := tw.subscribe("/v1/events?format=tile38&fence=a")
	tw.move("v", 0, 50, 50)
	tw.move("v", 1, 7, 5)
	const want = `"detect":"enter","meta":{"fence":"a","fleet":"default"},"key":"squares",`
	line := ""
	for sub.lines.Scan() {
		if line = sub.lines.Text(); strings.HasPrefix(line, "data: ") {
			break
		}
	}
	sub.cancel()
	if !strings.HasPrefix(line, `data: {"command":"set","group":"v/`) || !strings.Contains(line, want) {
		t.Error(line)
	}
	r := tw.get("/v1/events?format=tile38&wait=0&event=enter&fence=a")
	if got := string(r.body); r.header.Get("Content-Type") != "application/x-ndjson" || strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
		t.Errorf("%s %s", r.header.Get("Content-Type"), got)
	}
	if r = tw.get("/v1/events?format=tile38&wait=0", "Accept", "text/event-stream"); !strings.HasPrefix(string(r.body), "id: ") {
		t.Errorf("%s", r.body)
	}
}
