package shapefile_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
	"paddock/internal/imports/shapefile"
)

const wgs84 = `GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]`

// shape returns the contents of a record of lines or polygons.
func shape(kind uint32, parts ...[]geometry.Point) []byte {
	b := append(binary.LittleEndian.AppendUint32(nil, kind), make([]byte, 32)...)
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(parts)))
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	n = 0
	for _, p := range parts {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
		n += len(p)
	}
	for _, p := range parts {
		for _, v := range p {
			b = appendPoint(b, v)
		}
	}
	return b
}

func appendPoint(b []byte, p geometry.Point) []byte {
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Lon))
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Lat))
}

// file returns a .shp file of records.
func file(records ...[]byte) []byte {
	b := make([]byte, 100)
	binary.BigEndian.PutUint32(b, 9994)
	binary.LittleEndian.PutUint32(b[28:], 1000)
	for i, r := range records {
		b = binary.BigEndian.AppendUint32(b, uint32(i+1))
		b = binary.BigEndian.AppendUint32(b, uint32(len(r)/2))
		b = append(b, r...)
	}
	return b
}

// box returns a closed ring around a box, clockwise.
func box(west, south, east, north float64) []geometry.Point {
	return []geometry.Point{{Lon: west, Lat: south}, {Lon: west, Lat: north}, {Lon: east, Lat: north}, {Lon: east, Lat: south}, {Lon: west, Lat: south}}
}

func reversed(ring []geometry.Point) []geometry.Point {
	var out []geometry.Point
	for i := range ring {
		out = append(out, ring[len(ring)-1-i])
	}
	return out
}

// table returns a .dbf file with one field, and a value for each row.
func table(name string, kind byte, width int, rows ...string) []byte {
	b := make([]byte, 32, 64)
	b[0] = 3
	binary.LittleEndian.PutUint32(b[4:], uint32(len(rows)))
	binary.LittleEndian.PutUint16(b[8:], 65)
	binary.LittleEndian.PutUint16(b[10:], uint16(width+1))
	field := make([]byte, 32)
	copy(field, name)
	field[11], field[16] = kind, byte(width)
	b = append(append(b, field...), '\r')
	for _, r := range rows {
		mark := " "
		if strings.HasPrefix(r, "!") {
			mark, r = "*", r[1:]
		}
		b = append(b, fmt.Sprintf("%s%-*s", mark, width, r)...)
	}
	return b
}

func read(t *testing.T, shp []byte, beside map[string][]byte) (*feature.List, error) {
	t.Helper()
	var l feature.List
	err := shapefile.Read(&feature.Input{Name: "a.shp", Data: shp, Companion: func(ext string) ([]byte, error) { return beside[ext], nil }}, &l)
	return &l, err
}

// TestRings holds which rings are holes of which.
func TestRings(t *testing.T) {
	shell, hole, island := box(0, 0, 10, 10), box(2, 2, 8, 8), box(4, 4, 6, 6)
	other := box(20, 0, 30, 10)
	for _, c := range []struct {
		name  string
		rings [][]geometry.Point
		want  string // the number of rings of each part
	}{
		{"a shell", [][]geometry.Point{shell}, "[1]"},
		{"a hole", [][]geometry.Point{shell, reversed(hole)}, "[2]"},
		{"the hole first", [][]geometry.Point{reversed(hole), shell}, "[2]"},
		{"an island", [][]geometry.Point{island, reversed(hole), shell}, "[1 2]"},
		{"a hole in an island", [][]geometry.Point{shell, reversed(hole), island, reversed(box(4.5, 4.5, 5, 5))}, "[2 2]"},
		{"two shells", [][]geometry.Point{other, shell, reversed(hole)}, "[1 2]"},
		{"a hole that touches", [][]geometry.Point{shell, reversed([]geometry.Point{{Lon: 0, Lat: 5}, {Lon: 5, Lat: 8}, {Lon: 5, Lat: 5}, {Lon: 0, Lat: 5}})}, "[2]"},
		{"all counterclockwise", [][]geometry.Point{reversed(shell), reversed(hole), reversed(island), reversed(other)}, "[2 1 1]"},
		{"all clockwise", [][]geometry.Point{shell, hole, island, other}, "[2 1 1]"},
		{"in a notch", [][]geometry.Point{{{Lon: 0, Lat: 0}, {Lon: 0, Lat: 10}, {Lon: 2, Lat: 10}, {Lon: 2, Lat: 2}, {Lon: 10, Lat: 2}, {Lon: 10, Lat: 0}, {Lon: 0, Lat: 0}}, island}, "[1 1]"},
		{"in a notch that it fills", [][]geometry.Point{{{Lon: 0, Lat: 0}, {Lon: 0, Lat: 10}, {Lon: 2, Lat: 10}, {Lon: 2, Lat: 2}, {Lon: 8, Lat: 2}, {Lon: 8, Lat: 10}, {Lon: 10, Lat: 10}, {Lon: 10, Lat: 0}, {Lon: 0, Lat: 0}}, box(2, 2, 8, 9)}, "[1 1]"},
		{"a hole alone", [][]geometry.Point{shell, reversed(other)}, "[1 1]"},
	} {
		l, err := read(t, file(shape(5, c.rings...)), map[string][]byte{".prj": []byte(wgs84)})
		if err != nil || len(l.Features) != 1 {
			t.Fatalf("%s: %v, %v", c.name, err, l.Findings)
		}
		var parts []int
		areas := l.Features[0].Geometry.Areas
		for _, p := range areas {
			parts = append(parts, len(p))
		}
		if fmt.Sprint(parts) != c.want {
			t.Errorf("%s: parts of %v rings, want %s", c.name, parts, c.want)
		}
		inHole := geometry.Point{Lon: 3, Lat: 3}
		if got := areas.Contains(inHole); got != (len(c.rings) == 1 || c.name == "a hole alone" || strings.HasSuffix(c.name, "touches") || strings.HasSuffix(c.name, "fills")) {
			t.Errorf("%s: %v is inside: %v", c.name, inHole, got)
		}
	}
}

// TestShapes holds the types of shapes, with their altitudes and measures behind the points.
func TestShapes(t *testing.T) {
	line := []geometry.Point{{Lon: 1, Lat: 2}, {Lon: 3, Lat: 4}}
	point := appendPoint(binary.LittleEndian.AppendUint32(nil, 11), line[0])
	multi := append(binary.LittleEndian.AppendUint32(nil, 8), make([]byte, 32)...)
	multi = appendPoint(appendPoint(binary.LittleEndian.AppendUint32(multi, 2), line[0]), line[1])
	l, err := read(t, file(
		shape(13, line, line), append(point, make([]byte, 16)...), multi, binary.LittleEndian.AppendUint32(nil, 0),
		append(shape(25, box(0, 0, 1, 1)), make([]byte, 48)...),
		binary.LittleEndian.AppendUint32(nil, 31), shape(5, line)[:50], shape(99, line),
	), map[string][]byte{".dbf": table("NAME", 'C', 5, "x", "!y", "z")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range l.Features {
		g := &l.Features[i].Geometry
		got = append(got, fmt.Sprintf("%v %d %d %d %s", l.Features[i].Place, len(g.Areas), len(g.Lines), len(g.Points), l.Features[i].Properties.JSON()))
	}
	want := `record 1 0 2 0 {"NAME":"x"}; record 3 0 0 2 {"NAME":"z"}; record 4 0 0 0 ; record 5 1 0 0 `
	if text := strings.Join(got, "; "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var findings []string
	for _, f := range l.Findings {
		findings = append(findings, f.String())
	}
	for i, want := range []string{
		"crs: there is no .prj file", "record 2: not-carried: it is marked as deleted", "record 6: refused: invalid-geometry: a MultiPatch",
		"record 7: refused: invalid-geometry: 1 parts of 2 points are longer", "record 8: refused: invalid-geometry: 99 is no type",
		"the .dbf file has 3 records, the .shp file 8",
	} {
		if i >= len(findings) || !strings.Contains(findings[i], want) {
			t.Errorf("finding %d: want %s in\n%s", i, want, strings.Join(findings, "\n"))
		}
	}
}

// TestAttributes holds how the values of a .dbf file are read, by type and encoding.
func TestAttributes(t *testing.T) {
	for _, c := range []struct {
		kind        byte
		value, page string
		want        string
	}{
		{'C', "Stra\xc3\x9fe", "", `"Straße"`},
		{'C', "Stra\xdfe", "", `"Straße"`},
		{'C', "Stra\xdfe", "ISO-8859-1", `"Straße"`},
		{'C', "\x80 5", "1252", `"€ 5"`},
		{'C', "\xc3\x9f", "88591", `"Ã\u009f"`},
		{'C', "\xdf", "UTF-8\r\n", `"\ufffd"`},
		{'C', "007", "", `"007"`},
		{'C', "", "", `""`},
		{'N', "   12.50", "", `12.50`},
		{'N', ".5", "", `0.5`},
		{'F', "-1e3", "", `-1e3`},
		{'N', "****", "", `null`},
		{'N', "", "", `null`},
		{'L', "T", "", `true`},
		{'L', "n", "", `false`},
		{'L', "?", "", `null`},
		{'D', "20260312", "", `"2026-03-12"`},
		{'D', "", "", `null`},
		{'M', "1", "", `null`},
	} {
		l, err := read(t, file(shape(5, box(0, 0, 1, 1))), map[string][]byte{
			".prj": []byte(wgs84), ".dbf": table("v", c.kind, 10, c.value), ".cpg": []byte(c.page),
		})
		if err != nil || len(l.Features) != 1 || len(l.Findings) > 0 {
			t.Fatalf("%c %q: %v, %v", c.kind, c.value, err, l.Findings)
		}
		got := strings.ReplaceAll(string(l.Features[0].Properties.Get("v")), "\u009f", `\u009f`)
		if got != c.want {
			t.Errorf("%c %q in %q: %s, want %s", c.kind, c.value, c.page, got, c.want)
		}
	}
	l, _ := read(t, file(shape(5, box(0, 0, 1, 1))), map[string][]byte{".dbf": table("v", 'C', 1, "x"), ".cpg": []byte("KOI8-R")})
	if len(l.Findings) != 2 || l.Findings[1].Code != feature.CodeEncoding {
		t.Errorf("%v", l.Findings)
	}
}

// TestIndex holds that records are found by the .shx file, whose order counts.
func TestIndex(t *testing.T) {
	a, b := shape(5, box(0, 0, 1, 1)), shape(5, box(2, 2, 3, 3))
	shp := file(a, b)
	entry := func(shx []byte, at, size int) []byte {
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(shx, uint32(at/2)), uint32(size/2))
	}
	index := entry(entry(entry(file(), 108+len(a), len(b)), 100, len(a)), len(shp), 100)
	l, err := read(t, shp, map[string][]byte{".shx": index, ".prj": []byte(wgs84)})
	if err != nil || len(l.Features) != 2 || l.Features[0].Geometry.Areas[0][0][0].Lon != 2 {
		t.Fatalf("%v, %+v", err, l)
	}
	if last := l.Findings[len(l.Findings)-1]; last.Place.Number != 3 || !last.Lost {
		t.Errorf("%v", last)
	}
}

// TestFaults holds the errors of whole files.
func TestFaults(t *testing.T) {
	good := file(shape(5, box(0, 0, 1, 1)))
	bad := map[string][]byte{".dbf": table("v", 'C', 10, "x")[:60]}
	for name, c := range map[string]struct {
		shp    []byte
		beside map[string][]byte
		want   string
	}{
		"other":    {[]byte(strings.Repeat("x", 200)), nil, "a.shp: it is no shapefile"},
		"version":  {append(append([]byte{}, good[:28]...), make([]byte, 100)...), nil, "version 0 of shapefiles"},
		"cut":      {good[:len(good)-10], nil, "record 1: the file ends within it"},
		"rest":     {append(good[:len(good):len(good)], 1, 2), nil, "record 2: the file ends within it"},
		"dbf":      {good, bad, "the .dbf file: a header of 65 bytes"},
		"system":   {good, map[string][]byte{".prj": []byte(`PROJCS["NAD_1983_StatePlane",GEOGCS["x",DATUM["D_WGS_1984"]]]`)}, `"NAD_1983_StatePlane"`},
		"datum":    {good, map[string][]byte{".prj": []byte(`GEOGCS["NAD83",DATUM["North_American_Datum_1983"]]`)}, `"NAD83"`},
		"meridian": {good, map[string][]byte{".prj": []byte(strings.Replace(wgs84, `"Greenwich",0.0`, `"Paris",2.33`, 1))}, `"GCS_WGS_1984"`},
		"no wkt":   {good, map[string][]byte{".prj": []byte(`+proj=longlat`)}, `"+proj=longlat" is no coordinate reference system in WKT`},
	} {
		if _, err := read(t, c.shp, c.beside); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	newer := `GEOGCRS["WGS 84",ENSEMBLE["World Geodetic System 1984 ensemble",MEMBER["World Geodetic System 1984 (Transit)"],ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]],CS[ellipsoidal,2],ID["EPSG",4326]]`
	if _, err := read(t, good, map[string][]byte{".prj": []byte(newer)}); err != nil {
		t.Error(err)
	}
}

// FuzzRead holds that no bytes make the reader panic, or keep it longer than their size.
func FuzzRead(f *testing.F) {
	hole := reversed(box(2, 2, 8, 8))
	f.Add(file(shape(5, box(0, 0, 10, 10), hole), shape(3, hole), shape(25, hole, hole)), table("v", 'N', 4, "1", "!2"), []byte{})
	f.Add(file(binary.LittleEndian.AppendUint32(nil, 0)), table("v", 'C', 4, "\xdf"), file())
	f.Add(file(appendPoint(binary.LittleEndian.AppendUint32(nil, 1), geometry.Point{Lon: 1})), []byte{}, append(file(), 0, 0, 0, 50, 0, 0, 0, 10))
	f.Fuzz(func(t *testing.T, shp, dbf, shx []byte) {
		var l feature.List
		_ = shapefile.Read(&feature.Input{Name: "f", Data: shp, Companion: func(ext string) ([]byte, error) {
			return map[string][]byte{".dbf": dbf, ".shx": shx}[ext], nil
		}}, &l)
		for i := range l.Features {
			if l.Features[i].Place.Number < 1 {
				t.Errorf("%+v", l.Features[i])
			}
		}
	})
}
