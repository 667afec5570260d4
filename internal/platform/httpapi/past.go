package httpapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/httpapi/samples"
	"paddock/internal/platform/lookup"
	"paddock/internal/process/keyring"
)

const (
	// settling bounds the wait of a request for the positions that were accepted before it, and
	// erasing that of a removal, which needs all of them.
	settling = time.Second
	erasing  = 10 * time.Second
	// nextHeader holds the after of the next page.
	nextHeader = "Paddock-Next"

	defaultVisits = 1000

	// defaultEvery and defaultBack are the defaults of GET /v1/positions, in milliseconds, and
	// longestPeriod is the longest time between its from and to: a day when clocks go back.
	defaultEvery  = track.Millis(10_000)
	defaultBack   = track.Millis(600_000)
	longestPeriod = 25 * time.Hour
	defaultSample = 50_000
)

// past returns the history, with what was accepted before the request.
func (a *API) past(r *http.Request) (*history.History, error) {
	h := a.cfg.History
	if h == nil {
		return nil, fail(http.StatusNotFound, "no past is kept: start the server with a data directory (--data DIR)")
	}
	ctx, cancel := context.WithTimeout(r.Context(), settling)
	defer cancel()
	_ = h.Settle(ctx) // after a second the answer has what there is
	return h, nil
}

// instant reads a parameter that is a time; without it, it returns the default.
func instant(q url.Values, name string, otherwise track.Millis) (track.Millis, error) {
	text := q.Get(name)
	if text == "" {
		return otherwise, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fail(http.StatusBadRequest, "query: %s %.64q: not a time of RFC 3339 such as 2026-01-31T15:04:05Z", name, text)
	}
	return track.MillisOf(t), nil
}

// period reads from and to.
func period(q url.Values) (from, to track.Millis, err error) {
	if from, err = instant(q, "from", math.MinInt64); err != nil {
		return 0, 0, err
	}
	if to, err = instant(q, "to", math.MaxInt64); err != nil {
		return 0, 0, err
	}
	if from >= to {
		return 0, 0, fail(http.StatusBadRequest, "query: to is not behind from")
	}
	return from, to, nil
}

// pastBytes is the size of a pastJSON and of its text, without Props: these are there up to four
// times while they are encoded.
const pastBytes = 1 << 10

// pastJSON is an object in the answer of GET /v1/objects?at=.
type pastJSON struct {
	ID       string          `json:"id"`
	Fleet    string          `json:"fleet"`
	Lon      float64         `json:"lon"`
	Lat      float64         `json:"lat"`
	T        string          `json:"t"`
	Seen     string          `json:"seen"`
	Accuracy *float32        `json:"accuracy,omitempty"`
	Speed    *float32        `json:"speed,omitempty"`
	Heading  *float32        `json:"heading,omitempty"`
	Props    json.RawMessage `json:"props,omitempty"`
}

// objectsAt answers GET /v1/objects?at=.
func (a *API) objectsAt(w http.ResponseWriter, r *http.Request, q url.Values, fleet string, limit int, after string) error {
	at, err := instant(q, "at", 0)
	if err != nil {
		return err
	}
	if q.Get("set")+q.Get("fence")+q.Get("bbox")+q.Get("near")+q.Get("since") != "" {
		return fail(http.StatusBadRequest, "query: at goes with fleet and prefix alone; GET /v1/visits has the past of set and fence")
	}
	h, err := a.past(r)
	if err != nil {
		return err
	}
	l := a.memory.Lease()
	defer l.Release()
	page := struct {
		Objects []pastJSON `json:"objects"`
		Next    string     `json:"next,omitempty"`
	}{Objects: []pastJSON{}}
	var crowded error
	props := 0
	next, err := h.At(r.Context(), at, history.Query{Fleet: fleet, Prefix: q.Get("prefix"), After: after, Limit: limit}, func(o history.Past) bool {
		page.Objects = append(page.Objects, pastJSON{
			ID: o.ID, Fleet: o.Fleet, Lon: o.Lon, Lat: o.Lat,
			T: events.FormatTime(o.Time.Time()), Seen: events.FormatTime(o.Arrived.Time()),
			Accuracy: known(o.Accuracy), Speed: known(o.Speed), Heading: known(o.Heading), Props: json.RawMessage(o.Props),
		})
		props += len(o.Props)
		crowded = hold(l, int64(len(page.Objects)*pastBytes+4*props))
		return props <= maxPageProps && crowded == nil
	})
	if err = errors.Join(err, crowded); err != nil {
		return err
	}
	page.Next = base64.RawURLEncoding.EncodeToString([]byte(next))
	return writeJSON(w, http.StatusOK, &page)
}

// getPositions answers the positions of many objects within a time, or at one, thinned.
func (a *API) getPositions(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "at", "from", "to", "every", "back", "bbox", "fleet", "object", "limit", "after")
	if err != nil {
		return err
	}
	s := history.Sampling{Every: defaultEvery, Back: defaultBack, Limit: defaultSample, Object: history.Object{ID: q.Get("object")}}
	if s.Object.Fleet = q.Get("fleet"); s.Object.Fleet != "" {
		if err := permitFleet(r, s.Object.Fleet); err != nil {
			return err
		}
	}
	if g := keyring.From(r.Context()); g.OfFleets() {
		s.Sees = g.Fleet
	}
	if s.From, s.To, err = samplePeriod(q); err != nil {
		return err
	}
	if err := duration(q, "every", time.Second, time.Hour, &s.Every); err != nil {
		return err
	}
	if err := duration(q, "back", 0, 24*time.Hour, &s.Back); err != nil {
		return err
	}
	area, err := lookup.ParseArea(q.Get("bbox"), "")
	if err != nil {
		return fail(http.StatusBadRequest, "query: %v", err)
	}
	if area != nil {
		s.In = func(lon, lat float64) bool { return area.Contains(geometry.Point{Lon: lon, Lat: lat}) }
	}
	if text := q.Get("limit"); text != "" {
		if s.Limit, err = count("limit", text, maxFixes); err != nil {
			return err
		}
	}
	after, err := base64.RawURLEncoding.DecodeString(q.Get("after"))
	if err != nil {
		return fail(http.StatusBadRequest, "query: after is not the next of an earlier answer")
	}
	s.After = string(after)
	h, err := a.past(r)
	if err != nil {
		return err
	}
	l := a.memory.Lease()
	defer l.Release()
	mostOfOne := int(s.To-s.From)/int(s.Every) + 2
	if !l.Hold(samples.Size(s.Limit + mostOfOne)) {
		return fail(http.StatusServiceUnavailable, "too many large requests and answers at once")
	}
	page := samples.Begin(s.From, s.To, s.Every)
	if q.Get("at") != "" {
		page = samples.Begin(s.To-1, s.To-1, 0)
	}
	next, err := h.Sample(r.Context(), s, page.Add)
	if err != nil {
		return err
	}
	next = base64.RawURLEncoding.EncodeToString([]byte(next))
	if next != "" {
		w.Header().Set(nextHeader, next)
	}
	return answer(w, "application/json", page.End(next))
}

// samplePeriod reads from and to, or at: the time that ends behind that instant, and has begun.
func samplePeriod(q url.Values) (from, to track.Millis, err error) {
	if q.Get("at") != "" {
		if q.Get("from")+q.Get("to")+q.Get("every") != "" {
			return 0, 0, fail(http.StatusBadRequest, "query: at goes without from, to and every")
		}
		at, err := instant(q, "at", 0)
		return at + 1, at + 1, err
	}
	for _, name := range []string{"from", "to"} {
		if q.Get(name) == "" {
			return 0, 0, fail(http.StatusBadRequest, "query: %s missing: give from and to, or at", name)
		}
	}
	if from, to, err = period(q); err == nil && to-from > track.Millis(longestPeriod.Milliseconds()) {
		err = fail(http.StatusBadRequest, "query: to is more than 25 hours behind from: ask for one day after another")
	}
	return from, to, err
}

// duration reads a parameter that is a duration within bounds. Without it, the value stays.
func duration(q url.Values, name string, least, most time.Duration, value *track.Millis) error {
	text := q.Get(name)
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > most {
		return fail(http.StatusBadRequest, "query: %s %.64q is not a duration from %v to %v, such as 30s or 10m", name, text, least, most)
	}
	*value = track.Millis(d.Milliseconds())
	return nil
}

// pastVisitJSON is a visit in the answer of GET /v1/visits.
type pastVisitJSON struct {
	Set    string `json:"set"`
	Fence  string `json:"fence"`
	Fleet  string `json:"fleet"`
	Object string `json:"object"`
	Begin  string `json:"begin"`
	End    string `json:"end,omitempty"`
	Open   bool   `json:"open"`
	Visit  string `json:"visit"`
	Reason string `json:"reason,omitempty"` // of the end
}

// getVisits lists visits: the ended ones, and then the open ones.
func (a *API) getVisits(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "set", "fence", "object", "fleet", "from", "to", "format", "limit", "after")
	if err != nil {
		return err
	}
	query := history.VisitQuery{Fence: q.Get("fence"), ID: q.Get("object"), Limit: defaultVisits}
	if query.Fleet, err = fleetOf(r, q.Get("fleet"), ""); err != nil {
		return err
	}
	if query.Set, err = setOf(r, q.Get("set")); err != nil {
		return err
	}
	if query.From, query.To, err = period(q); err != nil {
		return err
	}
	format := cmp.Or(q.Get("format"), "json")
	if format != "json" && format != "csv" {
		return fail(http.StatusBadRequest, "query: format %.64q: use json or csv", format)
	}
	if s := q.Get("limit"); s != "" {
		if query.Limit, err = count("limit", s, maxObjects); err != nil {
			return err
		}
	}
	after, err := base64.RawURLEncoding.DecodeString(q.Get("after"))
	if err != nil {
		return fail(http.StatusBadRequest, "query: after is not the next of an earlier answer")
	}
	query.After = string(after)
	h, err := a.past(r)
	if err != nil {
		return err
	}
	found, next, err := h.Visits(r.Context(), query)
	if err != nil {
		return err
	}
	l := a.memory.Lease()
	defer l.Release()
	names := 0
	for i := range found {
		names += len(found[i].Set) + len(found[i].Fence) + 2*(len(found[i].Fleet)+len(found[i].Object.ID)) // in the id too
	}
	if err := hold(l, int64(len(found)*pastBytes+4*names)); err != nil {
		return err
	}
	return writeVisits(w, format, found, base64.RawURLEncoding.EncodeToString([]byte(next)))
}

func writeVisits(w http.ResponseWriter, format string, found []history.Visit, next string) error {
	page := struct {
		Visits []pastVisitJSON `json:"visits"`
		Next   string          `json:"next,omitempty"`
	}{[]pastVisitJSON{}, next}
	for i := range found {
		v := &found[i]
		j := pastVisitJSON{
			Set: v.Set, Fence: v.Fence, Fleet: v.Fleet, Object: v.Object.ID,
			Begin: events.FormatTime(v.Begin.Time()), Open: v.Open, Visit: v.ID(), Reason: v.Reason,
		}
		if !v.Open {
			j.End = events.FormatTime(v.End.Time())
		}
		page.Visits = append(page.Visits, j)
	}
	if next != "" {
		w.Header().Set(nextHeader, next)
	}
	if format == "json" {
		return writeJSON(w, http.StatusOK, &page)
	}
	begin(w, "text/csv")
	c := csv.NewWriter(w)
	_ = c.Write([]string{"set", "fence", "fleet", "object", "begin", "end", "open", "visit", "reason"})
	for _, j := range page.Visits {
		_ = c.Write([]string{j.Set, j.Fence, j.Fleet, j.Object, j.Begin, j.End, strconv.FormatBool(j.Open), j.Visit, j.Reason})
	}
	c.Flush()
	return nil
}

// begin begins an answer that is no JSON document.
func begin(w http.ResponseWriter, mediaType string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

// erase removes the past of an object, and reports whether there was any.
func (a *API) erase(r *http.Request, fleet, id string) (bool, error) {
	h, err := a.past(r)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), erasing)
	defer cancel()
	erased, err := h.Erase(ctx, history.Object{Fleet: fleet, ID: id})
	if errors.Is(err, context.DeadlineExceeded) {
		return false, fail(http.StatusServiceUnavailable, "the history is behind: try again")
	}
	if err == nil && a.cfg.Erased != nil {
		err = a.cfg.Erased(fleet, id)
	}
	return erased, err
}
