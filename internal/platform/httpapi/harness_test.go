package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/views"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is far longer than any step of these tests takes, so that it only ends a test that would
// hang.
const patience = 20 * time.Second

// logOnly publishes only to the log: the bus has its own tests.
type logOnly struct{ log *events.Log }

func (p logOnly) Publish(records []events.Record) { p.log.Append(records) }

// town is the API over a real server, with two sets:
//
//	squares: a [0,10]x[0,10], b [5,15]x[0,10], which overlap
//	far:     c [100,110]x[40,50]
type town struct {
	testing.TB
	api     *API
	log     *events.Log
	catalog *fence.Catalog
	url     string
	client  *http.Client
	begun   track.Millis
	stop    func()
}

// options change a town before it is created.
type options struct {
	config       func(*Config)
	server       func(*http.Server)
	records      int   // of the log; 0: 10,000
	logBytes     int64 // 0: 64 MiB
	track        track.Options
	emptyCatalog bool
}

func square(key string, w, s, e, n float64) fence.Fence {
	return fence.Fence{
		Key: key, ID: json.RawMessage(fmt.Sprintf("%q", key)), Properties: json.RawMessage(`{"name":"` + key + `"}`),
		Geometry: geometry.MultiPolygon{{{{Lon: w, Lat: s}, {Lon: e, Lat: s}, {Lon: e, Lat: n}, {Lon: w, Lat: n}}}},
	}
}

func newTown(t testing.TB, o options) *town {
	t.Helper()
	catalog := &fence.Catalog{}
	if !o.emptyCatalog {
		for name, fences := range map[string][]fence.Fence{
			"squares": {square("a", 0, 0, 10, 10), square("b", 5, 0, 15, 10)},
			"far":     {square("c", 100, 40, 110, 50)},
		} {
			set, err := fence.NewSet(name, fence.Options{})
			must(t, err)
			_, err = set.Replace(&geojson.Collection{Fences: fences})
			must(t, err)
			must(t, catalog.Add(set))
		}
	}
	if o.records == 0 {
		o.records = 10_000
	}
	if o.logBytes == 0 {
		o.logBytes = 64 << 20
	}
	log := events.NewLog(o.records, o.logBytes, "run1")
	book := rulebook.New(track.Policy{})
	pipeline := ingest.New(ingest.Config{
		Workers: 3, Fences: views.New(catalog, book), Publisher: logOnly{log}, Track: o.track,
	})
	cfg := Config{Catalog: catalog, Book: book, Pipeline: pipeline, Log: log, MaxAhead: 60_000, Version: "v0.0-test", Doors: &doors.Doors{}}
	if o.config != nil {
		o.config(&cfg)
	}
	api := New(cfg)
	cold := NewFallback(api, slog.New(slog.DiscardHandler))
	if o.server != nil {
		o.server(cold)
	}
	server := api.before(cold, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	tw := &town{
		TB: t, api: api, log: log, catalog: catalog, url: "http://" + ln.Addr().String(),
		client: &http.Client{Transport: &http.Transport{}}, begun: track.MillisOf(time.Now()) - 3_600_000,
	}
	tw.stop = sync.OnceFunc(func() {
		pipeline.Close(context.Background())
		log.End()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		tw.client.CloseIdleConnections()
		api.Close(ctx)
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		<-served
	})
	t.Cleanup(tw.stop)
	return tw
}

// addSquares adds a set of so many equal fences, [0,10]x[0,10].
func (tw *town) addSquares(n int) {
	tw.Helper()
	var all []fence.Fence
	for i := range n {
		all = append(all, square(fmt.Sprint("f", i), 0, 0, 10, 10))
	}
	set, err := fence.NewSet("many", fence.Options{})
	must(tw, err)
	_, err = set.Replace(&geojson.Collection{Fences: all})
	must(tw, err)
	must(tw, tw.catalog.Add(set))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reply is an answer that has been read.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// request describes a request to a town; headers come in pairs.
type request struct {
	method, path, body string
	headers            []string
	host               string
}

func (tw *town) send(q request) reply {
	tw.Helper()
	ctx, cancel := context.WithTimeout(tw.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, q.method, tw.url+q.path, strings.NewReader(q.body))
	must(tw.TB, err)
	for i := 0; i < len(q.headers); i += 2 {
		r.Header.Set(q.headers[i], q.headers[i+1])
	}
	r.Host = q.host
	resp, err := tw.client.Do(r)
	must(tw.TB, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(tw.TB, err)
	answer := reply{resp.StatusCode, resp.Header, body}
	tw.conforms(q, answer)
	return answer
}

func (tw *town) get(path string, headers ...string) reply {
	tw.Helper()
	return tw.send(request{method: http.MethodGet, path: path, headers: headers})
}

func (tw *town) post(path, body string, headers ...string) reply {
	tw.Helper()
	return tw.send(request{method: http.MethodPost, path: path, body: body, headers: headers})
}

// move reports an object's place, n seconds after the first.
func (tw *town) move(id string, n int, lon, lat float64) {
	tw.Helper()
	r := tw.post("/v1/positions", fmt.Sprintf(`{"id":%q,"lon":%v,"lat":%v,"t":%d}`, id, lon, lat, tw.begun+track.Millis(n)*1000))
	tw.expect(r, 200, `{"accepted":1,"late":0,"rejected":[]}`)
}

// expect compares status and body; a body of "" is not compared.
func (tw *town) expect(r reply, status int, body string) {
	tw.Helper()
	if r.status != status {
		tw.Errorf("status %d, want %d: %.500s", r.status, status, r.body)
	}
	if got := string(bytes.TrimSpace(r.body)); body != "" && got != body {
		tw.Errorf("got  %.2000s\nwant %.2000s", got, body)
	}
}

// problem expects application/problem+json with this status and detail.
func (tw *town) problem(r reply, status int, detail string) {
	tw.Helper()
	var p Problem
	if err := json.Unmarshal(r.body, &p); err != nil {
		tw.Errorf("status %d, no problem: %v: %s", r.status, err, r.body)
		return
	}
	want := Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Oldest: p.Oldest, Findings: p.Findings}
	if r.status != status || !reflect.DeepEqual(p, want) {
		tw.Errorf("status %d\ngot  %+v\nwant %+v", r.status, p, want)
	}
	if ct := r.header.Get("Content-Type"); ct != "application/problem+json" {
		tw.Errorf("Content-Type %q", ct)
	}
}

func decode[T any](tw *town, r reply) (v T) {
	tw.Helper()
	if err := json.Unmarshal(r.body, &v); err != nil {
		tw.Fatalf("status %d: %v: %s", r.status, err, r.body)
	}
	return v
}
