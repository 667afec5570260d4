package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"paddock/internal/platform/budget"
)

// bodiesAtOnce bounds the memory of all large bodies and answers together, as a
// multiple of the largest body.
const bodiesAtOnce = 4

// hold grows the lease to n bytes in all. A failure is a problem for the client.
func hold(l *budget.Lease, n int64) error {
	if !l.Hold(n) {
		return fail(http.StatusServiceUnavailable, "too many large requests at once: send it again later, or in smaller parts")
	}
	return nil
}

// readBody reads the whole body, at most Config.MaxBody bytes, into memory of the lease. It takes
// memory as bytes arrive, not as the client announces them.
func (a *API) readBody(w http.ResponseWriter, r *http.Request, l *budget.Lease) ([]byte, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, fail(http.StatusUnsupportedMediaType, "Content-Encoding: %.64q: send the body as it is", e)
	}
	return a.readUpTo(w, r, l, a.cfg.MaxBody)
}

// readJSON reads a body with the fields of a value, and no others.
func (a *API) readJSON(w http.ResponseWriter, r *http.Request, l *budget.Lease, to any) error {
	body, err := a.readBody(w, r, l)
	if err != nil {
		return err
	}
	return decodeJSON(body, to)
}

func decodeJSON(body []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return fail(http.StatusBadRequest, "body: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fail(http.StatusBadRequest, "body: something follows the JSON")
	}
	return nil
}

// readUpTo reads the whole body, at most limit bytes, whatever its encoding is.
func (a *API) readUpTo(w http.ResponseWriter, r *http.Request, l *budget.Lease, limit int64) ([]byte, error) {
	tooLarge := fail(http.StatusRequestEntityTooLarge, "body: larger than %d bytes; send it in parts", limit)
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	src := http.MaxBytesReader(w, r.Body, limit)
	body := make([]byte, 0, max(512, min(r.ContentLength+1, budget.Free)))
	for {
		if len(body) == cap(body) {
			grown := min(2*int64(cap(body)), limit+1)
			if err := hold(l, grown); err != nil {
				w.Header().Set("Connection", "close")
				return nil, err
			}
			body = append(make([]byte, 0, grown), body...)
		}
		n, err := src.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == io.EOF:
			// The deadline of the body does not apply to the answer.
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // test writers may have no deadline
			return body, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			w.Header().Set("Connection", "close")
			return nil, fail(http.StatusRequestTimeout, "body: not complete after %v", a.cfg.BodyTimeout)
		case err != nil:
			w.Header().Set("Connection", "close") // MaxBytesReader cannot set it through a wrapped writer
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				return nil, tooLarge
			}
			return nil, fail(http.StatusBadRequest, "body: %v", err)
		}
	}
}

// limitBody sets a deadline for an announced body, even if no handler reads it: net/http itself
// reads the rest before it answers.
func (a *API) limitBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.cfg.BodyTimeout))
	}
}
