package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"paddock/fence/track"
	"paddock/internal/platform/doors/format"
	"paddock/internal/platform/position"
)

// arrival is the time of arrival of every body of these tests: 2026-03-12T11:16:45.250Z.
const arrival = track.Millis(1773314205250)

func decoder() Decoder { return Decoder{Arrived: arrival, MaxAhead: 60_000} }

// at returns a position with only a name and a place.
func at(fleet, id string, lon, lat float64) track.Position {
	return track.Position{Fleet: fleet, ID: id, Lon: lon, Lat: lat, Time: arrival, Arrived: arrival}
}

// show formats positions so that they can be compared.
func show(positions []track.Position) string {
	var b strings.Builder
	for _, p := range positions {
		fmt.Fprintf(&b, "%q/%q %v %v t=%d a=%v s=%v h=%v up=%v %s\n",
			p.Fleet, p.ID, p.Lon, p.Lat, p.Time, p.Accuracy, p.Speed, p.Heading, p.Altitude, p.Props)
		if p.Arrived != arrival {
			fmt.Fprintf(&b, "  arrived %d\n", p.Arrived)
		}
	}
	return b.String()
}

func decodes(t *testing.T, d Decoder, body string, want ...track.Position) {
	t.Helper()
	b, err := d.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Rejected) != 0 {
		t.Errorf("rejected %v", b.Rejected)
	}
	if got := show(b.Positions); got != show(want) {
		t.Errorf("got\n%swant\n%s", got, show(want))
	}
}

func TestEveryForm(t *testing.T) {
	one := at("default", "v42", -73.9586, 40.7811)
	full := track.Position{
		Fleet: "buses", ID: "v42", Lon: -73.9586, Lat: 40.7811, Time: 1773314205000, Arrived: arrival,
		Accuracy: track.Measured(5), Speed: track.Measured(8.25), Heading: track.Measured(270),
		Props: json.RawMessage(`{"line":"M15"}`),
	}
	high := at("default", "7", 1, 2)
	high.Altitude = track.Measured(300)
	const point = `"geometry":{"type":"Point","coordinates":[-73.9586,40.7811]}`
	for _, c := range []struct {
		name, body string
		want       []track.Position
	}{
		{"one object", `{"id":"v42","lon":-73.9586,"lat":40.7811}`, []track.Position{one}},
		{"white space and a byte order mark", "\ufeff \r\n\t" + `{"id":"v42","lon":-73.9586,"lat":40.7811}` + "\n\n", []track.Position{one}},
		{"all fields", `{"id":"v42","fleet":"buses","lon":-73.9586,"lat":40.7811,"t":1773314205000,"accuracy":5,"speed":8.25,"heading":270,"props":{ "line" : "M15" }}`, []track.Position{full}},
		{"fields that are null are absent", `{"id":"v42","lon":-73.9586,"lat":40.7811,"fleet":null,"t":null,"accuracy":null,"speed":null,"heading":null,"altitude":null,"props":null}`, []track.Position{one}},
		{"unknown members", `{"id":"v42","lon":-73.9586,"lat":40.7811,"depth":12,"type":"bus","extra":{"a":[1,{}]}}`, []track.Position{one}},
		{"the last of two wins", `{"id":"a","id":"v42","lon":1,"lon":-73.9586,"lat":40.7811}`, []track.Position{one}},
		{"number as id", `{"id":42,"lon":1,"lat":2}`, []track.Position{at("default", "42", 1, 2)}},
		{"number as id, as it is written", `{"id":-123456789012345678901234567890,"lon":1,"lat":2}`, []track.Position{at("default", "-123456789012345678901234567890", 1, 2)}},
		{"id with escapes", `{"id":"\u00e9\/ \n","lon":1,"lat":2}`, []track.Position{at("default", "é/ \n", 1, 2)}},
		{"longest id", `{"id":"` + strings.Repeat("x", 256) + `","lon":1,"lat":2}`, []track.Position{at("default", strings.Repeat("x", 256), 1, 2)}},
		{"corners of the world", `[{"id":1,"lon":-180,"lat":-90},{"id":2,"lon":180,"lat":90}]`, []track.Position{at("default", "1", -180, -90), at("default", "2", 180, 90)}},
		{"array", `[{"id":"a","lon":1,"lat":2}, {"id":"b","lon":3,"lat":4}]`, []track.Position{at("default", "a", 1, 2), at("default", "b", 3, 4)}},
		{"empty array", `[]`, nil},
		{"lines", "{\"id\":\"a\",\"lon\":1,\"lat\":2}\n{\"id\":\"b\",\"lon\":3,\"lat\":4}", []track.Position{at("default", "a", 1, 2), at("default", "b", 3, 4)}},
		{"lines with a mark, CRLF and blanks", "\ufeff\r\n{\"id\":\"a\",\"lon\":1,\"lat\":2}\r\n\r\n  \t\n{\"id\":\"b\",\"lon\":3,\"lat\":4}\r\n", []track.Position{at("default", "a", 1, 2), at("default", "b", 3, 4)}},
		{"Feature", `{"type":"Feature","id":"v42",` + point + `,"properties":null}`, []track.Position{one}},
		{"altitude", `{"id":"7","lon":1,"lat":2,"altitude":300}`, []track.Position{high}},
		{"Feature with number id and altitude", `{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[1,2,300]},"properties":{"altitude":200}}`, []track.Position{high}},
		{"Feature with an altitude in properties", `{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[1,2,null]},"properties":{"altitude":300}}`, []track.Position{high}},
		{
			"Feature with everything in properties",
			`{"type":"Feature",` + point + `,"properties":{"id":"v42","fleet":"buses","t":"2026-03-12T11:16:45Z","accuracy":5,"speed":8.25,"heading":270,"line":"M15"}}`,
			[]track.Position{full},
		},
		{
			"the Feature's own id holds, the property describes",
			`{"type":"Feature","id":"v42",` + point + `,"properties":{"id":"other"}}`,
			[]track.Position{{Fleet: "default", ID: "v42", Lon: -73.9586, Lat: 40.7811, Time: arrival, Props: json.RawMessage(`{"id":"other"}`), Arrived: arrival}},
		},
		{"FeatureCollection", `{"type":"FeatureCollection","features":[{"type":"Feature","id":"v42",` + point + `},{"type":"Feature","id":"v42",` + point + `}]}`, []track.Position{one, one}},
		{"empty FeatureCollection", `{"type":"FeatureCollection","features":[]}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) { decodes(t, decoder(), c.body, c.want...) })
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]track.Millis{
		`1773314205250`:                   arrival,
		`1773314205250.9`:                 arrival,
		`1.77331420525e12`:                arrival,
		`100000000000`:                    100000000000,
		`"2026-03-12T11:16:45.250Z"`:      arrival,
		`"2026-03-12T12:16:45.25+01:00"`:  arrival,
		`"2026-03-12T11:16:45.250999Z"`:   arrival,
		`"2026-03-12T11:17:45.250Z"`:      arrival + 60_000, // just within MaxAhead
		`"1999-12-31T23:59:59-00:00"`:     946684799000,
		`"2026-03-12T11:16:45.25\u0030Z"`: arrival,
	} {
		p := at("default", "a", 1, 2)
		p.Time = want
		t.Run(text, func(t *testing.T) { decodes(t, decoder(), `{"id":"a","lon":1,"lat":2,"t":`+text+`}`, p) })
	}
}

// Props are the same in each form, and have the same limit.
func TestPropsOfEachForm(t *testing.T) {
	paths := format.Paths{ID: "id", Lat: "lat", Lon: "lon", Props: "props"}
	for props, reason := range map[string]string{
		`{"a":"<b> & c"}`: "",
		`{"a":"` + strings.Repeat("<", maxPropsBytes-8) + `"}`: "",
		`{"a":"` + strings.Repeat("<", maxPropsBytes-7) + `"}`: "props: 16385 bytes, the limit is 16384",
	} {
		position := `{"id":"v","lon":1,"lat":2,"props":` + props + `}`
		feature := `{"type":"Feature","id":"v","geometry":{"type":"Point","coordinates":[1,2]},"properties":` + props + `}`
		for _, text := range []string{position, feature, ""} {
			d, b := decoder(), &Batch{}
			if text != "" {
				b, _ = d.Decode([]byte(text))
			} else if found, err := paths.Decode([]byte(position), ""); err == nil {
				d.Found(b, &found, nil)
			}
			switch {
			case reason != "":
				if len(b.Rejected) != 1 || b.Rejected[0].Reason != reason {
					t.Errorf("%.60q: %.200v", text, b)
				}
			case len(b.Positions) != 1 || string(b.Positions[0].Props) != props:
				t.Errorf("%.60q, props %.20q: %.300v", text, props, b)
			}
		}
	}
}

// Positions are rounded to a grid of 1e-7 degree, and input of up to seven decimals is unchanged.
func TestPositionsSnapToTheGrid(t *testing.T) {
	for text, want := range map[string]float64{
		"1.23456789": 1.2345679, "-1.23456789": -1.2345679, "0.00000004": 0, "0.00000006": 1e-7,
		"40.7127753": 40.7127753, "-73.9812345": -73.9812345, "1e-7": 1e-7, "12": 12, "0.1": 0.1,
	} {
		t.Run(text, func(t *testing.T) {
			decodes(t, decoder(), `{"id":"a","lon":`+text+`,"lat":`+text+`}`, at("default", "a", want, want))
		})
	}
}

// Defaults of the subject or the query apply to bodies without names. The body overrides them,
// which is counted.
func TestDefaultsOfADoor(t *testing.T) {
	d := decoder()
	d.Fleet, d.ID = "trams", "t1"
	for _, c := range []struct {
		body, fleet, id string
		renamed         int
	}{
		{`{"lon":1,"lat":2}`, "trams", "t1", 0},
		{`{"id":null,"lon":1,"lat":2}`, "trams", "t1", 0},
		{`{"id":"t1","fleet":"trams","lon":1,"lat":2}`, "trams", "t1", 0},
		{`{"id":"t2","lon":1,"lat":2}`, "trams", "t2", 1},
		{`{"fleet":"buses","lon":1,"lat":2}`, "buses", "t1", 1},
		{`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}`, "trams", "t1", 0},
	} {
		b, err := d.Decode([]byte(c.body))
		if err != nil || len(b.Positions) != 1 {
			t.Fatalf("%s: %v, %+v", c.body, err, b)
		}
		if p := b.Positions[0]; p.Fleet != c.fleet || p.ID != c.id || b.Renamed != c.renamed {
			t.Errorf("%s: %q/%q, renamed %d", c.body, p.Fleet, p.ID, b.Renamed)
		}
	}
}

func TestPropertiesUnderOtherNames(t *testing.T) {
	d := decoder()
	d.IDProperty, d.TimeProperty = "vehicle", "ts"
	want := at("default", "MTA_3846", 1, 2)
	want.Time, want.Props = 1773314205000, json.RawMessage(`{"id":"no","t":"no"}`)
	decodes(t, d, `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},
		"properties":{"vehicle":"MTA_3846","ts":"2026-03-12T11:16:45Z","id":"no","t":"no"}}`, want)
}

// nested returns an object of so many levels.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

// Props may be as deep as GeoJSON; brackets in strings do not count.
func TestDepthOfProps(t *testing.T) {
	for _, props := range []string{nested(64), `{"a":"` + strings.Repeat("[", 100) + `\"[","b":[{}]}`} {
		want := at("default", "a", 1, 2)
		want.Props = json.RawMessage(props)
		decodes(t, decoder(), `{"id":"a","lon":1,"lat":2,"props":`+props+`}`, want)
	}
	body, err := position.Append(nil, &position.Position{ID: "a", Time: int64(arrival), Props: []byte(nested(65))})
	if err != nil {
		t.Fatal(err)
	}
	d, b := decoder(), Batch{}
	if d.Binary(&b, 0, body); len(b.Rejected) != 1 || b.Rejected[0].Reason != "props: nested deeper than 64" {
		t.Errorf("fixed layout: %+v", b)
	}
}

const swapped = ": lon and lat swapped?"

// Each element has one error. The texts are exact, because people will search for them.
var rejections = []struct{ element, reason string }{
	{`1`, "a position is a JSON object, not a number"},
	{`"v42"`, "a position is a JSON object, not a string"},
	{`true`, "a position is a JSON object, not a boolean"},
	{`[1,2]`, "a position is a JSON object, not an array"},
	{`null`, "id: missing"},
	{`{}`, "id: missing"},
	{`{"lon":1,"lat":2}`, "id: missing"},
	{`{"id":1.0,"lon":1,"lat":2}`, "id: 1.0 is not written as a whole number: use digits only, or text"},
	{`{"id":1e0,"lon":1,"lat":2}`, "id: 1e0 is not written as a whole number: use digits only, or text"},
	{`{"id":10E-1,"lon":1,"lat":2}`, "id: 10E-1 is not written as a whole number: use digits only, or text"},
	{`{"id":-0,"lon":1,"lat":2}`, "id: -0 is not written as a whole number: use digits only, or text"},
	{`{"id":0.` + strings.Repeat("1", 100) + `,"lon":1,"lat":2}`, "id: 0." + strings.Repeat("1", 30) + " is not written as a whole number: use digits only, or text"},
	{`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"id":1.0}}`, "id: 1.0 is not written as a whole number: use digits only, or text"},
	{`{"id":"","lon":1,"lat":2}`, "id: empty"},
	{`{"id":true,"lon":1,"lat":2}`, "id: must be a string or a number"},
	{`{"id":{},"lon":1,"lat":2}`, "id: must be a string or a number"},
	{`{"id":["a"],"lon":1,"lat":2}`, "id: must be a string or a number"},
	{`{"id":"` + strings.Repeat("x", 257) + `","lon":1,"lat":2}`, "id: 257 bytes, the limit is 256"},
	{`{"id":"` + strings.Repeat("é", 129) + `","lon":1,"lat":2}`, "id: 258 bytes, the limit is 256"},
	{`{"id":` + strings.Repeat("1", 257) + `,"lon":1,"lat":2}`, "id: 257 bytes, the limit is 256"},
	{`{"id":"a","fleet":"","lon":1,"lat":2}`, "fleet: empty"},
	{`{"id":"a","fleet":7,"lon":1,"lat":2}`, "fleet: must be a string, not a number"},
	{`{"id":"a","fleet":"` + strings.Repeat("f", 300) + `","lon":1,"lat":2}`, "fleet: 300 bytes, the limit is 256"},
	{`{"id":"a"}`, "lon: missing"},
	{`{"id":"a","lat":2}`, "lon: missing"},
	{`{"id":"a","lon":1}`, "lat: missing"},
	{`{"id":"a","lon":null,"lat":2}`, "lon: missing"},
	{`{"id":"a","lon":"1","lat":2}`, "lon: must be a number, not a string"},
	{`{"id":"a","lon":1,"lat":[2]}`, "lat: must be a number, not an array"},
	{`{"id":"a","lon":1,"lat":{}}`, "lat: must be a number, not an object"},
	{`{"id":"a","lon":1e999,"lat":2}`, "lon: 1e999 is out of range"},
	{`{"id":"a","lon":1,"lat":-1e309}`, "lat: -1e309 is out of range"},
	{`{"id":"a","lon":1` + strings.Repeat("0", 400) + `,"lat":2}`, "lon: 1" + strings.Repeat("0", 31) + " is out of range"},
	{`{"id":"a","lon":180.0000001,"lat":2}`, "lon: 180.0000001 is out of range -180 to 180"},
	{`{"id":"a","lon":-181,"lat":2}`, "lon: -181 is out of range -180 to 180"},
	{`{"id":"a","lon":40.7,"lat":-95}`, "lat: -95 is out of range -90 to 90" + swapped},
	{`{"id":"a","lon":40.7,"lat":139.7}`, "lat: 139.7 is out of range -90 to 90" + swapped},
	{`{"id":"a","lon":100,"lat":95}`, "lat: 95 is out of range -90 to 90"},
	{`{"id":"a","lon":1,"lat":181}`, "lat: 181 is out of range -90 to 90"},
	{`{"id":"a","lon":1,"lat":2,"t":"yesterday"}`, `t: "yesterday" is not RFC 3339, as 2026-03-12T11:16:45.250Z`},
	{`{"id":"a","lon":1,"lat":2,"t":"2026-03-12 11:16:45Z"}`, `t: "2026-03-12 11:16:45Z" is not RFC 3339, as 2026-03-12T11:16:45.250Z`},
	{`{"id":"a","lon":1,"lat":2,"t":"2026-03-12T11:16:45"}`, `t: "2026-03-12T11:16:45" is not RFC 3339, as 2026-03-12T11:16:45.250Z`},
	{`{"id":"a","lon":1,"lat":2,"t":"2026-02-30T00:00:00Z"}`, `t: "2026-02-30T00:00:00Z" is not RFC 3339, as 2026-03-12T11:16:45.250Z`},
	{`{"id":"a","lon":1,"lat":2,"t":"1773314205250"}`, `t: "1773314205250" is not RFC 3339, as 2026-03-12T11:16:45.250Z`},
	{`{"id":"a","lon":1,"lat":2,"t":"` + strings.Repeat("9", 1000) + `"}`, `t: "` + strings.Repeat("9", 64) + `" is not RFC 3339, as 2026-03-12T11:16:45.250Z`},
	{`{"id":"a","lon":1,"lat":2,"t":"1970-01-01T00:00:12Z"}`, `t: "1970-01-01T00:00:12Z" is before 1973: the clock is not set`},
	{`{"id":"a","lon":1,"lat":2,"t":"0000-01-01T00:00:00+23:00"}`, `t: "0000-01-01T00:00:00+23:00" is before 1973: the clock is not set`},
	{`{"id":"a","lon":1,"lat":2,"t":true}`, "t: must be RFC 3339 text or Unix milliseconds"},
	{`{"id":"a","lon":1,"lat":2,"t":{}}`, "t: must be RFC 3339 text or Unix milliseconds"},
	{`{"id":"a","lon":1,"lat":2,"t":1e999}`, "t: must be RFC 3339 text or Unix milliseconds"},
	{`{"id":"a","lon":1,"lat":2,"t":1773314205}`, "t: 1773314205 looks like seconds: send Unix milliseconds"},
	{`{"id":"a","lon":1,"lat":2,"t":0}`, "t: 0 looks like seconds: send Unix milliseconds"},
	{`{"id":"a","lon":1,"lat":2,"t":-1}`, "t: -1 looks like seconds: send Unix milliseconds"},
	{`{"id":"a","lon":1,"lat":2,"t":253402300800000}`, "t: 253402300800000 is out of range"},
	{`{"id":"a","lon":1,"lat":2,"t":1773314265251}`, "t: 1m0.001s in the future, the limit is 1m0s"},
	{`{"id":"a","lon":1,"lat":2,"t":"2026-03-12T12:16:45.250Z"}`, "t: 1h0m0s in the future, the limit is 1m0s"},
	{`{"id":"a","lon":1,"lat":2,"accuracy":-1}`, "accuracy: -1 is out of range 0 to 1e+07"},
	{`{"id":"a","lon":1,"lat":2,"accuracy":"5"}`, "accuracy: must be a number, not a string"},
	{`{"id":"a","lon":1,"lat":2,"speed":1e6}`, "speed: 1e+06 is out of range 0 to 100000"},
	{`{"id":"a","lon":1,"lat":2,"heading":361}`, "heading: 361 is out of range 0 to 360"},
	{`{"id":"a","lon":1,"lat":2,"heading":-0.1}`, "heading: -0.1 is out of range 0 to 360"},
	{`{"id":"a","lon":1,"lat":2,"altitude":100001}`, "altitude: 100001 is out of range -100000 to 100000"},
	{`{"id":"a","lon":1,"lat":2,"altitude":"high"}`, "altitude: must be a number, not a string"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2,-1e6]}}`, "altitude: -1e+06 is out of range -100000 to 100000"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"altitude":"n"}}`, "properties.altitude: must be a number"},
	{`{"id":"a","lon":1,"lat":2,"props":[]}`, "props: must be an object"},
	{`{"id":"a","lon":1,"lat":2,"props":"x"}`, "props: must be an object"},
	{`{"id":"a","lon":1,"lat":2,"props":{"x":"` + strings.Repeat("x", 16<<10) + `"}}`, "props: 16392 bytes, the limit is 16384"},
	{`{"id":"a","lon":1,"lat":2,"props":` + nested(65) + `}`, "props: nested deeper than 64"},
	{`{"id":"a","lon":1,"lat":2,"props":{"a":` + strings.Repeat("[", 4000) + strings.Repeat("]", 4000) + `}}`, "props: nested deeper than 64"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"a":` + nested(64) + `}}`, "props: nested deeper than 64"},
	{`{"id":"a","lon":1,"lat":2,"x":"` + strings.Repeat("x", 64<<10) + `"}`, "longer than 65536 bytes"},
	{`{"type":"Polygon","geometry":{}}`, `type "Polygon" is neither a position nor a Feature`},
	{`{"type":5,"id":"a"}`, "type: must be a string, not a number"},
	{`{"type":"Feature","id":"a"}`, "geometry: must be a Point"},
	{`{"type":"Feature","id":"a","geometry":null}`, "geometry: must be a Point"},
	{`{"type":"Feature","id":"a","geometry":{"type":"LineString","coordinates":[[1,2],[3,4]]}}`, "geometry: must be a Point"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":"1,2"}}`, "geometry: must be a Point"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[]}}`, "geometry: a Point has two coordinates, lon and lat"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1]}}`, "geometry: a Point has two coordinates, lon and lat"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,null]}}`, "lat: missing"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,91]}}`, "lat: 91 is out of range -90 to 90" + swapped},
	{`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}`, "id: missing: neither a member id nor properties.id; over HTTP, ?id_property=NAME takes it from properties.NAME"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":[]}`, "properties: must be an object, not an array"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"speed":"fast"}}`, "properties.speed: must be a number"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"heading":"n","speed":"fast","fleet":1}}`, "properties.fleet: must be a string"},
	{`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"t":5}}`, "t: 5 looks like seconds: send Unix milliseconds"},
	{"{\"id\":\"\xff\",\"lon\":1,\"lat\":2}", "not valid UTF-8"},
}

// A bad element is rejected alone: in each form it is between two good ones, which are accepted.
func TestEveryRejection(t *testing.T) {
	const good = `{"id":"good","lon":1,"lat":2}`
	for _, c := range rejections {
		name := c.reason
		t.Run(name, func(t *testing.T) {
			for form, body := range map[string]string{
				"array": "[" + good + "," + c.element + "," + good + "]",
				"lines": good + "\n" + c.element + "\n" + good,
				"collection": `{"type":"FeatureCollection","features":[{"type":"Feature","id":"g","geometry":{"type":"Point","coordinates":[1,2]}},` +
					c.element + `,` + good + `]}`,
			} {
				d := decoder()
				b, err := d.Decode([]byte(body))
				if err != nil {
					t.Errorf("%s: %v", form, err)
					continue
				}
				if len(b.Positions) != 2 || b.index(0) != 0 || b.index(1) != 2 {
					t.Errorf("%s: %d positions, indexes %v", form, len(b.Positions), b.Indexes)
				}
				want := []Rejection{{Index: 1, Reason: c.reason}}
				if fmt.Sprint(b.Rejected) != fmt.Sprint(want) {
					t.Errorf("%s: got %v, want %v", form, b.Rejected, want)
				}
			}
		})
	}
}

// A line may be invalid JSON; blank lines have no index.
func TestALineThatIsNoJSONCostsOnlyItself(t *testing.T) {
	d := decoder()
	b, err := d.Decode([]byte("{\"id\":1,\"lon\":1,\"lat\":2}\n\n{\"id\":2,\"lon\":NaN,\"lat\":2}\n{\"id\":3,\"lon\":1\n{\"id\":4,\"lon\":1,\"lat\":2} x\n{\"id\":5,\"lon\":1,\"lat\":2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Rejection{
		{1, "malformed JSON: invalid character 'N' looking for beginning of value at byte 15"},
		{2, "malformed JSON: unexpected end of JSON input at byte 15"},
		{3, "malformed JSON: invalid character 'x' after top-level value at byte 26"},
	}
	if fmt.Sprint(b.Rejected) != fmt.Sprint(want) {
		t.Errorf("got %v", b.Rejected)
	}
	if len(b.Positions) != 2 || b.index(1) != 4 {
		t.Errorf("%d positions, indexes %v", len(b.Positions), b.Indexes)
	}
}

func TestBodiesThatAreRefusedAsAWhole(t *testing.T) {
	const empty = "empty body: send a position, an array, a GeoJSON Feature or FeatureCollection, or one JSON object a line"
	for _, c := range []struct{ name, body, want string }{
		{"nothing", "", empty},
		{"white space", " \r\n\t ", empty},
		{"a mark", "\ufeff", empty},
		{"half an object", `{"id":"a","lon":1`, "malformed JSON: unexpected end of JSON input at byte 17"},
		{"no JSON", `id=a&lon=1`, "malformed JSON: invalid character 'i' looking for beginning of value at byte 1"},
		{"NaN", `{"id":"a","lon":NaN,"lat":1}`, "malformed JSON: invalid character 'N' looking for beginning of value at byte 17"},
		{"gzip", "\x1f\x8b\x08\x00\x00", `malformed JSON: invalid character '\x1f' looking for beginning of value at byte 1`},
		{"half an array", `[{"id":"a","lon":1,"lat":2},`, "malformed JSON: unexpected end of JSON input at byte 28"},
		{"comma at the end", `[{"id":"a","lon":1,"lat":2},]`, "malformed JSON: invalid character ']' looking for beginning of value at byte 29"},
		{"bad element", `[{"id":"a"},{"id":}]`, "malformed JSON: invalid character '}' looking for beginning of value at byte 19"},
		{"two arrays", `[] []`, "something follows the array at byte 4"},
		{"junk behind", `[]x`, "something follows the array at byte 2"},
		{"collection of nothing", `{"type":"FeatureCollection"}`, "FeatureCollection without an array features"},
		{"collection of null", `{"type":"FeatureCollection","features":null}`, "FeatureCollection without an array features"},
		{"collection of an object", `{"type":"FeatureCollection","features":{}}`, "FeatureCollection without an array features"},
		{"too deep", strings.Repeat("[", 20_000), "malformed JSON: invalid character '[' exceeded max depth at byte 10001"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := decoder()
			_, err := d.Decode([]byte(c.body))
			if be, ok := errors.AsType[*BodyError](err); !ok || be.Error() != c.want {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

// A body with the media type of lines is never refused as a whole.
func TestLinesByName(t *testing.T) {
	d := decoder()
	d.Format = Lines
	b, err := d.Decode([]byte("[1,2]\nno JSON"))
	if err != nil || len(b.Rejected) != 2 {
		t.Errorf("%v, %+v", err, b)
	}
}

// The size of an answer does not grow with the number of bad elements, nor the memory of a batch
// with the number of its elements.
func TestHugeBodiesAreBounded(t *testing.T) {
	d := decoder()
	b, err := d.Decode([]byte("[" + strings.Repeat("1,", 4999) + "1]"))
	if err != nil || len(b.Rejected) != 1000 || b.Omitted != 4000 || b.Rejected[999].Index != 999 {
		t.Errorf("%v, %d rejected, %d omitted", err, len(b.Rejected), b.Omitted)
	}
	d.most = 3
	for _, format := range []string{"[1,1,1%s]", "1\n1\n1\n%s", `{"type":"FeatureCollection","features":[1,1,1%s]}`} {
		for more, want := range map[string]error{"": nil, ",1": ErrTooMany} {
			if _, err := d.Decode(fmt.Appendf(nil, format, more)); !errors.Is(err, want) {
				t.Errorf(format+": %v", more, err)
			}
		}
	}
}
