package natssink

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"paddock/bus"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/events"
	"paddock/internal/process/strictyaml"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

// startBus starts our own server of the protocol. lab/compare has the tests with nats-server.
func startBus(t *testing.T, change func(c *bus.Config)) *bus.Server {
	t.Helper()
	c := bus.Config{Host: "127.0.0.1", Port: -1, MaxPayload: 4096, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if change != nil {
		change(&c)
	}
	s, err := bus.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func itemOf(id, body string) deliver.Item {
	return deliver.Item{Record: events.Record{
		Subject: "fence.depots.north.enter.default." + id, JSON: events.Plain([]byte(`{"id":"` + id + `/1","source":"/sets/depots"` + body + `}`)),
	}}
}

// Events have their subjects behind the prefix, and their ids in a header. A batch that stops at an
// event that is too long has delivered the events before it.
func TestPublishes(t *testing.T) {
	s := startBus(t, func(c *bus.Config) { c.Token = "t0ken" })
	defer func() { _ = s.Shutdown(t.Context()) }()
	at := "nats://" + s.Addr().String()
	nc, err := nats.Connect(at, nats.Token("t0ken"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync("site.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	e := New(&Config{URL: at, Prefix: "site.", Token: "t0ken"}, false)
	defer e.Close()
	b := &deliver.Batch{Items: []deliver.Item{
		itemOf("v1", `,"traceparent":"00-a","tracestate":"a=1","datacontenttype":"application/json"`), itemOf("v2", `,"x":"`+strings.Repeat("x", 8192)+`"`), itemOf("v3", ""),
	}}
	r := e.Send(t.Context(), b)
	if r.Verdict != deliver.Refused || r.Taken != 1 || !r.First || !strings.Contains(r.Reason, "maximum payload") {
		t.Fatalf("%+v", r)
	}
	gap := deliver.Item{Record: events.Record{Cursor: 9}, Gap: &events.Gap{From: 7, To: 9}}
	if r := e.Send(t.Context(), &deliver.Batch{Items: []deliver.Item{b.Items[2], gap}}); r.Verdict != deliver.Delivered {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{"site.fence.depots.north.enter.default.v1 v1/1", "site.fence.depots.north.enter.default.v3 v3/1", "site.fence._gap gap/9"} {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Subject + " " + m.Header.Get("Nats-Msg-Id"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := m.Header.Get("traceparent") + m.Header.Get("tracestate"); (got == "00-aa=1") != strings.HasSuffix(want, "v1/1") {
			t.Errorf("%s has the trace %q", want, got)
		}
	}
}

// A server that denies the subject has failed: it answers the ping behind the events all the same.
func TestDenied(t *testing.T) {
	s := startBus(t, func(c *bus.Config) {
		c.Users = []bus.User{{Name: "u", Password: "p", Permissions: &bus.Permissions{Publish: bus.SubjectPermission{Deny: []string{"denied.>"}}}}}
	})
	defer func() { _ = s.Shutdown(t.Context()) }()
	b := &deliver.Batch{Items: []deliver.Item{itemOf("v1", "")}}
	for _, prefix := range []string{"denied.", "allowed.", "denied."} {
		e := New(&Config{URL: "nats://" + s.Addr().String(), Prefix: prefix, User: "u", Password: "p"}, false)
		defer e.Close()
		for range 2 {
			r := e.Send(t.Context(), b)
			if allowed := prefix == "allowed."; allowed != (r.Verdict == deliver.Delivered) || !allowed && !strings.Contains(r.Reason, "ermissions") {
				t.Errorf("%s %+v", prefix, r)
			}
		}
	}
}

// A server that is not there, or that asks for a token, has failed. Once it is there the events
// come to it, also when it was replaced meanwhile.
func TestFails(t *testing.T) {
	s := startBus(t, nil)
	at := s.Addr().String()
	e := New(&Config{URL: "nats://" + at}, true)
	defer e.Close()
	b := &deliver.Batch{Items: []deliver.Item{itemOf("v1", "")}}
	if r := e.Send(t.Context(), b); r.Verdict != deliver.Delivered {
		t.Fatalf("%+v", r)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for r := e.Send(t.Context(), b); r.Verdict != deliver.Failed; r = e.Send(t.Context(), b) { // it may not know at once
		if r.Verdict != deliver.Delivered {
			t.Fatalf("%+v", r)
		}
	}
	var host string
	var port int
	if _, err := fmt.Sscanf(strings.Replace(at, ":", " ", 1), "%s %d", &host, &port); err != nil {
		t.Fatal(err)
	}
	s = startBus(t, func(c *bus.Config) { c.Port, c.Token = port, "t0ken" })
	if r := e.Send(t.Context(), b); r.Verdict != deliver.Failed || !strings.Contains(strings.ToLower(r.Reason), "authorization") {
		t.Errorf("%+v", r)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = startBus(t, func(c *bus.Config) { c.Port = port })
	if r := e.Send(t.Context(), b); r.Verdict != deliver.Delivered {
		t.Errorf("%+v", r)
	}
	// A server without JetStream takes nothing into a stream.
	js := New(&Config{URL: "nats://" + at, JetStream: true}, false)
	defer js.Close()
	if r := js.Send(t.Context(), b); r.Verdict != deliver.Failed || r.Taken != 0 {
		t.Errorf("%+v", r)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A stream refuses an event that is too long for it. Whatever else it cannot take now, such as
// anything while its account is full, waits.
func TestStreamRefuses(t *testing.T) {
	s := startBus(t, nil)
	defer func() { _ = s.Shutdown(t.Context()) }()
	stream := s.Local("stream")
	defer stream.Close()
	var code atomic.Int64
	_, err := stream.Subscribe("fence.>", "", func(msgs []bus.Msg) {
		for _, m := range msgs {
			_ = stream.Publish(m.Reply, "", nil, fmt.Appendf(nil, `{"error":{"code":400,"err_code":%d,"description":"why"}}`, code.Load()))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	e := New(&Config{URL: "nats://" + s.Addr().String(), JetStream: true}, false)
	defer e.Close()
	for of, want := range map[int64]deliver.Verdict{
		10054: deliver.Refused, // the message is too long
		10097: deliver.Refused, // its header is
		10002: deliver.Failed,  // the account has no room
		10109: deliver.Failed,  // the stream is sealed
	} {
		code.Store(of)
		r := e.Send(t.Context(), &deliver.Batch{Items: []deliver.Item{itemOf("v1", "")}})
		if r.Verdict != want || r.Status != 400 || r.First != (want == deliver.Refused) {
			t.Errorf("%d: %+v", of, r)
		}
	}
}

// Servers that take connections and say nothing are waited for no longer than the caller waits.
func TestSilentServers(t *testing.T) {
	var urls []string
	accepted := make(chan net.Conn, 4)
	for range cap(accepted) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		urls = append(urls, "nats://"+l.Addr().String())
		go func() { // ends with l
			if conn, err := l.Accept(); err == nil {
				accepted <- conn
			}
		}()
	}
	e := New(&Config{URL: strings.Join(urls, ",")}, false)
	defer e.Close()
	e.timeout = 4 * patience
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan deliver.Result, 1)
	go func() { sent <- e.Send(ctx, &deliver.Batch{Items: []deliver.Item{itemOf("v1", "")}}) }()
	conn := <-accepted
	defer conn.Close()
	cancel()
	select {
	case r := <-sent:
		if r.Verdict != deliver.Failed {
			t.Errorf("%+v", r)
		}
	case <-time.After(patience / 4):
		t.Fatal("the caller has ended, and the attempt to connect goes on")
	}
}

// A server that reads no more is waited for as long as a batch may take, and no longer than the
// caller waits.
func TestStuckServer(t *testing.T) {
	long := &deliver.Batch{Items: []deliver.Item{itemOf("v1", `,"x":"`+strings.Repeat("x", 8<<20)+`"`)}}
	for _, c := range []struct {
		stream bool
		cut    bool
	}{{false, false}, {false, true}, {true, false}, {true, true}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		stuck, ended := make(chan struct{}), make(chan struct{})
		var server sync.WaitGroup
		server.Go(func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, `INFO {"server_id":"s","max_payload":67108864,"headers":true}`+"\r\n")
			for in, line := bufio.NewReader(conn), ""; err == nil && !strings.HasPrefix(line, "HPUB"); line, err = in.ReadString('\n') {
				if strings.HasPrefix(line, "PING") {
					_, _ = io.WriteString(conn, "PONG\r\n")
				}
			}
			close(stuck)
			<-ended
		})
		e := New(&Config{URL: "nats://" + l.Addr().String(), JetStream: c.stream}, false)
		if e.timeout = 200 * time.Millisecond; c.cut {
			e.timeout = 4 * patience
		}
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan deliver.Result)
		go func() {
			r := e.Send(ctx, long)
			e.Close()
			sent <- r
		}()
		if <-stuck; c.cut {
			cancel()
		}
		select {
		case r := <-sent:
			if r.Verdict != deliver.Failed {
				t.Errorf("%+v", r)
			}
			close(ended)
		case <-time.After(patience / 4):
			t.Errorf("still waiting; %+v", c)
			close(ended)
			<-sent
		}
		cancel()
		_ = l.Close()
		server.Wait()
	}
}

// The section has its faults with their places, and its secrets are not shown.
func TestRead(t *testing.T) {
	file, root := strictyaml.Parse("p.yaml", []byte("url: nats://a:4222, tls://b:4222\nprefix: a.b.\njetstream: true\nuser: u\npassword: hunter2\ncreds: c.creds\n"))
	c := Read(root)
	c.Locate("/etc")
	if err := file.Err(); err != nil || !c.JetStream || c.Creds != "/etc/c.creds" || strings.Contains(fmt.Sprintf("%+v %v", *c, c), "hunter2") {
		t.Errorf("%+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"url: http://a": "want nats://host:port", "url: nats://u:p@a:1": "would be shown", "url: nats://a:1\nprefix: a": "want tokens", "url: nats://a:1\nprefix: a.*.": "want tokens",
		"prefix: a..": "want tokens", "jetstream: 1": "neither false nor true", "user: u": "url is missing",
	} {
		file, root := strictyaml.Parse("p.yaml", []byte(text+"\n"))
		if Read(root); !strings.Contains(fmt.Sprint(file.Err()), want) {
			t.Errorf("%q: %v", text, file.Err())
		}
	}
}
