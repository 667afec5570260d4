package clientscheck

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

func drain() {
	events := newEvents()
	nc, other := connect(events.options()...), connect()
	var got atomic.Int32
	slowly := func(*nats.Msg) {
		<-time.After(5 * time.Millisecond)
		got.Add(1)
	}
	first, err := nc.Subscribe("first", slowly)
	if err != nil {
		fatal("first", err)
	}
	if _, err = nc.Subscribe("second", slowly); err != nil {
		fatal("second", err)
	}
	flush(nc)
	for range 20 {
		publish(other, "first", "x")
	}
	flush(other)
	flush(nc)
	if err := first.Drain(); err != nil {
		say("drain: %v", err)
	}
	await("subscription drained", func() bool { return !first.IsValid() })
	say("got %d", got.Load())
	_, err = other.Request("first", nil, patience)
	say("first: %v", err)
	for range 20 {
		publish(other, "second", "x")
	}
	flush(other)
	flush(nc)
	if err := nc.Drain(); err != nil {
		say("drain: %v", err)
	}
	events.until("closed")
	say("got %d", got.Load())
	_, err = other.Request("second", nil, patience)
	say("second: %v", err)
	say("publish when closed: %v", nc.Publish("second", nil))
	other.Close()
}

func await(what string, held func() bool) {
	for end := time.Now().Add(patience); time.Now().Before(end); <-time.After(time.Millisecond) {
		if held() {
			say("%s", what)
			return
		}
	}
	say("never %s", what)
}

func reconnect() {
	events := newEvents()
	nc := connect(events.options()...)
	sub := subscribe(nc, "news.*")
	short, err := nc.SubscribeSync("short")
	if err != nil {
		fatal("short", err)
	}
	if err := short.AutoUnsubscribe(2); err != nil {
		say("limit: %v", err)
	}
	publish(nc, "news.first", "before")
	publish(nc, "short", "before")
	flush(nc)
	take(sub, 1)
	ask("stop")
	events.until("disconnected")
	publish(nc, "news.away", "while away")
	ask("start")
	events.until("reconnected")
	publish(nc, "news.back", "after")
	publish(nc, "short", "after")
	publish(nc, "short", "too much")
	flush(nc)
	take(sub, 2)
	say("short: %d", count(short))
	say("reconnects: %d", nc.Stats().Reconnects)
	nc.Close()
	events.until("closed")
}

func lameduck() {
	events := newEvents()
	nc := connect(events.options()...)
	sub := subscribe(nc, "still")
	flush(nc)
	ask("lameduck")
	events.until("lame duck")
	publish(nc, "still", "delivered in lame duck mode")
	flush(nc)
	take(sub, 1)
	try("a new client", url)
	nc.Close()
	events.until("closed")
}

func staleConnection() {
	events := newEvents()
	nc := connect(events.options()...)
	sub := subscribe(nc, "again")
	flush(nc)
	ask("pause")
	events.until("reconnected")
	publish(nc, "again", "after")
	flush(nc)
	take(sub, 1)
	nc.Close()
	events.until("closed")
}

func slowServer() {
	events := newEvents()
	nc := connect(events.options()...)
	sub, err := nc.Subscribe("flood", func(*nats.Msg) {})
	if err != nil {
		fatal("flood", err)
	}
	flush(nc)
	ask("flood flood")
	if s := <-events; s[:12] != "disconnected" {
		say("unexpected: %s", s)
	}
	say("disconnected") // by EOF or by reset: the kernel's choice
	events.until("reconnected")
	if err := sub.Unsubscribe(); err != nil {
		say("unsubscribe: %v", err)
	}
	again := subscribe(nc, "again")
	publish(nc, "again", "after")
	flush(nc)
	take(again, 1)
	nc.Close()
	events.until("closed")
}

func slowClient() {
	events := newEvents()
	nc, other := connect(events.options()...), connect()
	sub := subscribe(nc, "much")
	if err := sub.SetPendingLimits(10, -1); err != nil {
		say("limits: %v", err)
	}
	flush(nc)
	for i := range 25 {
		publish(other, "much", fmt.Sprint(i))
	}
	flush(other)
	flush(nc)
	events.until("error")
	_, err := sub.NextMsg(patience)
	say("first: %v", err)
	say("then: %d", count(sub))
	dropped, err := sub.Dropped()
	say("dropped: %d, error: %v", dropped, err)
	nc.Close()
	other.Close()
	events.until("closed")
}

func reload() {
	bobs, eves := newEvents(), newEvents()
	bob := connect(bobs.options(nats.UserInfo("bob", "bob"))...)
	eve := connect(eves.options(nats.UserInfo("eve", "eve"), nats.NoReconnect())...)
	news, sport := subscribe(bob, "news.>"), subscribe(bob, "sport")
	flush(bob)
	publish(eve, "news.a", "before")
	publish(eve, "sport", "before")
	flush(eve)
	take(news, 1)
	take(sport, 1)
	ask("reload")
	bobs.until("error")
	eves.until("closed")
	publish(bob, "news.a", "after")
	publish(bob, "sport", "after")
	flush(bob)
	take(news, 1)
	say("sport: %d", count(sport))
	try("eve again", url, nats.UserInfo("eve", "eve"))
	bob.Close()
	bobs.until("closed")
}
