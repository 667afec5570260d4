package jsonfile_test

import (
	"encoding/json"
	"testing"

	"paddock/internal/imports/feature"
	"paddock/internal/imports/jsonfile"
)

// FuzzRead holds that no bytes make a reader panic, and that ids and properties are JSON.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"type":"FeatureCollection","features":[{"type":"Feature","id":7,"properties":{"n":1,"geometryId":"a","validityTime":{"expiredTime":"2026-03-12T11:16:45"}},"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}]}`,
		`{"type":"Feature","circle":{"lon":1,"lat":2,"radius_m":3},"bbox":[1,2,3,4]}`,
		`[{"name":"A","fences":[{"id":"c","type":"Feature","geometry":{"radius":75,"type":"Point","shapeType":"Circle","coordinates":[1,2]}}]}]`,
		`{"Entries":[{"GeofenceId":"a","Geometry":{"Polygon":[[[0,0],[1,0],[1,1],[0,0]]]}},{"GeofenceId":"b","Geometry":{"Circle":{"Center":[1,2],"Radius":3}}}],"NextToken":"x"}`,
		`[{"id":1,"attributes":{"polylineDistance":40},"area":"LINESTRING (52.5 13.4, 52.6 13.5)"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		jsonfile.KindOf(data)
		for _, read := range []feature.Reader{jsonfile.ReadGeoJSON, jsonfile.ReadTomTom, jsonfile.ReadAmazon, jsonfile.ReadTraccar} {
			var l feature.List
			_ = read(&feature.Input{Name: "f", Data: data}, &l)
			for i := range l.Features {
				one := &l.Features[i]
				if p := one.Properties.JSON(); p != nil && !json.Valid(p) || one.ID != nil && !json.Valid(one.ID) {
					t.Errorf("%s %s", one.ID, p)
				}
			}
		}
	})
}
