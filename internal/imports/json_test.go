package imports_test

import (
	"strings"
	"testing"

	"paddock/internal/imports"
)

// TestGeoJSON holds that GeoJSON is copied: ids, properties as they are written, and places.
func TestGeoJSON(t *testing.T) {
	r := run(t, "My Zones.json", `{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}},"features":[
{"type":"Feature","id":7,"bbox":[0,0,1,1],"properties":{"n": 1.50, "o": {"a": [1, 2]}, "t":"<&>"},"geometry":{"type":"Polygon","coordinates":[[[0,0,5],[1,0,5],[1,1,5],[0,0,5]]]}},
{"type":"Feature","id":"x","properties":null,"geometry":{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[2,2],[3,3]]]}},
{"type":"Feature","id":{},"properties":{"radius":25},"geometry":{"type":"Point","coordinates":[13.4,52.5]}},
{"type":"Feature","properties":{},"geometry":{"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]},{"type":"Polygon","coordinates":[[[5,5],[6,5],[6,6],[5,5]]]}]}},
{"type":"Feature","id":"c","circle":{"lon":13.4,"lat":52.5,"radius_m":30}},
{"type":"Feature","id":"b","bbox":[170,0,-170,1],"geometry":null},
{"type":"Feature","id":"p","properties":{},"geometry":{"type":"Point","coordinates":[13.4,52.5]}},
{"type":"Feature","id":"e","properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,"x"]]]}},
{"type":"Feature","id":"m","crs":{"type":"name","properties":{"name":"EPSG:3857"}},"properties":{},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}},
{"type":"Feature","id":"x","properties":{"paddock:metres":"far"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}
]}`, imports.Options{})
	r.want("my-zones",
		`{"type":"Feature","id":7,"properties":{"n":1.50,"o":{"a":[1,2]},"t":"<&>"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`,
		`{"type":"Feature","id":"x","properties":null,"geometry":{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[2,2],[3,3]]]}}`,
		`{"type":"Feature","properties":{"radius":25},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`,
		`{"type":"Feature","properties":null,"geometry":{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]],[[[5,5],[6,5],[6,6],[5,5]]]]}}`,
		`{"type":"Feature","id":"c","properties":{"radius":30},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`,
		`{"type":"Feature","id":"b","properties":null,"geometry":{"type":"MultiPolygon","coordinates":[[[[170,0],[180,0],[180,1],[170,1],[170,0]]],[[[-180,0],[-170,0],[-170,1],[-180,1],[-180,0]]]]}}`,
		`{"type":"Feature","id":"x","properties":{"paddock:metres":"far"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`)
	r.finds("My Zones.json: GeoJSON, 7 fences, 1 skipped, 2 refused",
		`feature 6 "p": not-polygon`, `feature 7 "e": refused: invalid-geometry: GeoJSON: coordinates:`,
		`feature 8 "m": refused: `, `"EPSG:3857"`,
		`feature 9 "x": duplicate-id: the id is that of an earlier feature of the set`,
		`feature 9 "x": invalid-setting: paddock:metres:`)
}

// TestGeoJSONCRS holds that a geometry is refused for its own crs too, and that a feature whose crs
// is WGS 84 is read as one without.
func TestGeoJSONCRS(t *testing.T) {
	r := run(t, "crs.json", `{"type":"FeatureCollection","features":[
{"type":"Feature","id":"g","properties":{},"geometry":{"type":"Polygon","crs":{"type":"name","properties":{"name":"EPSG:3857"}},"coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}},
{"type":"Feature","id":"n","properties":{},"geometry":{"type":"GeometryCollection","geometries":[{"type":"Polygon","crs":{"type":"name","properties":{"name":"EPSG:2263"}},"coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}]}},
{"type":"Feature","id":"c","crs":{"type":"name","properties":{"name":"EPSG:3857"}},"circle":{"lon":13.4,"lat":52.5,"radius_m":30}},
{"type":"Feature","id":"p","crs":{"type":"name","properties":{"name":"EPSG:4326"}},"properties":{"radius":25},"geometry":{"type":"Point","crs":null,"coordinates":[13.4,52.5]}},
{"type":"Feature","id":"m","crs":{"type":"name","properties":{"name":"EPSG:4326"}},"properties":{},"geometry":{"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}]}}
]}`, imports.Options{})
	r.want("crs",
		`{"type":"Feature","id":"p","properties":{"radius":25},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`,
		`{"type":"Feature","id":"m","properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`)
	r.finds("crs.json: GeoJSON, 2 fences, 3 refused", `feature 0 "g": refused: `, `feature 1 "n": refused: `, `"EPSG:2263"`, `feature 2 "c": refused: `)
}

// TestGeoJSONLines holds that documents one behind the other are read, and that a fault names the
// document.
func TestGeoJSONLines(t *testing.T) {
	line := `{"type":"Feature","id":"a","properties":null,"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`
	r := run(t, "lines.geojsonl", line+"\n"+strings.Replace(line, `"a"`, `"b"`, 1)+"\n", imports.Options{})
	r.want("lines", line, strings.Replace(line, `"a"`, `"b"`, 1))
	run(t, "lines.geojsonl", line+"\n"+line[:40], imports.Options{}).finds("lines.geojsonl: byte ", "unexpected EOF")
	run(t, "lines.geojsonl", line+"\n{\"type\":\"Topology\"}", imports.Options{}).finds("lines.geojsonl: document 1: not GeoJSON: it is TopoJSON")
}

// TestGeoJSONErrors holds that a document with a fault gives no set, and names its place.
func TestGeoJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"FeatureCollection","features":[` + "\n1,]}":                                                "a.geojson:2:3: ",
		`{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"EPSG:2263"}},"features":[]}`: `unsupported coordinate reference system "EPSG:2263"`,
		`{"type":"Topology","objects":{}}`:                                                                   "it is TopoJSON",
		`{"type":"FeatureCollection"}`:                                                                       "no array of features",
	} {
		r := run(t, "a.geojson", text, imports.Options{})
		if r.finds(want); r.Whole() {
			t.Errorf("%s: whole", text)
		}
	}
	run(t, "a.geojson", `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`, imports.Options{}).want("a",
		`{"type":"Feature","properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`)
	run(t, "a.geojson", `{"features":{"x":[1]},"type":"Feature","properties":null,"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`, imports.Options{}).want("a",
		`{"type":"Feature","properties":null,"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`)
	if r := run(t, "a.json", `{"name":"package"}`, imports.Options{}); len(r.Ignored) != 1 || len(r.Files) != 0 {
		t.Errorf("%v", r)
	}
}

// TestAzureMaps holds the circles of Azure Maps, and its geofences.
func TestAzureMaps(t *testing.T) {
	r := run(t, "azure.json", `{"type":"FeatureCollection","features":[
{"type":"Feature","geometry":{"type":"Point","coordinates":[-122.126986,47.639754]},"properties":{"subType":"Circle","radius":100}},
{"type":"Feature","geometry":{"type":"MultiPoint","coordinates":[[0,0],[1,1]]},"properties":{"geometryId":"2","radius":1000}},
{"type":"Feature","geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]},"properties":{"geometryId":"3","radius":40,"validityTime":{"expiredTime":"2026-03-12T11:16:45","validityPeriod":[{"startTime":"2026-01-01T00:00:00"}]}}},
{"type":"Feature","geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]},"properties":{"radius":40}}
]}`, imports.Options{})
	got := r.features("azure")
	if len(got) != 4 || !strings.HasPrefix(got[1], `{"type":"Feature","id":"2","properties":{"geometryId":"2","radius":1000},"geometry":{"type":"MultiPolygon"`) {
		t.Fatalf("%s\n%v", strings.Join(got, "\n"), r)
	}
	got[1] = ""
	for i, want := range []string{
		`{"type":"Feature","properties":{"subType":"Circle","radius":100},"geometry":{"type":"Point","coordinates":[-122.126986,47.639754]}}`, "",
		`{"type":"Feature","id":"3","properties":{"geometryId":"3","radius":40,"validityTime":{"expiredTime":"2026-03-12T11:16:45","validityPeriod":[{"startTime":"2026-01-01T00:00:00"}]},"paddock:expires":"2026-03-12T11:16:45Z","paddock:buffer":40},"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`,
		`{"type":"Feature","properties":{"radius":40},"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`,
	} {
		if got[i] != want {
			t.Errorf("feature %d\n got %s\nwant %s", i, got[i], want)
		}
	}
	r.finds(`feature 2 "3": not-carried: validityPeriod: the hours of a rule can say it`)
}

// TestTomTom holds the shapes of TomTom's fences, in each form in which they may be kept.
func TestTomTom(t *testing.T) {
	circle := `{"name":"Rounded","id":"c1","type":"Feature","geometry":{"radius":75,"type":"Point","shapeType":"Circle","coordinates":[-67.137343,45.137451]},"properties":{"maxspeed":30}}`
	corridor := `{"name":"Way","id":"c2","type":"Feature","geometry":{"radius":20,"type":"LineString","shapeType":"Corridor","coordinates":[[0,0],[1,1]]}}`
	rectangle := `{"name":"Box","id":"c3","type":"Feature","geometry":{"type":"MultiPoint","shapeType":"Rectangle","coordinates":[[2,2],[1,1]]},"properties":{"name":"own"}}`
	polygon := `{"name":"Area","id":"c4","type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`
	want := []string{
		`{"type":"Feature","id":"c1","properties":{"maxspeed":30,"name":"Rounded","radius":75},"geometry":{"type":"Point","coordinates":[-67.137343,45.137451]}}`,
		`{"type":"Feature","id":"c2","properties":{"name":"Way","paddock:buffer":20},"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`,
		`{"type":"Feature","id":"c3","properties":{"name":"own"},"geometry":{"type":"Polygon","coordinates":[[[1,1],[2,1],[2,2],[1,2],[1,1]]]}}`,
		`{"type":"Feature","id":"c4","properties":{"name":"Area"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`,
	}
	all := strings.Join([]string{circle, corridor, rectangle, polygon}, ",\n")
	run(t, "tomtom.json", "["+all+"]", imports.Options{}).want("tomtom", want...)
	run(t, "tomtom.json", `{"fences":[`+all+`]}`, imports.Options{}).want("tomtom", want...)
	run(t, "tomtom.json", `{"name":"City Fleet","id":"p","fences":[`+all+`]}`, imports.Options{}).want("city-fleet", want...)
	run(t, "tomtom.json", `[{"name":"A","fences":[`+circle+`]},{"name":"B","fences":[`+corridor+`]}]`, imports.Options{}).want("b", want[1])
	run(t, "tomtom.json", circle, imports.Options{}).want("tomtom", want[0])
	run(t, "tomtom.json", circle+"\n"+corridor, imports.Options{}).want("tomtom", want[:2]...)
	run(t, "tomtom.json", `{"type":"FeatureCollection","features":[`+all+`]}`, imports.Options{}).want("tomtom", want...)
	r := run(t, "list.json", `{"fences":[{"id":"c1","name":"Rounded","geometry":null},{"id":"c9","type":"Feature","geometry":{"type":"Point","shapeType":"Blob","coordinates":[0,0]}},`+circle+`]}`, imports.Options{})
	r.finds(`feature 0 "c1": refused: invalid-geometry: it has no geometry, as in a list of a project's fences: ask for the details of each fence`,
		`feature 1 "c9": refused: invalid-geometry: the shapeType "Blob" is not read`)
	run(t, "cut.json", `{"fences":[`+circle, imports.Options{}).finds("cut.json: ", "unexpected EOF")
}

// TestAmazon holds the geofences of Amazon Location Service.
func TestAmazon(t *testing.T) {
	const page = `{"Entries":[
{"GeofenceId":"round","Status":"ACTIVE","GeofenceProperties":{"zone":"a"},"Geometry":{"Circle":{"Center":[13.4,52.5],"Radius":80.5}},"CreateTime":"2026-01-01T00:00:00Z"},
{"GeofenceId":"area","Status":"ACTIVE","Geometry":{"Polygon":[[[0,0],[1,0],[1,1],[0,0]]]}},
{"GeofenceId":"areas","Status":"ACTIVE","Geometry":{"MultiPolygon":[[[[0,0],[1,0],[1,1],[0,0]]],[[[5,5],[6,5],[6,6],[5,5]]]]}},
{"GeofenceId":"gone","Status":"DELETED","Geometry":{"Polygon":[[[0,0],[1,0],[1,1],[0,0]]]}},
{"GeofenceId":"packed","Status":"ACTIVE","Geometry":{"Geobuf":"AA=="}}],"NextToken":"abc"}`
	want := []string{
		`{"type":"Feature","id":"round","properties":{"zone":"a","radius":80.5},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`,
		`{"type":"Feature","id":"area","properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`,
		`{"type":"Feature","id":"areas","properties":null,"geometry":{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]],[[[5,5],[6,5],[6,6],[5,5]]]]}}`,
	}
	r := run(t, "geofences.json", page, imports.Options{})
	r.want("geofences", want...)
	r.finds("geofences.json: Amazon Location, 3 fences, 1 skipped, 1 refused",
		`feature 4 "packed": refused: invalid-geometry: the geometry is in Geobuf`, "behind feature 4 is a NextToken")
	run(t, "one.json", `{"GeofenceId":"area","Geometry":{"Polygon":[[[0,0],[1,0],[1,1],[0,0]]]}}`, imports.Options{}).want("one", want[1])
	run(t, "null.json", `{"GeofenceId":"area","Geometry":{"Circle":null,"MultiPolygon":null,"Polygon":[[[0,0],[1,0],[1,1],[0,0]]]}}`, imports.Options{}).want("null", want[1])
	run(t, "null.json", `{"GeofenceId":"packed","Geometry":{"Polygon":null,"Geobuf":"AA=="}}`, imports.Options{}).finds("the geometry is in Geobuf")
	const first = `{"Entries":[{"GeofenceId":"area","Geometry":{"Polygon":[[[0,0],[1,0],[1,1],[0,0]]]}}],"NextToken":"x"}`
	if r := run(t, "pages.json", "["+first+`,{"Entries":[]}]`, imports.Options{}); strings.Contains(r.String(), "NextToken") {
		t.Errorf("all pages are there: %s", r)
	}
	run(t, "pages.json", `[{"Entries":[{"GeofenceId":"area","Geometry":{"Polygon":[[[0,0],[1,0],[1,1],[0,0]]]}}]},{"Entries":[]}]`, imports.Options{}).want("pages", want[1])
}

// TestTraccar holds the geofences of Traccar, whose areas are latitude first.
func TestTraccar(t *testing.T) {
	r := run(t, "traccar.json", `[
{"id":1,"attributes":{"speedLimit":27,"color":"red"},"calendarId":0,"name":"Depot","description":"","area":"CIRCLE (52.5 13.4, 100)"},
{"id":2,"attributes":{},"calendarId":3,"name":"Yard","description":"north","area":"POLYGON ((52.5 13.4, 52.5 13.5, 52.6 13.5, 52.5 13.4))"},
{"id":3,"attributes":{"polylineDistance":40},"calendarId":0,"name":"Way","area":"LINESTRING (52.5 13.4, 52.6 13.5)"},
{"id":4,"attributes":{},"name":"Road","area":"LINESTRING (52.5 13.4, 52.6 13.5)"},
{"id":5,"attributes":{},"name":"Broken","area":"CIRCLE (52.5 13.4)"}]`, imports.Options{})
	r.want("traccar",
		`{"type":"Feature","id":1,"properties":{"name":"Depot","speedLimit":27,"color":"red","radius":100},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`,
		`{"type":"Feature","id":2,"properties":{"name":"Yard","description":"north"},"geometry":{"type":"Polygon","coordinates":[[[13.4,52.5],[13.5,52.5],[13.5,52.6],[13.4,52.5]]]}}`,
		`{"type":"Feature","id":3,"properties":{"name":"Way","polylineDistance":40,"paddock:buffer":40},"geometry":{"type":"LineString","coordinates":[[13.4,52.5],[13.5,52.6]]}}`,
		`{"type":"Feature","id":4,"properties":{"name":"Road","paddock:buffer":25},"geometry":{"type":"LineString","coordinates":[[13.4,52.5],[13.5,52.6]]}}`)
	r.finds("traccar.json: Traccar, 4 fences, 1 refused", `feature 1 "2": not-carried: its calendar`, `feature 4 "5": refused: invalid-geometry: area: WKT byte`)
}
