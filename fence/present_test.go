package fence_test

import (
	"strings"
	"testing"

	"paddock/fence/geojson"
)

// A fence's properties stand inside events and answers that end at a line break, and in
// text frames that must be UTF-8: one badly written file must not cut everybody's stream.
func TestPropertiesAreOneLineOfUTF8(t *testing.T) {
	const geometry = `,"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`
	for _, c := range []struct{ name, given, want string }{
		{"as given", `{"b":1.0,"a":"x  y","b":1e3}`, `{"b":1.0,"a":"x  y","b":1e3}`},
		{"pretty", "{\r\n\t\"a\" :\n[ 1,\r2 ]\n}", `{"a":[1,2]}`},
		{"escapes stay", `{"a":"\n\u2028<"}`, `{"a":"\n\u2028<"}`},
		{"separators stay", "{\"a\":\"\u2028\"}", "{\"a\":\"\u2028\"}"},
		{"no UTF-8", "{\"a\":\"x\xff\xfey\"}", "{\"a\":\"x\ufffd\ufffdy\"}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := "{\"type\":\"Feature\",\"id\":\"k\",\"properties\":\n" + c.given + geometry
			f, _, err := geojson.ParseFeature([]byte(doc), geojson.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if string(f.Properties) != c.want {
				t.Errorf("a feature alone: %q, want %q", f.Properties, c.want)
			}
			all, err := geojson.ReadGeoJSON(strings.NewReader(`{"type":"FeatureCollection","features":[`+doc+`]}`), "x", geojson.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if string(all.Fences[0].Properties) != c.want {
				t.Errorf("in a collection: %q, want %q", all.Fences[0].Properties, c.want)
			}
		})
	}
}
