package bridge

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"paddock/bus"
)

func TestListedSubjectsPass(t *testing.T) {
	here, there := newSite(t), newSite(t)
	here.bridge(there, []string{"cmd.>"}, []string{"pos.*.*"})
	atHere, atThere := here.follow(">"), there.follow(">")
	header := nats.Header{"Trace": {"a", "b"}, "lower-case": {"x: y"}}
	here.publish(&nats.Msg{Subject: "other", Data: []byte("stays")}, &nats.Msg{Subject: "pos.red.7", Header: header, Data: []byte("there")}, &nats.Msg{Subject: "pos.red.8"})
	there.publish(&nats.Msg{Subject: "pos.red.9", Data: []byte("stays")}, &nats.Msg{Subject: "cmd.red.7", Header: header, Data: []byte("here")}, &nats.Msg{Subject: "cmd.red.8"})
	for _, c := range []struct {
		from *site
		got  []*nats.Msg
		want []string
	}{
		{here, atThere.await(t, 5), []string{"pos.red.7 there", "pos.red.8 ", "pos.red.9 stays"}},
		{there, atHere.await(t, 5), []string{"cmd.red.7 here", "cmd.red.8 ", "other stays"}},
	} {
		var passed []string
		for _, m := range c.got {
			if text := m.Subject + " " + string(m.Data); slices.Contains(c.want, text) {
				passed = append(passed, text)
			}
			if strings.HasSuffix(m.Subject, "d.7") && m.Header.Get(Mark) != "" {
				if mark := m.Header.Get(Mark); mark != c.from.server.ID() {
					t.Errorf("%s has the mark %q", m.Subject, mark)
				}
				if !slices.Equal(m.Header["Trace"], header["Trace"]) || m.Header["lower-case"][0] != "x: y" || len(m.Header) != 3 {
					t.Errorf("%s has the headers %v", m.Subject, m.Header)
				}
			}
		}
		if slices.Sort(passed); !slices.Equal(passed, c.want) || len(c.got) != 5 {
			t.Errorf("%d messages, and of them %q, want %q", len(c.got), passed, c.want)
		}
	}
	if s := here.state(0); s.In.Messages != 2 || s.Out.Messages != 2 || s.Connects != 1 || s.URL != there.url() {
		t.Errorf("state %+v", s)
	}
}

// A status of the other server, such as JetStream's to a consumer, is one here: clients look for it
// behind the version alone.
func TestStatusesComeIn(t *testing.T) {
	here, there := newSite(t), newSite(t)
	here.bridge(there, []string{"in"}, nil)
	subs, pubs := here.server.Local("subs"), there.server.Local("pubs")
	headers := make(chan string, 3)
	_, err := subs.Subscribe("in", "", func(msgs []bus.Msg) {
		for _, m := range msgs {
			headers <- string(m.Header)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	mark := "Paddock-Bridge: " + there.server.ID() + "\r\n"
	for _, c := range []struct{ header, data, want string }{
		{"NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 1\r\n\r\n", "", "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 1\r\n" + mark + "\r\n"},
		{"NATS/1.0 100\r\n\r\n", "", "NATS/1.0 100\r\n" + mark + "\r\n"},
		{"NATS/1.0\r\nStatus: 404\r\n\r\n", "a report", "NATS/1.0\r\n" + mark + "Status: 404\r\n\r\n"},
	} {
		if err := pubs.Publish("in", "", []byte(c.header), []byte(c.data)); err != nil {
			t.Fatal(err)
		}
		if got := <-headers; got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
	if err := errors.Join(subs.Close(), pubs.Close()); err != nil {
		t.Error(err)
	}
}

// The order of the messages of a publisher is kept.
func TestOrder(t *testing.T) {
	here, there := newSite(t), newSite(t)
	here.bridge(there, []string{"in"}, []string{"out"})
	atHere, atThere := here.follow("in"), there.follow("out")
	const n = 5000
	here.publish(numbered("out", n)...)
	there.publish(numbered("in", n)...)
	for _, got := range [][]*nats.Msg{atHere.await(t, n), atThere.await(t, n)} {
		for i, m := range got {
			if string(m.Data) != fmt.Sprint(i) {
				t.Fatalf("message %d is %s", i, m.Data)
			}
		}
	}
}

func TestRequestsBothWays(t *testing.T) {
	here, there := newSite(t), newSite(t)
	here.bridge(there, []string{"in.>"}, []string{"out.>"})
	for _, c := range []struct {
		asks, answers *site
		subject       string
	}{{here, there, "out.sum"}, {there, here, "in.sum"}} {
		responder, answered := c.answers.client(), make(chan struct{})
		_, err := responder.Subscribe(c.subject, func(m *nats.Msg) {
			defer close(answered)
			// With the headers of the request, as some responders do, twice, and with a question.
			for range 2 {
				answer := &nats.Msg{Subject: m.Reply, Header: m.Header, Data: append([]byte("re: "), m.Data...)}
				reply, err := responder.RequestMsg(answer, patience)
				if err != nil || string(reply.Data) != "thanks" {
					t.Errorf("%v, %v", reply, err)
				}
			}
		})
		if err != nil || responder.Flush() != nil {
			t.Fatal(err)
		}
		requester := c.asks.client()
		answers, err := requester.SubscribeSync("_INBOX.mine.1")
		if err != nil {
			t.Fatal(err)
		}
		if err := requester.PublishRequest(c.subject, "_INBOX.mine.1", []byte("q")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			m, err := answers.NextMsg(patience)
			if err != nil || string(m.Data) != "re: q" || m.Subject != "_INBOX.mine.1" {
				t.Fatalf("%s: %v, %v", c.subject, m, err)
			}
			if err := m.Respond([]byte("thanks")); err != nil {
				t.Fatal(err)
			}
		}
		<-answered
	}
}

// A request is answered by a responder on its own side although the other side has none.
func TestOneSideWithoutResponder(t *testing.T) {
	here, there := newSite(t), newSite(t)
	here.bridge(there, []string{"in.>"}, []string{"out.>"})
	for _, c := range []struct {
		site, other *site
		way         string
	}{{here, there, "out."}, {there, here, "in."}} {
		nc := c.site.client()
		echo := c.other.follow(c.way + "after")
		requests, err := nc.SubscribeSync(c.way + "service")
		if err != nil {
			t.Fatal(err)
		}
		answers, err := nc.SubscribeSync("_INBOX.me")
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.PublishRequest(c.way+"service", "_INBOX.me", []byte("q")); err != nil {
			t.Fatal(err)
		}
		c.site.publish(&nats.Msg{Subject: c.way + "after"})
		echo.await(t, 1) // the other side has had the request before
		m, err := requests.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Respond([]byte("a")); err != nil {
			t.Fatal(err)
		}
		if m, err := answers.NextMsg(patience); err != nil || string(m.Data) != "a" {
			t.Errorf("%v, %v", m, err)
		}
	}
}

// An inbox of the bridge takes nothing but to the reply subject for which it was made.
func TestInboxesCannotBeForged(t *testing.T) {
	here, there := newSite(t), newSite(t)
	here.bridge(there, []string{"in"}, []string{"out"})
	atThere, atHere := there.follow("out"), here.follow(">")
	here.publish(&nats.Msg{Subject: "out", Reply: "answers.1"})
	inbox := atThere.await(t, 1)[0].Reply
	cut, _ := strings.CutSuffix(inbox, "answers.1")
	if cut == inbox || cut == "" {
		t.Fatalf("reply subject %q", inbox)
	}
	there.publish(
		&nats.Msg{Subject: cut + "answers.2", Data: []byte("forged")},
		&nats.Msg{Subject: strings.TrimSuffix(cut, "."), Data: []byte("forged")},
		&nats.Msg{Subject: inbox, Data: []byte("true")},
	)
	await(t, "answer", func() bool { return here.state(0).In.Messages == 1 })
	await(t, "refusals", func() bool { return here.state(0).In.Dropped[Reply] == 2 })
	here.publish(&nats.Msg{Subject: inbox, Data: []byte("from the wrong side")})
	await(t, "refusal", func() bool { return here.state(0).Out.Dropped[Reply] == 1 })
	for _, m := range atHere.all() {
		if string(m.Data) == "forged" {
			t.Errorf("%s", m.Subject)
		}
	}
}

// What clients cannot publish here, another server cannot either.
func TestDeniedSubjectsAreNotImported(t *testing.T) {
	there := newSite(t)
	here := newSiteAt(t, bus.Config{Port: -1, DenyPublish: []string{"fence.>"}})
	cfg := Config{Name: "all", URLs: []string{there.url()}, Import: []string{">"}, MaxPending: DefaultPending}
	if err := here.set.Apply([]Config{cfg}, []string{"fence.>"}); err != nil {
		t.Fatal(err)
	}
	here.awaitConnected(0)
	got := here.follow(">")
	there.publish(&nats.Msg{Subject: "fence.depot.enter.1.2", Data: []byte("forged")}, &nats.Msg{Subject: "pos.a.b"})
	if m := got.await(t, 1); m[0].Subject != "pos.a.b" || here.state(0).In.Dropped[Denied] != 1 {
		t.Errorf("%s, %+v", m[0].Subject, here.state(0))
	}
}

// Of the bridges of a queue one imports each message.
func TestQueue(t *testing.T) {
	there, here := newSite(t), newSite(t)
	var list []Config
	for _, name := range []string{"a", "b"} {
		list = append(list, Config{Name: name, URLs: []string{there.url()}, Import: []string{"in"}, Queue: "here", MaxPending: DefaultPending})
	}
	here.apply(list...)
	here.awaitConnected(0)
	here.awaitConnected(1)
	got := here.follow("in")
	before := there.server.Stats().OutMsgs
	there.publish(numbered("in", 100)...)
	got.await(t, 100)
	if n := there.server.Stats().OutMsgs - before; n != 100 {
		t.Errorf("%d messages went to the bridges", n)
	}
}

// A message that the other server does not take costs no other one.
func TestWhatDoesNotFit(t *testing.T) {
	here := newSite(t)
	there := newSiteAt(t, bus.Config{Port: -1, MaxPayload: 1000})
	here.bridge(there, nil, []string{"out.>"})
	got := there.follow("out.>")
	local := here.server.Local("test")
	defer local.Close()
	for _, m := range []bus.Msg{
		{Subject: "out.large", Data: make([]byte, 2000)},
		{Subject: "out.header", Header: []byte("NATS/1.0\r\nno colon\r\n\r\n")},
		{Subject: "out.good"},
	} {
		if err := local.Publish(m.Subject, "", m.Header, m.Data); err != nil {
			t.Fatal(err)
		}
	}
	if m := got.await(t, 1); m[0].Subject != "out.good" {
		t.Errorf("%s", m[0].Subject)
	}
	if s := here.state(0).Out; s.Dropped[Large] != 1 || s.Dropped[Header] != 1 || s.Messages != 1 {
		t.Errorf("%+v", s)
	}
}

// A reply subject whose inbox would not fit into a line of the other server costs its message
// alone, and not the connection.
func TestReplySubjectThatIsTooLong(t *testing.T) {
	here, there := newSite(t), newSite(t)
	here.bridge(there, nil, []string{"out"})
	got := there.follow("out")
	long := strings.Repeat("r", 4070)
	here.publish(&nats.Msg{Subject: "out", Reply: long}, &nats.Msg{Subject: "out", Reply: long[:3900]}, &nats.Msg{Subject: "out", Data: []byte("later")})
	await(t, "end", func() bool {
		s := here.state(0)
		return s.Out.Messages+s.Out.Dropped[Subject]+s.Out.Dropped[Lost] == 3
	})
	if s := here.state(0); s.Out.Dropped[Subject] != 1 || s.Connects != 1 || s.In.Dropped[Full] != 0 {
		t.Errorf("%+v", s)
	}
	if m := got.await(t, 2); len(m[0].Reply) < 3900 || string(m[1].Data) != "later" {
		t.Errorf("a reply subject of %d bytes, and then %q", len(m[0].Reply), m[1].Data)
	}
}

// What the library has dropped of a connection is not forgotten when it closes that.
func TestDropsOfAClosedConnection(t *testing.T) {
	here := newSite(t)
	nc := here.client()
	sub, err := nc.SubscribeSync("in")
	if err != nil || sub.SetPendingLimits(1, -1) != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	l := &link{conn: nc}
	l.add(sub)
	here.publish(numbered("in", 4)...)
	await(t, "drops", func() bool { return l.dropped() == 3 })
	nc.Close()
	if n := l.dropped(); n != 3 {
		t.Errorf("%d", n)
	}
}
