package mqttsink

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"go.uber.org/goleak"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/events"
	"paddock/internal/process/strictyaml"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// broker is a mosquitto.
type broker struct {
	t    *testing.T
	addr string
	conf string
	cmd  *exec.Cmd
}

// startBroker starts mosquitto. Without it the test is skipped, or fails if
// PADDOCK_REQUIRE_MOSQUITTO is 1.
func startBroker(t *testing.T, settings string) *broker {
	t.Helper()
	program, err := exec.LookPath("mosquitto")
	if err != nil {
		program = "/usr/sbin/mosquitto" // which is in the PATH of root alone
		_, err = os.Stat(program)
	}
	if err != nil {
		if os.Getenv("PADDOCK_REQUIRE_MOSQUITTO") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{t: t, addr: l.Addr().String(), conf: filepath.Join(t.TempDir(), "mosquitto.conf")}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("listener %d 127.0.0.1\n%s\n", l.Addr().(*net.TCPAddr).Port, settings)
	if err := os.WriteFile(b.conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.cmd = exec.Command(program, "-c", b.conf)
	b.start()
	t.Cleanup(b.kill)
	return b
}

// start starts the broker, and returns once it accepts connections.
func (b *broker) start() {
	b.t.Helper()
	b.cmd = exec.Command(b.cmd.Path, "-c", b.conf)
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; {
		c, err := net.Dial("tcp", b.addr)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatal(err)
		}
		runtime.Gosched()
	}
}

// kill ends it as kill -9 does.
func (b *broker) kill() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait() // it was killed
}

// reader writes down the ids of the messages of a broker, with their topics.
type reader struct {
	mu  sync.Mutex
	got []string
}

// read subscribes to all messages until the returned function is called.
func (r *reader) read(b *broker) (stop func()) {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	c := paho.NewClient(paho.ClientConfig{ClientID: "reader", Conn: conn, OnPublishReceived: []func(paho.PublishReceived) (bool, error){
		func(p paho.PublishReceived) (bool, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.got = append(r.got, p.Packet.Topic+" "+p.Packet.Properties.User.Get("event_id")+" "+p.Packet.Properties.ContentType+p.Packet.Properties.User.Get("traceparent")+p.Packet.Properties.User.Get("tracestate"))
			return true, nil
		},
	}})
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	if _, err := c.Connect(ctx, &paho.Connect{ClientID: "reader", CleanStart: true, KeepAlive: 30}); err != nil {
		b.t.Fatal(err)
	}
	if _, err := c.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: "#", QoS: 1}}}); err != nil {
		b.t.Fatal(err)
	}
	return func() {
		_ = c.Disconnect(&paho.Disconnect{}) // the broker may have ended
		<-c.Done()
	}
}

// await waits until as many different messages were read.
func (r *reader) await(t *testing.T, n int) []string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		r.mu.Lock()
		met := map[string]bool{}
		var once []string
		for _, m := range r.got {
			if !met[m] {
				met[m] = true
				once = append(once, m)
			}
		}
		r.mu.Unlock()
		if len(once) >= n {
			return once
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d messages of %d", len(once), n)
		}
		runtime.Gosched()
	}
}

func itemOf(n int, body string) events.Record {
	return events.Record{
		Subject: "fence.depots.north.enter.default.v", JSON: events.Plain(fmt.Appendf(nil, `{"id":"v/%d","source":"/sets/depots"%s}`, n, body)),
	}
}

// Messages have their topics, their ids and their content types. One that is too long for the
// broker is refused alone.
func TestPublishes(t *testing.T) {
	b := startBroker(t, "allow_anonymous true\nmax_packet_size 5000")
	r := &reader{}
	stop := r.read(b)
	defer stop()
	e := New(&Config{URL: "mqtt://" + b.addr, Prefix: "site/", ClientID: "paddock"}, false)
	defer e.Close()
	batch := &deliver.Batch{Items: []deliver.Item{
		{Record: itemOf(1, `,"traceparent":"00-a","tracestate":"a=1","datacontenttype":"application/json"`)}, {Record: itemOf(2, `,"x":"`+strings.Repeat("x", 10_000)+`"`)}, {Record: itemOf(3, "")}, {Record: events.Record{Cursor: 9}, Gap: &events.Gap{From: 7, To: 9}},
	}}
	got := e.Send(t.Context(), batch)
	if got.Verdict != deliver.Refused || got.Taken != 1 || !got.First {
		t.Fatalf("%+v", got)
	}
	if got := e.Send(t.Context(), &deliver.Batch{Items: batch.Items[2:]}); got.Verdict != deliver.Delivered {
		t.Fatalf("%+v", got)
	}
	const topic, media = "site/fence/depots/north/enter/default/v", " application/cloudevents+json"
	want := []string{topic + " v/1" + media + "00-aa=1", topic + " v/3" + media, "site/fence/_gap gap/9" + media}
	if all := r.await(t, 3); strings.Join(all, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", all)
	}
}

// A broker that asks for a password gets the right one.
func TestPassword(t *testing.T) {
	hashed := filepath.Join(readable(t), "passwords")
	b := startBroker(t, "allow_anonymous true")
	b.kill()
	if out, err := exec.Command("mosquitto_passwd", "-b", "-c", hashed, "paddock", "hunter2").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	if err := os.Chmod(hashed, 0o644); err != nil { // mosquitto gives up root
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.conf)
	if err != nil {
		t.Fatal(err)
	}
	settings := strings.Replace(string(text), "allow_anonymous true", "allow_anonymous false\npassword_file "+hashed, 1)
	if err := os.WriteFile(b.conf, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	b.start()
	for password, want := range map[string]deliver.Verdict{"hunter2": deliver.Delivered, "wrong": deliver.Failed} {
		e := New(&Config{URL: "mqtt://" + b.addr, ClientID: "paddock", User: "paddock", Password: "hunter2"}, true)
		if password == "wrong" {
			e.c.Password = "wrong"
		}
		if got := e.Send(t.Context(), &deliver.Batch{Items: []deliver.Item{{Record: itemOf(1, "")}}}); got.Verdict != want || strings.Contains(got.Reason, "hunter2") {
			t.Errorf("%s: %+v", password, got)
		}
		e.Close()
	}
}

// With mqtts the broker's certificate is verified, by the authorities of a file if one is named.
func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	s.Close() // only its certificate is of use, which is one for 127.0.0.1
	key, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := readable(t)
	for name, block := range map[string]*pem.Block{"c.pem": {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, "k.pem": {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := startBroker(t, fmt.Sprintf("allow_anonymous true\ncertfile %s/c.pem\nkeyfile %[1]s/k.pem", dir))
	for ca, want := range map[string]deliver.Verdict{dir + "/c.pem": deliver.Delivered, "": deliver.Failed, "absent.pem": deliver.Failed} {
		e := New(&Config{URL: "mqtts://" + b.addr, ClientID: "paddock", RootCA: ca}, false)
		if got := e.Send(t.Context(), &deliver.Batch{Items: []deliver.Item{{Record: itemOf(1, "")}}}); got.Verdict != want {
			t.Errorf("%q: %+v", ca, got)
		}
		e.Close()
	}
}

// readable returns a temporary directory that others may read, as mosquitto gives up root.
func readable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := dir; len(d) > len(os.TempDir()); d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tap passes packets on between a sink and a broker, and writes down which events the broker has
// acknowledged.
type tap struct {
	t    *testing.T
	to   string
	l    net.Listener
	all  sync.WaitGroup
	mu   sync.Mutex
	acks []string // ids of events
}

func newTap(t *testing.T, to string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{t: t, to: to, l: l}
	p.all.Go(p.accept)
	return p
}

// close ends the tap, whose connections have ended.
func (p *tap) close() {
	_ = p.l.Close()
	p.all.Wait()
}

func (p *tap) accept() {
	for {
		sink, err := p.l.Accept()
		if err != nil {
			return
		}
		broker, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = sink.Close()
			continue
		}
		var mu sync.Mutex
		sent := map[uint16]string{} // by the number of the packet
		p.all.Go(func() {
			pass(sink, broker, func(c *packets.ControlPacket) {
				if m, ok := c.Content.(*packets.Publish); ok {
					mu.Lock()
					defer mu.Unlock()
					for _, u := range m.Properties.User {
						sent[m.PacketID] = u.Value
					}
				}
			})
		})
		p.all.Go(func() {
			pass(broker, sink, func(c *packets.ControlPacket) {
				if m, ok := c.Content.(*packets.Puback); ok {
					mu.Lock()
					id := sent[m.PacketID]
					mu.Unlock()
					p.mu.Lock()
					defer p.mu.Unlock()
					p.acks = append(p.acks, id)
				}
			})
		})
	}
}

// pass passes packets on in one direction, and ends both.
func pass(from, to net.Conn, see func(c *packets.ControlPacket)) {
	defer from.Close()
	defer to.Close()
	for {
		c, err := packets.ReadPacket(from)
		if err != nil {
			return
		}
		see(c)
		if _, err := c.WriteTo(to); err != nil {
			return
		}
	}
}

// acknowledged waits until as many events are acknowledged, and returns their ids without repeats,
// and the number of repeats.
func (p *tap) acknowledged(n int) (once []string, repeats int) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		p.mu.Lock()
		met := map[string]bool{}
		once, repeats = nil, 0
		for _, id := range p.acks {
			if met[id] {
				repeats++
				continue
			}
			met[id] = true
			once = append(once, id)
		}
		p.mu.Unlock()
		if len(once) >= n {
			return once, repeats
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%d events are acknowledged, of %d", len(once), n)
		}
		runtime.Gosched()
	}
}

// Every event is acknowledged by the broker, in order and some of them more than once, although the
// broker is killed again and again.
func TestBrokerIsKilled(t *testing.T) {
	b := startBroker(t, "allow_anonymous true")
	p := newTap(t, b.addr)
	log := events.NewLog(100_000, 64<<20, "e")
	schedule := deliver.Default()
	schedule.Waits = []time.Duration{10 * time.Millisecond}
	f, err := deliver.New(deliver.Options{
		Name: "sink/mqtt", Log: log, Store: &deliver.Volatile{}, Keeps: true, Schedule: schedule, Logger: slog.New(slog.DiscardHandler), Counts: &deliver.Counts{},
	}, deliver.Config{
		End:      New(&Config{URL: "mqtt://" + p.l.Addr().String(), ClientID: "paddock"}, false),
		Selector: deliver.NewSelector(&deliver.Selection{}, nil), Batch: 32, Enabled: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go f.Run(ctx)
	const kills = 5
	told := 0
	for range kills {
		for range 300 {
			told++
			log.Append([]events.Record{itemOf(told, "")})
		}
		p.acknowledged(told - 200) // in the middle
		b.kill()
		b.start()
	}
	once, repeats := p.acknowledged(told)
	if err := f.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	p.close()
	for i, id := range once {
		if want := fmt.Sprintf("v/%d", i+1); id != want {
			t.Fatalf("event %d is %s, want %s", i+1, id, want)
		}
	}
	if len(once) != told || repeats > kills {
		t.Errorf("%d events of %d, %d repeats", len(once), told, repeats)
	}
}

// serveSlowly answers a connection: it acknowledges each of a number of messages after a pause, and
// no further ones.
func serveSlowly(l net.Listener, acks int, pause time.Duration) {
	conn, err := l.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		c, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		var answer *packets.ControlPacket
		switch m := c.Content.(type) {
		case *packets.Connect:
			answer = packets.NewControlPacket(packets.CONNACK)
		case *packets.Publish:
			if acks--; acks < 0 {
				continue
			}
			<-time.After(pause)
			answer = packets.NewControlPacket(packets.PUBACK)
			answer.Content.(*packets.Puback).PacketID = m.PacketID
		default:
			continue
		}
		if _, err := answer.WriteTo(conn); err != nil {
			return
		}
	}
}

// Each message has its own time for its acknowledgement, so that a slow broker gets through a batch
// that takes longer in all.
func TestSlowBroker(t *testing.T) {
	t.Parallel()
	var batch deliver.Batch
	for n := range 10 {
		batch.Items = append(batch.Items, deliver.Item{Record: itemOf(n, "")})
	}
	for acks, want := range map[int]deliver.Result{10: {}, 2: {Verdict: deliver.Failed, Taken: 2, Reason: context.DeadlineExceeded.Error()}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var broker sync.WaitGroup
		broker.Go(func() { serveSlowly(l, acks, 220*time.Millisecond) })
		e := New(&Config{URL: "mqtt://" + l.Addr().String(), ClientID: "paddock"}, false)
		e.timeout = 2 * time.Second
		if got := e.Send(t.Context(), &batch); got != want {
			t.Errorf("%d acknowledgements: %+v, want %+v", acks, got, want)
		}
		e.Close()
		_ = l.Close()
		broker.Wait()
	}
}

// A broker that does not answer, or that speaks something else, has failed.
func TestFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = c.Close()
		}
	}()
	for range 2 {
		e := New(&Config{URL: "mqtt://" + l.Addr().String(), ClientID: "paddock"}, false)
		got := e.Send(t.Context(), &deliver.Batch{Items: []deliver.Item{{Record: itemOf(1, "")}}})
		e.Close()
		if got.Verdict != deliver.Failed {
			t.Errorf("%+v", got)
		}
		_ = l.Close()
		<-done
	}
}

// The section has its faults with their places, and its secrets are not shown.
func TestRead(t *testing.T) {
	file, root := strictyaml.Parse("p.yaml", []byte("url: mqtts://a:8883\nprefix: a/b/\nuser: u\npassword: hunter2\nroot_ca: c.pem\n"))
	c := Read(root)
	c.Locate("/etc")
	if err := file.Err(); err != nil || c.ClientID != "paddock" || c.RootCA != "/etc/c.pem" || strings.Contains(fmt.Sprintf("%+v %v", *c, c), "hunter2") {
		t.Errorf("%+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"url: http://a": "want mqtt://host:port", "url: mqtt://u:p@a:1": "would be shown", "url: mqtt://a:1\nprefix: a/#": "no + and no #", "user: u": "url is missing", "url: mqtt://a/x": "want mqtt://",
	} {
		file, root := strictyaml.Parse("p.yaml", []byte(text+"\n"))
		if Read(root); !strings.Contains(fmt.Sprint(file.Err()), want) {
			t.Errorf("%q: %v", text, file.Err())
		}
	}
}
