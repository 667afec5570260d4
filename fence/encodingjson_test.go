package fence_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// FuzzAgainstJSON: a document is taken if encoding/json takes it, and what is a polygon to a
// reader that uses encoding/json for everything is a fence with the same id, properties and
// vertices.
func FuzzAgainstJSON(f *testing.F) {
	many := make([]string, 60)
	for i := range many {
		many[i] = polygon(`[[0.12345678901234567,1],[4e0,` + strconv.Itoa(i) + `.5 ],[-4,40.643430783745856,9],[0.12345678901234567,1]]`)
	}
	for _, doc := range []string{
		collection(many...), collection(polygon(ring1), "null", "1", feature(`"id":"a","properties":{"b":[1]},"geometry":`+poly1)),
		collection(multi(ring1, `[[0,0],[9,9],[9,0],[0,9],[0,0]],[[3,3],[3,3],[8,3],[3,3]]`), polygon(`[[180,90],[-0.0,-0],[1E-3,2]]`)),
		`{"features":[{"geometry":{"coordinates":[` + ring1 + `],"x":"]}","type":"Polygon","y":[[]]},"type":"Feature","properties":[]}],"type":"FeatureCollection"}`,
		collection(polygon(`[[1,2],[3,"4"]]`), polygon(`[[1,2],[3]]`), polygon(`[[1,200],[3,4]]`), polygon(`[[1,2],[3,{"]":"}"}]]`)),
		collection(`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[1,2],[3,4],[5,7]]],"coordinates":[` + ring1 + `]}}`),
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := geojson.ReadGeoJSON(bytes.NewReader(doc), "f", geojson.ReadOptions{})
		text := bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf"))
		if e, ok := errors.AsType[*geojson.SyntaxError](err); ok && e.Reason != "nested deeper than 64" && json.Valid(text) {
			t.Fatalf("%v, but encoding/json takes it", err)
		}
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatal("encoding/json does not take it")
		}
		features, ok := plainFeatures(text)
		if !ok || c.Omitted > 0 {
			return
		}
		if len(features) != len(c.Fences)+c.Skipped {
			t.Fatalf("%d features, %d fences, %d skipped", len(features), len(c.Fences), c.Skipped)
		}
		gone, dropped := map[int]geojson.Code{}, map[int]bool{}
		for _, fd := range c.Findings {
			if fd.Fatal || fd.Code == geojson.CodeNoGeometry || fd.Code == geojson.CodeNotPolygon {
				gone[fd.Feature] = fd.Code
			}
			dropped[fd.Feature] = dropped[fd.Feature] || fd.Code == geojson.CodeDroppedRing
		}
		fences := c.Fences
		for i, raw := range features {
			want, plain := plainFence(raw)
			code, refused := gone[i]
			if !refused && plain && !dropped[i] {
				sameFence(t, &fences[0], want)
			}
			if plain && refused && code != geojson.CodeNoArea {
				t.Fatalf("feature %d, %s: %s", i, raw, code)
			}
			if !refused {
				fences = fences[1:]
			}
		}
	})
}

func sameFence(t *testing.T, got, want *fence.Fence) {
	t.Helper()
	if !reflect.DeepEqual(got.Geometry, want.Geometry) {
		t.Fatalf("got %v, want %v", got.Geometry, want.Geometry)
	}
	for _, raw := range [][2]json.RawMessage{{got.ID, want.ID}, {got.Properties, want.Properties}} {
		var a, b any
		if raw[1] != nil && json.Unmarshal(raw[1], &b) != nil || raw[0] != nil && json.Unmarshal(raw[0], &a) != nil {
			continue // a number beyond float64
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("got %s, want %s", raw[0], raw[1])
		}
	}
}

// plainFeatures gives the elements of features, unless a reader may be of two minds about them.
func plainFeatures(doc []byte) (features []json.RawMessage, ok bool) {
	var top map[string]json.RawMessage
	if bytes.Count(doc, []byte(`"features"`)) != 1 || bytes.Contains(doc, []byte(`\u`)) || json.Unmarshal(doc, &top) != nil {
		return nil, false
	}
	ok = string(top["type"]) == `"FeatureCollection"` && len(top["features"]) > 0 && top["features"][0] == '['
	return features, ok && json.Unmarshal(top["features"], &features) == nil
}

// plainFence is the fence of a Feature whose area is written as a polygon, and in order.
func plainFence(raw json.RawMessage) (f *fence.Fence, ok bool) {
	var members, shape map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || json.Unmarshal(members["geometry"], &shape) != nil ||
		string(members["type"]) != `"Feature"` || members["circle"] != nil || members["crs"] != nil {
		return nil, false
	}
	f = &fence.Fence{ID: members["id"], Properties: members["properties"]}
	if len(f.ID) == 0 || !bytes.ContainsAny(f.ID[:1], `"-0123456789`) {
		f.ID = nil
	}
	if len(f.Properties) == 0 || f.Properties[0] != '{' {
		f.Properties = nil
	}
	var many [][][][]json.Number
	switch string(shape["type"]) {
	case `"Polygon"`:
		many = make([][][][]json.Number, 1)
		ok = unmarshalNumbers(shape["coordinates"], &many[0])
	case `"MultiPolygon"`:
		ok = unmarshalNumbers(shape["coordinates"], &many)
	}
	if !ok {
		return nil, false
	}
	for _, rings := range many {
		part := make(geometry.Polygon, len(rings))
		for i, positions := range rings {
			if part[i], ok = plainRing(positions); !ok {
				return nil, false
			}
		}
		f.Geometry = append(f.Geometry, part)
	}
	return f, true
}

// unmarshalNumbers takes numbers and arrays only: encoding/json would take null and text too.
func unmarshalNumbers(raw json.RawMessage, v any) bool {
	return !bytes.ContainsAny(raw, `"n`) && len(raw) > 0 && json.Unmarshal(raw, v) == nil
}

func plainRing(positions [][]json.Number) (geometry.Ring, bool) {
	ring := make(geometry.Ring, len(positions))
	for i, p := range positions {
		if len(p) < 2 {
			return nil, false
		}
		lon, err1 := strconv.ParseFloat(string(p[0]), 64)
		lat, err2 := strconv.ParseFloat(string(p[1]), 64)
		if err := errors.Join(err1, err2); err != nil || lon < -180 || lon > 180 || lat < -90 || lat > 90 {
			return nil, false
		}
		ring[i] = geometry.Point{Lon: lon, Lat: lat}
	}
	if n := len(ring); n > 1 && ring[0] == ring[n-1] {
		ring = slices.Clip(ring[:n-1])
	}
	return ring, true
}
