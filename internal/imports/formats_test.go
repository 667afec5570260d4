package imports_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"paddock/internal/imports"
)

func TestCSV(t *testing.T) {
	r := run(t, "areas.csv", "\xef\xbb\xbfid,name,zip,WKT\n"+
		"7,\"A, B\",00123,\"SRID=4326;MULTIPOLYGON (((0 0,2 0,2 2,0 2,0 0),(0.5 0.5,1 0.5,1 1,0.5 0.5)),((5 5,6 5,6 6,5 5)))\"\n"+
		"x1,Stra\xdfe,,\"LINESTRING Z (0 0 5,\n1 1 5)\"\n"+
		",far,,SRID=3857;POINT (1 2)\n"+
		",short\n"+
		",empty,,\n", imports.Options{})
	r.want("areas",
		`{"type":"Feature","id":7,"properties":{"name":"A, B","zip":"00123"},"geometry":{"type":"MultiPolygon","coordinates":[[[[0,0],[2,0],[2,2],[0,2],[0,0]],[[0.5,0.5],[1,0.5],[1,1],[0.5,0.5]]],[[[5,5],[6,5],[6,6],[5,5]]]]}}`,
		`{"type":"Feature","id":"x1","properties":{"name":"Straße","zip":null},"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`)
	r.finds("areas.csv: CSV, 2 fences, 1 skipped, 2 refused, 3 findings",
		`line 5: refused: invalid-geometry: the coordinate reference system is "EPSG:3857"`,
		"line 6: refused: invalid-geometry: 2 columns, the first line has 4",
		"line 7: no-geometry")
}

// TestCSVOfCircles holds that rows with longitude, latitude and radius are circles.
func TestCSVOfCircles(t *testing.T) {
	r := run(t, "stops.csv", "Id;Lat;Lng;Radius;line\na;52.5;13.4;80;M10\nb;52.5;13.5;;M10\nc;x;13.5;5;M10\nd;52.5;13.5;wide;M10\n", imports.Options{})
	r.want("stops", `{"type":"Feature","id":"a","properties":{"Radius":80,"line":"M10","radius":80},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`)
	r.finds(`line 3 "b": not-polygon: a point without a radius`, `line 4 "c": refused: invalid-geometry: Lat: "x" is not a number`,
		`line 5 "d": refused: invalid-geometry: the property Radius is "wide", not a number of metres`)
	r = run(t, "stops.tsv", "name\tgeom\tradius\npier\tPOINT(13.4 52.5)\t40\n", imports.Options{IDProperty: "name"})
	r.want("stops", `{"type":"Feature","id":"pier","properties":{"name":"pier","radius":40},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`)
}

// TestCSVOfNames holds that a name is no geometry because it begins with a word of one.
func TestCSVOfNames(t *testing.T) {
	r := run(t, "shops.csv", "name,lat,lon,radius\nCircle K,52.5,13.4,80\nPoint Empty-Handed,52.5,13.5,80\n", imports.Options{IDProperty: "name"})
	r.finds("shops.csv: CSV, 2 fences")
	r = run(t, "areas.csv", "name,area\nPolygon Z,\"POLYGON ZM((0 0 1 2,1 0 1 2,1 1 1 2,0 0 1 2))\"\n", imports.Options{})
	r.finds("areas.csv: CSV, 1 fences")
}

// TestCSVErrors holds the errors of whole tables.
func TestCSVErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                "a.csv: the file is empty",
		"name,n\na,1\n":   "a.csv: no column has WKT, and there are no columns lon and lat: the columns are name, n",
		"wkt,n\n\"a\nb,1": `a.csv: record on line 2; parse error on line 3, column 4: extraneous or missing " in quoted-field`,
	} {
		run(t, "a.csv", text, imports.Options{}).finds(want)
	}
	run(t, "a.csv", "geom\n0103000020E610000001000000040000000000\n", imports.Options{}).finds("write it as text, as with ST_AsText")
}

func TestGPX(t *testing.T) {
	const text = `<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1" version="1.1" creator="x"><metadata><name>m</name></metadata>
<wpt lat="52.5" lon="13.4"><name>pin</name></wpt>
<rte><name>R7</name><rtept lat="52.5" lon="13.4"><name>first</name></rtept><rtept lat="52.6" lon="13.4"/></rte>
<trk><name>day</name><trkseg><trkpt lat="0" lon="0"><ele>5</ele><time>2026-03-12T11:16:45Z</time></trkpt><trkpt lat="0" lon="1"/></trkseg>
 <trkseg><trkpt lat="1" lon="1"/><trkpt lat="1" lon="2"/></trkseg></trk>
<trk><name>broken</name><trkseg><trkpt lat="0"/></trkseg></trk></gpx>`
	r := run(t, "ways.gpx", text, imports.Options{})
	r.want("ways",
		`{"type":"Feature","properties":{"name":"R7","paddock:buffer":25},"geometry":{"type":"LineString","coordinates":[[13.4,52.5],[13.4,52.6]]}}`,
		`{"type":"Feature","properties":{"name":"day","paddock:buffer":25},"geometry":{"type":"MultiLineString","coordinates":[[[0,0],[1,0]],[[1,1],[2,1]]]}}`)
	r.finds("ways.gpx: GPX, 2 fences, 1 skipped, 1 refused, 2 findings",
		`line 2: not-polygon: a point without a radius`,
		`line 6: refused: invalid-geometry: line 6: trkpt: lon: "" is not a number`)
	r = run(t, "ways.gpx", text, imports.Options{Width: 30, Radius: 100})
	r.want("ways",
		`{"type":"Feature","properties":{"name":"pin","radius":100},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`,
		`{"type":"Feature","properties":{"name":"R7","paddock:buffer":15},"geometry":{"type":"LineString","coordinates":[[13.4,52.5],[13.4,52.6]]}}`,
		`{"type":"Feature","properties":{"name":"day","paddock:buffer":15},"geometry":{"type":"MultiLineString","coordinates":[[[0,0],[1,0]],[[1,1],[2,1]]]}}`)
}

// TestSetsAreBounded holds that a file with more sets than an import may write is refused, and
// leaves no file.
func TestSetsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range imports.MaxSets + 1 {
		fmt.Fprintf(&b, "SET z%d a BOUNDS 0 0 1 1\n", i)
	}
	r := run(t, "many.tile38", b.String(), imports.Options{})
	r.finds("many.tile38: too many sets: the limit is 1000: nothing imported")
	if left, _ := os.ReadDir(r.dir); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// TestByteOrderMark holds that the mark with which some programs begin UTF-8 is no part of a file.
func TestByteOrderMark(t *testing.T) {
	const want = `"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`
	for name, text := range map[string]string{
		"amazon.json":  `{"Entries":[{"GeofenceId":"a","Geometry":{"Polygon":[[[0,0],[1,0],[1,1],[0,0]]]}}]}`,
		"a.geojson":    `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`,
		"traccar.json": `[{"id":1,"attributes":{},"name":"Yard","area":"POLYGON ((0 0, 0 1, 1 1, 0 0))"}]`,
		"a.tile38":     `SET fleet a OBJECT {"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}` + "\n",
		"a.kml":        kmlDocument(`<Placemark><Polygon><outerBoundaryIs><LinearRing><coordinates>0,0 1,0 1,1 0,0</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>`),
		"a.csv":        "WKT\n\"POLYGON ((0 0, 1 0, 1 1, 0 0))\"\n",
	} {
		r := run(t, name, "\xef\xbb\xbf"+text, imports.Options{})
		if len(r.Files) != 1 || len(r.Files[0].Sets) != 1 {
			t.Errorf("%s: %s", name, r)
			continue
		}
		got := r.features(r.Files[0].Sets[0].Set)
		if !r.Whole() || len(r.Files[0].Findings) != 0 || len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("%s: %v\n%s", name, got, r)
		}
	}
}
