package ingest

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"unicode/utf8"

	"paddock/fence/track"
)

// FuzzDecode checks the assumptions of the tracker: every accepted position is valid, every element
// is accepted or rejected with a reason, and a position written out again decodes to itself.
func FuzzDecode(f *testing.F) {
	for _, c := range rejections {
		if len(c.element) < 1000 {
			f.Add([]byte(c.element), uint8(0))
		}
	}
	for _, body := range []string{
		`{"id":"v42","fleet":"b","lon":-73.9586,"lat":40.7811,"t":1773314205000,"accuracy":5,"speed":8.25,"heading":270,"props":{"a":[1]}}`,
		`[{"id":1,"lon":180,"lat":-90},{"id":2,"lon":1e-9,"lat":0.12345678}]`,
		"\ufeff{\"id\":1,\"lon\":1,\"lat\":2}\r\n\r\nnonsense\n",
		`{"type":"FeatureCollection","features":[{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"t":"2026-03-12T11:16:45Z","x":1}}]}`,
		`[]`, ``, `[`,
	} {
		f.Add([]byte(body), uint8(0))
		f.Add([]byte(body), uint8(1))
	}
	f.Fuzz(func(t *testing.T, body []byte, form uint8) {
		d := decoder()
		d.Format = Format(form % 2)
		b, err := d.Decode(body)
		if err != nil {
			if err.Error() == "" {
				t.Error("refused without a reason")
			}
			return
		}
		for _, r := range b.Rejected {
			if r.Reason == "" || len(r.Reason) > 400 || !utf8.ValidString(r.Reason) {
				t.Errorf("element %d: reason %q", r.Index, r.Reason)
			}
		}
		for i := range b.Positions {
			check(t, &b.Positions[i])
		}
		again(t, b.Positions)
	})
}

func check(t *testing.T, p *track.Position) {
	t.Helper()
	for field, s := range map[string]string{"id": p.ID, "fleet": p.Fleet} {
		if len(s) < 1 || len(s) > 256 || !utf8.ValidString(s) {
			t.Errorf("%s %q", field, s)
		}
	}
	if !(math.Abs(p.Lon) <= 180 && math.Abs(p.Lat) <= 90) {
		t.Errorf("at %v, %v", p.Lon, p.Lat)
	}
	if snap(p.Lon) != p.Lon || snap(p.Lat) != p.Lat {
		t.Errorf("%v, %v is not on the grid", p.Lon, p.Lat)
	}
	if p.Time > arrival+60_000 || p.Arrived != arrival {
		t.Errorf("t %d, arrived %d", p.Time, p.Arrived)
	}
	for field, m := range map[string]track.Measure{"accuracy": p.Accuracy, "speed": p.Speed, "heading": p.Heading} {
		if v := float64(m.Value); m.Known && !(v >= 0 && v <= 1e7) || !m.Known && v != 0 {
			t.Errorf("%s %v", field, m)
		}
	}
	if v := float64(p.Altitude.Value); !(math.Abs(v) <= maxAltitude) || !p.Altitude.Known && v != 0 {
		t.Errorf("altitude %v", p.Altitude)
	}
	if p.Props != nil && (p.Props[0] != '{' || !json.Valid(p.Props) || len(p.Props) > maxPropsBytes) {
		t.Errorf("props %s", p.Props)
	}
}

// again writes positions as lines and expects to read the same.
func again(t *testing.T, positions []track.Position) {
	t.Helper()
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, p := range positions {
		fields := map[string]any{"id": p.ID, "fleet": p.Fleet, "lon": p.Lon, "lat": p.Lat, "t": p.Time.Time()}
		if p.Props != nil {
			fields["props"] = p.Props
		}
		for name, m := range map[string]track.Measure{
			"accuracy": p.Accuracy, "speed": p.Speed, "heading": p.Heading, "altitude": p.Altitude,
		} {
			if m.Known {
				fields[name] = m.Value
			}
		}
		if err := enc.Encode(fields); err != nil {
			t.Fatal(err)
		}
	}
	if lines.Len() == 0 {
		return
	}
	d := decoder()
	d.Format = Lines
	b, err := d.Decode(lines.Bytes())
	if err != nil || len(b.Rejected) != 0 {
		t.Fatalf("%v, %+v\n%s", err, b, lines.Bytes())
	}
	if got, want := show(b.Positions), show(positions); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
