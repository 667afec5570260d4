package clientscheck

import (
	"strings"

	"github.com/nats-io/nats.go"
)

func payload() {
	nc := connect()
	say("max payload: %d", nc.MaxPayload())
	sub := subscribe(nc, "p")
	most := strings.Repeat("x", int(nc.MaxPayload()))
	publish(nc, "p", most)
	publish(nc, "p", most+"x")
	err := nc.PublishMsg(&nats.Msg{Subject: "p", Data: []byte(most), Header: nats.Header{"A": {"b"}}})
	say("with a header: %v", err)
	_, err = nc.Request("p", []byte(most+"x"), patience)
	say("request: %v", err)
	flush(nc)
	m, err := sub.NextMsg(patience)
	if err != nil {
		fatal("p", err)
	}
	say("got %d bytes, more: %d", len(m.Data), count(sub))
	nc.Close()
}

func maxConnections() {
	nc := connect()
	// Its error is lost where its own CONNECT finds the connection closed.
	sayRefused("second")
	publish(nc, "still", "here")
	flush(nc)
	nc.Close()
	// The server may see the end of the first a moment later.
	await("third", func() bool {
		third, err := nats.Connect(url)
		if err == nil {
			third.Close()
		}
		return err == nil
	})
}

func maxSubscriptions() {
	events := newEvents()
	nc := connect(events.options()...)
	first, second := subscribe(nc, "s.1"), subscribe(nc, "s.2")
	flush(nc)
	events.none()
	third := subscribe(nc, "s.3")
	flush(nc)
	events.until("error")
	for _, subject := range []string{"s.1", "s.2", "s.3"} {
		publish(nc, subject, "x")
	}
	flush(nc)
	take(first, 1)
	take(second, 1)
	say("third: %d", count(third))
	if err := first.Unsubscribe(); err != nil {
		say("unsubscribe: %v", err)
	}
	fourth := subscribe(nc, "s.4")
	publish(nc, "s.4", "in its place")
	flush(nc)
	take(fourth, 1)
	nc.Close()
	events.until("closed")
}
