package format

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"paddock/internal/platform/position"
)

// near compares numbers that a float32 may have rounded.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(b)) }

// expected is a position as a test writes it: NaN and "" for what is unknown.
type expected struct {
	id, time                 string
	lat, lon                 float64
	accuracy, speed, heading float64
	altitude                 float64
	props                    string
}

var unknown = math.NaN()

func (want expected) check(t *testing.T, p position.Position) {
	t.Helper()
	if p.ID != want.id || !near(p.Lat, want.lat) || !near(p.Lon, want.lon) || string(p.Props) != want.props {
		t.Errorf("got %q at %v %v with %s, want %+v", p.ID, p.Lat, p.Lon, p.Props, want)
	}
	at := ""
	if p.Time != 0 {
		at = time.UnixMilli(p.Time).UTC().Format(time.RFC3339Nano)
	}
	if at != want.time {
		t.Errorf("time %q, want %q", at, want.time)
	}
	for _, m := range []struct {
		name string
		got  position.Measure
		want float64
	}{{"accuracy", p.Accuracy, want.accuracy}, {"speed", p.Speed, want.speed}, {"heading", p.Heading, want.heading}, {"altitude", p.Altitude, want.altitude}} {
		if m.got.Known != !math.IsNaN(m.want) || m.got.Known && !near(float64(m.got.Value), m.want) {
			t.Errorf("%s: %+v, want %v", m.name, m.got, m.want)
		}
	}
}

// one checks a result with one position alone.
func (want expected) one(t *testing.T, r Result, err error) {
	t.Helper()
	if err != nil || len(r.Positions) != 1 || len(r.Rejected) != 0 {
		t.Errorf("%+v, %v", r, err)
		return
	}
	want.check(t, r.Positions[0])
}

// outcome describes a result without positions: the error, the first rejection, or "ignored".
func outcome(r Result, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error()
	case len(r.Positions) > 0:
		return "accepted"
	case len(r.Rejected) > 0:
		return r.Rejected[0].Object + " " + r.Rejected[0].Reason
	case r.Ignored > 0:
		return "ignored"
	}
	return "nothing"
}

// The requests are examples of Traccar's documentation and tests.
func TestOsmAnd(t *testing.T) {
	for query, want := range map[string]expected{
		"id=902064&lat=42.06288&lon=-88.23412&timestamp=2016-01-27T18%3A55%3A47Z&hdop=6.0&altitude=224.0&speed=0.0":                         {"902064", "2016-01-27T18:55:47Z", 42.06288, -88.23412, 6, 0, unknown, 224, ""},
		"id=902064&lat=42.06288&lon=-88.23412&timestamp=1442068686579&hdop=6.0&altitude=224.0&speed=0.0":                                    {"902064", "2015-09-12T14:38:06.579Z", 42.06288, -88.23412, 6, 0, unknown, 224, ""},
		"lat=49.60688&lon=6.15788&timestamp=2014-06-04+09%3A10%3A11&altitude=384.7&speed=0.0&id=353861053849681":                            {"353861053849681", "2014-06-04T09:10:11Z", 49.60688, 6.15788, unknown, 0, unknown, 384.7, ""},
		"id=123456&timestamp=1377177267&lat=60.0&lon=30.0&speed=0.0&bearing=0.0&altitude=0&hdop=0.0":                                        {"123456", "2013-08-22T13:14:27Z", 60, 30, 0, 0, 0, 0, ""},
		"id=123456&timestamp=1377177267&location=60.0,30.0":                                                                                 {"123456", "2013-08-22T13:14:27Z", 60, 30, unknown, unknown, unknown, unknown, ""},
		"lat=60.0&lon=30.0&speed=0.0&heading=0.0&vacc=0&hacc=0&altitude=0&deviceid=123456":                                                  {"123456", "", 60, 30, unknown, 0, 0, 0, ""},
		"id=861001000719969&lat=41.666667&lon=-0.883333&altitude=350.059479&speed=0.000000&batt=87":                                         {"861001000719969", "", 41.666667, -0.883333, unknown, 0, unknown, 350.059479, `{"battery":87}`},
		"id=123456789012345&timestamp=1504763810&lat=40.7232948571&lon=-74.0061408571&bearing=7.19889788244&speed=40&ignition=true&rpm=933": {"123456789012345", "2017-09-07T05:56:50Z", 40.7232948571, -74.0061408571, unknown, 40 * 1852.0 / 3600, 7.19889788244, unknown, ""},
		"id=a&lat=1&lon=2&speed=12.5&speed_unit=ms&bearing=-1&accuracy=-1&valid=true":                                                       {"a", "", 1, 2, unknown, 12.5, unknown, unknown, ""},
		"id=a&lat=1&lon=2&timestamp=1377177267%20&speed=+10&speed_unit=ms":                                                                  {"a", "2013-08-22T13:14:27Z", 1, 2, unknown, 10, unknown, unknown, ""},
		"id=a&lat=1&lon=2&speed=36&speed_unit=kmh&valid=1":                                                                                  {"a", "", 1, 2, unknown, 10, unknown, unknown, ""},
	} {
		t.Run(query, func(t *testing.T) {
			r, err := OsmAnd(query)
			want.one(t, r, err)
		})
	}
	for query, want := range map[string]string{
		"timestamp=1377177267&lat=60.0&lon=30.0":             "error: id: missing",
		"id=123456&timestamp=1377177267&cell=257,02,16,2224": "ignored",
		"id=a&lat=1":                       "a lon: missing",
		"id=a&lon=1":                       "a lat: missing",
		"id=a&lat=x&lon=1":                 `a lat: "x" is not a number`,
		"id=a&location=5":                  `a location: "5" is not lat,lon`,
		"id=a&lat=1&lon=2&valid=false":     "a valid: false: the device has no fix",
		"id=a&lat=1&lon=2&valid=0":         "a valid: 0: the device has no fix",
		"id=a&lat=1&lon=2&timestamp=now":   `a t: "now" is neither a number of seconds or milliseconds nor as 2026-03-12T11:16:45Z`,
		"id=a&lat=1&lon=2&timestamp=0":     "a t: 0: the clock of the device is not set",
		"id=a&lat=1&lon=2&speed_unit=mach": `error: speed_unit: "mach" is none of kn, kmh, ms, mph`,
		"id=a&lat=%zz":                     "error: body: not a query or a form",
	} {
		if got := outcome(OsmAnd(query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func TestTraccar(t *testing.T) {
	for body, want := range map[string]expected{
		// The client, as in Traccar's documentation and tests.
		`{"location":{"timestamp":"2025-06-15T13:45:12.862Z","coords":{"latitude":37.4219983,"longitude":-122.084,"accuracy":5,"speed":0,"heading":-1,"altitude":5},"is_moving":false,"odometer":0,"event":"motionchange","battery":{"level":1,"is_charging":false},"activity":{"type":"still"},"extras":{},"_":"&id=48241179&lat=37.4219983&lon=-122.084&timestamp=2025-06-15T13:45:12.862Z&"},"device_id":"48241179"}`: {"48241179", "2025-06-15T13:45:12.862Z", 37.4219983, -122.084, 5, 0, unknown, 5, `{"battery":100}`},
		`{"location":{"extras":{},"mock":true,"coords":{"speed_accuracy":-1,"speed":-1,"longitude":-122.406417,"floor":null,"latitude":37.785834,"accuracy":5,"altitude":0,"heading":-1},"is_moving":false,"battery":{"level":-1,"is_charging":false},"timestamp":"2025-05-09T04:11:30.579Z"},"device_id":"658765"}`:                                                                                                     {"658765", "2025-05-09T04:11:30.579Z", 37.785834, -122.406417, 5, unknown, unknown, 0, ""},
		`{"location":{"timestamp":"2021-07-21T08:06:34.444Z","coords":{"latitude":-6.1148096,"longitude":106.6837015,"accuracy":3.8,"speed":18.67,"heading":63,"altitude":35.7},"battery":{"is_charging":false,"level":0.79}},"device_id":"8737767034"}`:                                                                                                                                                                 {"8737767034", "2021-07-21T08:06:34.444Z", -6.1148096, 106.6837015, 3.8, 18.67, 63, 35.7, `{"battery":79}`},
		// What Traccar forwards: its models of a position and a device.
		`{"position":{"id":0,"deviceId":3,"protocol":"teltonika","serverTime":"2024-12-14T23:04:12.695+00:00","deviceTime":"2024-12-14T22:52:11.000+00:00","fixTime":"2024-12-14T22:52:18.000+00:00","outdated":false,"valid":true,"latitude":64.32233,"longitude":41.0713,"altitude":42.5,"speed":1.84,"course":105,"address":null,"accuracy":0,"network":null,"attributes":{"batteryLevel":87,"motion":true}},"device":{"id":3,"name":"Truck 3","uniqueId":"866907052641100","status":"online"}}`: {"866907052641100", "2024-12-14T22:52:18Z", 64.32233, 41.0713, unknown, 1.84 * 1852 / 3600, 105, 42.5, `{"battery":87,"name":"Truck 3"}`},
		`{"position":{"fixTime":1734216738000,"latitude":1,"longitude":2},"device":{"uniqueId":7}}`: {"7", "2024-12-14T22:52:18Z", 1, 2, unknown, unknown, unknown, unknown, ""},
	} {
		r, err := Traccar([]byte(body))
		want.one(t, r, err)
	}
	r, err := Traccar([]byte(`{"device_id":"a","location":[{"coords":{"latitude":1,"longitude":2}},{"coords":{"latitude":3}},{"coords":{"latitude":5,"longitude":6}}]}`))
	if err != nil || len(r.Positions) != 2 || len(r.Rejected) != 1 || r.Positions[1].Lat != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	for body, want := range map[string]string{
		`{"position":{"latitude":1,"longitude":2,"valid":false},"device":{"uniqueId":"a"}}`:        "a valid: false: the device has no fix",
		`{"position":{"latitude":1,"longitude":2,"outdated":true},"device":{"uniqueId":"a"}}`:      "ignored",
		`{"position":{"latitude":"1","longitude":2},"device":{"uniqueId":"a"}}`:                    "a latitude: not string",
		`{"position":{"longitude":2},"device":{"uniqueId":"a"}}`:                                   "a lat: missing",
		`{"position":{"latitude":1,"longitude":2}}`:                                                "error: device.uniqueId: missing",
		`{"location":{"coords":{}}}`:                                                               "error: device_id: missing",
		`{"location":{"timestamp":"never","coords":{"latitude":1,"longitude":2}},"device_id":"a"}`: `a t: "never" is neither a number of seconds or milliseconds nor as 2026-03-12T11:16:45Z`,
		`{"location":{"event":"heartbeat"},"device_id":"a"}`:                                       "ignored",
		`{"device_id":"a"}`: "ignored",
		`{}`:                "error: body: neither location with device_id, as of the Traccar Client, nor position with device, as Traccar forwards",
		`[1]`:               "error: body: not array",
		`{`:                 "error: body: malformed JSON: unexpected end of JSON input",
	} {
		if got := outcome(Traccar([]byte(body))); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// The messages are those of OwnTracks' booklet.
func TestOwnTracks(t *testing.T) {
	for _, c := range []struct {
		body, topic string
		want        expected
	}{
		{`{"lon":2.29513,"lat":48.85833,"_type":"location","tst":1497476456, "tid":"JJ"}`, "", expected{"JJ", "2017-06-14T21:40:56Z", 48.85833, 2.29513, unknown, unknown, unknown, unknown, `{"tid":"JJ"}`}},
		{`{"lon":2.29513,"lat":48.85833,"_type":"location","tst":1497476456, "tid":"JJ","topic":"owntracks/jane/phone"}`, "", expected{"jane/phone", "2017-06-14T21:40:56Z", 48.85833, 2.29513, unknown, unknown, unknown, unknown, `{"tid":"JJ"}`}},
		{`{"_type":"location","batt":48,"cog":270,"lat":49.5,"lon":10.8,"acc":75,"tst":1376715317,"alt":13,"vac":10,"vel":54}`, "owntracks/jane/phone", expected{"jane/phone", "2013-08-17T04:55:17Z", 49.5, 10.8, 75, 15, 270, 13, `{"battery":48}`}},
		{`{"_type":"location","lat":49.5,"lon":10.8}`, "home/owntracks/jane/phone", expected{"jane/phone", "", 49.5, 10.8, unknown, unknown, unknown, unknown, ""}},
	} {
		r, err := OwnTracks([]byte(c.body), c.topic)
		c.want.one(t, r, err)
	}
	for body, want := range map[string]string{
		``: "ignored",
		`{"_type":"transition","wtst":1425042603,"lat":12.34,"lon":44.5,"tst":1427634603,"event":"enter"}`: "ignored",
		`{"_type":"lwt","tst":1}`:              "ignored",
		`{"_type":"encrypted","data":"1Z7XL"}`: "u/d encrypted: turn the encryption of payloads off in the app, and use TLS",
		`{"_type":"location","lat":1}`:         "u/d lon: missing",
		`{"_type":"location","lat":"1"}`:       "u/d lat: not string",
		`{"lat":1,"lon":2}`:                    "error: _type: missing: this is no message of OwnTracks",
		`no`:                                   "error: body: malformed JSON: invalid character 'o' in literal null (expecting 'u')",
	} {
		if got := outcome(OwnTracks([]byte(body), "owntracks/u/d")); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if got := outcome(OwnTracks([]byte(`{"_type":"location","lat":1,"lon":2}`), "")); got != " id: neither a topic nor a tid: set a tracker id in the app" {
		t.Error(got)
	}
}

// The message is the example of Digitransit's page.
func TestHFP(t *testing.T) {
	const body = `{"VP":{"desi":"159","dir":"2","oper":6,"veh":423,"tst":"2021-05-15T06:40:28.629Z","tsi":1621060828,"spd":21.71,"hdg":67,"lat":60.156949,"long":24.687111,"acc":0,"dl":-21,"odo":null,"drst":null,"oday":"2021-05-15","jrn":202,"line":1062,"start":"09:32","loc":"GPS","stop":null,"route":"2159","occu":0}}`
	want := expected{"6/423", "2021-05-15T06:40:28.629Z", 60.156949, 24.687111, unknown, 21.71, 67, unknown, `{"line":"159","route":"2159"}`}
	r, err := HFP([]byte(body), "")
	want.one(t, r, err)
	want.id = "18/423"
	r, err = HFP([]byte(body), "/hfp/v2/journey/ongoing/vp/bus/0018/00423/2159/2/Matinkylä (M)/09:32/2442201/3/60;24/16/58/67")
	want.one(t, r, err)
	for body, want := range map[string]string{
		`{"VP":{"desi":"1","oper":6,"veh":423,"lat":null,"long":null}}`: "ignored",
		`{"DUE":{"desi":"1","lat":1,"long":2}}`:                         "ignored",
		`{"VP":{"oper":6,"lat":1,"long":2}}`:                            "error: veh: neither topic nor payload have operator and vehicle",
		`{"VP":{"oper":6,"veh":1,"lat":1}}`:                             "6/1 lon: missing",
		`{"VP":7}`:                                                      " VP: not number",
	} {
		if got := outcome(HFP([]byte(body), "")); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

func TestPaths(t *testing.T) {
	p := Paths{ID: "dev.id", Fleet: "dev.fleet", Lat: "gps.0.lat", Lon: "gps.0.lng", Time: "at", Speed: "v", SpeedUnit: "kmh", Props: "dev.info"}
	r, err := p.Decode([]byte(`{"dev":{"id":7,"fleet":"f","info":{"plate":"B-1"}},"gps":[{"lat":"52.5","lng":13.4}],"at":1700000000,"v":36}`), "")
	expected{"7", "2023-11-14T22:13:20Z", 52.5, 13.4, unknown, 10, unknown, unknown, `{"plate":"B-1"}`}.one(t, r, err)
	if r.Positions[0].Fleet != "f" {
		t.Errorf("%+v", r.Positions[0])
	}
	byTopic := Paths{ID: "topic:2", Lat: "lat", Lon: "lon"}
	r, err = byTopic.Decode([]byte(`{"lat":1,"lon":2}`), "cars/v9/gps")
	expected{"v9", "", 1, 2, unknown, unknown, unknown, unknown, ""}.one(t, r, err)
	for body, want := range map[string]string{
		`{"dev":{"id":"a"},"gps":[{"lat":1}]}`:               "a lon: missing",
		`{"dev":{"id":"a"},"gps":[{"lat":{},"lng":1}]}`:      `a lat: neither a text nor a number at "gps.0.lat"`,
		`{"dev":{"id":"a"},"gps":[{"lat":"north","lng":1}]}`: `a lat: "north" is not a number`,
		`{"gps":[{"lat":1,"lng":1}]}`:                        ` id: nothing at "dev.id"`,
		`{`:                                                  "error: body: malformed JSON: unexpected EOF",
		`{"dev":{"id":"a"},"gps":[{"lat":1,"lng":1}]} {}`:    "error: body: something follows the JSON: put positions into a list",
		`[] ]`: "error: body: something follows the JSON: put positions into a list",
		`[]`:   "nothing",
	} {
		if got := outcome(p.Decode([]byte(body), "")); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	for want, bad := range map[string]Paths{
		"fields: id, lat and lon are needed":                     {ID: "id"},
		`id: "topic:x": a level of the topic is a number from 1`: {ID: "topic:x", Lat: "a", Lon: "b"},
		`speed_unit: "c" is none of kn, kmh, ms, mph`:            {ID: "i", Lat: "a", Lon: "b", SpeedUnit: "c"},
	} {
		if err := bad.Check(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Every reader keeps to its promises for any bytes: a position has an id and finite coordinates, a
// rejection names a field, and there is JSON in the props.
func sound(t *testing.T, r Result, err error) {
	t.Helper()
	if err != nil && !strings.Contains(err.Error(), ": ") {
		t.Errorf("an error without a field: %v", err)
	}
	for _, p := range r.Positions {
		if p.ID == "" || len(p.Props) > 0 && !json.Valid(p.Props) {
			t.Errorf("%+v", p)
		}
		for _, m := range []position.Measure{p.Accuracy, p.Speed, p.Heading, p.Altitude} {
			if v := float64(m.Value); math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%+v", p)
			}
		}
	}
	for _, x := range r.Rejected {
		if field, _, found := strings.Cut(x.Reason, ":"); !found || field == "" || strings.Contains(field, " ") {
			t.Errorf("a rejection without a field: %q", x.Reason)
		}
	}
}

func FuzzRequests(f *testing.F) {
	f.Add("id=902064&lat=42.06288&lon=-88.23412&timestamp=1442068686579&hdop=6.0&altitude=224.0&speed=0.0")
	f.Add(`{"location":{"timestamp":"2025-06-15T13:45:12.862Z","coords":{"latitude":37.4,"longitude":-122,"speed":0}},"device_id":"4"}`)
	f.Add(`{"position":{"fixTime":1734216738000,"latitude":1,"longitude":2},"device":{"uniqueId":7}}`)
	f.Add(`{"_type":"location","lat":49.5,"lon":10.8,"tst":1376715317,"vel":54}`)
	f.Add(`{"VP":{"oper":6,"veh":423,"tst":"2021-05-15T06:40:28.629Z","lat":60.1,"long":24.6}}`)
	f.Add(`{"id":"a","gps":[{"lat":1,"lon":2}],"at":"2021-05-15T06:40:28Z"}`)
	paths := Paths{ID: "id", Lat: "gps.0.lat", Lon: "gps.0.lon", Time: "at", Speed: "v", Props: "p"}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := OsmAnd(text)
		sound(t, r, err)
		body := []byte(text)
		r, err = Traccar(body)
		sound(t, r, err)
		r, err = OwnTracks(body, text)
		sound(t, r, err)
		r, err = HFP(body, text)
		sound(t, r, err)
		r, err = paths.Decode(body, text)
		sound(t, r, err)
	})
}
