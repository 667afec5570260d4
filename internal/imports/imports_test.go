package imports_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/internal/imports"
)

// result is what an import has written: the sets by name, and the report.
type result struct {
	*imports.Report
	t   *testing.T
	dir string
}

// run imports a file of the contents.
func run(t *testing.T, name, contents string, o imports.Options) *result {
	t.Helper()
	return runFiles(t, map[string]string{name: contents}, o)
}

// runFiles imports a directory of files.
func runFiles(t *testing.T, files map[string]string, o imports.Options) *result {
	t.Helper()
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "sets")
	for name, contents := range files {
		if err := os.WriteFile(filepath.Join(in, name), []byte(contents), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, err := imports.Run(t.Context(), in, out, o)
	if err != nil {
		t.Fatal(err)
	}
	return &result{report, t, out}
}

// features returns the lines of a set, a feature each.
func (r *result) features(set string) []string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, set+".geojson"))
	if err != nil {
		r.t.Fatalf("%v\n%v", err, r.Report)
	}
	openSet(r.t, filepath.Join(r.dir, set+".geojson"))
	body := strings.TrimSuffix(strings.TrimPrefix(string(text), "{\"type\":\"FeatureCollection\",\"features\":[\n"), "\n]}\n")
	return strings.Split(body, ",\n")
}

// want fails unless the set has exactly these features.
func (r *result) want(set string, features ...string) {
	r.t.Helper()
	got := r.features(set)
	if len(got) != len(features) {
		r.t.Errorf("%d features, want %d\n%v", len(got), len(features), r.Report)
	}
	for i := range min(len(got), len(features)) {
		if got[i] != features[i] {
			r.t.Errorf("feature %d\n got %s\nwant %s", i, got[i], features[i])
		}
	}
}

// finds fails unless the report has each of the lines.
func (r *result) finds(lines ...string) {
	r.t.Helper()
	text := r.String()
	for _, line := range lines {
		if !strings.Contains(text, line) {
			r.t.Errorf("no %q in\n%s", line, text)
		}
	}
}

const square = `<LinearRing><coordinates>0,0 0,2 2,2 2,0 0,0</coordinates></LinearRing>`

// kmlDocument wraps elements.
func kmlDocument(body string) string {
	return `<?xml version="1.0" encoding="UTF-8"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document>` + body + "</Document></kml>"
}

func TestKML(t *testing.T) {
	r := run(t, "Old Zones.kml", kmlDocument(`
<Schema name="s" id="s"><SimpleField name="n" type="int"/><SimpleField name="open" type="bool"/><SimpleField name="zip" type="string"/></Schema>
<Folder><name>not of a fence</name>
<Placemark id="depot"><name>A &amp; B</name><description><![CDATA[<b>big</b>]]></description>
 <ExtendedData><Data name="owner"><displayName>x</displayName><value>north "yard"</value></Data>
 <SchemaData schemaUrl="#s"><SimpleData name="n">7</SimpleData><SimpleData name="open">1</SimpleData><SimpleData name="zip">00123</SimpleData></SchemaData></ExtendedData>
 <Polygon><innerBoundaryIs><LinearRing><coordinates>0.5,0.5,9 0.5,1,9 1,1,9 0.5,0.5,9</coordinates></LinearRing></innerBoundaryIs>
 <outerBoundaryIs>`+square+`</outerBoundaryIs></Polygon></Placemark></Folder>
<Placemark><MultiGeometry><Polygon><outerBoundaryIs>`+square+`</outerBoundaryIs></Polygon>
 <MultiGeometry><Polygon><outerBoundaryIs><LinearRing><coordinates>5,5 6,5 6,6 5,5</coordinates></LinearRing></outerBoundaryIs></Polygon></MultiGeometry>
 <Point><coordinates>9,9</coordinates></Point></MultiGeometry></Placemark>
<Placemark id="gate"><LineString><coordinates>
   0,0
   1,1 </coordinates></LineString></Placemark>
<Placemark id="route"><ExtendedData><Data name="paddock:buffer"><value>25</value></Data></ExtendedData><LineString><coordinates>0,0 0,1</coordinates></LineString></Placemark>
<Placemark id="round"><ExtendedData><Data name="Radius"><value>120.5</value></Data></ExtendedData><Point><coordinates>13.4,52.5,30</coordinates></Point></Placemark>
<Placemark id="pin"><Point><coordinates>13.4,52.5</coordinates></Point></Placemark>
<Placemark id="bad"><LineString><coordinates>0,0 1,x</coordinates></LineString></Placemark>
<Placemark id="far"><LineString><coordinates>0,0 200,0</coordinates></LineString></Placemark>
<Placemark id="none"><name>nowhere</name></Placemark>
<GroundOverlay><name>o</name></GroundOverlay>`), imports.Options{})
	r.want("old-zones",
		`{"type":"Feature","id":"depot","properties":{"name":"A & B","description":"<b>big</b>","owner":"north \"yard\"","n":7,"open":true,"zip":"00123"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[0,2],[2,2],[2,0],[0,0]],[[0.5,0.5],[0.5,1],[1,1],[0.5,0.5]]]}}`,
		`{"type":"Feature","properties":null,"geometry":{"type":"MultiPolygon","coordinates":[[[[0,0],[0,2],[2,2],[2,0],[0,0]]],[[[5,5],[6,5],[6,6],[5,5]]]]}}`,
		`{"type":"Feature","id":"gate","properties":null,"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`,
		`{"type":"Feature","id":"route","properties":{"paddock:buffer":25},"geometry":{"type":"LineString","coordinates":[[0,0],[0,1]]}}`,
		`{"type":"Feature","id":"round","properties":{"Radius":"120.5","radius":120.5},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`)
	r.finds("Old Zones.kml: KML, 5 fences, 2 skipped, 2 refused, 6 findings",
		`line 9: mixed: 0 lines and 1 points beside areas are left out`,
		`line 17 "pin": not-polygon: a point without a radius has no area: --radius gives it one`,
		`line 18 "bad": refused: invalid-geometry: coordinates: "1,x": "x" is not a number`,
		`line 19 "far": refused: out-of-range:`,
		`line 20 "none": no-geometry: it has no geometry`,
		`line 21: not-carried: a GroundOverlay is not read`)
	if r.Whole() {
		t.Error("refused fences, and the import is whole")
	}
}

// TestOptionsOfLinesAndPoints holds that lines and points without a size of their own get the ones
// of the options.
func TestOptionsOfLinesAndPoints(t *testing.T) {
	r := run(t, "a.kml", kmlDocument(`
<Placemark id="x"><name>gate</name><LineString><coordinates>0,0 1,1</coordinates></LineString></Placemark>
<Placemark><name>pin</name><Point><coordinates>13.4,52.5</coordinates></Point></Placemark>
<Placemark id="y"><Point><coordinates>13.4,52.5</coordinates></Point></Placemark>`), imports.Options{Width: 30, Radius: 100, IDProperty: "name"})
	r.want("a",
		`{"type":"Feature","id":"gate","properties":{"name":"gate","paddock:buffer":15},"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`,
		`{"type":"Feature","id":"pin","properties":{"name":"pin","radius":100},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`,
		`{"type":"Feature","id":"y","properties":{"radius":100},"geometry":{"type":"Point","coordinates":[13.4,52.5]}}`)
	r.finds(`no-id: it has no text or number as property name: it keeps its own id`)
}

// TestKMLErrors holds that a document with a fault gives no set, and names its place.
func TestKMLErrors(t *testing.T) {
	placemark := `<Placemark><Polygon><outerBoundaryIs>` + square + `</outerBoundaryIs></Polygon></Placemark>`
	for name, c := range map[string]struct{ text, want string }{
		"cut":      {kmlDocument(placemark)[:250], "XML syntax error on line 1"},
		"deep":     {kmlDocument(strings.Repeat("<Folder>", 100)), "line 1: elements lie more than 64 deep"},
		"skipped":  {kmlDocument(strings.Repeat("<x>", 100)), "line 1: elements lie more than 64 deep"},
		"charset":  {`<?xml version="1.0" encoding="koi8-r"?><kml/>`, `the encoding "koi8-r" is not read: use UTF-8`},
		"empty":    {"", "the document has no element"},
		"other":    {"<osm/>", "the root element is osm, not kml"},
		"no shell": {kmlDocument(placemark + `<Placemark><Polygon/></Placemark>`), "a Polygon has 0 outer boundaries"},
	} {
		r := run(t, "a.kml", c.text, imports.Options{})
		if r.finds(c.want); r.Whole() {
			t.Errorf("%s: whole", name)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "a.geojson")); err == nil != (name == "no shell") {
			t.Errorf("%s: a set: %v", name, err)
		}
	}
	latin := "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><kml><Placemark id=\"Stra\xdfe\"><LineString><coordinates>0,0 1,1</coordinates></LineString></Placemark></kml>"
	run(t, "a.kml", latin, imports.Options{}).want("a", `{"type":"Feature","id":"Straße","properties":null,"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`)
}

// archive makes a zip archive.
func archive(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestKMZ holds that the documents of an archive are read, and that one alone gives its set the
// archive's name.
func TestKMZ(t *testing.T) {
	line := `<Placemark><LineString><coordinates>0,0 1,1</coordinates></LineString></Placemark>`
	want := `{"type":"Feature","properties":null,"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}`
	r := run(t, "zones.kmz", archive(t, "doc.kml", kmlDocument(line), "files/icon.png", "x"), imports.Options{})
	r.want("zones", want)
	r.finds("zones.kmz/files/icon.png: not imported")
	file := filepath.Join(t.TempDir(), "alone.kmz")
	if err := os.WriteFile(file, []byte(archive(t, "doc.kml", kmlDocument(line), "files/icon.png", "x")), 0o600); err != nil {
		t.Fatal(err)
	}
	if report, err := imports.Run(t.Context(), file, t.TempDir(), imports.Options{}); err != nil || !report.Whole() {
		t.Errorf("%v\n%v", err, report)
	}
	r = run(t, "zones.kmz", archive(t, "a.kml", kmlDocument(line), "b.kml", kmlDocument(line)), imports.Options{})
	r.want("a", want)
	r.want("b", want)
	if r := run(t, "table.xlsx", archive(t, "a.xml", "<x/>", "b.xml", "<x/>"), imports.Options{}); len(r.Ignored) != 1 || r.Ignored[0] != "table.xlsx" {
		t.Errorf("%v", r.Ignored)
	}
	if r := run(t, "cut.kmz", archive(t, "a.kml", kmlDocument(line))[:80], imports.Options{}); r.Whole() {
		t.Error("half an archive is whole")
	}
}

// TestAnotherFileOfTheSet holds that no second file of a set is written beside one of another name,
// with which the directory could not be loaded.
func TestAnotherFileOfTheSet(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "The Yard.kml"), t.TempDir()
	line := kmlDocument(`<Placemark><LineString><coordinates>0,0 1,1</coordinates></LineString></Placemark>`)
	const empty = `{"type":"FeatureCollection","features":[]}`
	kept := filepath.Join(out, "the yard.json")
	for file, text := range map[string]string{in: line, kept: empty, filepath.Join(out, "other.json"): empty} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, force := range []bool{false, true} {
		_, err := imports.Run(t.Context(), in, out, imports.Options{Force: force})
		if !errors.Is(err, imports.ErrExists) || !strings.HasPrefix(err.Error(), kept+": ") {
			t.Errorf("%v", err)
		}
	}
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	if _, err := imports.Run(t.Context(), in, out, imports.Options{}); err != nil {
		t.Error(err)
	}
	if _, report, err := fence.LoadDir(os.DirFS(out), fence.Options{}); err != nil || len(report.Sets) != 2 {
		t.Errorf("%v, %v", report, err)
	}
}

// TestNothingIsReplaced holds that files that are there stay as they are without Force, that two
// files of one set are an error of the second, and that nothing else is left behind.
func TestNothingIsReplaced(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	line := kmlDocument(`<Placemark><LineString><coordinates>0,0 1,1</coordinates></LineString></Placemark>`)
	for _, name := range []string{"a.kml", "A.KML", "b.kml"} {
		if err := os.WriteFile(filepath.Join(in, name), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(out, "b.geojson")
	if err := os.WriteFile(kept, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := imports.Run(t.Context(), in, out, imports.Options{})
	if text, _ := os.ReadFile(kept); !errors.Is(err, imports.ErrExists) || string(text) != "mine" {
		t.Errorf("%v, %q", err, text)
	}
	if left, _ := os.ReadDir(out); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	report, err := imports.Run(t.Context(), in, out, imports.Options{Force: true})
	if err != nil || report.Whole() || !strings.Contains(report.String(), "the set a is already imported from A.KML") {
		t.Errorf("%v\n%v", err, report)
	}
	if left, _ := os.ReadDir(out); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	text, err := json.Marshal(report)
	if err != nil || !strings.Contains(string(text), `"sets":[{"set":"b","file":`) {
		t.Errorf("%v %s", err, text)
	}
	if _, err := imports.Run(t.Context(), filepath.Join(in, "none"), out, imports.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestWhatIsNoFileStays holds that Force replaces files alone, and that an import that cannot write
// all of its sets writes none.
func TestWhatIsNoFileStays(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	line := kmlDocument(`<Placemark><LineString><coordinates>0,0 1,1</coordinates></LineString></Placemark>`)
	for _, name := range []string{"a.kml", "b.kml"} {
		if err := os.WriteFile(filepath.Join(in, name), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(out, "b.geojson"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := imports.Run(t.Context(), in, out, imports.Options{Force: true}); err == nil || !strings.Contains(err.Error(), "b.geojson: it is there already, and is no file") {
		t.Error(err)
	}
	if left, _ := os.ReadDir(out); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// TestInterrupt holds that an import that is interrupted leaves nothing.
func TestInterrupt(t *testing.T) {
	in, out := filepath.Join(t.TempDir(), "a.kml"), t.TempDir()
	if err := os.WriteFile(in, []byte(kmlDocument(`<Placemark><LineString><coordinates>0,0 1,1</coordinates></LineString></Placemark>`)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := imports.Run(ctx, in, out, imports.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestTracksOfKML holds that the tracks of Google's extension are lines.
func TestTracksOfKML(t *testing.T) {
	r := run(t, "a.kml", kmlDocument(`<Placemark id="t"><gx:MultiTrack xmlns:gx="x"><gx:Track><when>2026</when><gx:coord>0 1 5</gx:coord><gx:coord>2 3 5</gx:coord></gx:Track></gx:MultiTrack></Placemark>
<Placemark id="u"><gx:Track><gx:coord>0</gx:coord></gx:Track></Placemark>`), imports.Options{})
	r.want("a", `{"type":"Feature","id":"t","properties":null,"geometry":{"type":"LineString","coordinates":[[0,1],[2,3]]}}`)
	r.finds(`line 2 "u": refused: invalid-geometry: coord: "0": 1 numbers`)
}
