package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/bus"
	"paddock/internal/platform/busapi"
	"paddock/internal/platform/subjects"
	"paddock/wire"
)

// searchTime bounds a look-up, there and back.
const searchTime = 5 * time.Second

// search forwards a look-up. It fails at once without a connection.
func (a *Agent) search(ctx context.Context, body []byte) ([]byte, error) {
	if len(a.link().Conns()) == 0 {
		return nil, fail(http.StatusServiceUnavailable, "%s", a.reason())
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	answer, err := a.link().Call(ctx, kindSearch, body)
	if err == nil {
		return answer, nil
	}
	status := http.StatusBadGateway
	if e, ok := errors.AsType[*wire.Error](err); ok {
		if known, ok := searchStatus[e.Code]; ok {
			return nil, fail(known, "%s", e.Msg)
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusGatewayTimeout
	case errors.Is(err, wire.ErrNotSent) || errors.Is(err, wire.ErrMaybeSent):
		status = http.StatusServiceUnavailable
	}
	return nil, fail(status, "the platform has not answered: %v", err)
}

// searchStatus maps the platform's refusals to HTTP.
var searchStatus = map[wire.Code]int{
	wire.InvalidArgument: http.StatusBadRequest, wire.PermissionDenied: http.StatusForbidden, wire.NotFound: http.StatusNotFound,
	wire.OutOfRange: http.StatusRequestEntityTooLarge, wire.FailedPrecondition: http.StatusPreconditionFailed,
	wire.ResourceExhausted: http.StatusServiceUnavailable, wire.Unavailable: http.StatusServiceUnavailable,
}

// getSearch looks up the point of the query.
func (a *Agent) getSearch(w http.ResponseWriter, r *http.Request) error {
	q, ask := r.URL.Query(), map[string]any{}
	for key, values := range q {
		value := values[0]
		switch key {
		case "lon", "lat":
			x, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return fail(http.StatusBadRequest, "query: %s %.64q is no number", key, value)
			}
			ask[key] = x
		case "set", "properties":
			ask[key] = value
		default:
			return fail(http.StatusBadRequest, "query: %.64q: use lon, lat, set and properties", key)
		}
	}
	body, err := json.Marshal(ask)
	if err != nil { // a number that JSON does not have
		return fail(http.StatusBadRequest, "query: lon and lat are degrees")
	}
	return a.answerSearch(w, r, body)
}

// postSearch looks up the points of the body.
func (a *Agent) postSearch(w http.ResponseWriter, r *http.Request) error {
	if r.URL.RawQuery != "" {
		return fail(http.StatusBadRequest, "query: set, generation and properties are members of the body here")
	}
	body, err := readBody(w, r, a.slow)
	if err != nil {
		return err
	}
	return a.answerSearch(w, r, body)
}

func (a *Agent) answerSearch(w http.ResponseWriter, r *http.Request, body []byte) error {
	answer, err := a.search(r.Context(), body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // the client may be gone
	return nil
}

// takeSearches is called by the goroutine that routes the requests, and does not block.
func (b *localBus) takeSearches(msgs []bus.Msg) {
	for _, m := range msgs {
		if m.Reply == "" {
			continue
		}
		select {
		case b.asking <- struct{}{}:
		default:
			b.refuse(m.Reply, fail(http.StatusServiceUnavailable, "too many look-ups wait for answers"))
			continue
		}
		m.Data = slices.Clone(m.Data)
		go b.ask(m) // ends within searchTime; close waits for it
	}
}

// ask answers one request.
func (b *localBus) ask(m bus.Msg) {
	defer func() { <-b.asking }()
	body, err := withSet(m.Data, strings.TrimPrefix(m.Subject, busapi.SearchPrefix))
	var answer []byte
	if err == nil {
		answer, err = b.agent.search(context.Background(), body)
	}
	if err != nil {
		b.refuse(m.Reply, err)
		return
	}
	_ = b.searches.Publish(m.Reply, "", nil, answer) // the requester may be gone
}

// refuse answers with the headers that clients of NATS services read.
func (b *localBus) refuse(reply string, err error) {
	status := http.StatusInternalServerError
	if p, ok := errors.AsType[*problem](err); ok {
		status = p.Status
	}
	header, body := busapi.ErrorReply(status, err)
	_ = b.searches.Publish(reply, "", header, body)
}

// withSet adds the set of a subject to the body of a look-up.
func withSet(body []byte, set string) ([]byte, error) {
	if set == subjects.NoToken {
		return body, nil
	}
	if len(body) > 1 && body[0] == 1 { // the compact form
		if body[1]&1 != 0 || len(set) > 255 {
			return nil, fail(http.StatusBadRequest, "body: names a set, as the subject does")
		}
		named := append([]byte{1, body[1] | 1, byte(len(set))}, set...)
		return append(named, body[2:]...), nil
	}
	ask := map[string]json.RawMessage{}
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		var point []json.RawMessage
		if err := json.Unmarshal(body, &point); err != nil || len(point) != 2 {
			return nil, fail(http.StatusBadRequest, "body: a point is [lon, lat]")
		}
		ask["lon"], ask["lat"] = point[0], point[1]
	} else if err := json.Unmarshal(body, &ask); err != nil || ask == nil {
		return nil, fail(http.StatusBadRequest, "body: neither a JSON object, nor [lon, lat], nor the compact form")
	}
	ask["set"], _ = json.Marshal(set)
	return json.Marshal(ask)
}
