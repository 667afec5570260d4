package busapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"paddock/bus"
	"paddock/fence"
	"paddock/internal/platform/events"
	"paddock/internal/platform/lookup"
	"paddock/internal/platform/subjects"
)

// SearchSubjects matches the subjects of look-ups: paddock.search.<set>, or paddock.search._ for
// all sets or the set that the body names.
const SearchSubjects = SearchPrefix + "*"

// SearchPrefix precedes the name of the set in the subject of a look-up.
const SearchPrefix = "paddock.search."

// Search answers look-ups. The body of a request is one that [lookup.Lookup.Request] takes. The
// answer is one message to the reply subject, which bounds its size. A refusal is answered too,
// with the headers that clients of NATS services look for.
//
// Look-ups run on the goroutine that routes the request, one at a time.
type Search struct {
	catalog *fence.Catalog
	local   *bus.Local
	sub     *bus.Subscription
	limit   int
	lookup  lookup.Lookup // owned by take

	requests, refused atomic.Uint64
}

// OpenSearch begins to answer. A message has at most maxPayload bytes.
func OpenSearch(local *bus.Local, c *fence.Catalog, maxPayload int) (*Search, error) {
	d := &Search{catalog: c, local: local, limit: maxPayload}
	var err error
	if d.sub, err = subscribe(local, SearchSubjects, d.take); err != nil {
		return nil, err
	}
	return d, nil
}

func subscribe(local *bus.Local, subjects string, take func([]bus.Msg)) (*bus.Subscription, error) {
	sub, err := local.Subscribe(subjects, "", take)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subjects, err)
	}
	return sub, nil
}

// Close ends the subscription.
func (d *Search) Close() error { return d.sub.Unsubscribe() }

// Requests returns the number of requests since the start, and of the refused ones.
func (d *Search) Requests() (all, refused uint64) { return d.requests.Load(), d.refused.Load() }

// take is called by the goroutine that routes the messages.
func (d *Search) take(msgs []bus.Msg) {
	for i := range msgs {
		d.requests.Add(1)
		if reply := msgs[i].Reply; Answerable(reply) {
			d.answer(&msgs[i])
		}
	}
}

// Answerable reports whether a reply subject may be answered. Subjects on which the platform
// receives are refused: the requester may have no permission to publish on them.
func Answerable(reply string) bool {
	return reply != "" && !strings.HasPrefix(reply, "pos.") && !strings.HasPrefix(reply, "paddock.")
}

func (d *Search) answer(m *bus.Msg) {
	l := &d.lookup
	l.Limit, l.Answer = d.limit, nil // a message that has been published is not written to again
	defer l.End()
	err := l.Request(d.catalog, lookup.Terms{Set: setOf(m.Subject)}, m.Data)
	if err == nil {
		err = d.local.Publish(m.Reply, "", nil, l.Answer)
	}
	if err == nil {
		return
	}
	d.refused.Add(1)
	status := http.StatusInternalServerError
	if e, ok := errors.AsType[*lookup.Error](err); ok {
		status = e.Kind.Status()
	}
	header, body := ErrorReply(status, err)
	// It fails for a bad reply subject, or when the bus has ended: there is no receiver then.
	_ = d.local.Publish(m.Reply, "", header, body)
}

func setOf(subject string) string {
	set := strings.TrimPrefix(subject, SearchPrefix)
	if set == subjects.NoToken {
		return ""
	}
	return set
}

// ErrorReply returns the answer to a refused request: the status code of HTTP and the reason in the
// headers that clients of NATS services read, and the reason as JSON for other clients.
func ErrorReply(status int, err error) (header, body []byte) {
	reason := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, err.Error())
	header = fmt.Appendf(nil, "NATS/1.0\r\nNats-Service-Error-Code: %d\r\nNats-Service-Error: %s\r\n\r\n", status, reason)
	body, _ = events.PlainJSON(map[string]string{"error": err.Error()}) // always encodes
	return header, body
}
