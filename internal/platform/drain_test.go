package platform_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/nats-io/nats.go"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/platform/wireapi"
	"paddock/internal/process/config"
	"paddock/wire"
)

// square returns a catalog with one fence: longitude and latitude 0 to 1.
func square(t *testing.T) *fence.Catalog {
	t.Helper()
	set, err := fence.NewSet("zone", fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := fence.Fence{Key: "square", Geometry: geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 1, Lat: 0}, {Lon: 1, Lat: 1}, {Lon: 0, Lat: 1}}}}}
	if _, _, err := set.Put(f); err != nil {
		t.Fatal(err)
	}
	catalog := &fence.Catalog{}
	if err := catalog.Add(set); err != nil {
		t.Fatal(err)
	}
	return catalog
}

// startSquare runs a platform with the square. Every position of an object that alternates in and
// out causes an event, including the first.
func startSquare(t *testing.T) *running {
	t.Helper()
	cfg := config.Default()
	cfg.Track.Initial = "enter"
	return start(t, cfg, square(t))
}

// shuttleTime is the time of every object's first position; each next one is a second later.
const shuttleTime = 1_700_000_000_000

// hop returns position number n of an object that is in the square at even n, and the event that it
// causes.
func hop(id string, n int) (body, event string) {
	x, kind := 0.5, "enter"
	if n%2 == 1 {
		x, kind = 1.5, "exit"
	}
	t := shuttleTime + 1000*int64(n)
	return fmt.Sprintf(`{"id":%q,"lon":%v,"lat":0.5,"t":%d}`, id, x, t), fmt.Sprintf("%s %s %d", kind, id, t)
}

// shuttles records the acknowledged positions.
type shuttles struct {
	r     *running
	after int // acknowledgements after which the platform is stopped

	mu    sync.Mutex
	acked map[string]bool // the events to expect
	acks  int
}

func (s *shuttles) acknowledged(events []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		s.acked[e] = true
	}
	if s.acks++; s.acks == s.after {
		s.r.signal()
	}
}

// drive sends positions of some objects repeatedly, until a request is not answered as accepted.
func (s *shuttles) drive(name string, objects int, send func(body string) (accounts, error)) {
	for n := 0; ; n++ {
		var bodies, due []string
		for i := range objects {
			body, event := hop(fmt.Sprintf("%s-%d", name, i), n)
			bodies = append(bodies, body)
			due = append(due, event)
		}
		a, err := send(strings.Join(bodies, "\n"))
		if err != nil {
			return // its outcome is not defined
		}
		if a.Accepted != objects {
			s.r.t.Errorf("%s: %d of %d accepted: %+v", name, a.Accepted, objects, a)
			return
		}
		s.acknowledged(due)
	}
}

var errRefused = errors.New("refused")

// byHTTP sends each call with its own request.
func (r *running) byHTTP(body string) (a accounts, err error) {
	status, answer, err := r.call(http.MethodPost, "v1/positions", "application/x-ndjson", []byte(body))
	if err != nil {
		return a, err
	}
	if status == http.StatusServiceUnavailable {
		return a, errRefused
	}
	return a, json.Unmarshal(answer, &a)
}

// byBus returns a function that sends by request over a connection.
func (r *running) byBus(nc *nats.Conn, name string) func(string) (accounts, error) {
	return func(body string) (a accounts, err error) {
		msg, err := nc.Request("pos.default."+name, []byte(body), patience)
		if err != nil {
			return a, err
		}
		if err := json.Unmarshal(msg.Data, &a); err != nil {
			return a, err
		}
		if a.Error != "" {
			return a, errRefused
		}
		return a, nil
	}
}

// driveByWire sends acknowledged posts of some objects, without waiting for each, until the
// connection ends. It records only posts that the platform has acknowledged.
func (s *shuttles) driveByWire(c *wire.Conn, name string, objects int) {
	ctx := context.Background() // the connection ends the test
	var due [][]string          // of the posts from the last acknowledged one on
	base := uint64(0)
	settle := func() {
		for ; base < c.Acked() && len(due) > 0; base++ {
			s.acknowledged(due[0])
			due = due[1:]
		}
	}
	defer settle()
	for n := 0; ; n++ {
		for i := range objects {
			id := fmt.Sprintf("%s-%d", name, i)
			x := 0.5 + float64(n%2)
			_, event := hop(id, n)
			due = append(due, []string{event})
			number, err := c.PostAck(ctx, wireapi.KindUpdate, wireBody(s.r.t, "", id, place{lon: x, lat: 0.5}, shuttleTime+1000*int64(n), i%2 == 1))
			if err != nil {
				<-c.Done()
				return
			}
			if number > 2000 && c.WaitAcked(ctx, number-2000) != nil {
				<-c.Done()
				return
			}
		}
		settle()
	}
}

// TestDrainDeliversWhatWasAcknowledged stops a platform in the middle of traffic through all doors.
// Every subscriber has received the events of every acknowledged position.
func TestDrainDeliversWhatWasAcknowledged(t *testing.T) {
	for _, after := range []int{1, 10, 50, 200} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			r := startSquare(t)
			sse, lines := r.sse(), r.lines()
			own, natsgo := r.onBus()
			other := r.dial(func() {})
			ownWire, otherWire := r.wireConn(), r.wireConn()
			byWire := r.onWire(ownWire)
			s := &shuttles{r: r, after: after, acked: map[string]bool{}}

			var drivers sync.WaitGroup
			for i, objects := range []int{1, 3, 50, 200, 200, 200} {
				drivers.Go(func() { s.drive(fmt.Sprintf("http%d", i), objects, r.byHTTP) })
			}
			drivers.Go(func() { s.drive("bus", 1, r.byBus(other, "bus")) })
			drivers.Go(func() { s.drive("batch", 20, r.byBus(other, "batch")) })
			drivers.Go(func() { s.drive("own", 1, r.byBus(own, "own")) }) // on the subscriber's connection
			drivers.Go(func() { s.driveByWire(ownWire, "wire", 1) })      // on the subscriber's connection
			drivers.Go(func() { s.driveByWire(otherWire, "wires", 100) })
			drivers.Wait()
			r.awaitEnd()

			for name, sub := range map[string]*subscriber{"sse": sse, "ndjson": lines, "nats.go": natsgo, "wire": byWire} {
				checkDelivered(t, name, sub.all(t), s.acked)
			}
		})
	}
}

// checkDelivered checks that every expected event was received, once.
func checkDelivered(t *testing.T, name string, got []delivery, due map[string]bool) {
	t.Helper()
	came := map[string]bool{}
	for _, d := range got {
		e := decode(t, d.payload)
		text := fmt.Sprintf("%s %s %d", strings.TrimPrefix(e.Type, "paddock.fence."), e.Data.Object.ID, e.Data.T.UnixMilli())
		if came[text] {
			t.Errorf("%s: %s came twice", name, text)
		}
		came[text] = true
	}
	missing := 0
	for event := range due {
		if !came[event] {
			missing++
		}
	}
	if missing > 0 || len(due) == 0 {
		t.Errorf("%s: %d of %d acknowledged events are missing", name, missing, len(due))
	}
}

// TestDrainEndsIdleStreams checks that idle subscribers do not delay the end, and that each stream
// ends as its protocol requires.
func TestDrainEndsIdleStreams(t *testing.T) {
	r := startSquare(t)
	sse, lines := r.sse(), r.lines()
	_, natsgo := r.onBus()
	byWire := r.onWire(r.wireConn())
	if err := r.wireConn().Ready(t.Context()); err != nil { // an idle connection
		t.Fatal(err)
	}
	var sets any
	r.ask(&sets, http.MethodGet, "v1/sets", "", nil) // leaves an idle HTTP connection
	looking := r.lookUp()                            // and one that was answered without net/http
	idle, asking := r.live(), r.live()
	if err := asking.Write(t.Context(), websocket.MessageText, []byte(`{"view":[0,0,1,1]}`)); err != nil {
		t.Fatal(err)
	}
	var status [2]websocket.StatusCode
	var reading sync.WaitGroup
	for i, conn := range []*websocket.Conn{idle, asking} {
		reading.Go(func() { status[i] = readToEnd(t.Context(), conn) })
	}
	r.signal()
	r.awaitEnd()
	reading.Wait()
	if rest, err := io.ReadAll(looking); err != nil || len(rest) != 0 {
		t.Errorf("a connection that waits: %q, %v", rest, err)
	}
	if want := [2]websocket.StatusCode{websocket.StatusGoingAway, websocket.StatusGoingAway}; status != want {
		t.Errorf("live feeds closed with %v, want %v", status, want)
	}
	for name, sub := range map[string]*subscriber{"sse": sse, "ndjson": lines, "nats.go": natsgo, "wire": byWire} {
		if got := sub.all(t); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// lookUp connects and looks up a point of the square with a plain request. It returns a reader of
// the bytes after the answer.
func (r *running) lookUp() io.Reader {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(r.URL(), "http://"), "/"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /v1/search?lon=0.5&lat=0.5 HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		r.t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), `"id":"square"`) {
		r.t.Fatalf("%v: %s", err, text)
	}
	var metrics []byte
	if _, metrics, err = r.call(http.MethodGet, "metrics", "", nil); err != nil || !strings.Contains(string(metrics), "\npaddock_http_short_requests_total 1\n") {
		r.t.Errorf("it was not answered on the fast path, %v", err)
	}
	return in
}

// live opens the dashboard's feed and reads its greeting.
func (r *running) live() *websocket.Conn {
	r.t.Helper()
	conn, _, err := websocket.Dial(r.t.Context(), "ws"+strings.TrimPrefix(r.URL(), "http")+"v1/live", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.CloseNow() })
	if _, hello, err := conn.Read(r.t.Context()); err != nil || !strings.Contains(string(hello), `"type":"hello"`) {
		r.t.Fatalf("%v: %s", err, hello)
	}
	return conn
}

// readToEnd returns the close status of the server, or -1 without one.
func readToEnd(ctx context.Context, conn *websocket.Conn) websocket.StatusCode {
	for {
		_, r, err := conn.Reader(ctx)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			return websocket.CloseStatus(err)
		}
	}
}
