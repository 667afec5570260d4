package source

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.golang/paho"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/doors/source/sourcetest"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/views"
	"paddock/internal/process/strictyaml"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

type discard struct{}

func (discard) Publish([]events.Record) {}

// sink is a pipeline with sources that run until the test ends.
type sink struct {
	t        *testing.T
	pipeline *ingest.Pipeline
	doors    *doors.Doors
	log      *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newSink(t *testing.T) *sink {
	t.Helper()
	return newSinkAt(t, nil)
}

// newSinkAt is newSink with another wall clock.
func newSinkAt(t *testing.T, now func() time.Time) *sink {
	t.Helper()
	k := &sink{t: t, doors: &doors.Doors{}, log: &safeBuffer{}}
	k.pipeline = ingest.New(ingest.Config{Fences: views.New(&fence.Catalog{}, rulebook.New(track.Policy{})), Publisher: discard{}, Now: now})
	t.Cleanup(func() { k.pipeline.Close(context.Background()) })
	return k
}

// read reads the section from a text.
func read(text string) (all []Settings, faults string) {
	file, root := strictyaml.Parse("p.yaml", []byte(text))
	if root != nil {
		all = Read(root)
	}
	var list []string
	for _, f := range file.Faults() {
		list = append(list, f.Error())
	}
	return all, strings.Join(list, "\n")
}

// run runs sources of a text, and returns how to stop them.
func (k *sink) run(text string) (s *Sources, stop func()) {
	k.t.Helper()
	settings, faults := read(text)
	if faults != "" {
		k.t.Fatal(faults)
	}
	s = New(Config{Settings: settings, Pipeline: k.pipeline, Doors: k.doors, MaxAhead: 60_000, retry: 5 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(k.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			k.t.Error(err)
		}
		<-done
	})
	k.t.Cleanup(stop)
	return s, stop
}

// until waits for a condition.
func (k *sink) until(what string, done func() bool) {
	k.t.Helper()
	for deadline := time.Now().Add(patience); !done(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			k.t.Fatalf("%s: %+v\n%s", what, k.doors.All(), k.log)
		}
	}
}

// at waits for the place of an object.
func (k *sink) at(id string, lat, lon float64) {
	k.t.Helper()
	k.until(fmt.Sprint(id, " at ", lat, lon), func() bool {
		o, ok := k.pipeline.Object("default", id)
		near := func(a, b float64) bool { return a > b-1e-4 && a < b+1e-4 }
		return ok && near(o.Point.Lat, lat) && near(o.Point.Lon, lon)
	})
}

func (k *sink) door(name string) doors.Status {
	for _, d := range k.doors.All() {
		if d.Name == name {
			return d
		}
	}
	return doors.Status{}
}

func mqttSource(b *sourcetest.Broker, more string) string {
	return fmt.Sprintf("- mqtt: mqtt://%s\n  user: %s\n  password: %q\n%s", b.Addr, sourcetest.User, sourcetest.Password, more)
}

// Messages of each format become positions; what is no position is counted.
func TestMQTT(t *testing.T) {
	b := sourcetest.Mosquitto(t)
	k := newSink(t)
	s, _ := k.run(mqttSource(b, "  topics: [owntracks/+/+]\n  format: owntracks\n") +
		mqttSource(b, "  topics: ['/hfp/v2/journey/ongoing/vp/#']\n  format: hfp\n  name: hsl\n") +
		mqttSource(b, "  topics: [cars/+/gps]\n  format: json\n  fields: {id: 'topic:2', lat: pos.lat, lon: pos.lng, t: at}\n"))
	k.until("connected", func() bool {
		return s.list[0].connected.Load() && s.list[1].connected.Load() && s.list[2].connected.Load()
	})
	b.Publish("owntracks/jane/phone", `{"_type":"location","lat":52.5,"lon":13.4,"tst":1773314205}`, 1)
	b.Publish("owntracks/jane/phone", `{"_type":"lwt","tst":1}`, 0)
	b.Publish("owntracks/jane/phone", `{"_type":"encrypted","data":"x"}`, 1)
	b.Publish("owntracks/jane/phone", `no`, 1)
	b.Publish("/hfp/v2/journey/ongoing/vp/bus/0018/00423/2159/2/x/09:32/1/3/60;24/16/58/67", `{"VP":{"oper":6,"veh":423,"tst":"2026-03-12T11:16:45Z","lat":60.1,"long":24.6}}`, 0)
	b.Publish("cars/v9/gps", `{"pos":{"lat":1,"lng":2},"at":1773314205}`, 1)
	k.at("jane/phone", 52.5, 13.4)
	k.at("18/423", 60.1, 24.6)
	k.at("v9", 1, 2)
	k.until("counts", func() bool {
		d := k.door("mqtt")
		return d.Accepted == 1 && d.Ignored == 1 && d.Rejected == 2 && d.Reasons["encrypted"] == 1 && d.Reasons["body"] == 1 &&
			k.door("hsl").Accepted == 1 && k.door("mqtt-2").Accepted == 1
	})
}

// A broker that ends is connected again. A message of QoS 1 is acknowledged once it is applied:
// what the broker kept for a session, or could not be applied, comes when it can be.
func TestMQTTComesBack(t *testing.T) {
	b := sourcetest.Mosquitto(t)
	k := newSink(t)
	section := mqttSource(b, "  topics: [owntracks/+/+]\n  format: owntracks\n  client_id: paddock-1\n")
	s, stop := k.run(section)
	k.until("connected", func() bool { return s.list[0].connected.Load() })
	b.Stop()
	k.until("disconnected", func() bool { return !s.list[0].connected.Load() })
	b.Restart()
	k.until("connected again", func() bool { return s.list[0].connected.Load() && s.list[0].connects.Load() > 1 })
	b.Publish("owntracks/a/a", `{"_type":"location","lat":1,"lon":2}`, 1)
	k.at("a/a", 1, 2)

	stop()
	b.Publish("owntracks/b/b", `{"_type":"location","lat":3,"lon":4}`, 1) // into the session
	s, stop = k.run(section)
	k.at("b/b", 3, 4)

	k.pipeline.Refuse("the disk is full")
	k.until("connected", func() bool { return s.list[0].connected.Load() })
	b.Publish("owntracks/c/c", `{"_type":"location","lat":5,"lon":6}`, 1)
	k.until("refused", func() bool { return k.door("mqtt").Reasons["overloaded"] == 1 })
	stop()
	k.pipeline.Refuse("")
	k.run(section)
	k.at("c/c", 5, 6)
}

// A failure names its reason, and nothing that is shown has the password.
func TestMQTTRefusals(t *testing.T) {
	b := sourcetest.Mosquitto(t)
	k := newSink(t)
	s, _ := k.run(fmt.Sprintf("- mqtt: mqtt://jane:wr0ngPassw0rd@%s\n  topics: [a]\n  format: owntracks\n- mqtt: mqtts://%s\n  topics: [a]\n  format: owntracks\n", b.Addr, b.Addr))
	k.until("failed", func() bool {
		return strings.Contains(fmt.Sprint(k.door("mqtt").Source), "not authorized") && k.door("mqtt-2").Source != nil && s.list[1].failure.Load() != nil
	})
	if text := fmt.Sprint(k.doors.All(), k.log); strings.Contains(text, "wr0ngPassw0rd") || strings.Contains(text, "jane") {
		t.Errorf("the password is shown: %s", text)
	}
}

// A broker is spoken to with TLS, if a known certificate signs its own.
func TestMQTTOverTLS(t *testing.T) {
	b := sourcetest.Mosquitto(t)
	k := newSink(t)
	const text = "- mqtt: mqtts://%s\n  user: %s\n  password: %q\n  topics: [owntracks/+/+]\n  format: owntracks\n%s"
	secure := func(more string) string {
		return fmt.Sprintf(text, b.Secure, sourcetest.User, sourcetest.Password, more)
	}
	s, _ := k.run(secure("  ca: "+b.CA+"\n") + secure("") + secure("  ca: /nowhere\n"))
	k.until("connected, and not", func() bool {
		return s.list[0].connected.Load() && strings.Contains(fmt.Sprint(s.list[1].state()), "certificate") && strings.Contains(fmt.Sprint(s.list[2].state()), "ca: open /nowhere")
	})
	b.Publish("owntracks/a/a", `{"_type":"location","lat":1,"lon":2}`, 1)
	k.at("a/a", 1, 2)
}

// Messages of QoS 0 are dropped when too many wait, and leave room for those of QoS 1.
func TestMQTTQueueIsBounded(t *testing.T) {
	s, queue := &source{counts: &counts{}}, make(chan *paho.Publish, queued)
	for range 2 * queued {
		s.enqueue(queue, &paho.Publish{})
	}
	if len(queue) != queued-unacked || s.dropped.Load() != queued+unacked {
		t.Errorf("%d wait, %d are dropped", len(queue), s.dropped.Load())
	}
	for range unacked {
		s.enqueue(queue, &paho.Publish{QoS: 1})
	}
	if len(queue) != queued || s.dropped.Load() != queued+unacked {
		t.Errorf("%d wait, %d are dropped", len(queue), s.dropped.Load())
	}
}

// feedOf returns a feed with one vehicle.
func feedOf(id string, lat, lon float32, at uint64) []byte {
	sub := func(m []byte, n protowire.Number, inner []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(m, n, protowire.BytesType), inner)
	}
	num := func(m []byte, n protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), v)
	}
	float := func(m []byte, n protowire.Number, v float32) []byte {
		return protowire.AppendFixed32(protowire.AppendTag(m, n, protowire.Fixed32Type), math.Float32bits(v))
	}
	vehicle := sub(nil, 2, float(float(nil, 1, lat), 2, lon))
	vehicle = sub(num(vehicle, 5, at), 8, sub(nil, 1, []byte(id)))
	return sub(sub(nil, 1, sub(nil, 1, []byte("2.0"))), 2, sub(sub(nil, 1, []byte("e")), 4, vehicle))
}

// A feed is asked again with the conditions of its last answer; a vehicle whose time is the same is
// late; failures are told without the key of the address.
func TestGTFS(t *testing.T) {
	var asked, conditional, failing atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		switch {
		case r.Header.Get("X-Key") != "k" || r.URL.Query().Get("api_key") != "inTheQuery":
			w.WriteHeader(http.StatusForbidden)
		case failing.Load() == 1:
			w.WriteHeader(http.StatusBadGateway)
		case failing.Load() == 2:
			_, _ = w.Write([]byte("<html>"))
		case r.Header.Get("If-None-Match") == `"2"` && r.Header.Get("If-Modified-Since") != "":
			conditional.Add(1)
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, min(n, 2)))
			w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
			_, _ = w.Write(feedOf("bus-1", 52.5, 13.4, 1773314205))
		}
	}))
	defer server.Close()
	k := newSink(t)
	s, _ := k.run(fmt.Sprintf("- gtfs_rt: %s/feed?api_key=inTheQuery\n  every: 1s\n  headers: {X-Key: k}\n", server.URL))
	one := s.list[0]
	k.at("bus-1", 52.5, 13.4)
	k.until("not modified", func() bool { return conditional.Load() > 0 })
	if d := k.door("gtfs_rt"); d.Accepted != 1 || d.Late != 1 || d.Rejected != 0 || one.messages.Load() != 2 || !one.connected.Load() {
		t.Errorf("%+v, %d", d, one.messages.Load())
	}
	failing.Store(1)
	k.until("failed", func() bool {
		return strings.Contains(fmt.Sprint(one.state()), "502 Bad Gateway") && !one.connected.Load()
	})
	failing.Store(2)
	k.until("unreadable", func() bool { return k.door("gtfs_rt").Reasons["body"] > 0 })
	failing.Store(0)
	k.until("good again", one.connected.Load)
	server.CloseClientConnections()
	server.Close()
	k.until("gone", func() bool { return strings.Contains(fmt.Sprint(one.state()), "refused") })
	if text := fmt.Sprint(k.doors.All(), k.log); strings.Contains(text, "inTheQuery") {
		t.Errorf("the key is shown: %s", text)
	}
}

func TestGTFSWithoutAccess(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer server.Close()
	k := newSink(t)
	s, _ := k.run("- gtfs_rt: " + server.URL + "\n")
	k.until("told", func() bool { return strings.Contains(fmt.Sprint(s.list[0].state()), "the feed answers 403 Forbidden") })
}

// A redirect is followed within the server alone: another one would get the headers, and as the
// Referer the key of the address.
func TestGTFSRedirects(t *testing.T) {
	var foreign atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { foreign.Add(1) }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/near":
			http.Redirect(w, r, "/feed", http.StatusFound)
		case "/far":
			http.Redirect(w, r, other.URL+"/feed", http.StatusFound)
		case "/scheme":
			http.Redirect(w, r, "https://"+r.Host+"/feed", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/feed":
			_, _ = w.Write(feedOf("bus-1"+r.Header.Get("X-Key"), 52.5, 13.4, 1773314205))
		}
	}))
	defer server.Close()
	k := newSink(t)
	s, _ := k.run(strings.ReplaceAll("- {gtfs_rt: URL/near, headers: {X-Key: k}}\n- {gtfs_rt: URL/far?api_key=inTheQuery, headers: {X-Key: k}}\n- {gtfs_rt: URL/loop}\n- {gtfs_rt: URL/scheme}\n", "URL", server.URL))
	k.at("bus-1k", 52.5, 13.4)
	moved := "the feed has moved to " + other.URL + ": redirects to another server are not followed"
	for i, want := range map[int]string{1: moved, 2: "more than 10 redirects", 3: "the feed has moved to https://"} {
		k.until(want, func() bool { return strings.Contains(fmt.Sprint(s.list[i].state()), want) })
	}
	if text := fmt.Sprint(k.doors.All(), k.log); foreign.Load() != 0 || strings.Contains(text, "inTheQuery") {
		t.Errorf("%d requests to another server, or the key is shown: %s", foreign.Load(), text)
	}
}

const (
	rmc = "$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A\r\n"
	vdm = "!AIVDM,1,1,,A,B52K>;h00Fc>jpUlNV@ikwpUoP06,0*4C\r\n"
	sbs = "MSG,3,5,211,4CA2D6,10057,2008/11/28,14:53:50.594,2008/11/28,14:58:51.153,,37000,,,51.45735,-1.02826,,,0,0,0,0\r\n"
)

// A receiver that is connected to, and comes back: its lines are positions, and a line that is too
// long costs only itself.
func TestLinesOverTCP(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	k := newSink(t)
	k.run(fmt.Sprintf("- lines: tcp://%s\n  format: sbs\n", ln.Addr()))
	for i := range 2 {
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "%s\n%s", strings.Repeat("x", 5*maxLine), strings.Replace(sbs, "51.45735", fmt.Sprint(51+i), 1))
		k.at("4CA2D6", float64(51+i), -1.02826)
		_, _ = conn.Write([]byte(sbs[:strings.Index(sbs, "-1.02826")+len("-1")])) // whose end is lost
		_ = conn.Close()
		k.until("the cut line", func() bool { return k.door("sbs").Reasons["body"] == 2*uint64(i+1) })
	}
	if d := k.door("sbs"); d.Reasons["body"] != 4 || d.Accepted != 2 || len(d.Last[0].Input) > 300 {
		t.Errorf("%+v", d)
	}
}

func TestLinesOverUDPAndFromReceivers(t *testing.T) {
	k := newSink(t)
	s, _ := k.run("- lines: udp://127.0.0.1:0\n  format: ais\n- lines: tcp-listen://127.0.0.1:0\n  format: nmea\n  object: boat\n  from: [127.0.0.0/8]\n- lines: tcp-listen://127.0.0.1:0\n  format: nmea\n  object: other\n  from: [192.0.2.0/24]\n")
	for _, one := range s.list {
		k.until("listening", func() bool { return one.listening.Load() != nil })
	}
	udp, err := net.Dial("udp", *s.list[0].listening.Load())
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	k.until("a datagram", func() bool { // datagrams may be lost
		_, _ = udp.Write([]byte(vdm))
		return k.door("ais").Accepted > 0
	})
	k.at("338087471", 40.68454, -74.072132)
	send := func(to *source, text string) net.Conn {
		conn, err := net.Dial("tcp", *to.listening.Load())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text))
		return conn
	}
	defer send(s.list[1], rmc).Close()
	k.at("boat", 48.1173, 11.51667)
	defer send(s.list[2], rmc).Close()
	k.until("refused", func() bool { return s.list[2].failures.Load() > 0 })
	for range maxReceivers + 5 { // further ones are closed
		defer send(s.list[1], "").Close()
	}
	k.until("too many", func() bool { return s.list[1].failures.Load() > 0 })
	if _, ok := k.pipeline.Object("default", "other"); ok {
		t.Error("a foreign network was let in")
	}
}

// The times of lines are those of their arrival, or have its minute. They do not go back with the
// machine's clock, and are not ahead of it then.
func TestLinesByAClockSetBack(t *testing.T) {
	var step atomic.Int64 // of the clock
	k := newSinkAt(t, func() time.Time { return time.Now().Add(time.Duration(step.Load())) })
	s, _ := k.run("- lines: udp://127.0.0.1:0\n  format: ais\n- lines: udp://127.0.0.1:0\n  format: sbs\n")
	for i, text := range []string{vdm, sbs} {
		batch := &ingest.Batch{}
		for _, by := range []time.Duration{0, -2 * time.Hour} {
			step.Store(int64(by))
			s.list[i].datagram(batch, map[netip.AddrPort]lineReader{}, datagram{text: []byte(text)})
		}
		if len(batch.Positions) != 2 || batch.Positions[0].Time > batch.Positions[1].Time {
			t.Errorf("%s: %+v", text, batch)
		}
	}
}

// Parts of a message are put together by sender, and what is too long is rejected whole.
func TestDatagramsOfTwoSenders(t *testing.T) {
	k := newSink(t)
	s, _ := k.run("- lines: udp://127.0.0.1:0\n  format: ais\n")
	one := s.list[0]
	k.until("listening", func() bool { return one.listening.Load() != nil })
	batch, readers := &ingest.Batch{}, map[netip.AddrPort]lineReader{}
	send := func(port uint16, text string) {
		one.datagram(batch, readers, datagram{netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), port), []byte(text)})
	}
	const first, second = "!AIVDM,2,1,3,B,C5N3SRgPEnJGEBT>NhWAwwo862PaLE,0*38", "!AIVDM,2,2,3,B,LTBJ:V00000000S0D:R220,0*15"
	for _, text := range []string{first, second} {
		send(1, text)
		send(2, text)
	}
	if len(batch.Positions) != 2 {
		t.Errorf("%d positions of two senders, %v", len(batch.Positions), k.door("ais"))
	}
	send(1, strings.Repeat(vdm, 1+maxDatagram/len(vdm)))
	send(1, strings.Repeat("x", maxLine+1))
	send(1, strings.Repeat(" ", maxLine)+vdm)
	if d := k.door("ais"); d.Reasons["body"] != 2 || len(batch.Positions) != 3 {
		t.Errorf("%d positions, %+v", len(batch.Positions), d)
	}
	for port := range uint16(2 * maxSenders) {
		send(100+port, first)
	}
	if len(readers) > maxSenders {
		t.Errorf("%d senders have readers", len(readers))
	}
}

// Datagrams that are no positions do not hold back the positions of others.
func TestGarbageByUDP(t *testing.T) {
	k := newSink(t)
	s, _ := k.run("- lines: udp://127.0.0.1:0\n  format: sbs\n")
	queue := make(chan datagram, 16)
	var applying sync.WaitGroup
	applying.Go(func() { s.list[0].applyDatagrams(t.Context(), queue) })
	defer applying.Wait()
	defer close(queue)
	queue <- datagram{text: []byte(sbs)}
	garbage := datagram{text: bytes.Repeat([]byte("x\n"), maxDatagram/2)}
	for deadline := time.Now().Add(patience); k.door("sbs").Accepted == 0; queue <- garbage {
		if time.Now().After(deadline) {
			t.Fatalf("a position waits behind garbage: %+v", k.door("sbs"))
		}
	}
}

// Positions that a source offers again and again are counted as refused once.
func TestOfferedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSink(t)
		settings, _ := read("- lines: udp://127.0.0.1:0\n  format: sbs\n")
		one := New(Config{Settings: settings, Pipeline: k.pipeline, Doors: k.doors, MaxAhead: 60_000, Logger: slog.New(slog.DiscardHandler)}).list[0]
		batch := &ingest.Batch{}
		for _, id := range []string{"4CA2D6", "4CA2D7", "none"} {
			one.line(batch, one.settings.Lines.reader(), []byte(strings.Replace(sbs, "4CA2D6", id, 1)))
		}
		k.pipeline.Refuse("the disk is full")
		time.AfterFunc(time.Minute, func() { k.pipeline.Refuse("") })
		if !one.submit(t.Context(), batch) {
			t.Error("it has ended")
		}
		d, total := k.door("sbs"), k.pipeline.Metrics.Totals()
		if d.Accepted != 2 || d.Reasons["overloaded"] != 2 || d.Reasons["id"] != 1 || total.Accepted != 2 || total.Overloaded != 2 || total.Rejected != 1 {
			t.Errorf("%+v, %+v", d, total)
		}
	})
}

func TestNetworks(t *testing.T) {
	l := &Lines{From: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fe80::/10")}}
	for addr, want := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "11.0.0.1": false, "::1": false, "fe80::1": true, "fe80::1%eth0": true} {
		if l.admits(netip.MustParseAddr(addr)) != want {
			t.Errorf("%s: %v", addr, !want)
		}
	}
}

func TestSettings(t *testing.T) {
	all, faults := read(`
- mqtt: mqtts://jane:p%40ss@broker.example
  topics: [owntracks/+/+, b]
  format: owntracks
  fleet: phones
- {gtfs_rt: "https://example.org/feed?key=x", every: 30s, headers: {X-Key: abc}}
- {lines: "tcp://[::1]:30003", format: sbs}
- {lines: "udp://0.0.0.0:10110", format: ais, from: [10.1.2.3/8], name: harbour}
- {lines: "udp://127.0.0.1:10111", format: ais}
- {lines: "udp://127.0.0.1:10112", format: ais}
`)
	if faults != "" || len(all) != 6 {
		t.Fatalf("%d, %s", len(all), faults)
	}
	var got []string
	for i := range all {
		got = append(got, all[i].Name+" "+all[i].Address())
	}
	if want := "mqtt mqtts://broker.example:8883; gtfs_rt https://example.org/feed; sbs tcp://[::1]:30003; harbour udp://0.0.0.0:10110; ais udp://127.0.0.1:10111; ais-2 udp://127.0.0.1:10112"; strings.Join(got, "; ") != want {
		t.Errorf("%q", got)
	}
	if m := all[0].MQTT; m.User != "jane" || m.Password != "p@ss" || len(m.Topics) != 2 || all[0].Fleet != "phones" || all[1].GTFS.Every != 30*time.Second || all[3].Lines.From[0].String() != "10.0.0.0/8" {
		t.Errorf("%+v %+v", m, all)
	}
	for text, want := range map[string]string{
		"mqtt: x":                        "p.yaml:1:5: sources is a list, not keys of its own",
		"- {}":                           "p.yaml:1:3: a source has one of the keys mqtt, gtfs_rt and lines, with its address",
		"- {mqtt: 'mqtt://a', lines: b}": "p.yaml:1:3: a source has one of the keys mqtt, gtfs_rt and lines, with its address",
		"- mqtt: mqtt://a\n  topic: b\n  format: json":                               "p.yaml:2:3: unknown key topic; did you mean topics?",
		"- mqtt: mqtt://a\n  topics: [b]":                                            "p.yaml:1:3: format is missing: owntracks, hfp or json",
		"- mqtt: mqtt://a\n  format: owntracks":                                      "p.yaml:1:3: topics is missing: the list of topics to subscribe to, such as owntracks/+/+",
		"- mqtt: mqtt://a\n  topics: [b]\n  format: json":                            "p.yaml:1:3: fields is missing: where the messages have id, lat and lon, as {id: device.id, lat: gps.lat, lon: gps.lon}",
		"- mqtt: mqtt://a\n  topics: [b]\n  format: json\n  fields: {id: a, lat: b}": "p.yaml:4:11: fields: fields: id, lat and lon are needed",
		"- mqtt: mqtt://a\n  topics: [b]\n  format: xml":                             `p.yaml:3:11: format: "xml" is none of owntracks, hfp, json`,
		"- mqtt: ws://u:secret@a\n  topics: [b]":                                     "p.yaml:1:9: mqtt: not an address that begins with mqtt:// or mqtts://",
		"- gtfs_rt: ftp://a":                                                         "p.yaml:1:12: gtfs_rt: not an address that begins with http:// or https://",
		"- gtfs_rt: http://a\n  every: 1ms":                                          `p.yaml:2:10: every: "1ms" is no duration from 1s to 24h0m0s, such as 15s`,
		"- lines: tcp://a\n  format: sbs":                                            "p.yaml:1:10: lines: a port is missing, as in tcp://127.0.0.1:30003",
		"- lines: tcp://a:1\n  format: nmea":                                         "p.yaml:1:3: object is missing: the id of the object, as the sentences have none",
		"- lines: udp://0.0.0.0:1\n  format: ais":                                    "p.yaml:1:3: from is missing: the networks that may send, as 0.0.0.0:1 is not loopback and the format has no key",
		"- lines: udp://0.0.0.0:1\n  format: ais\n  from: [x]":                       `p.yaml:3:10: from: "x" is no network such as 10.0.0.0/8`,
		"- lines: udp://127.0.0.1:1\n  format: ais\n  name: http":                    "p.yaml:1:3: another door has the name http: set name",
		"- lines: udp://127.0.0.1:1\n  format: ais\n  name: A B":                     `p.yaml:3:9: name: "A B" is not made of a-z, 0-9, _ and -, at most 40`,
	} {
		if _, got := read(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	if _, got := read(strings.Repeat("- {lines: 'tcp://a:1', format: sbs}\n", maxSources+1)); got != "p.yaml:101:3: more than 100 sources" {
		t.Error(got)
	}
}
