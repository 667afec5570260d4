package httpapi

import (
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"time"

	"paddock/fence/forecast"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/process/keyring"
)

const (
	// defaultHorizon and maxHorizon are how far a forecast looks ahead.
	defaultHorizon = 10 * time.Minute
	maxHorizon     = time.Hour

	defaultCrossings = 10
	maxCrossings     = 100

	// stepBack is how old the position before the last one may be that tells the motion, and
	// leastStep how far away it must be: the error of a receiver is no motion.
	stepBack  = track.Millis(10 * 60 * 1000)
	leastStep = 5.0 // metres
)

// forecastJSON is the answer of GET /v1/objects/{id}/forecast.
type forecastJSON struct {
	ID        string         `json:"id"`
	Fleet     string         `json:"fleet"`
	Lon       float64        `json:"lon"`
	Lat       float64        `json:"lat"`
	T         string         `json:"t"` // of the last position, where the path begins
	Until     string         `json:"until,omitempty"`
	Speed     *float64       `json:"speed,omitempty"`
	Heading   *float64       `json:"heading,omitempty"`
	Source    string         `json:"source,omitempty"` // reported or positions
	Crossings []crossingJSON `json:"crossings"`
	More      bool           `json:"more,omitempty"`
	Reason    string         `json:"reason,omitempty"` // why there is no path
}

// crossingJSON is a boundary that an object will cross.
type crossingJSON struct {
	At        string          `json:"at"`
	Set       string          `json:"set"`
	Fence     string          `json:"fence"`
	Kind      string          `json:"kind"`
	Direction string          `json:"direction,omitempty"` // of a line
	Point     json.RawMessage `json:"point"`
	Distance  float64         `json:"distance_m"`
}

// getForecast names the boundaries that an object will cross if it goes on as it does.
func (a *API) getForecast(w http.ResponseWriter, r *http.Request) error {
	fleet, id, err := objectName(r, "horizon", "set", "limit")
	if err != nil {
		return err
	}
	q := r.URL.Query()
	horizon, limit, err := forecastBounds(q)
	if err != nil {
		return err
	}
	if set := q.Get("set"); set != "" {
		if err := permitSet(r, set); err != nil {
			return err
		}
	}
	sets, err := a.forecastSets(q, keyring.From(r.Context()))
	if err != nil {
		return err
	}
	o, ok := a.cfg.Pipeline.Object(fleet, id)
	if !ok {
		return noObject(fleet, id)
	}
	f := &forecastJSON{
		ID: id, Fleet: fleet, Lon: o.Point.Lon, Lat: o.Point.Lat, T: events.FormatTime(o.Time.Time()),
		Crossings: []crossingJSON{},
	}
	switch o.State {
	case track.Silent, track.Dwelling:
		f.Reason = map[track.State]string{track.Silent: "silent", track.Dwelling: "standing"}[o.State]
		return writeJSON(w, http.StatusOK, f)
	}
	speed, heading, source, err := a.motion(r, &o)
	if err != nil {
		return err
	}
	if source == "" {
		f.Reason = "unknown"
		return writeJSON(w, http.StatusOK, f)
	}
	f.Speed, f.Heading, f.Source = new(rounded(speed, 100)), new(rounded(heading, 10)), source
	f.walk(sets, speed, heading, o.Point, o.Time.Time(), horizon, limit)
	return writeJSON(w, http.StatusOK, f)
}

func forecastBounds(q url.Values) (horizon time.Duration, limit int, err error) {
	horizon, limit = defaultHorizon, defaultCrossings
	if text := q.Get("horizon"); text != "" {
		horizon, err = time.ParseDuration(text)
		if err != nil || horizon < time.Second || horizon > maxHorizon {
			return 0, 0, fail(http.StatusBadRequest, "query: horizon %.64q is not a duration from 1s to 1h, such as 90s or 10m", text)
		}
	}
	if text := q.Get("limit"); text != "" {
		limit, err = count("limit", text, maxCrossings)
	}
	return horizon, limit, err
}

// forecastSets returns all sets, or the one of the query.
func (a *API) forecastSets(q url.Values, g *keyring.Grant) (sets []forecast.Set, err error) {
	name := q.Get("set")
	for s := range a.cfg.Catalog.All() {
		if (name == "" || s.Name() == name) && g.Set(s.Name()) {
			sets = append(sets, forecast.Set{Name: s.Name(), Snapshot: s.Snapshot()})
		}
	}
	if name != "" && len(sets) == 0 {
		return nil, fail(http.StatusNotFound, "no set %.64q; GET /v1/sets lists them", name)
	}
	return sets, nil
}

// motion returns the speed and the heading that the last position of an object has. What it does
// not report comes from the position before it, if the past is kept. source is "" if it is not
// known.
func (a *API) motion(r *http.Request, o *track.Object) (speed, heading float64, source string, err error) {
	speed, heading = float64(o.Speed.Value), float64(o.Heading.Value)
	if o.Speed.Known && o.Heading.Known {
		return speed, heading, "reported", nil
	}
	if a.cfg.History == nil {
		return 0, 0, "", nil
	}
	h, err := a.past(r)
	if err != nil {
		return 0, 0, "", err
	}
	var before *history.Fix
	err = h.Track(r.Context(), history.Object{Fleet: o.Fleet, ID: o.ID}, o.Time-stepBack, o.Time, func(fixes []history.Fix) bool {
		if len(fixes) > 0 {
			last := fixes[len(fixes)-1]
			before = &last
		}
		return true
	})
	if err != nil || before == nil {
		return 0, 0, "", err
	}
	m, metres := forecast.Between(geometry.Point{Lon: before.Lon, Lat: before.Lat}, o.Point)
	if metres < max(leastStep, float64(o.Accuracy.Value)) {
		return 0, 0, "", nil
	}
	if !o.Speed.Known {
		speed = metres / (float64(o.Time-before.Time) / 1000)
	}
	if !o.Heading.Known {
		heading = m.Heading
	}
	return speed, heading, "positions", nil
}

// walk adds the crossings.
func (f *forecastJSON) walk(sets []forecast.Set, speed, heading float64, from geometry.Point, t time.Time, horizon time.Duration, limit int) {
	after := func(metres float64) string {
		return events.FormatTime(t.Add(time.Duration(math.Round(metres/speed*1000)) * time.Millisecond))
	}
	metres := min(speed*horizon.Seconds(), forecast.MaxMetres)
	f.Until = after(metres)
	crossings, more := forecast.Append(nil, sets, forecast.Motion{From: from, Heading: heading}, metres, limit)
	f.More = more
	for i := range crossings {
		c := &crossings[i]
		j := crossingJSON{
			At: after(c.Metres), Set: c.Set, Fence: c.Fence.Key, Kind: c.Kind.String(), Distance: rounded(c.Metres, 10),
			Point: events.AppendPoint(nil, geometry.Point{Lon: rounded(c.Point.Lon, 1e7), Lat: rounded(c.Point.Lat, 1e7)}),
		}
		if c.Kind == forecast.Cross {
			j.Direction = "right"
			if c.ToLeft {
				j.Direction = "left"
			}
		}
		f.Crossings = append(f.Crossings, j)
	}
}

// rounded returns v to a whole part of one.
func rounded(v, parts float64) float64 { return math.Round(v*parts) / parts }
