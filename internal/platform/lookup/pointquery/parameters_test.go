package pointquery

import (
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"testing"
)

// ofParameters parses parameters with encoding/json.
func ofParameters(query string) (echo string, at Point, ok bool) {
	values, _ := url.ParseQuery(query)
	var v [2]float64
	for i, name := range []string{"lon", "lat"} {
		var err error
		if v[i], err = strconv.ParseFloat(values.Get(name), 64); err != nil || math.IsNaN(v[i]) || math.IsInf(v[i], 0) {
			return "", Point{}, false
		}
		values.Del(name)
	}
	properties := map[string]string{}
	for k := range values {
		properties[k] = values.Get(k)
	}
	text, err := json.Marshal(struct {
		Type       string            `json:"type"`
		Properties map[string]string `json:"properties"`
		Geometry   any               `json:"geometry"`
	}{"Feature", properties, struct {
		Type        string    `json:"type"`
		Coordinates []float64 `json:"coordinates"`
	}{"Point", v[:]}})
	return string(text), Point{Lon: v[0], Lat: v[1]}, err == nil
}

var parameters = map[string]bool{
	"lat=40.781142&lon=-73.95860612345678": true,
	"lon=-73.9586&lat=40.7811":             true,
	"lat=0&lon=-0":                         true,
	"lat=1e-7&lon=1e21":                    true,
	"lat=0x1p-2&lon=.5":                    true,
	"":                                     false,
	"lat=1":                                false,
	"lat=1&lat=2":                          false,
	"lat=1&lon=2&lon=3":                    false,
	"lat=1&lon=2&":                         false,
	"lat=1&lon=2&k=v":                      false,
	"k=v&lat=1&lon=2":                      false,
	"lat=1&lon=+2":                         false,
	"lat=1e+2&lon=2":                       false,
	"lat=%31&lon=2":                        false,
	"lat=1;lon=2":                          false,
	"lat=NaN&lon=2":                        false,
	"lat=1&lon=inf":                        false,
	"lat=1&lon=1e999":                      false,
	"lat=&lon=":                            false,
}

func TestAppendParameters(t *testing.T) {
	for query, want := range parameters {
		if _, _, ok := AppendParameters(nil, []byte(query)); ok != want {
			t.Errorf("%q is taken: %v", query, ok)
		}
	}
}

// Accepted parameters are echoed as encoding/json does.
func FuzzAppendParameters(f *testing.F) {
	for query := range parameters {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		got, at, ok := AppendParameters(nil, []byte(query))
		if !ok {
			return
		}
		want, wantAt, ok := ofParameters(query)
		if !ok || string(got) != want || at != wantAt {
			t.Errorf("%q: %s at %v, want %s at %v, %v", query, got, at, want, wantAt, ok)
		}
	})
}

func TestAppendParametersAllocatesNothing(t *testing.T) {
	query, dst := []byte("lat=40.781142&lon=-73.95860612345678"), make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { AppendParameters(dst, query) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppendParameters(b *testing.B) {
	query, dst := []byte("lat=40.781142&lon=-73.95860612345678"), make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		AppendParameters(dst, query)
	}
}
