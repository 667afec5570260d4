package hostile

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/wire"
)

// healthy is a well-behaved user of the platform during the attack: an object that goes in and out
// of a fence, look-ups, and subscribers to its events. Every request must succeed and every event
// must arrive, once and in order.
type healthy struct {
	target *target
	client *http.Client
	cancel context.CancelFunc
	ctx    context.Context
	stop   chan struct{}

	using, reading sync.WaitGroup
	begun          chan struct{} // closed after the first event has arrived on all

	mu       sync.Mutex
	failures []string
	moves    int // acknowledged

	bySSE, byBus, byWire chan string // ids of events, as received
	nats                 *nats.Conn
	wire                 *wire.Conn
}

func (tg *target) healthy(t *testing.T) *healthy {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &healthy{
		target: tg, client: &http.Client{Transport: &http.Transport{}, Timeout: 0}, ctx: ctx, cancel: cancel,
		stop: make(chan struct{}), begun: make(chan struct{}),
		bySSE: make(chan string, 1<<16), byBus: make(chan string, 1<<16), byWire: make(chan string, 1<<16),
	}
	nc, err := nats.Connect("nats://"+tg.BusAddr().String(), nats.NoReconnect())
	must(t, err)
	h.nats = nc
	t.Cleanup(func() { // also of a test that has failed
		cancel()
		nc.Close()
	})
	_, err = nc.Subscribe("fence.squares.a.*.default.healthy", func(m *nats.Msg) { h.byBus <- eventID(m.Data) })
	must(t, err)
	must(t, nc.Flush())
	stream, err := h.call(http.MethodGet, "v1/events?object=healthy", "")
	must(t, err)
	h.reading.Go(func() { h.read(stream) })
	h.wire, err = wire.Dial(ctx, "tcp", tg.WireAddr().String(), nil)
	must(t, err)
	t.Cleanup(func() { _ = h.wire.Close() })
	follow, err := h.wire.Open(ctx, wireapi.KindEvents, wire.OpenOptions{First: []byte(`{"object":"healthy"}`)})
	must(t, err)
	_, err = follow.ReadMsg(nil) // a cursor: the stream follows from here on
	must(t, err)
	h.reading.Go(func() { h.readWire(follow) })
	h.using.Go(h.use)
	return h
}

func eventID(event []byte) string {
	var e struct{ ID string }
	_ = json.Unmarshal(event, &e) // an id of "" is not the expected one
	return e.ID
}

func (h *healthy) call(method, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(h.ctx, method, h.target.URL()+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return h.client.Do(r)
}

// read receives the events of the stream until it is cancelled.
func (h *healthy) read(stream *http.Response) {
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			h.bySSE <- eventID([]byte(data))
		}
	}
}

// readWire receives the events of the stream until its connection ends.
func (h *healthy) readWire(stream *wire.Stream) {
	for {
		m, err := stream.ReadMsg(nil)
		if err != nil {
			return
		}
		if id := eventID(m); id != "" { // else it is a cursor
			h.byWire <- id
		}
	}
}

// look sends by wire a look-up of 5, 5 and a position of another object.
func (h *healthy) look(n int) {
	answer, err := h.wire.Call(h.ctx, wireapi.KindSearch, []byte(`[5,5]`))
	if want := `{"fences":[{"set":"squares","id":"a","properties":{}}]}` + "\n"; err != nil || string(answer) != want {
		h.fail("fence.search: %v: %s", err, answer)
	}
	body, err := position.Append(nil, &position.Position{ID: "by wire", Time: 1_700_000_000_000 + int64(n), Lon: 1, Lat: 1})
	var number uint64
	if err == nil {
		number, err = h.wire.PostAck(h.ctx, wireapi.KindUpdate, body)
	}
	if err == nil {
		err = h.wire.WaitAcked(h.ctx, number)
	}
	if err != nil {
		h.fail("pos.update: %v", err)
	}
}

// use moves the object and looks up its place until the attack ends.
func (h *healthy) use() {
	first := time.Now().UnixMilli() - 3_600_000
	for n := 0; ; n++ {
		select {
		case <-h.stop:
			return
		case <-h.ctx.Done():
			return
		default:
		}
		lon := -1 + 2*(n%2)
		h.ask(http.MethodPost, "v1/positions", fmt.Sprintf(`{"id":"healthy","lon":%d,"lat":5,"t":%d}`, lon, first+int64(n)),
			`{"accepted":1,"late":0,"rejected":[]}`)
		h.mu.Lock()
		h.moves = n
		h.mu.Unlock()
		if n == 1 {
			close(h.begun)
		}
		h.look(n)
		h.ask(http.MethodPost, "v1/search", `[5,5]`, `{"fences":[{"set":"squares","id":"a","properties":{}}]}`)
		h.ask(http.MethodGet, "v1/search?lon=-5&lat=5", "", `{"fences":[]}`)
		h.ask(http.MethodGet, "fence/squares/search?lon=-5&lat=5", "",
			`{"query":{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":[-5,5]}},"fences":[]}`)
		h.ask(http.MethodGet, "healthz", "", `{"status":"ok"}`)
	}
}

func (h *healthy) ask(method, path, body, want string) {
	resp, err := h.call(method, path, body)
	if err != nil {
		h.fail("%s %s: %v", method, path, err)
		return
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || strings.TrimSpace(string(got)) != want {
		h.fail("%s %s: %s, %v: %s", method, path, resp.Status, err, got)
	}
}

func (h *healthy) fail(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures = append(h.failures, fmt.Sprintf(format, args...))
}

func (h *healthy) awaitStart(t *testing.T) {
	t.Helper()
	select {
	case <-h.begun:
	case <-time.After(patience):
		t.Fatal("not even the first move is taken")
	}
}

// finish checks the results.
func (h *healthy) finish(t *testing.T) {
	t.Helper()
	close(h.stop)
	h.using.Wait()
	for name, events := range map[string]chan string{"SSE": h.bySSE, "NATS": h.byBus, "wire": h.byWire} {
		h.expect(t, name, events)
	}
	h.cancel()
	if err := h.wire.Close(); err != nil {
		t.Error(err)
	}
	h.reading.Wait()
	h.nats.Close()
	h.client.CloseIdleConnections()
	for _, f := range h.failures[:min(len(h.failures), 10)] {
		t.Error(f)
	}
	if h.moves < 10 {
		t.Errorf("only %d moves", h.moves)
	}
	t.Logf("%d moves meanwhile", h.moves)
}

// expect reads one event for each move except the first, in order.
func (h *healthy) expect(t *testing.T, name string, events chan string) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for n := 1; ; n++ {
		h.mu.Lock()
		moves := h.moves
		h.mu.Unlock()
		if n > moves {
			return
		}
		select {
		case id := <-events:
			if want := fmt.Sprintf("healthy/%d", n); id != want {
				t.Fatalf("%s: event %q, want %s", name, id, want)
			}
		case <-timeout.C:
			t.Fatalf("%s: event %d of %d never came", name, n, moves)
		}
	}
}
