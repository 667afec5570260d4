package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"paddock/internal/platform/budget"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/doors/format"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/keyring"
)

// maxReport bounds the body of a device's request, packed and unpacked, in bytes.
const maxReport = 1 << 20

// report is a request of a device whose body was read.
type report struct {
	*http.Request
	query string // without the key
	body  []byte
}

// input returns the part of a report that the list of rejections shows.
func (r *report) input() []byte {
	if len(r.body) > 0 {
		form, _ := withoutKey(string(r.body))
		return []byte(form)
	}
	return []byte(r.query)
}

// deviceDoor is an interface for devices.
type deviceDoor struct {
	methods []string // in order
	decode  func(r *report) (format.Result, error)
	answer  func(w http.ResponseWriter, status int, res *ingest.Result) error
}

// deviceDoors holds the doors for devices, by their names in paths.
var deviceDoors = map[string]*deviceDoor{
	"osmand":    {[]string{http.MethodGet, http.MethodPost}, decodeOsmAnd, answerResult},
	"owntracks": {[]string{http.MethodPost}, decodeOwnTracks, answerOwnTracks},
	"traccar":   {[]string{http.MethodPost}, decodeTraccar, answerResult},
}

// decodeOsmAnd reads a query, a form, or the JSON that the Traccar Client sends to the same address
// from its version 9 on.
func decodeOsmAnd(r *report) (format.Result, error) {
	body := bytes.TrimSpace(r.body)
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case media == "application/json" || bytes.HasPrefix(body, []byte("{")):
		return format.Traccar(body)
	case len(body) > 0:
		query := r.query // its parameters go first
		if query != "" {
			query += "&"
		}
		return format.OsmAnd(query + string(body))
	}
	return format.OsmAnd(r.query)
}

func decodeTraccar(r *report) (format.Result, error) { return format.Traccar(r.body) }

// decodeOwnTracks reads a message. The user and the device are in headers, or in the query, if the
// app does not send a topic.
func decodeOwnTracks(r *report) (format.Result, error) {
	q, _ := url.ParseQuery(r.query)
	user, phone := r.Header.Get("X-Limit-U"), r.Header.Get("X-Limit-D")
	if user == "" && phone == "" {
		user, phone = q.Get("u"), q.Get("d")
	}
	topic := ""
	if user != "" && phone != "" && !strings.Contains(user+phone, "/") {
		topic = "owntracks/" + user + "/" + phone
	}
	return format.OwnTracks(bytes.TrimSpace(r.body), topic)
}

func answerResult(w http.ResponseWriter, status int, res *ingest.Result) error {
	return writeJSON(w, status, res)
}

// answerOwnTracks answers with a list of messages for the app, of which there are none.
func answerOwnTracks(w http.ResponseWriter, status int, res *ingest.Result) error {
	if status != http.StatusOK {
		return writeJSON(w, status, res)
	}
	return writeJSON(w, status, []string{})
}

// takeReport serves the doors for devices. A position that can never be accepted is answered with
// 200, because devices keep what they send until then, and send it again before anything else; it
// is counted, and listed at /v1/doors. A request that no device of the format sends gets 400, and
// one that finds no room 429 or 503.
func (a *API) takeReport(w http.ResponseWriter, r *http.Request) error {
	d, _ := device(r)
	door := deviceDoors[d.door]
	if door == nil {
		return fail(http.StatusNotFound, "no door of this name: there are /in/osmand, /in/owntracks and /in/traccar, each with the key behind it")
	}
	if !slices.Contains(door.methods, r.Method) {
		allow := strings.Join(door.methods, ", ")
		w.Header().Set("Allow", allow)
		return fail(http.StatusMethodNotAllowed, "this path takes %s", allow)
	}
	if err := fromElsewhere(r); err != nil {
		return err
	}
	if g := keyring.From(r.Context()); d.keyed && g != a.gate.anyone && !g.Only(keyring.PositionsWrite) {
		return fail(http.StatusForbidden, "the key %.64q may do more than positions:write: it is not for URLs, which others see", g.Name())
	}
	l := a.memory.Lease()
	defer l.Release()
	body, err := a.readReport(w, r, l)
	if err != nil {
		return err
	}
	in := &report{r, r.URL.RawQuery, body}
	found, err := door.decode(in)
	counts := a.cfg.Doors.Open(d.door)
	if err != nil {
		counts.Reject("", err.Error(), in.input())
		a.cfg.Pipeline.Metrics.RejectBody()
		return fail(http.StatusBadRequest, "%v", err)
	}
	res, err := a.submitReport(r, counts, &found, in)
	if err != nil {
		return err
	}
	status := positionStatus(&res)
	if status == http.StatusBadRequest {
		status = http.StatusOK
	}
	return door.answer(w, status, &res)
}

// submitReport passes the positions of a report in.
func (a *API) submitReport(r *http.Request, door *doors.Door, found *format.Result, in *report) (ingest.Result, error) {
	q, _ := url.ParseQuery(in.query)
	fleet, err := sendingFleet(r, q.Get("fleet"))
	if err != nil {
		return ingest.Result{}, err
	}
	dec := ingest.Decoder{Fleet: fleet, Sees: sendingFleets(r), MaxAhead: a.cfg.MaxAhead, Door: door}
	dec.Arrived, dec.Present = a.cfg.Pipeline.Times()
	batch := &ingest.Batch{}
	dec.Found(batch, found, in.input())
	ctx, cancel := context.WithTimeout(r.Context(), submitTimeout)
	defer cancel()
	res, err := a.cfg.Pipeline.Submit(ctx, batch)
	if err != nil {
		return res, fail(http.StatusServiceUnavailable, "%v", err)
	}
	return res, nil
}

// fromElsewhere refuses requests that a page of another site made a browser send. Those of a GET
// are refused too, because here a GET writes: an image on any page could forge positions.
func fromElsewhere(r *http.Request) error {
	as := *r
	as.Method = http.MethodPost
	if err := http.NewCrossOriginProtection().Check(&as); err != nil {
		return fail(http.StatusForbidden, "cross-origin request from a browser")
	}
	return nil
}

// readReport reads and unpacks a body of at most maxReport bytes.
func (a *API) readReport(w http.ResponseWriter, r *http.Request, l *budget.Lease) ([]byte, error) {
	packed := false
	switch e := r.Header.Get("Content-Encoding"); strings.ToLower(e) {
	case "", "identity":
	case "gzip", "x-gzip":
		packed = true
	default:
		return nil, fail(http.StatusUnsupportedMediaType, "Content-Encoding: %.64q: send the body as it is, or with gzip", e)
	}
	limit := min(maxReport, a.cfg.MaxBody)
	body, err := a.readUpTo(w, r, l, limit)
	if err != nil || !packed || len(body) == 0 {
		return body, err
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fail(http.StatusBadRequest, "body: not gzip, as Content-Encoding says")
	}
	if err := hold(l, int64(cap(body))+2*limit); err != nil { // what ReadAll may take
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(unpacked, limit+1))
	switch {
	case int64(len(plain)) > limit:
		return nil, fail(http.StatusRequestEntityTooLarge, "body: larger than %d bytes when unpacked", limit)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fail(http.StatusBadRequest, "body: the gzip is cut off")
	case err != nil:
		return nil, fail(http.StatusBadRequest, "body: %v", err)
	}
	return plain, nil
}

// getDoors answers with the counts and the last rejections of all doors.
func (a *API) getDoors(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]any{"doors": a.cfg.Doors.All()})
}
