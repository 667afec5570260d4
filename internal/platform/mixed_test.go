package platform_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nats-io/nats.go"

	"paddock/internal/platform/wireapi"
	"paddock/internal/process/config"
	"paddock/wire"
)

// mixedTime is the default duration of TestMixedLoad; PADDOCK_MIXED overrides it.
const mixedTime = 2 * time.Second

// TestMixedLoad sends positions by all doors while fences are edited, files are reloaded, objects
// are removed, points are looked up, and clients read slowly or not at all. Each subscriber
// receives the events of each object in order, with none missing.
func TestMixedLoad(t *testing.T) {
	last := mixedTime
	if text := os.Getenv("PADDOCK_MIXED"); text != "" {
		var err error
		if last, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	m := newMixed(t)
	streams := m.follow()
	begun, stop := time.Now(), make(chan struct{})
	var clients sync.WaitGroup
	every := func(pause time.Duration, do func(n int)) {
		clients.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-tick.C:
					do(n)
				}
			}
		})
	}
	every(10*time.Millisecond, func(n int) { m.post(n, "http", 20) })
	every(10*time.Millisecond, func(n int) { m.request(n, "bus") })
	every(10*time.Millisecond, func(n int) { m.publish(n, "mute") })
	every(5*time.Millisecond, func(n int) { m.byWire(n, "wire") })
	every(20*time.Millisecond, m.edit)
	every(100*time.Millisecond, m.reload)
	every(30*time.Millisecond, m.remove)
	every(5*time.Millisecond, m.lookUp)
	every(time.Second, func(int) { m.ignore() })
	every(time.Second, func(int) { m.gaze() })
	<-time.After(last)
	close(stop)
	clients.Wait()
	m.r.signal()
	m.r.awaitEnd()
	var totals []int
	for name, s := range streams {
		<-s.ended
		for _, fault := range s.faults {
			t.Errorf("%s: %s", name, fault)
		}
		totals = append(totals, s.events)
		if s.events == 0 || s.events != totals[0] {
			t.Errorf("%s: %d events, another one has %d", name, s.events, totals[0])
		}
	}
	t.Logf("%v: %d positions were accepted, and %d events came by each of %d streams", time.Since(begun).Round(time.Second), m.accepted(), totals[0], len(streams))
}

// mixed is the platform under mixed load, with the clients that send.
type mixed struct {
	t    *testing.T
	r    *running
	dir  string
	nc   *nats.Conn
	wire *wire.Conn

	mu   sync.Mutex
	sent int // positions that were accepted
}

func newMixed(t *testing.T) *mixed {
	cfg := config.Default()
	cfg.Track.Initial, cfg.Sets.Dir = "enter", t.TempDir()
	cfg.Bus.WriteDeadline = time.Second // a client that does not read is closed soon
	m := &mixed{t: t, dir: cfg.Sets.Dir}
	m.write("left", 0)
	m.write("right", 0)
	m.r = start(t, cfg, nil)
	m.nc, m.wire = m.r.dial(func() {}), m.r.wireConn()
	return m
}

func (m *mixed) write(set string, version int) {
	writeOver(m.t, filepath.Join(m.dir, set+".json"), squareOf("f", version))
}

func (m *mixed) note(accepted int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent += accepted
}

func (m *mixed) accepted() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sent
}

func (m *mixed) took(what string, a accounts, err error, want int) {
	if err != nil || a.Accepted != want || a.Error != "" {
		m.t.Errorf("%s: %d of %d accepted, %+v, %v", what, a.Accepted, want, a, err)
	}
	m.note(a.Accepted)
}

// post sends positions of many objects in one body.
func (m *mixed) post(n int, name string, objects int) {
	var bodies []string
	for i := range objects {
		body, _ := hop(fmt.Sprint(name, i), n)
		bodies = append(bodies, body)
	}
	a, err := m.r.byHTTP(strings.Join(bodies, "\n"))
	m.took("http", a, err, objects)
}

func (m *mixed) request(n int, name string) {
	body, _ := hop(name, n)
	a, err := m.r.byBus(m.nc, name)(body)
	m.took("bus", a, err, 1)
}

func (m *mixed) publish(n int, name string) {
	body, _ := hop(name, n)
	if err := m.nc.Publish("pos.default."+name, []byte(body)); err != nil {
		m.t.Error(err)
	}
}

func (m *mixed) byWire(n int, name string) {
	body := wireBody(m.t, "", name, place{lon: 0.5 + float64(n%2), lat: 0.5}, shuttleTime+1000*int64(n), n%3 == 0)
	number, err := m.wire.PostAck(m.t.Context(), wireapi.KindUpdate, body)
	if err == nil && n%16 == 0 {
		err = m.wire.WaitAcked(m.t.Context(), number)
	}
	if err != nil {
		m.t.Errorf("wire: %v", err)
	}
	m.note(1)
}

// edit changes sets and fences that have no files.
func (m *mixed) edit(n int) {
	square := []byte(squareOf("g", n))
	for _, c := range []struct {
		method, path string
		good         []int
	}{
		{http.MethodPut, "v1/sets/edited", []int{200, 201}},
		{http.MethodPut, fmt.Sprintf("v1/sets/edited/fences/%d", n%7), []int{200, 201}},
		{http.MethodDelete, fmt.Sprintf("v1/sets/edited/fences/%d", n%5), []int{204, 404}},
		{http.MethodDelete, "v1/sets/edited", []int{204}},
	}[n%4 : n%4+1] {
		status, answer, err := m.r.call(c.method, c.path, "application/geo+json", square)
		if ok := err == nil && (status == c.good[0] || status == c.good[len(c.good)-1] || status == http.StatusNotFound); !ok {
			m.t.Errorf("%s %s: %d %s, %v", c.method, c.path, status, answer, err)
		}
	}
}

// reload changes a file, and reloads it; one of three times it is broken.
func (m *mixed) reload(n int) {
	if n%3 == 2 {
		writeOver(m.t, filepath.Join(m.dir, "left.json"), "{")
	} else {
		m.write("left", n)
	}
	m.r.reload <- syscall.SIGHUP
}

// remove creates an object and removes it.
func (m *mixed) remove(n int) {
	body, _ := hop("brief", n)
	a, err := m.r.byHTTP(body)
	m.took("http", a, err, 1)
	if status, answer, err := m.r.call(http.MethodDelete, "v1/objects/brief", "", nil); err != nil || status != http.StatusNoContent {
		m.t.Errorf("DELETE: %d %s, %v", status, answer, err)
	}
}

// lookUp looks up a point by all doors.
func (m *mixed) lookUp(n int) {
	const point, part = `{"lon":0.5,"lat":0.5}`, `"id":"f"`
	var answer []byte
	var err error
	switch n % 4 {
	case 0:
		_, answer, err = m.r.call(http.MethodGet, "v1/search?set=right&lon=0.5&lat=0.5", "", nil)
	case 1:
		_, answer, err = m.r.call(http.MethodPost, "v1/search?set=right", "application/json", []byte(point))
	case 2:
		var msg *nats.Msg
		if msg, err = m.nc.Request("paddock.search.right", []byte(point), patience); err == nil {
			answer = msg.Data
		}
	default:
		answer, err = m.wire.Call(m.t.Context(), wireapi.KindSearch, []byte(`{"set":"right","lon":0.5,"lat":0.5}`))
	}
	if err != nil || !strings.Contains(string(answer), part) {
		m.t.Errorf("look-up %d: %s, %v", n%4, answer, err)
	}
}

// ignore subscribes to all events with a client that reads nothing, until it is closed.
func (m *mixed) ignore() {
	conn, err := net.Dial("tcp", m.r.BusAddr().String())
	if err == nil {
		err = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	if err == nil {
		_, err = io.WriteString(conn, "CONNECT {\"verbose\":false}\r\nSUB fence.> 1\r\nSUB pos.> 2\r\n")
	}
	if err != nil {
		m.t.Error(err)
		return
	}
	m.t.Cleanup(func() { conn.Close() })
}

// gaze opens streams of events and a feed of the dashboard, reads a little, and disconnects.
func (m *mixed) gaze() {
	for _, accept := range []string{"text/event-stream", "application/x-ndjson"} {
		req, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, m.r.URL()+"v1/events?last=100", nil)
		if err != nil {
			m.t.Error(err)
			return
		}
		req.Header.Set("Accept", accept)
		res, err := m.r.client.Transport.RoundTrip(req)
		if err != nil {
			m.t.Error(err)
			return
		}
		_, _ = bufio.NewReader(res.Body).ReadString('\n') // the result does not matter
		_ = res.Body.Close()
	}
	feed := m.r.live()
	if err := feed.Write(m.t.Context(), websocket.MessageText, []byte(`{"view":[-1,-1,2,2]}`)); err != nil {
		m.t.Error(err)
	}
	_, _, _ = feed.Read(m.t.Context())
	_ = feed.CloseNow()
}

// judged is a stream of events, of which only the count and the errors are kept.
type judged struct {
	events int
	next   map[string]int
	faults []string
	ended  chan struct{}
}

// judge checks that the events of each object arrive in order.
func (s *judged) judge(text []byte) {
	var e struct {
		Type string
		Data struct {
			Object struct{ ID string }
			Seq    int
		}
	}
	if err := json.Unmarshal(text, &e); err != nil {
		s.fault("%v: %.200s", err, text)
		return
	}
	if !strings.HasPrefix(e.Type, "paddock.fence.") {
		if e.Type != "paddock.cursor" {
			s.fault("a record of type %s: %.200s", e.Type, text)
		}
		return
	}
	s.events++
	id := e.Data.Object.ID
	if want := s.next[id] + 1; e.Data.Seq != want && id != "brief" { // that object is removed and created repeatedly
		s.fault("event %d of %s, want %d", e.Data.Seq, id, want)
	}
	s.next[id] = e.Data.Seq
}

func (s *judged) fault(format string, args ...any) {
	if len(s.faults) < 10 {
		s.faults = append(s.faults, fmt.Sprintf(format, args...))
	}
}

// follow opens a stream of each kind.
func (m *mixed) follow() map[string]*judged {
	streams := map[string]*judged{}
	open := func(name string, read func(s *judged) error) {
		s := &judged{next: map[string]int{}, ended: make(chan struct{})}
		streams[name] = s
		go func() { // ends with the platform
			defer close(s.ended)
			if err := read(s); err != nil && !errors.Is(err, io.EOF) {
				s.fault("%v", err)
			}
		}()
	}
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, m.r.URL()+"v1/events", nil)
	if err != nil {
		m.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/x-ndjson")
	res, err := m.r.client.Transport.RoundTrip(req)
	if err != nil {
		m.t.Fatal(err)
	}
	open("http", func(s *judged) error {
		defer res.Body.Close()
		in := bufio.NewReaderSize(res.Body, 1<<20)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return err
			}
			if len(line) > 1 { // or a heartbeat
				s.judge(line)
			}
		}
	})
	c := m.r.wireConn()
	stream, err := c.Open(m.t.Context(), wireapi.KindEvents, wire.OpenOptions{})
	if err == nil {
		err = stream.WriteMsg([]byte(`{}`))
	}
	if err == nil {
		_, err = stream.ReadMsg(nil) // its first cursor
	}
	if err != nil {
		m.t.Fatal(err)
	}
	open("wire", func(s *judged) error {
		defer stream.Close()
		for {
			text, err := stream.ReadMsg(nil)
			if err != nil {
				return err
			}
			s.judge(text)
		}
	})
	gone, msgs := make(chan struct{}), make(chan *nats.Msg, busQueue)
	nc := m.r.dial(func() { close(gone) })
	if _, err = nc.ChanSubscribe("fence.>", msgs); err == nil {
		err = nc.Flush()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	open("nats", func(s *judged) error {
		for {
			select {
			case msg := <-msgs:
				s.judge(msg.Data)
				continue
			case <-gone: // nothing is received any more
			}
			for len(msgs) > 0 {
				s.judge((<-msgs).Data)
			}
			return nil
		}
	})
	return streams
}
