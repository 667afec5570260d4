package bridgecheck

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"paddock/internal/busd/bridge"
	"paddock/lab/compare/internal/nats/servers"
)

// Messages pass both ways in order, with their headers and data.
func TestBothWays(t *testing.T) {
	c := servers.Start(t, 1)
	there, here := c.Connect(), newSite(t)
	here.bridge(c.URL(), there, []string{"in.>"}, []string{"out.>"})
	local := here.client()
	atHere, atThere := follow(t, local, "*.x"), follow(t, there, "*.x")
	const n = 1000
	publish(t, local, "out.x", n)
	publish(t, there, "in.x", n)
	publish(t, local, "other.x", 1)
	publish(t, there, "else.x", 1)
	for _, got := range [][]*nats.Msg{atHere.await(t, 2*n+1), atThere.await(t, 2*n+1)} {
		next := map[string]int{}
		for _, m := range got {
			if string(m.Data) != fmt.Sprint(next[m.Subject]) {
				t.Fatalf("%s is %s, want %d", m.Subject, m.Data, next[m.Subject])
			}
			next[m.Subject]++
		}
		if next["in.x"] != n || next["out.x"] != n || len(next) != 3 {
			t.Errorf("%v", next)
		}
	}
	header := nats.Header{"Trace": {"a", "b"}, "lower-case": {"x: y"}, "Status": {"200"}}
	for _, way := range []struct {
		from, to *nats.Conn
		subject  string
	}{{local, there, "out.y"}, {there, local, "in.y"}} {
		got := follow(t, way.to, way.subject)
		ok(t, way.from.PublishMsg(&nats.Msg{Subject: way.subject, Header: header}))
		m := got.await(t, 1)[0]
		if len(m.Header) != 4 || !slices.Equal(m.Header["Trace"], header["Trace"]) || m.Header["lower-case"][0] != "x: y" || m.Header["Status"][0] != "200" {
			t.Errorf("%s: %v", way.subject, m.Header)
		}
	}
}

// Requests are answered across the bridge both ways, also by responders that copy the headers of a
// request, and where only the own side has a responder. A stream acknowledges what is published.
func TestRequests(t *testing.T) {
	c := servers.Start(t, 1)
	there, here := c.Connect(), newSite(t)
	here.bridge(c.URL(), there, []string{"in.>"}, []string{"out.>", "orders.>"})
	local := here.client()
	for _, way := range []struct {
		asks, answers *nats.Conn
		subject       string
	}{{local, there, "out.a"}, {there, local, "in.a"}, {local, local, "out.own"}, {there, there, "in.own"}} {
		_, err := way.answers.Subscribe(way.subject, func(m *nats.Msg) {
			_ = m.RespondMsg(&nats.Msg{Header: m.Header, Data: append([]byte("re: "), m.Data...)})
		})
		ok(t, err)
		ok(t, way.answers.Flush())
		for i := range 200 {
			m, err := way.asks.RequestMsg(&nats.Msg{Subject: way.subject, Header: nats.Header{"N": {fmt.Sprint(i)}}, Data: fmt.Append(nil, i)}, servers.Patience)
			if err != nil || string(m.Data) != fmt.Sprintf("re: %d", i) || m.Header.Get("N") != fmt.Sprint(i) {
				t.Fatalf("%s: %v, %v", way.subject, m, err)
			}
		}
	}
	js, err := jetstream.New(there)
	ok(t, err)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}})
	ok(t, err)
	over, err := jetstream.New(local)
	ok(t, err)
	for i := range 10 {
		ack, err := over.Publish(t.Context(), "orders.new", []byte("x"))
		if err != nil || ack.Sequence != uint64(i+1) || ack.Stream != "ORDERS" {
			t.Fatalf("%+v, %v", ack, err)
		}
	}
	if info, err := stream.Info(t.Context()); err != nil || info.State.Msgs != 10 {
		t.Errorf("%+v, %v", info, err)
	}
}

// The bridge connects again after the server was killed and started, and what was published
// meanwhile arrives.
func TestServerIsKilled(t *testing.T) {
	c := servers.Start(t, 1)
	there, here := c.Connect(), newSite(t)
	here.bridge(c.URL(), there, []string{"in.>"}, []string{"out.>"})
	local := here.client()
	for range 2 {
		c.Kill(0)
		await(t, "end of the connection", func() bool { return !here.set.States()[0].Connected })
		publish(t, local, "out.x", 100)
		before := here.set.States()[0].Out.Messages
		c.Run(0)
		await(t, "what has waited", func() bool { return here.set.States()[0].Out.Messages >= before+100 })
		here.awaitPassing(0, there)
	}
	if s := here.set.States()[0]; s.Connects != 3 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
	_, err := there.Subscribe("out.request", func(m *nats.Msg) { _ = m.Respond([]byte("a")) })
	ok(t, err)
	ok(t, there.Flush())
	if m, err := local.Request("out.request", nil, servers.Patience); err != nil || string(m.Data) != "a" {
		t.Errorf("%v, %v", m, err)
	}
}

// A frozen server costs the bus nothing, and messages pass when it goes on.
func TestServerIsFrozen(t *testing.T) {
	c := servers.Start(t, 1)
	there, here := c.Connect(), newSite(t)
	here.bridge(c.URL(), there, nil, []string{"out.>"})
	local := here.client()
	got := follow(t, here.client(), "out.x")
	c.Freeze(0)
	const n = 400
	data := make([]byte, 100<<10) // 40 MB, more than sockets and the queue hold
	for range n {
		ok(t, local.Publish("out.x", data))
	}
	got.await(t, n)
	await(t, "drop", func() bool { return here.set.States()[0].Out.Dropped[bridge.Full] > 0 })
	c.Thaw(0)
	here.awaitPassing(0, there)
}

const loopMessages = 300

// Two buses that import from one server what they export there: each message comes once to each of
// the three.
func TestTwoBusesAtOneServer(t *testing.T) {
	c := servers.Start(t, 1)
	there, a, b := c.Connect(), newSite(t), newSite(t)
	for _, s := range []*site{a, b} {
		s.bridge(c.URL(), there, []string{"x.>"}, []string{"x.>"})
	}
	eachOnce(t, []*nats.Conn{there, a.client(), b.client()}, 4*loopMessages, a, b)
}

// Two buses at different servers of a cluster, which count as one.
func TestTwoBusesAtACluster(t *testing.T) {
	c := servers.Start(t, 3)
	urls := c.URLs()
	there, a, b := connect(t, urls[0]), newSite(t), newSite(t)
	a.bridge(urls[0], there, []string{"x.>"}, []string{"x.>"})
	b.bridge(urls[1], there, []string{"x.>"}, []string{"x.>"})
	eachOnce(t, []*nats.Conn{there, a.client(), b.client()}, 4*loopMessages, a, b)
}

// A bus that imports from one server of a cluster what it exports to another one.
func TestOneBusAtTwoServers(t *testing.T) {
	c := servers.Start(t, 3)
	// The first server has told the second one of x.> before the probes of a bridge pass, so no
	// message is lost between the two.
	there, here := connect(t, c.URLs()[0]), newSite(t)
	here.bridge(c.URLs()[0], there, []string{"x.>"}, nil)
	here.bridge(c.URLs()[1], there, nil, []string{"x.>"})
	eachOnce(t, []*nats.Conn{there, here.client()}, 2*loopMessages, here)
}

// A ring of a bus, the server and a bus.
func TestRingOfThree(t *testing.T) {
	c := servers.Start(t, 1)
	there, a, b := c.Connect(), newSite(t), newSite(t)
	a.bridge(c.URL(), there, nil, []string{"x.>"})
	b.bridge(c.URL(), there, []string{"x.>"}, nil)
	b.bridge(a.url(), a.client(), nil, []string{"x.>"})
	eachOnce(t, []*nats.Conn{there, a.client(), b.client()}, 3*loopMessages, a, b)
}

// eachOnce publishes at each place, and expects each message once at each place. wantLoops is how
// often a message is not passed again.
func eachOnce(t *testing.T, places []*nats.Conn, wantLoops uint64, sites ...*site) {
	t.Helper()
	inboxes := make([]*inbox, len(places))
	for i, nc := range places {
		inboxes[i] = follow(t, nc, "x.>")
	}
	for i, nc := range places {
		publish(t, nc, fmt.Sprintf("x.%d", i), loopMessages)
	}
	var n uint64
	await(t, "loops", func() bool {
		n = 0
		for _, s := range sites {
			for _, state := range s.set.States() {
				n += loops(&state)
			}
		}
		return n >= wantLoops
	})
	for i, b := range inboxes {
		if got := len(b.await(t, len(places)*loopMessages)); got != len(places)*loopMessages {
			t.Errorf("place %d has %d messages", i, got)
		}
	}
	if n != wantLoops {
		t.Errorf("%d loops, want %d", n, wantLoops)
	}
}

// A bridge goes on at another server of the cluster when its own is killed.
func TestServerOfAClusterIsKilled(t *testing.T) {
	c := servers.Start(t, 3)
	there, here := c.Connect(), newSite(t)
	here.bridge(c.URL(), there, []string{"in.>"}, []string{"out.>"})
	at := slices.Index(c.URLs(), here.set.States()[0].URL)
	if at < 0 {
		t.Fatalf("%+v", here.set.States())
	}
	c.Kill(at)
	await(t, "another server", func() bool { s := here.set.States()[0]; return s.Connected && s.URL != c.URLs()[at] })
	await(t, "the client's server", func() bool { return there.FlushTimeout(time.Second) == nil })
	here.awaitPassing(0, there)
}

// A request that no side answers ends by its timeout, and a service of one side is not disturbed by
// the other side's lack of one.
func TestNoResponder(t *testing.T) {
	c := servers.Start(t, 1)
	there, here := c.Connect(), newSite(t)
	here.bridge(c.URL(), there, []string{"in.>"}, []string{"out.>"})
	for _, way := range []struct {
		nc      *nats.Conn
		subject string
	}{{here.client(), "out.none"}, {there, "in.none"}} {
		if _, err := way.nc.Request(way.subject, nil, 50*time.Millisecond); !errors.Is(err, nats.ErrTimeout) {
			t.Errorf("%s: %v", way.subject, err)
		}
	}
}
