package httpapi

import (
	"fmt"
	"testing"

	"paddock/fence/track"
	"paddock/internal/platform/ingest"
)

// A forecast goes on from the last position by what it reports. Half a degree of longitude at the
// equator is 55,660 m.
func TestForecast(t *testing.T) {
	tw := newTown(t, options{})
	report := func(id string, n int, lon, lat float64, rest string) {
		t.Helper()
		body := fmt.Sprintf(`{"id":%q,"lon":%v,"lat":%v,"t":%d%s}`, id, lon, lat, tw.begun+track.Millis(n)*1000, rest)
		tw.expect(tw.post("/v1/positions", body), 200, `{"accepted":1,"late":0,"rejected":[]}`)
	}
	tw.expect(tw.put("/v1/sets/gates/fences/g", `{"type":"Feature","geometry":{"type":"LineString","coordinates":[[4.8,-1],[4.8,1]]},"properties":{}}`), 404, "")
	tw.expect(tw.put("/v1/sets/gates", `{"type":"FeatureCollection","features":[{"type":"Feature","id":"g","geometry":{"type":"LineString","coordinates":[[4.8,-1],[4.8,1]]},"properties":{}}]}`), 201, "")

	report("v", 0, 4.5, 0.001, `,"speed":100,"heading":90`)
	got := decode[forecastJSON](tw, tw.get("/v1/objects/v/forecast?horizon=1h"))
	var told []string
	for _, c := range got.Crossings {
		told = append(told, fmt.Sprintf("%s %s/%s %s %.0f %s", c.Kind, c.Set, c.Fence, c.Direction, c.Distance, c.Point))
	}
	want := []string{
		`cross gates/g right 33396 {"type":"Point","coordinates":[4.8,0.001]}`,
		`enter squares/b  55660 {"type":"Point","coordinates":[5,0.001]}`,
	}
	if fmt.Sprint(told) != fmt.Sprint(want) || got.Source != "reported" || got.More || got.Reason != "" {
		t.Errorf("%q\nwant %q, of %+v", told, want, got)
	}
	if at := decode[forecastJSON](tw, tw.get("/v1/objects/v/forecast?horizon=1h&limit=1")); len(at.Crossings) != 1 || !at.More {
		t.Errorf("%+v", at)
	}
	short := tw.get("/v1/objects/v/forecast?horizon=60s&set=gates")
	if f := decode[forecastJSON](tw, short); len(f.Crossings) != 0 || f.Until == "" || f.Reason != "" {
		t.Errorf("%s", short.body)
	}
	report("parked", 0, 4.5, 0.001, `,"speed":0.2,"heading":90`)
	report("mute", 0, 4.5, 0.001, "")
	report("blind", 0, 4.5, 0.001, `,"speed":10`)
	for id, want := range map[string]string{"parked": "standing", "mute": "unknown", "blind": "unknown"} {
		r := tw.get("/v1/objects/" + id + "/forecast")
		if f := decode[forecastJSON](tw, r); r.status != 200 || f.Reason != want || len(f.Crossings) != 0 || f.Until != "" {
			t.Errorf("%s: %s", id, r.body)
		}
	}
	tw.problem(tw.get("/v1/objects/none/forecast"), 404, `no object "none" in fleet "default"`)
	tw.problem(tw.get("/v1/objects/v/forecast?fleet=x"), 404, `no object "v" in fleet "x"`)
	tw.problem(tw.get("/v1/objects/v/forecast?set=none"), 404, `no set "none"; GET /v1/sets lists them`)
	for _, horizon := range []string{"2h", "5", "-1s", "10ms"} {
		tw.problem(tw.get("/v1/objects/v/forecast?horizon="+horizon), 400, `query: horizon "`+horizon+`" is not a duration from 1s to 1h, such as 90s or 10m`)
	}
	tw.problem(tw.get("/v1/objects/v/forecast?limit=101"), 400, `query: limit "101" is not a number from 1 to 100`)
	tw.problem(tw.get("/v1/objects/v/forecast?sets=a"), 400, `query: unknown parameter "sets": use fleet, horizon, set, limit`)
}

// What the last position does not report comes from the one before it, unless the two are nearer
// than a receiver can tell.
func TestForecastFromPositions(t *testing.T) {
	h := withPast(t) // up to minute 59, a degree to the east each minute, at latitude 5
	tw := newTown(t, options{config: func(c *Config) { c.History = h }})
	at := func(lon float64, accuracy float64, m ...track.Measure) *forecastJSON {
		t.Helper()
		p := track.Position{Fleet: "default", ID: "v", Lon: lon, Lat: 5, Time: 3_600_000, Arrived: 3_600_000, Accuracy: track.Measured(accuracy)}
		if len(m) > 0 {
			p.Speed = m[0]
		}
		_, _ = tw.api.cfg.Pipeline.Remove("default", "v")
		_, err := tw.api.cfg.Pipeline.Submit(t.Context(), &ingest.Batch{Positions: []track.Position{p}})
		must(t, err)
		f := decode[forecastJSON](tw, tw.get("/v1/objects/v/forecast?horizon=1m"))
		return &f
	}
	if f := at(60, 5); f.Source != "positions" || *f.Heading != 90 || *f.Speed < 1847 || *f.Speed > 1849 || f.Reason != "" {
		t.Errorf("%+v", f)
	}
	if f := at(60, 5, track.Measured(20)); f.Source != "positions" || *f.Heading != 90 || *f.Speed != 20 {
		t.Errorf("%+v", f)
	}
	for _, f := range []*forecastJSON{at(59.00001, 1), at(59.0005, 200)} {
		if f.Reason != "unknown" || f.Speed != nil {
			t.Errorf("%+v", f)
		}
	}
}
