package clientscheck

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

func pubsub() {
	nc, other := connect(), connect(nats.NoEcho())
	var subs []*nats.Subscription
	for _, pattern := range []string{"fleet", "fleet.*", "fleet.a.pos", "fleet.*.pos", "*.a.*", "fleet.>", ">"} {
		subs = append(subs, subscribe(nc, pattern))
	}
	own := subscribe(other, "fleet.>")
	flush(nc)
	flush(other)
	for _, subject := range []string{"fleet", "fleet.a", "fleet.a.pos", "fleet.b.pos", "fleet.a.pos.x", "Fleet.a.pos"} {
		publish(other, subject, "to "+subject)
	}
	publish(other, "fleet.a.pos", "")
	flush(other)
	for i, n := range []int{1, 1, 2, 3, 3, 5, 7} {
		take(subs[i], n)
	}
	publish(nc, "fleet.a", "from the other")
	flush(nc)
	take(own, 1)
	if err := subs[0].Unsubscribe(); err != nil {
		say("unsubscribe: %v", err)
	}
	publish(other, "fleet", "after unsubscribe")
	flush(other)
	_, err := subs[0].NextMsg(quiet)
	say("after unsubscribe: %v", err)
	nc.Close()
	other.Close()
}

func queue() {
	nc, other := connect(), connect()
	var workers []*nats.Subscription
	for i := range 3 {
		sub, err := []*nats.Conn{nc, other, other}[i].QueueSubscribeSync("jobs.*", "workers")
		if err != nil {
			fatal("queue", err)
		}
		workers = append(workers, sub)
	}
	audit, err := nc.QueueSubscribeSync("jobs.>", "audit")
	if err != nil {
		fatal("queue", err)
	}
	plain := subscribe(nc, "jobs.new")
	flush(nc)
	flush(other)
	for range 300 {
		publish(nc, "jobs.new", "work")
	}
	flush(nc)
	flush(other)
	sum, idle := 0, 0
	for _, sub := range workers {
		n := count(sub)
		sum += n
		if n == 0 {
			idle++
		}
	}
	say("workers: %d, idle: %d", sum, idle)
	say("audit: %d", count(audit))
	say("plain: %d", count(plain))
	nc.Close()
	other.Close()
}

func count(sub *nats.Subscription) int {
	for n := 0; ; n++ {
		if _, err := sub.NextMsg(quiet); err != nil {
			return n
		}
	}
}

func request() {
	server, nc := connect(), connect(nats.CustomInboxPrefix("_INBOX.own"))
	answer := func(subject, text string) {
		if _, err := server.Subscribe(subject, func(m *nats.Msg) {
			if subject != "silent" {
				_ = m.Respond([]byte(text + strings.ToUpper(string(m.Data))))
			}
		}); err != nil {
			fatal(subject, err)
		}
	}
	answer("upper", "")
	answer("silent", "")
	answer("both", "one of both: ")
	answer("both", "one of both: ")
	flush(server)
	inbox := subscribe(server, "_INBOX.own.>")
	flush(server)
	for _, subject := range []string{"upper", "both", "nobody", "silent"} {
		m, err := nc.Request(subject, []byte("hello"), 300*time.Millisecond)
		if err != nil {
			say("%s: %v", subject, err)
			continue
		}
		say("%s: %q", subject, m.Data)
	}
	say("answers seen: %d", count(inbox))
	old := connect(nats.UseOldRequestStyle())
	m, err := old.Request("upper", []byte("with an inbox of its own"), patience)
	if err != nil {
		fatal("upper", err)
	}
	say("upper: %q", m.Data)
	_, err = old.Request("nobody", nil, patience)
	say("nobody: %v", err)
	for _, nc := range []*nats.Conn{server, nc, old} {
		nc.Close()
	}
}

func headers() {
	nc := connect()
	sub := subscribe(nc, "h")
	send := func(text string, header nats.Header) {
		if err := nc.PublishMsg(&nats.Msg{Subject: "h", Data: []byte(text), Header: header}); err != nil {
			say("publish: %v", err)
		}
	}
	send("two", nats.Header{"Fleet": {"north"}, "Key": {"one", "two"}})
	send("", nats.Header{"Empty": {""}})
	send("none", nil)
	send("text", nats.Header{"Colon": {"a: b: c"}, "Umlaut": {"größer"}})
	for range 4 {
		m, err := sub.NextMsg(patience)
		if err != nil {
			fatal("headers", err)
		}
		sayHeaders(m)
	}
	// By a channel: NextMsg makes an error of a status.
	reply := make(chan *nats.Msg, 1)
	if _, err := nc.ChanSubscribe("reply", reply); err != nil {
		fatal("reply", err)
	}
	if err := nc.PublishRequest("nobody.here", "reply", nil); err != nil {
		say("publish: %v", err)
	}
	flush(nc)
	sayHeaders(<-reply)
	nc.Close()
}

func sayHeaders(m *nats.Msg) {
	say("%s %q, %d headers", m.Subject, m.Data, len(m.Header))
	for _, key := range slices.Sorted(maps.Keys(m.Header)) {
		say("  %s: %s", key, strings.Join(m.Header[key], " | "))
	}
}

func autounsub() {
	nc := connect()
	before, after, reached := subscribe(nc, "a"), subscribe(nc, "a"), subscribe(nc, "a")
	limit := func(sub *nats.Subscription, n int) {
		if err := sub.AutoUnsubscribe(n); err != nil {
			say("limit: %v", err)
		}
	}
	limit(before, 3)
	publish(nc, "a", "1")
	publish(nc, "a", "2")
	flush(nc)
	limit(after, 4)
	limit(reached, 2)
	for _, text := range []string{"3", "4", "5"} {
		publish(nc, "a", text)
	}
	flush(nc)
	for _, sub := range []*nats.Subscription{before, after, reached} {
		say("got %d", count(sub))
	}
	say("valid: %v %v %v", before.IsValid(), after.IsValid(), reached.IsValid())
	nc.Close()
}

func info() {
	events := newEvents()
	nc := connect(events.options()...)
	rtt, err := nc.RTT()
	say("round trip: %v, error: %v", rtt > 0, err)
	flush(nc)
	id, err := nc.GetClientID()
	say("client id: %v, error: %v", id > 0, err)
	ip, err := nc.GetClientIP()
	say("client ip: %v, error: %v", ip, err)
	server := nc.ConnectedServerId()
	say("server id: %d characters, %.1s", len(server), server)
	say("server name: %v", nc.ConnectedServerName() != "")
	say("version: %v", strings.Count(nc.ConnectedServerVersion(), "."))
	say("cluster: %q", nc.ConnectedClusterName())
	say("max payload: %d", nc.MaxPayload())
	say("headers: %v", nc.HeadersSupported())
	say("auth required: %v, tls required: %v", nc.AuthRequired(), nc.TLSRequired())
	say("servers: %d, discovered: %d", len(nc.Servers()), len(nc.DiscoveredServers()))
	say("address: %s, url: %s", nc.ConnectedAddr(), nc.ConnectedUrl())
	sub := subscribe(nc, "stats")
	publish(nc, "stats", "12345")
	flush(nc)
	take(sub, 1)
	s := nc.Stats()
	say("in: %d of %d bytes, out: %d of %d bytes", s.InMsgs, s.InBytes, s.OutMsgs, s.OutBytes)
	events.none()
	nc.Close()
	events.until("closed")
}
