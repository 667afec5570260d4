package httpapi

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"time"

	"paddock/internal/platform/events/tracing"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/keyring"
)

// submitTimeout bounds how long a request waits for room in the queues.
const submitTimeout = 5 * time.Second

// postPositions takes one position, an array, newline-delimited JSON or GeoJSON. It answers once
// all of them have been applied and their events published.
func (a *API) postPositions(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "fleet", "id_property", "time_property")
	if err != nil {
		return err
	}
	format, err := positionFormat(r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	fleet, err := sendingFleet(r, q.Get("fleet"))
	if err != nil {
		return err
	}
	l := a.memory.Lease()
	defer l.Release()
	body, err := a.readBody(w, r, l)
	if err != nil {
		return err
	}
	dec := ingest.Decoder{
		Format: format, Fleet: fleet, Sees: sendingFleets(r), MaxAhead: a.cfg.MaxAhead,
		IDProperty: q.Get("id_property"), TimeProperty: q.Get("time_property"),
	}
	dec.Door = a.door
	dec.Arrived, dec.Present = a.cfg.Pipeline.Times()
	batch, err := dec.Decode(body)
	if err != nil {
		dec.Door.Reject("", "body: "+err.Error(), body)
	}
	if be, ok := errors.AsType[*ingest.BodyError](err); ok {
		return fail(http.StatusBadRequest, "body: %v", be)
	}
	if errors.Is(err, ingest.ErrTooMany) {
		return fail(http.StatusRequestEntityTooLarge, "body: %v", err)
	}
	batch.Trace = tracing.FromHTTP(r.Header)
	ctx, cancel := context.WithTimeout(r.Context(), submitTimeout)
	defer cancel()
	res, err := a.cfg.Pipeline.Submit(ctx, batch)
	if err != nil {
		return fail(http.StatusServiceUnavailable, "%v", err)
	}
	return writeJSON(w, positionStatus(&res), &res)
}

// sendingFleets returns which fleets the key of a request may send positions of; nil: all.
func sendingFleets(r *http.Request) func(fleet string) bool {
	if g := keyring.From(r.Context()); g.OfFleets() {
		return g.Fleet
	}
	return nil
}

// sendingFleet returns the fleet of positions that name none: the given one, or the only one of the
// key, or "".
func sendingFleet(r *http.Request, given string) (string, error) {
	if given != "" {
		if err := ingest.CheckName("fleet", given); err != nil {
			return "", fail(http.StatusBadRequest, "query: %v", err)
		}
		return given, permitFleet(r, given)
	}
	if only := keyring.From(r.Context()).Fleets(); len(only) == 1 {
		return only[0], nil
	}
	return "", nil
}

// positionStatus returns 200 if any position was accepted, or known already; otherwise the status
// of the refusal.
func positionStatus(r *ingest.Result) int {
	switch {
	case r.Accepted+r.Late > 0 || len(r.Rejected) == 0:
		return http.StatusOK
	case r.Overloaded > 0:
		return http.StatusServiceUnavailable
	case r.Full > 0:
		return http.StatusTooManyRequests
	}
	return http.StatusBadRequest
}

func positionFormat(contentType string) (ingest.Format, error) {
	if contentType == "" {
		return ingest.Detect, nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return 0, fail(http.StatusUnsupportedMediaType, "Content-Type: %v", err)
	}
	switch media {
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines":
		return ingest.Lines, nil
	}
	// curl's default Content-Type does not describe the body.
	return ingest.Detect, nil
}
