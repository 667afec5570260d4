package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"paddock/bus"
)

func newServer(t *testing.T, cfg bus.Config) *bus.Server {
	t.Helper()
	s, err := bus.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, s) })
	return s
}

// trace collects the messages of callbacks, as "subject:data".
type trace struct {
	mu   sync.Mutex
	seen []string
}

func (tr *trace) add(msgs []bus.Msg) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, m := range msgs {
		tr.seen = append(tr.seen, m.Subject+":"+string(m.Data))
	}
}

func (tr *trace) expect(t *testing.T, want ...string) {
	t.Helper()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if !slices.Equal(tr.seen, want) {
		t.Errorf("got %q, want %q", tr.seen, want)
	}
	tr.seen = nil
}

func subscribe(t *testing.T, l *bus.Local, pattern, queue string, fn func([]bus.Msg)) *bus.Subscription {
	t.Helper()
	sub, err := l.Subscribe(pattern, queue, fn)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

func publish(t *testing.T, l *bus.Local, subject, data string) {
	t.Helper()
	if err := l.Publish(subject, "", nil, []byte(data)); err != nil {
		t.Fatal(err)
	}
}

func TestLocalPublishRunsCallbacksBeforeItReturns(t *testing.T) {
	s := newServer(t, bus.Config{})
	a, b := s.Local("a"), s.Local("b")
	var tr trace
	subscribe(t, b, "x.*", "", tr.add)
	publish(t, a, "x.1", "one")
	tr.expect(t, "x.1:one")
	if err := a.PublishBatch([]bus.Msg{{Subject: "x.2"}, {Subject: "y"}, {Subject: "x.3", Data: []byte("three")}}); err != nil {
		t.Fatal(err)
	}
	tr.expect(t, "x.2:", "x.3:three")
	st := s.Stats()
	if st.InMsgs != 4 || st.OutMsgs != 3 || st.InBytes != 8 || st.OutBytes != 8 || st.Subscriptions != 1 {
		t.Errorf("%+v", st)
	}
}

// A message that a callback publishes waits for the end of the batch, for each Local alike;
// callbacks are never nested.
func TestLocalPublishFromCallbackIsNotRecursive(t *testing.T) {
	s := newServer(t, bus.Config{})
	a, b := s.Local("a"), s.Local("b")
	var tr trace
	inside := false
	enter := func(l *bus.Local) func([]bus.Msg) {
		return func(msgs []bus.Msg) {
			if inside {
				t.Error("a callback within a callback")
			}
			inside = true
			for _, m := range msgs {
				if depth := strings.Count(m.Subject, "."); depth < 3 {
					publish(t, l, m.Subject+".next", string(m.Data))
				}
			}
			tr.add(msgs)
			inside = false
		}
	}
	subscribe(t, a, "a.>", "", enter(a))
	subscribe(t, b, "*.next.>", "", enter(b))
	if err := a.PublishBatch([]bus.Msg{{Subject: "a.1", Data: []byte("1")}, {Subject: "a.2", Data: []byte("2")}}); err != nil {
		t.Fatal(err)
	}
	tr.expect(t, "a.1:1", "a.2:2", "a.1.next:1", "a.2.next:2", "a.1.next.next:1", "a.2.next.next:2")
	subscribe(t, b, "a.1", "", enter(b)) // now two Locals answer each other
	publish(t, a, "a.1", "3")
	if st := s.Stats(); st.Dropped != 0 {
		t.Errorf("%+v", st)
	}
}

// Network clients get the messages that a callback publishes as well.
func TestLocalAnswersNetworkRequest(t *testing.T) {
	s := startServer(t, configForTest)
	l := s.Local("service")
	subscribe(t, l, "service", "workers", func(msgs []bus.Msg) {
		for _, m := range msgs {
			if err := l.Publish(m.Reply, "", m.Header, append([]byte("re:"), m.Data...)); err != nil {
				t.Error(err)
			}
		}
	})
	p := dialPeer(t, s)
	p.write("CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB in.* 1\r\n")
	p.write("HPUB service in.1 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPUB service in.2 1\r\nx\r\nPING\r\n")
	p.expect("answers", "HMSG in.1 1 12 17\r\nNATS/1.0\r\n\r\nre:hi\r\nMSG in.2 1 4\r\nre:x\r\nPONG\r\n")
}

func TestLocalQueueAndUnsubscribe(t *testing.T) {
	s := newServer(t, bus.Config{})
	l := s.Local("a")
	var tr trace
	one := subscribe(t, l, "x", "q", tr.add)
	two := subscribe(t, l, ">", "q", tr.add)
	publish(t, l, "x", "1")
	tr.expect(t, "x:1")
	if err := one.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	if err := two.UnsubscribeAfter(2); err != nil {
		t.Fatal(err)
	}
	tr.seen = nil
	for i := range 4 {
		publish(t, l, "x", fmt.Sprint(i))
	}
	tr.mu.Lock()
	got := len(tr.seen)
	tr.mu.Unlock()
	if got == 0 || got > 2 { // two had 0 or 1 before
		t.Errorf("%d messages after UnsubscribeAfter(2)", got)
	}
	if n := s.Stats().Subscriptions; n != 0 {
		t.Errorf("%d subscriptions left", n)
	}
}

func TestLocalNoResponders(t *testing.T) {
	s := newServer(t, bus.Config{})
	l := s.Local("a")
	var got []bus.Msg
	subscribe(t, l, "in.*", "", func(msgs []bus.Msg) { got = append(got, msgs...) })
	if err := l.Publish("nobody", "in.1", nil, nil); err != nil {
		t.Fatal(err)
	}
	want := "NATS/1.0 503\r\nNats-Subject: nobody\r\n\r\n"
	if len(got) != 1 || got[0].Subject != "in.1" || string(got[0].Header) != want || len(got[0].Data) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestLocalRefusals(t *testing.T) {
	s := newServer(t, bus.Config{MaxPayload: 8, MaxControlLine: 64, DenyPublish: []string{"fence.>"}})
	l := s.Local("a")
	for name, tc := range map[string]struct {
		m    bus.Msg
		want error
	}{
		"fine":                    {bus.Msg{Subject: "fence.x", Reply: "r", Data: make([]byte, 8)}, nil},
		"no subject":              {bus.Msg{}, bus.ErrBadSubject},
		"wildcard":                {bus.Msg{Subject: "a.*"}, bus.ErrBadSubject},
		"injection":               {bus.Msg{Subject: "a 0\r\n\r\nMSG b 1"}, bus.ErrBadSubject},
		"injection by the reply":  {bus.Msg{Subject: "a", Reply: "b 1\r\n"}, bus.ErrBadSubject},
		"endless subject":         {bus.Msg{Subject: strings.Repeat("x", 65)}, bus.ErrBadSubject},
		"payload":                 {bus.Msg{Subject: "a", Data: make([]byte, 9)}, bus.ErrMaxPayload},
		"payload with its header": {bus.Msg{Subject: "a", Header: make([]byte, 4), Data: make([]byte, 5)}, bus.ErrMaxPayload},
	} {
		if err := l.PublishBatch([]bus.Msg{{Subject: "first"}, tc.m}); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
	if _, err := l.Subscribe("a..b", "", nil); !errors.Is(err, bus.ErrBadSubject) {
		t.Errorf("pattern: %v", err)
	}
	if _, err := l.Subscribe("a", "q q", nil); !errors.Is(err, bus.ErrBadSubject) {
		t.Errorf("queue: %v", err)
	}
	if st := s.Stats(); st.InMsgs != 2 {
		t.Errorf("a refused batch was sent in part: %+v", st)
	}
}

func TestLocalClose(t *testing.T) {
	s := newServer(t, bus.Config{})
	a, b := s.Local("a"), s.Local("b")
	var tr trace
	sub := subscribe(t, a, "x", "", tr.add)
	a.Close()
	publish(t, b, "x", "1")
	tr.expect(t)
	if err := a.Publish("x", "", nil, nil); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Publish: %v", err)
	}
	if _, err := a.Subscribe("x", "", tr.add); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Subscribe: %v", err)
	}
	if err := sub.Unsubscribe(); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Unsubscribe: %v", err)
	}
	shutdown(t, s)
	for _, l := range []*bus.Local{b, s.Local("late")} {
		if err := l.Publish("x", "", nil, nil); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("Publish after Shutdown: %v", err)
		}
	}
}

// Several goroutines publish through one Local: nothing is lost, the order of
// each goroutine is kept, and callbacks never overlap.
func TestLocalConcurrentPublish(t *testing.T) {
	const goroutines, each = 8, 500
	s := startServer(t, configForTest)
	l, in := s.Local("publisher"), s.Local("subscriber")
	last := make(map[string]int)
	total := 0
	var running atomic.Int32
	check := func(msgs []bus.Msg) {
		if running.Add(1) != 1 {
			t.Error("callbacks overlap")
		}
		defer running.Add(-1)
		for _, m := range msgs {
			var n int
			fmt.Sscan(string(m.Data), &n)
			if n != last[m.Subject]+1 {
				t.Errorf("%s: %d after %d", m.Subject, n, last[m.Subject])
			}
			last[m.Subject] = n
			total++
		}
	}
	subscribe(t, in, "p.*", "", check)
	p := dialPeer(t, s)
	p.write("CONNECT {\"verbose\":false}\r\nSUB p.* 1\r\n")
	p.sync()
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				if err := l.Publish(fmt.Sprintf("p.%d", g), "", nil, fmt.Append(nil, i+1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(p.sync()); got != goroutines*each {
		t.Errorf("the network client got %d messages", got)
	}
	shutdown(t, s) // all callbacks have ended
	if total != goroutines*each {
		t.Errorf("the callback got %d messages", total)
	}
}

// A subscriber in process that is behind is bounded: network publishers wait,
// in-process ones lose messages, which is counted.
func TestLocalInboxIsBounded(t *testing.T) {
	s := newServer(t, bus.Config{MaxPending: 1000, MaxPayload: 600})
	l, other := s.Local("slow"), s.Local("other")
	entered, proceed := make(chan struct{}), make(chan struct{})
	first := true
	var tr trace
	subscribe(t, l, "x", "", func(msgs []bus.Msg) {
		if tr.add(msgs); first {
			first = false
			close(entered)
			<-proceed
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		publish(t, other, "x", "first")
	}()
	<-entered
	big := strings.Repeat("b", 600)
	publish(t, other, "x", big)
	publish(t, other, "x", big) // 600 + 600 > 1000
	if st := s.Stats(); st.Dropped != 1 || st.OutMsgs != 2 {
		t.Errorf("%+v", st)
	}
	close(proceed)
	<-done
	tr.expect(t, "x:first", "x:"+big)
}

// After Publish has returned, Shutdown delivers the message.
func TestShutdownDeliversWhatWasPublished(t *testing.T) {
	s := startServer(t, configForTest)
	var readers []*peer
	for range 4 {
		p := dialPeer(t, s)
		p.write("CONNECT {\"verbose\":false}\r\nSUB > 1\r\n")
		p.sync()
		readers = append(readers, p)
	}
	l := s.Local("publisher")
	var want bytes.Buffer
	body := strings.Repeat("x", 5000)
	for i := range 400 {
		subject := fmt.Sprintf("e.%d", i)
		fmt.Fprintf(&want, "MSG %s 1 %d\r\n%s\r\n", subject, len(body), body)
		publish(t, l, subject, body)
	}
	shutdown(t, s)
	for i, p := range readers {
		p.expect(fmt.Sprintf("reader %d", i), want.String())
		if p.more() {
			t.Errorf("reader %d got more", i)
		}
	}
	if st := s.Stats(); st.Closed[bus.ServerShutdown] != 4 || st.Connections != 0 || st.Subscriptions != 0 {
		t.Errorf("%+v", st)
	}
	if _, err := net.Dial("tcp", s.Addr().String()); err == nil {
		t.Error("still listening")
	}
	if err := s.Start(); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("Start after Shutdown: %v", err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Errorf("second Shutdown: %v", err)
	}
}

// A message that a client has sent before Shutdown is either routed whole or not at all, and
// several calls of Shutdown wait alike.
func TestShutdownDuringTraffic(t *testing.T) {
	s := startServer(t, configForTest)
	sub := dialPeer(t, s)
	sub.write("CONNECT {\"verbose\":false}\r\nSUB a 1\r\n")
	sub.sync()
	var wg sync.WaitGroup
	for range 4 {
		p := dialPeer(t, s)
		p.write("CONNECT {\"verbose\":false}\r\n")
		wg.Go(func() {
			batch := []byte(strings.Repeat("PUB a 5\r\nhello\r\n", 200))
			for {
				if _, err := p.conn.Write(batch); err != nil {
					return
				}
			}
		})
	}
	sub.expect("traffic", "MSG a 1 5\r\nhello\r\n")
	for range 3 {
		wg.Go(func() { shutdown(t, s) })
	}
	for line := sub.line(); line != ""; line = sub.line() {
		if line != "MSG a 1 5\r\n" || sub.line() != "hello\r\n" {
			t.Fatalf("a broken frame: %q", line)
		}
	}
	wg.Wait()
}

// What a callback passes on is the process's own: the publisher of the original is not taken for
// that of the copy.
func TestMessagesThatArePassedOnHaveNoUser(t *testing.T) {
	s := startServer(t, allows(&bus.Permissions{Publish: bus.SubjectPermission{Allow: []string{"in"}}}))
	l, got := s.Local("proxy"), make(chan bus.Msg, 2)
	must[*bus.Subscription](t)(l.Subscribe("in", "", func(msgs []bus.Msg) {
		for _, m := range msgs {
			got <- m
			m.Subject = "out"
			if err := l.PublishBatch([]bus.Msg{m}); err != nil {
				t.Error(err)
			}
		}
	}))
	must[*bus.Subscription](t)(l.Subscribe("out", "", func(msgs []bus.Msg) { got <- msgs[0] }))
	connectAs(t, s, "a").write("PUB in 0\r\n\r\n")
	if m := <-got; m.User != "a" || !m.Limited {
		t.Errorf("published by %q, limited %v", m.User, m.Limited)
	}
	if m := <-got; m.Subject != "out" || m.User != "" || m.Limited {
		t.Errorf("%s published by %q, limited %v", m.Subject, m.User, m.Limited)
	}
}
