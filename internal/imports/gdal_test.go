package imports_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/city"
	"paddock/internal/imports"
	"paddock/internal/sampling"
)

// nycDir holds real data that is not part of the repository. Its README describes the files.
const nycDir = "../../../shared/data/nyc"

// ogr2ogr writes a file in another format, by the program of GDAL. Without it the test is skipped,
// or fails if PADDOCK_REQUIRE_GDAL is 1.
func ogr2ogr(t *testing.T, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("ogr2ogr"); err != nil {
		absent := t.Skipf
		if os.Getenv("PADDOCK_REQUIRE_GDAL") == "1" {
			absent = t.Fatalf
		}
		absent("no ogr2ogr: %v", err)
	}
	if out, err := exec.CommandContext(t.Context(), "ogr2ogr", args...).CombinedOutput(); err != nil {
		t.Fatalf("ogr2ogr %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// sources are files of GeoJSON: the sets of the simulated city, and those of a real one where they
// are.
func sources(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	if err := city.New(city.Config{Seed: 7}).WriteGeoJSON(dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.geojson"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range []string{"nyc_burroughs", "nyc_ntas", "nyc_census_2010_tracts"} {
		file := filepath.Join(nycDir, name+".geojson")
		if _, err := os.Stat(file); err != nil {
			t.Logf("without the NYC data: %v", err)
			break
		}
		files = append(files, file)
	}
	return files
}

// writers are the drivers of GDAL whose files are imported.
var writers = []struct {
	driver, file string
	flags        []string
	rounds       bool // the driver writes fewer digits than there are
	slow         bool // the driver is: it writes small sets alone
	reorders     bool // the driver writes the features in another order
}{
	{driver: "KML", file: "set.kml", rounds: true},
	{driver: "LIBKML", file: "lib.kmz", rounds: true, slow: true},
	{driver: "ESRI Shapefile", file: "set.shp"},
	{driver: "ESRI Shapefile", file: "set.shz"},
	{driver: "FlatGeobuf", file: "plain.fgb", flags: []string{"-lco", "SPATIAL_INDEX=NO"}},
	{driver: "FlatGeobuf", file: "index.fgb", reorders: true},
	{driver: "GeoJSON", file: "set.geojson", rounds: true},
	{driver: "GeoJSONSeq", file: "set.geojsonl", flags: []string{"-lco", "COORDINATE_PRECISION=15"}, rounds: true},
	{driver: "CSV", file: "set.csv", flags: []string{"-lco", "GEOMETRY=AS_WKT"}, rounds: true},
}

// TestFilesOfGDAL holds that files that GDAL has written of a set answer 100,000 point queries as
// the set does. Where the driver rounds coordinates, points within a millimetre of a boundary may
// differ; they are counted.
func TestFilesOfGDAL(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	for _, source := range sources(t) {
		original := openSet(t, source)
		points := samples(original, 100_000/sampling.Slowdown)
		for _, w := range writers {
			if (w.slow || sampling.Slowdown > 1) && original.Len() > 200 {
				continue
			}
			t.Run(w.driver+"/"+w.file+"/"+filepath.Base(source), func(t *testing.T) {
				dir := t.TempDir()
				file := filepath.Join(dir, w.file)
				ogr2ogr(t, append([]string{"-f", w.driver, file, source}, w.flags...)...)
				out := filepath.Join(dir, "sets")
				report, err := imports.Run(t.Context(), file, out, imports.Options{})
				if err != nil || !report.Whole() {
					t.Fatalf("%v\n%v", err, report)
				}
				written, err := filepath.Glob(filepath.Join(out, "*"))
				if err != nil || len(written) != 1 {
					t.Fatalf("%v, %v\n%v", written, err, report)
				}
				got := openSet(t, written[0])
				if got.Len() != original.Len() {
					t.Errorf("%d fences of %d\n%v", got.Len(), original.Len(), report)
				}
				compare(t, original, got, points, w.rounds, order(t, original, got, w.reorders))
			})
		}
	}
}

// order returns the fences of a set by those of another one with the same boxes; nil if their order
// is the same.
func order(t *testing.T, want, got *fence.Snapshot, reordered bool) map[fence.Ref]fence.Ref {
	t.Helper()
	if !reordered {
		return nil
	}
	boxes := map[geometry.Box]fence.Ref{}
	for r, f := range want.All() {
		boxes[f.Geometry.Bounds()] = r
	}
	refs := map[fence.Ref]fence.Ref{}
	for r, f := range got.All() {
		other, ok := boxes[f.Geometry.Bounds()]
		if !ok || len(boxes) != want.Len() {
			t.Fatalf("no fence has the box of %s, or several have one", f.Properties)
		}
		refs[r] = other
	}
	return refs
}

// compare asks both sets for the owners of all points.
func compare(t *testing.T, want, got *fence.Snapshot, points []geometry.Point, rounds bool, refs map[fence.Ref]fence.Ref) {
	t.Helper()
	var a, b []fence.Ref
	held, differ := 0, 0
	for _, p := range points {
		a, b = want.Append(a[:0], p.Lon, p.Lat), got.Append(b[:0], p.Lon, p.Lat)
		if held += len(a); refs != nil {
			for i, r := range b {
				b[i] = refs[r]
			}
			slices.Sort(b)
		}
		if slices.Equal(a, b) {
			continue
		}
		differ++
		for _, r := range slices.Concat(a, b) {
			if slices.Contains(a, r) != slices.Contains(b, r) && !(rounds && math.Abs(want.Within(r, p.Lon, p.Lat, 1)) < 0.001) {
				t.Fatalf("%v is in %v, and was in %v", p, b, a)
			}
		}
	}
	if held == 0 {
		t.Error("no point is in a fence")
	}
	t.Logf("%d of %d points differ by the rounding of coordinates; %d memberships", differ, len(points), held)
}

// samples returns points over all of a set, half of them close to vertices of it.
func samples(s *fence.Snapshot, n int) []geometry.Point {
	rng := rand.New(rand.NewPCG(1, 2))
	var vertices []geometry.Point
	for _, f := range s.All() {
		for _, part := range f.Geometry {
			for _, ring := range part {
				vertices = append(vertices, ring...)
			}
		}
	}
	box := s.Bounds()
	points := make([]geometry.Point, n)
	for i := range points {
		p := geometry.Point{
			Lon: box.MinLon + rng.Float64()*(box.MaxLon-box.MinLon),
			Lat: box.MinLat + rng.Float64()*(box.MaxLat-box.MinLat),
		}
		if i%2 == 1 && len(vertices) > 0 {
			v := vertices[rng.IntN(len(vertices))]
			p = geometry.Point{Lon: v.Lon + rng.NormFloat64()*1e-4, Lat: v.Lat + rng.NormFloat64()*1e-4}
		}
		points[i] = p
	}
	return points
}

// openSet reads a file of GeoJSON as a set.
func openSet(t *testing.T, file string) *fence.Snapshot {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := geojson.ReadGeoJSON(f, file, geojson.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set, err := fence.NewSet("set", fence.Options{})
	if err == nil {
		_, err = set.Replace(c)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", file, err))
	}
	return set.Snapshot()
}

// TestOtherSystemsAreRefused holds that files in another coordinate system give no set, and that
// the report names the system.
func TestOtherSystemsAreRefused(t *testing.T) {
	t.Parallel()
	source := sources(t)[1]
	for _, w := range []struct{ driver, file, want string }{
		{"ESRI Shapefile", "set.shp", "NAD_1983_StatePlane_New_York_Long_Island_FIPS_3104_Feet"},
		{"FlatGeobuf", "set.fgb", "EPSG:2263"},
		{"GeoJSON", "set.geojson", "EPSG::2263"},
	} {
		file := filepath.Join(t.TempDir(), w.file)
		ogr2ogr(t, "-f", w.driver, "-t_srs", "EPSG:2263", file, source)
		out := filepath.Join(t.TempDir(), "sets")
		report, err := imports.Run(t.Context(), file, out, imports.Options{})
		if err != nil || report.Whole() || !strings.Contains(report.String(), w.want) {
			t.Errorf("%s: %v\n%v", w.driver, err, report)
		}
		if left, _ := os.ReadDir(out); len(left) > 0 {
			t.Errorf("%s: left %v", w.driver, left)
		}
	}
}

// TestPropertiesOfGDAL holds that the ids and properties of a set survive.
func TestPropertiesOfGDAL(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "source.geojson")
	text := `{"type":"FeatureCollection","features":[{"type":"Feature","id":7,"properties":{"name":"Straße 1","n":12,"x":1.5,"zip":"00123"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}]}`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct{ driver, file, flags string }{
		{"KML", "set.kml", ""},
		{"ESRI Shapefile", "set.shp", "-lco ENCODING=UTF-8"},
		{"ESRI Shapefile", "latin.shp", "-lco ENCODING=ISO-8859-1"},
		{"FlatGeobuf", "set.fgb", ""},
		{"GeoJSON", "set.geojson", ""},
		{"CSV", "set.csv", "-lco GEOMETRY=AS_WKT"},
		{"CSV", "semicolon.csv", "-lco GEOMETRY=AS_WKT -lco SEPARATOR=SEMICOLON"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, w.file)
		ogr2ogr(t, append([]string{"-f", w.driver, file, source}, strings.Fields(w.flags)...)...)
		report, err := imports.Run(t.Context(), file, filepath.Join(dir, "sets"), imports.Options{IDProperty: "name"})
		if err != nil || !report.Whole() || len(report.Files[0].Sets) != 1 {
			t.Fatalf("%s: %v\n%v", w.driver, err, report)
		}
		f := openSet(t, report.Files[0].Sets[0].File).Fence(0)
		if got := string(f.Properties); got != `{"name":"Straße 1","n":12,"x":1.5,"zip":"00123"}` && got != `{"name":"Straße 1","n":12,"x":1.500000000000000,"zip":"00123"}` || f.Key != "Straße 1" {
			t.Errorf("%s: %s %s", w.file, f.Key, got)
		}
	}
}

// TestLinesOfGDAL holds that lines that GDAL has written as GPX become the corridors that the lines
// of the set make.
func TestLinesOfGDAL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, corridors := filepath.Join(dir, "lines.geojson"), filepath.Join(dir, "corridors.geojson")
	rng := rand.New(rand.NewPCG(3, 4))
	var lines, wide []geojson.Fence
	for range 20 {
		at := geometry.Point{Lon: 13 + rng.Float64(), Lat: 52 + rng.Float64()}
		var l geometry.Line
		for range 30 {
			at.Lon, at.Lat = at.Lon+rng.Float64()*0.01, at.Lat+(rng.Float64()-0.5)*0.01
			l = append(l, geometry.Point{Lon: math.Round(at.Lon*1e9) / 1e9, Lat: math.Round(at.Lat*1e9) / 1e9})
		}
		lines = append(lines, geojson.Fence{Lines: geometry.MultiLine{l}})
		wide = append(wide, geojson.Fence{Lines: geometry.MultiLine{l}, Properties: []byte(`{"paddock:buffer":200}`)})
	}
	for file, fences := range map[string][]geojson.Fence{source: lines, corridors: wide} {
		f, err := os.Create(file)
		if err == nil {
			err = geojson.WriteGeoJSON(f, func(yield func(*geojson.Fence) bool) {
				for i := range fences {
					yield(&fences[i])
				}
			})
		}
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "lines.gpx")
	ogr2ogr(t, "-f", "GPX", "-nlt", "MULTILINESTRING", file, source)
	out := filepath.Join(dir, "sets")
	report, err := imports.Run(t.Context(), file, out, imports.Options{Width: 400})
	if err != nil || !report.Whole() || report.Files[0].Features != len(lines) {
		t.Fatalf("%v\n%v", err, report)
	}
	want := openSet(t, corridors)
	compare(t, want, openSet(t, filepath.Join(out, "lines.geojson")), samples(want, 100_000), true, nil)
}
