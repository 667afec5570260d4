package lookup

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"paddock/bus"
	"paddock/fence"
	"paddock/internal/platform/plainjson"
)

const (
	// SearchSubjects is where requests come in on the bus: paddock.search.<set>,
	// or paddock.search._ for all sets, or the one that the body names.
	SearchSubjects = searchPrefix + "*"
	searchPrefix   = "paddock.search."
	noSet          = "_"
)

// BusDoor answers requests on the bus. The body is what Request takes; the answer
// goes to the request's reply subject, and is a message: it cannot be larger than
// one. A refusal is answered too, with the headers that clients of NATS services
// look for.
//
// It looks up on the goroutine of whoever routed the request, one at a time.
type BusDoor struct {
	catalog *fence.Catalog
	local   *bus.Local
	sub     *bus.Subscription
	limit   int
	lookup  Lookup // owned by take

	requests, refused atomic.Uint64
}

// OpenBusDoor begins to answer. A message has at most maxPayload bytes.
func OpenBusDoor(local *bus.Local, c *fence.Catalog, maxPayload int) (*BusDoor, error) {
	d := &BusDoor{catalog: c, local: local, limit: maxPayload}
	sub, err := local.Subscribe(SearchSubjects, "", d.take)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", SearchSubjects, err)
	}
	d.sub = sub
	return d, nil
}

// Close answers no more.
func (d *BusDoor) Close() error { return d.sub.Unsubscribe() }

// Requests counts the requests since the start, and those of them that were
// refused.
func (d *BusDoor) Requests() (all, refused uint64) { return d.requests.Load(), d.refused.Load() }

// take runs on the goroutine of whoever routed the messages.
func (d *BusDoor) take(msgs []bus.Msg) {
	for i := range msgs {
		d.requests.Add(1)
		if reply := msgs[i].Reply; answerable(reply) {
			d.answer(&msgs[i])
		}
	}
}

// answerable tells a reply subject from none, and from one that would come back in
// by a door of the platform: whoever asks may not be allowed to publish there.
func answerable(reply string) bool {
	return reply != "" && !strings.HasPrefix(reply, "pos.") && !strings.HasPrefix(reply, "paddock.")
}

func (d *BusDoor) answer(m *bus.Msg) {
	l := &d.lookup
	l.Limit, l.Answer = d.limit, nil // a message that has been published is not written to again
	defer l.End()
	err := l.Request(d.catalog, Terms{Set: setOf(m.Subject)}, m.Data)
	if err == nil {
		err = d.local.Publish(m.Reply, "", nil, l.Answer)
	}
	if err == nil {
		return
	}
	d.refused.Add(1)
	header, body := errorReply(err)
	// Fails for a bad reply subject or when the bus has ended: either way nobody
	// is left to tell.
	_ = d.local.Publish(m.Reply, "", header, body)
}

func setOf(subject string) string {
	if set := subject[len(searchPrefix):]; set != noSet {
		return set
	}
	return ""
}

// errorReply is the answer to what is refused: the code of HTTP and the reason as
// headers, and the reason as JSON for who cannot read headers.
func errorReply(err error) (header, body []byte) {
	code := 500
	if e, ok := errors.AsType[*Error](err); ok {
		code = e.Kind.Status()
	}
	reason := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, err.Error())
	header = []byte("NATS/1.0\r\nNats-Service-Error-Code: " + strconv.Itoa(code) + "\r\nNats-Service-Error: " + reason + "\r\n\r\n")
	body, _ = plainjson.Marshal(map[string]string{"error": err.Error()}) // always encodes
	return header, body
}
