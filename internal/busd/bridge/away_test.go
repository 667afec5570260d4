package bridge

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"paddock/bus"
)

// closedPort returns a port on which nothing listens.
func closedPort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// Messages wait for a server that is away, as many as the bound has room for. The first ones of
// these are sent in order when it comes.
func TestServerThatIsAway(t *testing.T) {
	here, port := newSite(t), closedPort(t)
	here.apply(Config{Name: "away", URLs: []string{fmt.Sprintf("nats://127.0.0.1:%d", port)}, Export: []string{"out"}, MaxPending: MinPending})
	const n = 2000 // of at least 128 bytes each
	here.publish(numbered("out", n)...)
	s := here.state(0)
	dropped := int(s.Out.Dropped[Full])
	if dropped == 0 || dropped >= n || s.Waiting > MinPending || s.Connected {
		t.Fatalf("%+v", s)
	}
	await(t, "reason", func() bool { return strings.Contains(here.state(0).Fault, "refused") })
	there := newSiteAt(t, bus.Config{Port: port})
	await(t, "messages", func() bool { return int(here.state(0).Out.Messages) == n-dropped })
	if s := here.state(0); s.Waiting != 0 {
		t.Errorf("%d bytes wait", s.Waiting)
	}
	got := there.follow("out")
	here.publish(&nats.Msg{Subject: "out", Data: []byte("later")})
	await(t, "message behind those that waited", func() bool { // of which some may be on their way yet
		m := got.all()
		return len(m) > 0 && string(m[len(m)-1].Data) == "later"
	})
}

// A bridge connects again, imports and exports, although the other server has stopped and started.
func TestReconnect(t *testing.T) {
	here, port := newSite(t), closedPort(t)
	first := newSiteAt(t, bus.Config{Port: port})
	here.bridge(first, []string{"in"}, []string{"out"})
	atHere := here.follow("in")
	first.publish(&nats.Msg{Subject: "in", Data: []byte("1")})
	atHere.await(t, 1)
	if err := first.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, "end of the connection", func() bool { return !here.state(0).Connected })
	here.publish(&nats.Msg{Subject: "out", Data: []byte("waits")})
	if s := here.state(0); s.Fault == "" || s.URL != "" {
		t.Errorf("%+v", s)
	}
	second := newSiteAt(t, bus.Config{Port: port})
	await(t, "connection", func() bool { return here.state(0).Connects == 2 && here.state(0).Out.Messages == 1 })
	atThere := second.follow("out")
	here.awaitConnected(0)
	second.publish(&nats.Msg{Subject: "in", Data: []byte("2")})
	here.publish(&nats.Msg{Subject: "out", Data: []byte("3")})
	if m := atHere.await(t, 2); string(m[1].Data) != "2" {
		t.Errorf("%s", m[1].Data)
	}
	if m := atThere.await(t, 1); string(m[0].Data) != "3" {
		t.Errorf("%s", m[0].Data)
	}
}

// deaf accepts connections, greets and reads no more.
func deaf(t *testing.T) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var all []net.Conn
		defer func() {
			for _, c := range all {
				c.Close()
			}
		}()
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all = append(all, c)
			_, _ = io.WriteString(c, `INFO {"server_id":"DEAF","headers":true,"max_payload":1048576,"proto":1}`+"\r\n")
			for lines := bufio.NewReader(c); ; {
				if line, err := lines.ReadString('\n'); err != nil || strings.HasPrefix(line, "PING") {
					break
				}
			}
			_, _ = io.WriteString(c, "PONG\r\n")
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return "nats://" + ln.Addr().String()
}

// A server that does not read costs the broker's clients nothing: they get all messages, and what
// does not fit into the bound is dropped and counted.
func TestServerThatDoesNotRead(t *testing.T) {
	here := newSite(t)
	here.apply(Config{Name: "deaf", URLs: []string{deaf(t)}, Export: []string{"out"}, MaxPending: 1 << 20})
	await(t, "connection", func() bool { return here.state(0).Connected })
	got := here.follow("out")
	const n, size = 500, 100 << 10
	var msgs []*nats.Msg
	for range n {
		msgs = append(msgs, &nats.Msg{Subject: "out", Data: make([]byte, size)})
	}
	here.publish(msgs...)
	got.await(t, n)
	if s := here.state(0); s.Out.Dropped[Full] == 0 || s.Waiting > 1<<20 {
		t.Errorf("%+v", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	here.set.Close(ctx) // does not wait for the other server
}
