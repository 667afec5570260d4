package gofence

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"paddock/fence"
)

// answerMessage is the whole answer as the original declared it. encoding/json marshals it as the
// reference for this package.
type answerMessage struct {
	Query  PointMessage `json:"query"`
	Fences []Properties `json:"fences"`
}

// everywhere is a fence that holds every point west of 180 and south of the
// pole.
const everywhere = `{"type":"Polygon","coordinates":[[[-180,-90],[180,-90],[180,90],[-180,90],[-180,-90]]]}`

// worldOf returns a handler over a set "world" of one fence with the given id and properties, both
// JSON. It returns false if they make no Feature.
func worldOf(t testing.TB, id, properties string) (*Handler, bool) {
	t.Helper()
	text := `{"type":"Feature","id":` + id + `,"properties":` + properties + `,"geometry":` + everywhere + `}`
	c, _, err := fence.LoadDir(fstest.MapFS{"world.json": {Data: []byte(text)}}, fence.Options{})
	if err != nil {
		return nil, false
	}
	world, ok := c.Get("world")
	if !ok {
		t.Fatal("no set world")
	}
	return New(c, Options{}), world.Snapshot().Len() == 1
}

func search(h http.Handler, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/fence/world/search", strings.NewReader(body)))
	return w
}

// FuzzSearch compares answers with encoding/json on plain structs and maps: the same bytes for
// every body, and for properties of every fence.
func FuzzSearch(f *testing.F) {
	point := func(properties string) string {
		return `{"type":"Feature","properties":` + properties + `,"geometry":{"type":"Point","coordinates":[2,1]}}`
	}
	f.Add(point(`{}`), `{}`)
	f.Add(point(`null`), `null`)
	f.Add(point(`{"b":[1.0,1e21,-0],"a":"<\u2028\ud800","a":2}`), `{"id":1,"z":1e-9,"a":{"y":null,"x":true}}`)
	f.Add(`{"TYPE":"Feature","geometry":{"type":"Point","coordinates":[null,1e-7,3]}}`, `{"n":12345678901234567890}`)
	f.Add(point("{\"k\xff\":\"\xfe\"}"), "{\"k\xff\":\"\xfe\"}")
	f.Add(`{"type":"Feature","geometry":{"type":"Point","coordinates":[1]}}`, `{"big":1e999}`)
	f.Add(`{}`, `[]`)
	f.Add(``, `{`)
	f.Fuzz(func(t *testing.T, body, properties string) {
		h, ok := worldOf(t, `"f"`, properties)
		if !ok {
			h, _ = worldOf(t, `"f"`, "null")
			properties = "null"
		}
		var shown Properties
		if json.Unmarshal([]byte(properties), &shown) != nil {
			t.Skip("a number that float64 does not hold: TestNumbersTooLarge")
		}
		if shown != nil {
			shown["id"] = "f"
		}
		got := search(h, body)
		status, want := reference(t, body, shown)
		if got.Code != status || got.Body.String() != want {
			t.Errorf("body %q\ngot  %d %q\nwant %d %q", body, got.Code, got.Body, status, want)
		}
	})
}

// reference answers a body with encoding/json.
func reference(t *testing.T, body string, shown Properties) (status int, text string) {
	var p *PointMessage
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		return http.StatusBadRequest, "Invalid query " + strings.Replace(err.Error(), "gofence.P", "geofence.P", 1) + "\n"
	}
	if p == nil || p.Type != "Feature" || p.Geometry.Type != "Point" || len(p.Geometry.Coordinates) < 2 {
		return http.StatusBadRequest, "Invalid query Invalid UnmarshalPoint\n"
	}
	return answered(t, *p, shown)
}

// answered marshals the answer to a query from the set of worldOf.
func answered(t *testing.T, p PointMessage, shown Properties) (status int, text string) {
	a := answerMessage{Query: p, Fences: []Properties{}}
	lon, lat := p.Geometry.Coordinates[0], p.Geometry.Coordinates[1]
	if math.Abs(lon) <= 180 && -90 <= lat && lat < 90 {
		a.Fences = append(a.Fences, shown)
	}
	out, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return http.StatusOK, string(out)
}

// FuzzQuery compares the parameters of a GET with the same reference.
func FuzzQuery(f *testing.F) {
	f.Add("lat=1&lon=2")
	f.Add("lat=1&lon=2&a=%FF&a=2&b=%3C+%26&=x&c")
	f.Add("lat=NaN&lon=-Inf")
	f.Add("lon=1;lat=2&%zz")
	f.Add("lat=0&lon=0&0%800")
	h, _ := worldOf(f, `"f"`, "null")
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "/fence/world/search", nil)
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		status, want := queryReference(t, r.URL.Query())
		if w.Code != status || w.Body.String() != want {
			t.Errorf("%q\ngot  %d %q\nwant %d %q", query, w.Code, w.Body, status, want)
		}
	})
}

// queryReference answers parameters with encoding/json.
func queryReference(t *testing.T, values url.Values) (status int, text string) {
	at := map[string]float64{}
	for _, name := range []string{"lat", "lon"} {
		v, err := strconv.ParseFloat(values.Get(name), 64)
		if err != nil || v-v != 0 { // not a number, or not a finite one
			return http.StatusBadRequest, "Query param '" + name + "' required as float\n"
		}
		at[name] = v
	}
	p := map[string]any{}
	for name, given := range values {
		if name != "lat" && name != "lon" {
			p[name] = given[0]
		}
	}
	return answered(t, *newPoint(at["lon"], at["lat"], p), nil)
}

// FuzzAdd checks that an added fence is either refused with the one line, or found.
func FuzzAdd(f *testing.F) {
	f.Add(`{"type":"Feature","id":"x","properties":{"a":1},"geometry":` + everywhere + `}`)
	f.Add(`{"type":"Feature","id":{"not":"an id"},"properties":null,"geometry":` + everywhere + `}`)
	f.Add(`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[1e999,0]]]}}`)
	f.Add(`null`)
	f.Add(`{"geometry":{"type":"MultiPolygon","coordinates":[[[]]]}}`)
	f.Add(`{"crs":{"type":"name","properties":{"name":"EPSG:2263"}},"geometry":` + everywhere + `}`)
	f.Fuzz(func(t *testing.T, body string) {
		h, _ := worldOf(t, "0", "null")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/fence/world/add", strings.NewReader(body)))
		switch set, _ := h.serving.Load().catalog.Get("world"); {
		case w.Code == http.StatusBadRequest && w.Body.String() == "Unable to read geojson feature\n":
		case w.Code != http.StatusOK || w.Body.String() != `"success"`:
			t.Errorf("%d %q", w.Code, w.Body)
		case set.Snapshot().Len() != 2:
			t.Errorf("%d fences after a success", set.Snapshot().Len())
		}
		if w := search(h, `{"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]}}`); w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) {
			t.Errorf("search afterwards: %d %q", w.Code, w.Body)
		}
	})
}

// TestNumbersTooLarge covers a file that the original could not load.
func TestNumbersTooLarge(t *testing.T) {
	h, ok := worldOf(t, `"f"`, `{"b":1.0,"a":1e999}`)
	if !ok {
		t.Skip("the loader refuses such a Feature")
	}
	got := search(h, `{"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]}}`).Body.String()
	if want := `"fences":[{"a":1e999,"b":1.0,"id":"f"}]}`; !strings.HasSuffix(got, want) {
		t.Errorf("got %s, want it to end in %s", got, want)
	}
}

// FuzzRoute checks that no request line makes the router panic, and that only the statuses of the
// interface are returned.
func FuzzRoute(f *testing.F) {
	f.Add("GET", "/fence/zones/search/")
	f.Add("POST", "//FENCE/../fence/\u0130/ADD")
	f.Add("OPTIONS", "*")
	f.Add("CONNECT", "")
	f.Add("HEAD", "/fence/\xff/search")
	h, _ := worldOf(f, "0", "null")
	f.Fuzz(func(t *testing.T, method, path string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Method, r.URL.Path = method, path
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case 200, 301, 307, 400, 404, 405:
		default:
			t.Errorf("%s %q: %d %q", method, path, w.Code, w.Body)
		}
	})
}
