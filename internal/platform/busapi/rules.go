package busapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"paddock/bus"
	"paddock/internal/platform/events"
	"paddock/internal/platform/httpapi/etag"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/rulebook/ruleapi"
	"paddock/internal/platform/subjects"
	"paddock/internal/process/keyring"
)

// RulesSubjects matches the subjects of requests about rules: paddock.rules.list, and
// paddock.rules.<operation>.<rule> with the operations get, put, patch and delete.
const RulesSubjects = rulesPrefix + ">"

const (
	rulesPrefix = "paddock.rules."
	// maxWaitingRules bounds the requests that wait for their turn. Further ones are refused.
	maxWaitingRules = 64
	// replyReserve is the part of an answer that is not in the texts of rules.
	replyReserve = 1 << 10
)

// Rules answers requests about rules. The body of a request, its conditions and its answer are
// those of HTTP; the headers If-Match, If-None-Match and ETag are those of the message. A refusal
// is answered as that of a look-up. A request that cannot be answered does nothing.
//
// A change is answered once it is stored and holds for positions, so one goroutine of its own
// answers, one request after the other.
type Rules struct {
	rules   *ruleapi.Rules
	keys    *keyring.Ring // nil: none
	local   *bus.Local
	sub     *bus.Subscription
	limit   int
	leader  Asker // nil: this node makes all changes
	waiting chan rulesRequest
	end     chan struct{} // closed by Close
	ended   chan struct{} // closed by run

	requests, refused atomic.Uint64
}

// rulesRequest is a request that waits for its turn.
type rulesRequest struct {
	bus.Msg
	respond func(header, body []byte) error
}

// Asker passes a request to the node that makes changes, and returns its answer, unless this is
// that node.
type Asker func(ctx context.Context, request []byte) (answer []byte, elsewhere bool, err error)

// OpenRules begins to answer. A message has at most maxPayload bytes. Without leader all requests
// are answered here.
func OpenRules(local *bus.Local, rules *ruleapi.Rules, keys *keyring.Ring, maxPayload int, leader Asker) (*Rules, error) {
	d := &Rules{
		rules: rules, keys: keys, local: local, limit: maxPayload, leader: leader,
		waiting: make(chan rulesRequest, maxWaitingRules), end: make(chan struct{}), ended: make(chan struct{}),
	}
	var err error
	if d.sub, err = subscribe(local, RulesSubjects, d.take); err != nil {
		return nil, err
	}
	go d.run() // until Close
	return d, nil
}

// Close ends the subscription, refuses the waiting requests, and waits for the answer to the
// present one, until ctx ends. The pipeline must not have ended before.
func (d *Rules) Close(ctx context.Context) error {
	err := d.sub.Unsubscribe()
	close(d.end)
	select {
	case <-d.ended:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	return err
}

// Requests returns the number of requests since the start, and of the refused ones.
func (d *Rules) Requests() (all, refused uint64) { return d.requests.Load(), d.refused.Load() }

// take is called by the goroutine that routes the messages, and does not block.
func (d *Rules) take(msgs []bus.Msg) {
	for _, m := range msgs {
		d.requests.Add(1)
		if !Answerable(m.Reply) {
			continue
		}
		m.Header, m.Data = slices.Clone(m.Header), slices.Clone(m.Data)
		d.enter(rulesRequest{m, func(header, body []byte) error { return d.local.Publish(m.Reply, "", header, body) }})
	}
}

// enter lists a request, or refuses it if too many wait.
func (d *Rules) enter(r rulesRequest) {
	select {
	case d.waiting <- r:
	default:
		d.refuse(&r, http.StatusServiceUnavailable, errors.New("too many requests about rules wait for their answers"))
	}
}

// run answers requests until Close.
func (d *Rules) run() {
	defer close(d.ended)
	for {
		select {
		case <-d.end:
			d.refuseWaiting()
			return
		case m := <-d.waiting:
			if d.closing() {
				d.refuse(&m, http.StatusServiceUnavailable, errStopping)
				continue
			}
			d.answer(&m)
		}
	}
}

// closing reports whether Close was called.
func (d *Rules) closing() bool {
	select {
	case <-d.end:
		return true
	default:
		return false
	}
}

var errStopping = errors.New("the server stops")

func (d *Rules) refuseWaiting() {
	for {
		select {
		case m := <-d.waiting:
			d.refuse(&m, http.StatusServiceUnavailable, errStopping)
		default:
			return
		}
	}
}

func (d *Rules) answer(m *rulesRequest) {
	if answer, elsewhere, err := d.pass(&m.Msg); elsewhere {
		if err == nil {
			err = m.respond(answer.Header, answer.Data)
		}
		if err != nil {
			d.refuse(m, http.StatusServiceUnavailable, err)
		}
		return
	}
	body, tag, err := d.do(&m.Msg)
	var header []byte
	if tag != "" {
		header = fmt.Appendf(nil, "NATS/1.0\r\nETag: %s\r\n\r\n", tag)
	}
	if n := len(header) + len(body); err == nil && n > d.limit {
		err = statusError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the answer is larger than %d bytes", d.limit)}
	}
	if err == nil {
		err = m.respond(header, body)
	}
	if err == nil {
		return
	}
	status := http.StatusInternalServerError
	if e, ok := errors.AsType[*ruleapi.Error](err); ok {
		status = e.Status
	} else if e, ok := errors.AsType[statusError](err); ok {
		status = e.status
	}
	d.refuse(m, status, err)
}

func (d *Rules) refuse(m *rulesRequest, status int, err error) {
	d.refused.Add(1)
	header, body := ErrorReply(status, err)
	// It fails for a bad reply subject, or when the bus has ended: there is no receiver then.
	_ = m.respond(header, body)
}

// statusError is a refusal of the door itself.
type statusError struct {
	status int // of HTTP
	text   string
}

func (e statusError) Error() string { return e.text }

// do carries out a request.
func (d *Rules) do(m *bus.Msg) (body []byte, tag string, err error) {
	operation, id, err := parseRulesSubject(m.Subject)
	if err != nil {
		return nil, "", err
	}
	condition, err := conditionOf(m.Header)
	if err != nil {
		return nil, "", err
	}
	rules := *d.rules
	if rules.By, err = grantOf(d.keys, m.User); err != nil {
		return nil, "", err
	}
	var changed *ruleapi.Changed
	switch operation {
	case "list":
		body, err = list(&rules, m.Data, d.limit-replyReserve)
		return body, "", err
	case "get":
		return rules.Get(id)
	case "delete":
		return []byte("{}"), "", rules.Delete(id, condition)
	case "put":
		changed, err = rules.Put(id, m.Data, condition)
	case "patch":
		changed, err = rules.Patch(id, m.Data, condition)
	}
	if err != nil {
		return nil, "", err
	}
	body, err = events.PlainJSON(changed)
	return body, changed.Tag, err
}

// parseRulesSubject reads paddock.rules.list and paddock.rules.<operation>.<rule>.
func parseRulesSubject(subject string) (operation, id string, err error) {
	operation, token, named := strings.Cut(strings.TrimPrefix(subject, rulesPrefix), ".")
	switch operation {
	case "list":
		if !named {
			return operation, "", nil
		}
	case "get", "put", "patch", "delete":
		if id, ok := subjects.ParseToken(token); ok {
			return operation, id, nil
		}
		return "", "", statusError{
			http.StatusBadRequest, fmt.Sprintf("subject %q: its last token is the id of a rule; write bytes outside A-Z a-z 0-9 _ - as %%XX", subject),
		}
	}
	return "", "", statusError{
		http.StatusNotFound, fmt.Sprintf("subject %q: use paddock.rules.list, or get, put, patch or delete with a rule, as paddock.rules.get.ID", subject),
	}
}

// list answers a list: the parameters of HTTP are members of the body, which may be empty.
func list(rules *ruleapi.Rules, data []byte, most int) ([]byte, error) {
	var q struct {
		Set   *string `json:"set"`
		After string  `json:"after"`
		Limit *int    `json:"limit"`
	}
	if len(bytes.TrimSpace(data)) > 0 {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		err := dec.Decode(&q)
		if _, behind := dec.Token(); err == nil && !errors.Is(behind, io.EOF) {
			err = errors.New("something follows the JSON")
		}
		if err != nil {
			return nil, statusError{http.StatusBadRequest, fmt.Sprintf("body: %v: use set, after and limit", err)}
		}
	}
	query := ruleapi.Query{Set: q.Set, After: q.After, Limit: ruleapi.DefaultLimit, Bytes: most}
	if q.Limit != nil {
		if query.Limit = *q.Limit; query.Limit < 1 || query.Limit > ruleapi.MaxLimit {
			return nil, statusError{http.StatusBadRequest, fmt.Sprintf("body: limit %d is not a number from 1 to %d", query.Limit, ruleapi.MaxLimit)}
		}
	}
	return events.PlainJSON(rules.List(query))
}

// conditionOf reads the headers of a message.
func conditionOf(header []byte) (c etag.Condition, err error) {
	if len(header) == 0 {
		return c, nil
	}
	_, fields, _ := bytes.Cut(header, []byte("\r\n")) // the version
	h, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader()
	if err != nil {
		return c, statusError{http.StatusBadRequest, fmt.Sprintf("header: %v", err)}
	}
	return etag.Condition{Match: strings.Join(h["If-Match"], ","), NoneMatch: strings.Join(h["If-None-Match"], ",")}, nil
}

// passTimeout bounds the wait for the answer of another node.
const passTimeout = 10 * time.Second

// pass passes a request to the node that makes changes, unless this is that node.
func (d *Rules) pass(m *bus.Msg) (answer bus.Msg, elsewhere bool, err error) {
	if d.leader == nil {
		return answer, false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), passTimeout)
	defer cancel()
	text, elsewhere, err := d.leader(ctx, appendMessage(nil, m))
	if elsewhere && err == nil {
		answer, err = parseMessage(text)
	}
	return answer, elsewhere, err
}

// Answer answers a request that another node has passed to this one. It calls respond once, on any
// goroutine. A request that cannot be read is not answered.
func (d *Rules) Answer(request []byte, respond func(answer []byte)) {
	m, err := parseMessage(request)
	if err != nil {
		return
	}
	d.requests.Add(1)
	d.enter(rulesRequest{m, func(header, body []byte) error {
		respond(appendMessage(nil, &bus.Msg{Header: header, Data: body}))
		return nil
	}})
}

// appendMessage appends a message as nodes pass it on: subject, user, header and data, each after
// its length.
func appendMessage(b []byte, m *bus.Msg) []byte {
	b = journal.AppendText(journal.AppendText(b, m.Subject), m.User)
	return journal.AppendText(journal.AppendText(b, string(m.Header)), string(m.Data))
}

func parseMessage(b []byte) (m bus.Msg, err error) {
	f := journal.Fields{Rest: b}
	m = bus.Msg{Subject: f.Text(), User: f.Text(), Header: f.Take(f.Uint()), Data: f.Take(f.Uint())}
	if f.Failed || len(f.Rest) > 0 {
		err = errors.New("not a message of a node")
	}
	return m, err
}
