package format

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"paddock/internal/platform/position"
)

// OsmAnd reads the query or form of a request of OsmAnd, of the Traccar Client up to version 8 and
// of other apps that speak to Traccar: id or deviceid, lat and lon or location=lat,lon, timestamp,
// accuracy or hdop, speed, bearing or heading, altitude, batt, valid. Beside these it knows fleet,
// and speed_unit, which is kn unless it is given, as Traccar reads it. The format is that of
// https://www.traccar.org/osmand/.
//
// hdop is read as metres: OsmAnd writes its accuracy there. A request without a place is ignored.
// The error is about a request that no device of this format would send.
func OsmAnd(query string) (r Result, err error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return r, errors.New("body: not a query or a form")
	}
	p := position.Position{ID: cmp.Or(q.Get("id"), q.Get("deviceid")), Fleet: q.Get("fleet")}
	if p.ID == "" {
		return r, errors.New("id: missing")
	}
	n := numbers{q: q}
	lat, lon := n.get("lat"), n.get("lon")
	if at := q.Get("location"); at != "" && lat == nil && lon == nil {
		lat, lon = n.pair(at)
	}
	if lat == nil && lon == nil && n.err == nil {
		r.Ignored++
		return r, nil
	}
	unit := cmp.Or(q.Get("speed_unit"), "kn")
	if err := SpeedUnit(unit); err != nil {
		return r, fmt.Errorf("speed_unit: %w", err)
	}
	p.Accuracy = known(cmp.Or(n.get("accuracy"), n.get("hdop")), 1)
	p.Speed = known(n.get("speed"), speedUnits[unit])
	p.Heading = known(cmp.Or(n.get("bearing"), n.get("heading")), 1)
	p.Altitude = height(n.get("altitude"), 1)
	p.Props = props(map[string]any{"battery": percent(n.get("batt"))})
	if text := trimmed(q, "timestamp"); text != "" && n.err == nil {
		p.Time, n.err = timeText(text)
	}
	switch valid := q.Get("valid"); {
	case n.err != nil:
		r.reject(p.ID, "%v", n.err)
	case valid != "" && valid != "1" && !strings.EqualFold(valid, "true"):
		r.reject(p.ID, "valid: %.16s: the device has no fix", valid)
	case r.place(&p, lon, lat):
		r.Positions = append(r.Positions, p)
	}
	return r, nil
}

// numbers reads numbers of a query, and keeps the first error.
type numbers struct {
	q   url.Values
	err error
}

func (n *numbers) get(name string) *float64 {
	text := trimmed(n.q, name)
	if text == "" {
		return nil
	}
	return n.parse(name, text)
}

// trimmed returns a parameter without the spaces around it, which templates of apps leave.
func trimmed(q url.Values, name string) string { return strings.TrimSpace(q.Get(name)) }

func (n *numbers) parse(name, text string) *float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		n.err = cmp.Or(n.err, fmt.Errorf("%s: %.32q is not a number", name, text))
		return nil
	}
	return &v
}

// pair reads lat,lon.
func (n *numbers) pair(text string) (lat, lon *float64) {
	a, b, found := strings.Cut(text, ",")
	if !found {
		n.err = cmp.Or(n.err, fmt.Errorf("location: %.64q is not lat,lon", text))
		return nil, nil
	}
	return n.parse("lat", strings.TrimSpace(a)), n.parse("lon", strings.TrimSpace(b))
}
