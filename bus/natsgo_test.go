package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/bus"
)

// connect opens a nats.go client for the length of the test.
func connect(t *testing.T, s *bus.Server, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("nats://"+s.Addr().String(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestGoClientPublishesAndSubscribes(t *testing.T) {
	s := startServer(t, configForTest)
	for name, nc := range map[string]*nats.Conn{
		"over TCP":   connect(t, s),
		"in process": connect(t, s, nats.InProcessServer(s)),
	} {
		t.Run(name, func(t *testing.T) {
			sub := must[*nats.Subscription](t)(nc.SubscribeSync("pos.*.>"))
			const n = 20000
			for i := range n {
				check(t, nc.Publish("pos.fleet.v."+fmt.Sprint(i%7), fmt.Append(nil, i)))
			}
			check(t, nc.Flush())
			for i := range n {
				m := must[*nats.Msg](t)(sub.NextMsg(patience))
				if string(m.Data) != fmt.Sprint(i) {
					t.Fatalf("message %d is %q", i, m.Data)
				}
			}
			if rtt := must[time.Duration](t)(nc.RTT()); rtt <= 0 {
				t.Error(rtt)
			}
		})
	}
}

func TestGoClientQueueGroup(t *testing.T) {
	s := startServer(t, configForTest)
	pub := connect(t, s)
	const members, n = 4, 1000
	var mu sync.Mutex
	got := make(map[string]int)
	each := make([]int, members)
	var wg sync.WaitGroup
	wg.Add(n)
	for i := range members {
		nc := connect(t, s)
		must[*nats.Subscription](t)(nc.QueueSubscribe("work.*", "workers", func(m *nats.Msg) {
			mu.Lock()
			defer mu.Unlock()
			got[string(m.Data)]++
			each[i]++
			wg.Done()
		}))
		check(t, nc.Flush())
	}
	for i := range n {
		check(t, pub.Publish("work.x", fmt.Append(nil, i)))
	}
	wg.Wait()
	check(t, pub.Flush())
	mu.Lock()
	defer mu.Unlock()
	if len(got) != n {
		t.Errorf("%d of %d messages", len(got), n)
	}
	for i, count := range each {
		if count == 0 {
			t.Errorf("member %d of %d got none of %d messages", i, members, n)
		}
	}
}

func TestGoClientRequestsWithHeaders(t *testing.T) {
	s := startServer(t, configForTest)
	service, requester := connect(t, s), connect(t, s)
	must[*nats.Subscription](t)(service.QueueSubscribe("echo", "q", func(m *nats.Msg) {
		answer := nats.NewMsg(m.Reply)
		answer.Header.Set("Seen", m.Header.Get("Trace"))
		answer.Data = append([]byte("re:"), m.Data...)
		m.RespondMsg(answer)
	}))
	check(t, service.Flush())
	for i := range 100 {
		m := nats.NewMsg("echo")
		m.Header.Set("Trace", fmt.Sprint(i))
		m.Data = []byte("hi")
		answer := must[*nats.Msg](t)(requester.RequestMsg(m, patience))
		if answer.Header.Get("Seen") != fmt.Sprint(i) || string(answer.Data) != "re:hi" {
			t.Fatalf("answer %v %q", answer.Header, answer.Data)
		}
	}
}

func TestGoClientNoResponders(t *testing.T) {
	s := startServer(t, configForTest)
	for name, nc := range map[string]*nats.Conn{
		"one subscription for all replies": connect(t, s),
		"one for each":                     connect(t, s, nats.UseOldRequestStyle()),
	} {
		if _, err := nc.Request("nobody", nil, patience); !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGoClientAutoUnsubscribe(t *testing.T) {
	s := startServer(t, configForTest)
	nc := connect(t, s)
	sub := must[*nats.Subscription](t)(nc.SubscribeSync("a"))
	check(t, sub.AutoUnsubscribe(3))
	for range 10 {
		check(t, nc.Publish("a", nil))
	}
	check(t, nc.Flush())
	if st := s.Stats(); st.OutMsgs != 3 || st.Subscriptions != 0 {
		t.Errorf("%+v", st)
	}
}

func TestGoClientDrain(t *testing.T) {
	s := startServer(t, configForTest)
	closed := make(chan struct{})
	nc := connect(t, s, nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	pub := connect(t, s)
	got := 0
	must[*nats.Subscription](t)(nc.Subscribe("a", func(*nats.Msg) { got++ }))
	check(t, nc.Flush())
	for range 1000 {
		check(t, pub.Publish("a", nil))
	}
	check(t, pub.Flush())
	check(t, nc.Drain())
	<-closed
	if got != 1000 {
		t.Errorf("%d of 1000 messages before the drain ended", got)
	}
}

func TestGoClientAuthentication(t *testing.T) {
	token := startServer(t, bus.Config{Token: "secret"})
	connect(t, token, nats.Token("secret"))
	user := startServer(t, bus.Config{Username: "ann", Password: "secret"})
	connect(t, user, nats.UserInfo("ann", "secret"))
	for name, try := range map[string]func() (*nats.Conn, error){
		"wrong token":    func() (*nats.Conn, error) { return nats.Connect(token.Addr().String(), nats.Token("x")) },
		"no token":       func() (*nats.Conn, error) { return nats.Connect(token.Addr().String()) },
		"wrong password": func() (*nats.Conn, error) { return nats.Connect(user.Addr().String(), nats.UserInfo("ann", "x")) },
		"token for user": func() (*nats.Conn, error) { return nats.Connect(user.Addr().String(), nats.Token("secret")) },
		"in process":     func() (*nats.Conn, error) { return nats.Connect("", nats.InProcessServer(token)) },
	} {
		if _, err := try(); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGoClientSeesPermissionsViolation(t *testing.T) {
	s := startServer(t, bus.Config{DenyPublish: []string{"fence.>", "$SYS.>"}})
	failed := make(chan error, 1)
	nc := connect(t, s, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { failed <- err }))
	check(t, nc.Publish("fence.a.enter", []byte("forged")))
	if err := <-failed; !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), "fence.a.enter") {
		t.Errorf("got %v", err)
	}
	check(t, nc.Flush())
	if !nc.IsConnected() {
		t.Error("disconnected")
	}
	if st := s.Stats(); st.Refused != 1 || st.InMsgs != 1 || st.OutMsgs != 0 {
		t.Errorf("%+v", st)
	}
}

func TestGoClientMaxPayload(t *testing.T) {
	s := startServer(t, bus.Config{MaxPayload: 100})
	nc := connect(t, s)
	if nc.MaxPayload() != 100 {
		t.Errorf("told %d", nc.MaxPayload())
	}
	if err := nc.Publish("a", make([]byte, 101)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("got %v", err)
	}
}

// A client goes on with another server when its own shuts down.
func TestGoClientReconnects(t *testing.T) {
	one, two := startServer(t, configForTest), startServer(t, configForTest)
	back := make(chan struct{})
	nc := connect(t, one, nats.ReconnectWait(time.Millisecond), nats.DontRandomize(), nats.MaxReconnects(-1),
		nats.ReconnectHandler(func(*nats.Conn) { close(back) }),
		func(o *nats.Options) error {
			o.Servers = []string{"nats://" + one.Addr().String(), "nats://" + two.Addr().String()}
			o.Url = ""
			return nil
		})
	sub := must[*nats.Subscription](t)(nc.SubscribeSync("a"))
	check(t, nc.Flush())
	shutdown(t, one)
	<-back
	check(t, nc.Flush()) // the subscription is there again
	check(t, two.Local("local").Publish("a", "", nil, []byte("hello")))
	if m := must[*nats.Msg](t)(sub.NextMsg(patience)); string(m.Data) != "hello" {
		t.Errorf("got %q", m.Data)
	}
}

// Many clients that come, subscribe, publish and go leave nothing behind.
func TestGoClientChurn(t *testing.T) {
	s := startServer(t, configForTest)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 25 {
				nc, err := nats.Connect("nats://" + s.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				nc.Subscribe(fmt.Sprintf("c.%d", g), func(*nats.Msg) {})
				nc.QueueSubscribe("c.*", "q", func(*nats.Msg) {})
				nc.Publish(fmt.Sprintf("c.%d", i%4), nil)
				if err := nc.Flush(); err != nil {
					t.Error(err)
				}
				nc.Close()
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	check(t, s.Shutdown(ctx))
	if st := s.Stats(); st.Connections != 0 || st.Subscriptions != 0 || st.TotalConnections != 100 {
		t.Errorf("%+v", st)
	}
}
