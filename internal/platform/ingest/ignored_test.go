package ingest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/prometheus/client_golang/prometheus"

	"paddock/fence"
	"paddock/internal/platform/views"
)

// submitted returns the answer to a body, as JSON.
func submitted(t *testing.T, p *Pipeline, d Decoder, body string) string {
	t.Helper()
	b, err := d.Decode([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Submit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(&r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Unknown members are reported, so that the sender does not believe them read.
func TestUnknownMembersAreTold(t *testing.T) {
	reg := prometheus.NewRegistry()
	p := New(Config{Workers: 1, Fences: views.New(&fence.Catalog{}, nil), Publisher: &published{}, Metrics: NewMetrics(reg)})
	defer p.Close(t.Context())
	const point = `"geometry":{"type":"Point","coordinates":[1,2]}`
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"m%02d":{"t":[1,"}",{"x":"\"]"}]},`, i)
		}
		return b.String()
	}
	listed := strings.Trim(strings.ReplaceAll(fmt.Sprintf("%q", strings.Fields("m00 m01 m02 m03 m04 m05 m06 m07 m08 m09 m10 m11 m12 m13 m14 m15")), " ", ","), "[]")
	for i, c := range []struct{ body, want string }{
		{`{"id":"X","LON":1,"Lat":2,"t":null,"accuracy":5,"speed":1,"heading":2,"fleet":"default","props":{"timestamp":1}}`, ``},
		{
			`{"id":"X","lon":1,"lat":2,"timestamp":1773314205250}`,
			`,"ignored":["timestamp"],"ignored_count":1,"hints":["timestamp: did you mean t?"]`,
		},
		{
			`{"DeviceID":"a","latitude":2,"longitude":1,"lng":1,"id":"X","lon":1,"lat":2}`,
			`,"ignored":["DeviceID","latitude","longitude","lng"],"ignored_count":4,"hints":["DeviceID: did you mean id?",` +
				`"latitude: did you mean lat?","longitude: did you mean lon?","lng: did you mean lon?"]`,
		},
		{
			`[{"id":"X","lon":1,"lat":2,"battery":5},{"id":"X2","lon":1,"lat":2,"battery":5,"batt\u0065ry":7,"":0}]`,
			`,"ignored":["battery",""],"ignored_count":4`,
		},
		{`{"id":"X","lon":1,"lat":2,"type":"bus","properties":{}}`, `,"ignored":["type","properties"],"ignored_count":2,"hints":["properties: did you mean props?"]`},
		{`{"id":"X",` + names(20) + `"lon":1,"lat":2}`, `,"ignored":[` + listed + `],"ignored_count":20`},
		{
			`{"id":"X","lon":1,"lat":2,"` + strings.Repeat("é", 40) + `":1,"a` + strings.Repeat("é", 40) + `":1}`,
			`,"ignored":["` + strings.Repeat("é", 32) + `","a` + strings.Repeat("é", 31) + `"],"ignored_count":2`,
		},
		{`{"type":"Feature","id":"X","bbox":[1,2,1,2],` + point + `,"properties":{"timestamp":7,"t":null}}`, ``},
		{
			`{"type":"FeatureCollection","name":"n","features":[{"type":"Feature","id":"X","t":1,"timestamp":2,"lat":3,"x":4,` + point + `}]}`,
			`,"ignored":["t","timestamp","lat","x"],"ignored_count":4,"hints":["t: did you mean properties.t?",` +
				`"timestamp: did you mean properties.t?","lat: did you mean geometry?"]`,
		},
	} {
		d := decoder()
		d.Arrived += 1000 // each is newer than the last
		body := strings.ReplaceAll(c.body, `"X`, fmt.Sprintf(`"o%d-`, i))
		n := max(1, strings.Count(body, `"o`))
		if got, want := submitted(t, p, d, body), fmt.Sprintf(`{"accepted":%d,"late":0,"rejected":[]%s}`, n, c.want); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
	// The rejection of a position with a missing field names its unknown members.
	got := submitted(t, p, decoder(), `{"id":"a","lng":1,"lat":2}`)
	if want := `{"accepted":0,"late":0,"rejected":[{"index":0,"reason":"lon: missing"}],"ignored":["lng"],"ignored_count":1,"hints":["lng: did you mean lon?"]}`; got != want {
		t.Errorf("%s", got)
	}
	body, err := cbor.Marshal(map[string]any{"id": "c", "lon": 1, "lat": 2, "LON": 3, "timestamp": 4})
	if err != nil {
		t.Fatal(err)
	}
	if b := binaryBody(body); len(b.Positions) != 1 || fmt.Sprint(b.Ignored.Names, b.Ignored.Count) != "[LON timestamp] 2" {
		t.Errorf("CBOR: %+v", b)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted := -1.0
	for _, f := range families {
		if f.GetName() == "paddock_track_ignored_total" {
			counted = f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	if counted != 38 {
		t.Errorf("counted: %v", counted)
	}
}

// A Feature without an id gets an error that explains id_property.
func TestMissingIDOfAFeature(t *testing.T) {
	const body = `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"vehicle":7}}`
	d := decoder()
	for _, c := range []struct{ property, want string }{
		{"", "id: missing: neither a member id nor properties.id; over HTTP, ?id_property=NAME takes it from properties.NAME"},
		{"deviceid", `id: missing: neither a member id nor properties."deviceid", which id_property names`},
		{"vehicle", ""},
	} {
		d.IDProperty = c.property
		b, err := d.Decode([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(b.Rejected); c.want != "" && got != "[{0 "+c.want+"}]" || c.want == "" && len(b.Positions) != 1 {
			t.Errorf("%s: %s", c.property, got)
		}
	}
}

// A late position is reported with the time of the last fix.
func TestLatePositionsSayWhy(t *testing.T) {
	p := New(Config{Workers: 2, Fences: views.New(&fence.Catalog{}, nil), Publisher: &published{}})
	defer p.Close(t.Context())
	d := decoder()
	const first = `{"id":"a","lon":1,"lat":2,"t":1773314205250}`
	if got := submitted(t, p, d, first); got != `{"accepted":1,"late":0,"rejected":[]}` {
		t.Fatal(got)
	}
	got := submitted(t, p, d, `[{"id":"b","lon":1,"lat":2},5,`+first+`,{"id":"a","lon":1,"lat":2,"t":1773314205251},{"id":"a","lon":1,"lat":2,"t":1773314200000}]`)
	if want := `{"accepted":2,"late":2,"rejected":[{"index":1,"reason":"a position is a JSON object, not a number"}],` +
		`"late_positions":[{"index":2,"reason":"not newer than 2026-03-12T11:16:45.250Z, which this object has"},` +
		`{"index":4,"reason":"not newer than 2026-03-12T11:16:45.251Z, which this object has"}]}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	// The first hundred are listed, however they are spread over the shards.
	var lines strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&lines, `{"id":"v%d","lon":1,"lat":2,"t":1773314205250}`+"\n", i%7)
	}
	var r Result
	if err := json.Unmarshal([]byte(submitted(t, p, d, lines.String())), &r); err != nil {
		t.Fatal(err)
	}
	if r.Accepted != 7 || r.Late != 2993 || len(r.LatePositions) != 100 {
		t.Fatalf("%d accepted, %d late, %d listed", r.Accepted, r.Late, len(r.LatePositions))
	}
	for i, l := range r.LatePositions {
		if l.Index != 7+i {
			t.Fatalf("the %dth that is listed is %d", i, l.Index)
		}
	}
}
