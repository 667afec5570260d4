package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"net/url"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/lookup"
	"paddock/internal/process/keyring"
)

const (
	defaultObjects = 100
	maxObjects     = 10_000
	// maxPageProps ends a page early, in bytes: each object may have 16 KiB, and be in any number
	// of fences, each of which counts as visitBytes.
	maxPageProps = 4 << 20
	visitBytes   = 128
)

// objectJSON is an object in the answer of GET /v1/objects.
type objectJSON struct {
	ID       string          `json:"id"`
	Fleet    string          `json:"fleet"`
	Lon      float64         `json:"lon"`
	Lat      float64         `json:"lat"`
	T        string          `json:"t"`    // of the last accepted fix
	Seen     string          `json:"seen"` // when that arrived
	State    string          `json:"state"`
	Accuracy *float32        `json:"accuracy,omitempty"`
	Speed    *float32        `json:"speed,omitempty"`
	Heading  *float32        `json:"heading,omitempty"`
	Altitude *float32        `json:"altitude,omitempty"`
	Props    json.RawMessage `json:"props,omitempty"`
	Fences   []visitJSON     `json:"fences"`
	Pending  []pendingJSON   `json:"pending,omitempty"`
	Distance *float64        `json:"distance,omitempty"` // metres from the point of ?near=
}

// pendingJSON is a change that the policy of the set has not confirmed.
type pendingJSON struct {
	Set   string `json:"set"`
	Fence string `json:"fence"`
	Event string `json:"event"` // enter or exit
	At    string `json:"at"`    // when the boundary was crossed
	Fixes int    `json:"fixes"` // positions that speak for it
	Due   string `json:"due,omitempty"`
}

type visitJSON struct {
	Set   string `json:"set"`
	Fence string `json:"fence"`
	Since string `json:"since"`
	Visit string `json:"visit"`
}

func (a *API) getObjects(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "fleet", "prefix", "set", "fence", "bbox", "near", "since", "at", "limit", "after")
	if err != nil {
		return err
	}
	query := ingest.Query{Prefix: q.Get("prefix"), Limit: defaultObjects}
	if query.Fleet, err = fleetOf(r, q.Get("fleet"), ""); err != nil {
		return err
	}
	area, err := objectFilter(r, q, &query.Filter)
	if err != nil {
		return err
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
	if q.Get("at") != "" {
		return a.objectsAt(w, r, q, query.Fleet, query.Limit, string(after))
	}
	query.After = string(after)
	found, more := a.cfg.Pipeline.Objects(query)
	l := a.memory.Lease()
	defer l.Release()
	page, g := objectPage{Objects: []objectJSON{}}, keyring.From(r.Context())
	size := 0
	for i := range found {
		o := &found[i]
		j := describeObject(o, g)
		if metres, ok := area.Distance(o.Point); ok {
			j.Distance = &metres
		}
		page.Objects = append(page.Objects, j)
		size += len(o.Props) + visitBytes*(len(j.Fences)+len(j.Pending))
		if err := hold(l, int64(len(page.Objects)*pastBytes+4*size)); err != nil {
			return err
		}
		if (more || i+1 < len(found)) && (i+1 == len(found) || size > maxPageProps) {
			page.Next = base64.RawURLEncoding.EncodeToString([]byte(ingest.ObjectKey(o.Fleet, o.ID)))
			break
		}
	}
	return writeJSON(w, http.StatusOK, &page)
}

// objectFilter reads the parameters of a list that say where objects are, and since when they are
// known to be there. The area is nil without bbox and near.
func objectFilter(r *http.Request, q url.Values, f *track.Filter) (*lookup.Area, error) {
	f.In = track.FenceName{Set: q.Get("set"), Key: q.Get("fence")}
	if set := f.In.Set; set != "" {
		if err := permitSet(r, set); err != nil {
			return nil, err
		}
	}
	if f.In.Key != "" && f.In.Set == "" {
		return nil, fail(http.StatusBadRequest, "query: fence needs its set")
	}
	area, err := lookup.ParseArea(q.Get("bbox"), q.Get("near"))
	if err != nil {
		return nil, fail(http.StatusBadRequest, "query: %v", err)
	}
	if area != nil {
		f.Area = area.Contains
	}
	f.Since, err = instant(q, "since", math.MinInt64)
	return area, err
}

// objectPage is one page of a list; Next continues after it.
type objectPage struct {
	Objects []objectJSON `json:"objects"`
	Next    string       `json:"next,omitempty"`
}

func (a *API) getObject(w http.ResponseWriter, r *http.Request) error {
	fleet, id, err := objectName(r)
	if err != nil {
		return err
	}
	o, ok := a.cfg.Pipeline.Object(fleet, id)
	if !ok {
		return noObject(fleet, id)
	}
	return writeJSON(w, http.StatusOK, describeObject(&o, keyring.From(r.Context())))
}

// deleteObject forgets an object, and on request its past. Its exits have been published before the
// answer.
func (a *API) deleteObject(w http.ResponseWriter, r *http.Request) error {
	fleet, id, err := objectName(r, "history")
	if err != nil {
		return err
	}
	past := r.URL.Query().Get("history")
	if past != "" && past != "0" && past != "1" {
		return fail(http.StatusBadRequest, "query: history %.64q: use 0 or 1", past)
	}
	if past == "1" && a.cfg.History == nil {
		_, err := a.past(r)
		return err
	}
	err = a.audited(r, "object.delete", fleet+"/"+id, func() error { return a.forget(r, fleet, id, past == "1") })
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// forget removes an object, and its past if that is asked for.
func (a *API) forget(r *http.Request, fleet, id string, past bool) error {
	removed, err := a.cfg.Pipeline.Remove(fleet, id)
	if err != nil {
		return fail(http.StatusServiceUnavailable, "%v", err)
	}
	if past {
		erased, err := a.erase(r, fleet, id)
		if err != nil {
			return err
		}
		removed = removed || erased
	}
	if !removed {
		return noObject(fleet, id)
	}
	return nil
}

// objectName reads the object that a request names, which may have further parameters.
func objectName(r *http.Request, further ...string) (fleet, id string, err error) {
	q, err := params(r, append([]string{"fleet"}, further...)...)
	if err != nil {
		return "", "", err
	}
	fleet, err = fleetOf(r, q.Get("fleet"), events.DefaultFleet)
	return fleet, r.PathValue("id"), err
}

func noObject(fleet, id string) error {
	return fail(http.StatusNotFound, "no object %.64q in fleet %.64q", id, fleet)
}

// describeObject describes an object with the sets that a key is for.
func describeObject(o *track.Object, g *keyring.Grant) objectJSON {
	j := objectJSON{
		ID: o.ID, Fleet: o.Fleet, Lon: o.Point.Lon, Lat: o.Point.Lat,
		T: events.FormatTime(o.Time.Time()), Seen: events.FormatTime(o.Arrived.Time()),
		State: o.State.String(), Props: o.Props,
		Accuracy: known(o.Accuracy), Speed: known(o.Speed), Heading: known(o.Heading), Altitude: known(o.Altitude),
		Fences: make([]visitJSON, 0, len(o.Fences)),
	}
	for _, v := range o.Fences {
		if g.Set(v.Set) {
			j.Fences = append(j.Fences, visitJSON{
				Set: v.Set, Fence: v.Fence.Key, Since: events.FormatTime(v.Since.Time()),
				Visit: events.VisitID(o.Fleet, o.ID, v.Visit),
			})
		}
	}
	for i := range o.Pending {
		if g.Set(o.Pending[i].Set) {
			j.Pending = append(j.Pending, describePending(&o.Pending[i]))
		}
	}
	return j
}

func describePending(p *track.Pending) pendingJSON {
	j := pendingJSON{Set: p.Set, Fence: p.Fence.Key, Event: track.Exit.String(), At: events.FormatTime(p.At.Time()), Fixes: p.Fixes}
	if p.Enter {
		j.Event = track.Enter.String()
	}
	if p.Due != 0 {
		j.Due = events.FormatTime(p.Due.Time())
	}
	return j
}

func known(m track.Measure) *float32 {
	if !m.Known {
		return nil
	}
	return &m.Value
}
