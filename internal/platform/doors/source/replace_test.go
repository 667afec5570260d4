package source

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/platform/doors/source/sourcetest"
)

// receiver is one of lines, to which sources connect.
type receiver struct {
	net.Listener
	t *testing.T
}

func newReceiver(t *testing.T) *receiver {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return &receiver{ln, t}
}

// source returns the settings of a source of the receiver.
func (r *receiver) source(name string) string {
	return fmt.Sprintf("- {lines: 'tcp://%s', format: sbs, name: %s}\n", r.Addr(), name)
}

func (r *receiver) accept() net.Conn {
	r.t.Helper()
	conn, err := r.Accept()
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// line writes the position of an object.
func line(c net.Conn, id string, lat int) {
	_, _ = fmt.Fprint(c, strings.NewReplacer("51.45735", fmt.Sprint(lat), "4CA2D6", id).Replace(sbs))
}

// replace gives the sources those of a text.
func (k *sink) replace(s *Sources, text string) {
	k.t.Helper()
	settings, faults := read(text)
	if faults != "" {
		k.t.Fatal(faults)
	}
	s.Replace(k.t.Context(), settings)
}

// metricsOf returns the number of metrics of a collector.
func metricsOf(c prometheus.Collector) int {
	all := make(chan prometheus.Metric, 1000)
	c.Collect(all)
	return len(all)
}

// A source with equal settings keeps its connection and its counts. One that has changed ends, and
// goes on with its counts at the new address. One that is gone has neither a door nor metrics.
func TestReplace(t *testing.T) {
	k, a, b, c := newSink(t), newReceiver(t), newReceiver(t), newReceiver(t)
	s, _ := k.run(a.source("equal") + b.source("moved") + b.source("gone"))
	atA, atB, atB2 := a.accept(), b.accept(), b.accept()
	line(atA, "4CA2D6", 1)
	line(atB, "4CA2D7", 1)
	line(atB2, "4CA2D8", 1)
	for _, id := range []string{"4CA2D6", "4CA2D7", "4CA2D8"} {
		k.at(id, 1, -1.02826)
	}
	k.replace(s, c.source("moved")+a.source("equal")+c.source("more"))
	for _, conn := range []net.Conn{atB, atB2} {
		if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("a connection of a source that has ended: %d, %v", n, err)
		}
	}
	line(atA, "4CA2D6", 2)
	line(c.accept(), "4CA2D7", 2)
	line(c.accept(), "4CA2D8", 2)
	for _, id := range []string{"4CA2D6", "4CA2D7", "4CA2D8"} {
		k.at(id, 2, -1.02826)
	}
	k.until("counts", func() bool {
		return k.door("equal").Accepted == 2 && k.door("moved").Accepted == 2 && k.door("more").Accepted == 1
	})
	if all := fmt.Sprint(k.doors.All()); strings.Contains(all, "gone") || s.list[1].connects.Load() != 1 || s.list[0].connects.Load() != 2 || s.list[0].messages.Load() != 2 {
		t.Errorf("%s, %d, %d, %d", all, s.list[1].connects.Load(), s.list[0].connects.Load(), s.list[0].messages.Load())
	}
	if n := metricsOf(s); n != 3*5 {
		t.Errorf("%d metrics of 3 sources", n)
	}
	k.replace(s, "")
	if n, all := metricsOf(s), k.doors.All(); n != 0 || len(all) != 0 {
		t.Errorf("%d metrics, %+v", n, all)
	}
	k.replace(s, a.source("equal"))
	line(a.accept(), "4CA2D6", 3)
	k.at("4CA2D6", 3, -1.02826)
	if d := k.door("equal"); d.Accepted != 1 {
		t.Errorf("%+v", d)
	}
}

// A source ends before the one in its place begins, so that this can have its address.
func TestReplaceFreesAddresses(t *testing.T) {
	k := newSink(t)
	s, stop := k.run("- {lines: 'tcp-listen://127.0.0.1:0', format: nmea, object: boat, name: boat}\n")
	k.until("listening", func() bool { return s.list[0].listening.Load() != nil })
	at := *s.list[0].listening.Load()
	idle, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	k.replace(s, fmt.Sprintf("- {lines: 'tcp-listen://%s', format: nmea, object: ship, name: ship}\n", at))
	k.until("listening", func() bool { return s.list[0].listening.Load() != nil })
	conn, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = fmt.Fprint(conn, rmc)
	k.at("ship", 48.1173, 11.51667)
	if n := s.list[0].failures.Load(); n != 0 {
		t.Errorf("%d failures", n)
	}
	stop()
	s.Replace(context.Background(), nil) // the sources have ended: nothing begins
}

// While a source of MQTT with a session changes again and again, no message of QoS 1 is lost.
func TestReplaceLosesNoMessage(t *testing.T) {
	b, k := sourcetest.Mosquitto(t), newSink(t)
	section := func(fleet int) string {
		return mqttSource(b, fmt.Sprintf("  topics: [owntracks/+/+]\n  format: owntracks\n  client_id: paddock-1\n  fleet: f%d\n", fleet))
	}
	s, _ := k.run(section(0))
	k.until("connected", func() bool { return s.all()[0].connected.Load() })
	const messages, changes = 200, 10
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for i := range messages {
			b.Publish(fmt.Sprintf("owntracks/u/%d", i), `{"_type":"location","lat":1,"lon":2,"tst":1773314205}`, 1)
		}
	})
	for i := range changes {
		k.replace(s, section(i+1))
	}
	publisher.Wait()
	for i := range messages {
		k.until(fmt.Sprint("message ", i), func() bool {
			for fleet := range changes + 1 {
				if _, ok := k.pipeline.Object(fmt.Sprint("f", fleet), fmt.Sprintf("u/%d", i)); ok {
					return true
				}
			}
			return false
		})
	}
}
