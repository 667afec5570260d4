package format

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"paddock/internal/platform/position"
)

// HFP reads a message of the high-frequency positioning of Helsinki's transport (HSL), version 2:
// spd in metres per second, hdg in degrees, tst in RFC 3339. acc is an acceleration. Messages other
// than VP are ignored, and so are vehicles without a place.
//
// The id of the object is operator/vehicle, without leading zeros, of the topic where it has them,
// else of the payload: a vehicle keeps the operator of its topic while it drives for another one.
// The format is that of https://digitransit.fi, "High-frequency positioning".
func HFP(body []byte, topic string) (r Result, err error) {
	var in struct {
		VP *struct {
			Desi  string   `json:"desi"`
			Oper  *int     `json:"oper"`
			Veh   *int     `json:"veh"`
			Tst   string   `json:"tst"`
			Spd   *float64 `json:"spd"`
			Hdg   *float64 `json:"hdg"`
			Lat   *float64 `json:"lat"`
			Long  *float64 `json:"long"`
			Route string   `json:"route"`
		}
	}
	id := hfpID(topic)
	if err := object(body, &in); err != nil {
		return r, r.wrongField(id, err)
	}
	v := in.VP
	if v == nil || v.Lat == nil && v.Long == nil {
		r.Ignored++
		return r, nil
	}
	if id == "" {
		if v.Oper == nil || v.Veh == nil {
			return r, errors.New("veh: neither topic nor payload have operator and vehicle")
		}
		id = fmt.Sprintf("%d/%d", *v.Oper, *v.Veh)
	}
	p := position.Position{
		ID: id, Speed: known(v.Spd, 1), Heading: known(v.Hdg, 1), Props: props(map[string]any{"line": v.Desi, "route": v.Route}),
	}
	if v.Tst != "" {
		if p.Time, err = timeText(v.Tst); err != nil {
			r.reject(id, "%v", err)
			return r, nil
		}
	}
	if r.place(&p, v.Long, v.Lat) {
		r.Positions = append(r.Positions, p)
	}
	return r, nil
}

// hfpID returns operator/vehicle of /hfp/v2/journey/ongoing/vp/bus/0018/00423/...
func hfpID(topic string) string {
	levels := strings.Split(strings.TrimPrefix(topic, "/"), "/")
	if len(levels) < 8 || levels[0] != "hfp" {
		return ""
	}
	operator, err := strconv.ParseUint(levels[6], 10, 32)
	vehicle, err2 := strconv.ParseUint(levels[7], 10, 32)
	if err != nil || err2 != nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", operator, vehicle)
}
