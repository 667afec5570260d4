package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// told returns a line for each position and each rejection of a file.
func told(t *testing.T, positions Positions) (lines []string) {
	t.Helper()
	for f, err := range positions {
		if _, rejected := errors.AsType[*Rejected](err); err != nil {
			kind := "end"
			if rejected {
				kind = "rejected"
			}
			lines = append(lines, kind+" "+err.Error())
			continue
		}
		line := fmt.Sprintf("%s %q/%s %v %v at %d", f.Place, f.Fleet, f.ID, f.Lon, f.Lat, f.Time)
		for _, m := range []struct {
			name  string
			known bool
			value float32
		}{{"speed", f.Speed.Known, f.Speed.Value}, {"heading", f.Heading.Known, f.Heading.Value}, {"altitude", f.Altitude.Known, f.Altitude.Value}} {
			if m.known {
				line += fmt.Sprintf(" %s %v", m.name, m.value)
			}
		}
		if len(f.Props) > 0 {
			line += " " + string(f.Props)
		}
		lines = append(lines, line)
	}
	return lines
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// feed returns a feed of vehicles: id, and seconds since 1970.
func feed(vehicles map[string]uint64) []byte {
	field := func(b []byte, n protowire.Number, body []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), body)
	}
	header := field(nil, 1, []byte("2.0"))
	message := field(nil, 1, protowire.AppendVarint(protowire.AppendTag(header, 3, protowire.VarintType), 1773314200))
	for _, id := range []string{"a", "b", "c"} {
		at, ok := vehicles[id]
		if !ok {
			continue
		}
		var place []byte
		for i, v := range []float32{52.5, 13.5} {
			place = protowire.AppendFixed32(protowire.AppendTag(place, protowire.Number(i+1), protowire.Fixed32Type), math.Float32bits(v))
		}
		vehicle := field(field(nil, 2, place), 8, field(nil, 1, []byte(id)))
		vehicle = protowire.AppendVarint(protowire.AppendTag(vehicle, 5, protowire.VarintType), at)
		message = field(message, 2, field(field(nil, 1, []byte("e")), 4, vehicle))
	}
	return message
}

// Each format is recognized by its contents.
func TestFormats(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"lines": {
			`{"id":"a","lon":1,"lat":2,"t":1773314200000,"speed":3}` + "\n\n" + `{"fleet":"f","lon":1,"lat":200,"t":1773314200000}` + "\nx\n" +
				`{"fleet":"f","lon":1,"lat":2,"t":"2026-03-12T11:16:40Z","props":{"x": 1}}` + "\n" + `{"id":"a","lon":1,"lat":2}`,
			[]string{
				`day:1 ""/a 1 2 at 1773314200000 speed 3`,
				`rejected day:3: lat: 200 is out of range -90 to 90`,
				`rejected day:4: malformed JSON: invalid character 'x' looking for beginning of value at byte 1`,
				`day:5 "f"/day 1 2 at 1773314200000 {"x":1}`,
				`rejected day:6: t: missing: a recorded position needs its time`,
			},
		},
		"one":   {`{"id":"a","lon":1,"lat":2,"t":1773314200000}`, []string{`day:1 ""/a 1 2 at 1773314200000`}},
		"array": {"[\n" + `{"id":"a","lon":1,"lat":2,"t":1773314200000},7]`, []string{`day: position 0 ""/a 1 2 at 1773314200000`, `rejected day: position 1: a position is a JSON object, not a number`}},
		"collection": {
			"{\n \"type\":\"FeatureCollection\",\n \"features\":[" + `{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2,3]},"properties":{"t":1773314200000}}` + "]}",
			[]string{`day: position 0 ""/a 1 2 at 1773314200000 altitude 3`},
		},
		"track": {
			`{"type":"Feature","id":"a","geometry":{"type":"LineString","coordinates":[[1,2],[3,4]]},"properties":{"fleet":"f","times":["2026-03-12T11:16:40.000Z","2026-03-12T11:16:41.000Z"]}}` + "\n",
			[]string{`day:1 "f"/a 1 2 at 1773314200000`, `day:1 "f"/a 3 4 at 1773314201000`},
		},
		"track with heights": {
			`{"type":"Feature","id":"a","geometry":{"type":"LineString","coordinates":[[1,2,30],[3,4,null],[5,6,-7.5,1]]},"properties":{"coordTimes":[1773314200000,1773314201000,1773314202000]}}` + "\n",
			[]string{`day:1 ""/a 1 2 at 1773314200000 altitude 30`, `day:1 ""/a 3 4 at 1773314201000`, `day:1 ""/a 5 6 at 1773314202000 altitude -7.5`},
		},
		"track of one": {
			`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"fleet":"f","times":["2026-03-12T11:16:40.000Z"]}}` + "\n",
			[]string{`day:1 "f"/a 1 2 at 1773314200000`},
		},
		"track of none": {`{"type":"Feature","id":"a","geometry":null,"properties":{"fleet":"f","times":[]}}` + "\n", nil},
		"point with a time and times": {
			`{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"t":1773314200000,"times":[1,2]}}` + "\n",
			[]string{`day:1 ""/a 1 2 at 1773314200000 {"times":[1,2]}`},
		},
		"track without times": {
			`{"type":"Feature","id":"a","geometry":{"type":"LineString","coordinates":[[1,2],[3,4]]},"properties":{}}` + "\n",
			[]string{`rejected day:1: properties.times: 0 times for 2 positions: a line needs one for each`},
		},
		"cut off": {"[\n" + `{"id":"a","lon":1,"lat":2,"t":1773314200000}`, []string{
			`day: position 0 ""/a 1 2 at 1773314200000`, "end day: malformed JSON at byte 46: unexpected EOF",
		}},
		"gpx": {
			`<?xml version="1.0"?><gpx version="1.1"><wpt lat="1" lon="1"/><trk><name>bus 7</name><trkseg>
<trkpt lat="2" lon="1"><ele>30.5</ele><time>2026-03-12T11:16:40Z</time><extensions><x><y/></x></extensions></trkpt>
<trkpt lat="2" lon="x"><time>2026-03-12T11:16:41Z</time></trkpt><trkpt lat="2" lon="1"></trkpt>
</trkseg></trk><trk><trkseg><trkpt lat="2" lon="1"><time>2026-03-12T11:16:42+01:00</time><speed>4</speed><course>90</course></trkpt></trkseg></trk></gpx>`,
			[]string{
				`day:2 ""/bus 7 1 2 at 1773314200000 altitude 30.5`, `rejected day:3: lon: "x" is not a number`,
				`rejected day:3: t: missing: a recorded position needs its time`, `day:4 ""/day 1 2 at 1773310602000 speed 4 heading 90`,
			},
		},
		"bad gpx": {`<kml></kml>`, []string{"end day: the root element is kml, not gpx"}},
		"csv": {
			"\xef\xbb\xbfVehicle_ID;Time;Latitude;Longitude;note;props\n7;2026-03-12 11:16:40;2;1;x;\"{\"\"a\"\":1}\"\n;1773314200000;2;1\n8;yesterday;2;1\n9;1773314200000;2;\n",
			[]string{
				`day:2 ""/7 1 2 at 1773314200000 {"a":1}`, `day:3 ""/day 1 2 at 1773314200000`,
				`rejected day:4: t: "yesterday" is not RFC 3339, as 2026-03-12T11:16:45.250Z`, `rejected day:5: lon: missing`,
			},
		},
		"csv of ships": {
			"MMSI,BaseDateTime,LAT,LON,SOG,COG,Heading\n367,2026-03-12T11:16:40,2,1,4.1,90.5,511.0\n368,2026-03-12T11:16:40,2,1,4.1,90.5,511\n369,2026-03-12T11:16:40,2,1,4.1,90.5,91\n",
			[]string{`day:2 ""/367 1 2 at 1773314200000`, `day:3 ""/368 1 2 at 1773314200000`, `day:4 ""/369 1 2 at 1773314200000 heading 91`},
		},
		"csv without places": {"id,t\n1,2\n", []string{"end day: no column lon: a table of positions has a line of names with t, lon and lat"}},
		"feed":               {string(feed(map[string]uint64{"a": 1773314200, "b": 1773314100})), []string{`day ""/b 13.5 52.5 at 1773314100000`, `day ""/a 13.5 52.5 at 1773314200000`}},
		"nothing":            {"", nil},
		"none":               {"hello", []string{"end day: it is in none of the formats that are known: gpx, json, csv, gtfs-rt"}},
	} {
		t.Run(name, func(t *testing.T) { expect(t, told(t, Read(strings.NewReader(c.text), "day", "", Auto)), c.want...) })
	}
}

// A given id is that of the positions without one, and of tracks whatever their names.
func TestGivenID(t *testing.T) {
	gpx := `<gpx><trk><name>n</name><trkseg><trkpt lat="2" lon="1"><time>2026-03-12T11:16:40Z</time></trkpt></trkseg></trk></gpx>`
	expect(t, told(t, Read(strings.NewReader(gpx), "-", "x", Auto)), `-:1 ""/x 1 2 at 1773314200000`)
	expect(t, told(t, Read(strings.NewReader(`{"lon":1,"lat":2,"t":1773314200000}`), "-", "x", Auto)), `-:1 ""/x 1 2 at 1773314200000`)
	expect(t, told(t, Read(strings.NewReader(`{"lon":1,"lat":2,"t":1773314200000}`), "-", "", Auto)), `rejected -:1: id: missing`)
}

// The vehicles of a feed are due together, whatever their own times.
func TestFeedIsDueAtOnce(t *testing.T) {
	for f, err := range Read(bytes.NewReader(feed(map[string]uint64{"a": 1773314200, "b": 1773310000})), "f.pb", "", Auto) {
		if err != nil || f.Due != 1773314200000 {
			t.Error(f.ID, f.Due, err)
		}
	}
}

// endless is a file without an end, of which so much has been read.
type endless struct {
	line string
	n    int64
}

func (e *endless) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		n += copy(b[n:], e.line[int(e.n+int64(n))%len(e.line):])
	}
	e.n += int64(n)
	return n, nil
}

// A file is read as its positions are asked for: one without an end is no trouble, in each form.
func TestFilesOfAnySize(t *testing.T) {
	for name, in := range map[string]io.Reader{
		"lines":      &endless{line: `{"id":"a","lon":1,"lat":2,"t":1773314200000}` + "\n"},
		"collection": io.MultiReader(strings.NewReader(`{"type":"FeatureCollection","features":[`), &endless{line: `{"id":"a","lon":1,"lat":2,"t":1773314200000},`}),
		"array":      io.MultiReader(strings.NewReader("["), &endless{line: `{"id":"a","lon":1,"lat":2,"t":1773314200000},`}),
		"csv":        io.MultiReader(strings.NewReader("id,t,lon,lat\n"), &endless{line: "a,1773314200000,1,2\n"}),
		"gpx":        io.MultiReader(strings.NewReader("<gpx><trk><trkseg>"), &endless{line: `<trkpt lat="2" lon="1"><time>2026-03-12T11:16:40Z</time></trkpt>`}),
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			for f, err := range Read(in, "day", "", Auto) {
				if n++; err != nil || f.Lon != 1 {
					t.Fatal(f, err)
				}
				if n == 5000 {
					break
				}
			}
			if n != 5000 {
				t.Error(n)
			}
		})
	}
}

// A line that is too long is rejected, and the lines behind it are read.
func TestLongLine(t *testing.T) {
	good := `{"id":"a","lon":1,"lat":2,"t":1773314200000}` + "\n"
	long := io.LimitReader(&endless{line: strings.Repeat(" ", 4096)}, maxLine+1)
	expect(t, told(t, Read(io.MultiReader(strings.NewReader(good), long, strings.NewReader("\n"+good)), "day", "", JSON)),
		`day:1 ""/a 1 2 at 1773314200000`, "rejected day:2: longer than 67108864 bytes", `day:3 ""/a 1 2 at 1773314200000`)
}

// Lines are read whatever the first one is: long, bad, or without its end.
func TestFirstLine(t *testing.T) {
	good := `{"id":"a","lon":1,"lat":2,"t":1773314200000}` + "\n"
	pad := strings.Repeat("x", 2*bufferSize)
	long := `{"type":"Feature","id":"a","geometry":{"type":"LineString","coordinates":[[1,2]]},"properties":{"times":[1773314200000],"note":"` + pad + `"}}` + "\n"
	first, second, third := `day:1 ""/a 1 2 at 1773314200000`, `day:2 ""/a 1 2 at 1773314200000`, `day:3 ""/a 1 2 at 1773314200000`
	const bad = "malformed JSON: invalid character "
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"long":         {long + good + good, []string{first, second, third}},
		"long alone":   {long, []string{first}},
		"long and bad": {`{"note":"` + pad + `"x}` + "\n" + good, []string{"rejected day:1: " + bad + "'x' after object key:value pair", second}},
		"long, no end": {`{"note":"` + pad + `"` + "\n" + good + good, []string{"rejected day:1: " + bad + "'{' after object key:value pair", second, third}},
		"bad later":    {long + "x\n" + good, []string{first, "rejected day:2: " + bad + "'x' looking for beginning of value at byte 1", third}},
		"bad":          {"{x}\n" + good, []string{"rejected day:1: " + bad + "'x' looking for beginning of object key string at byte 2", second}},
		"without end":  {`{"id":"a","lon":1` + "\n" + good, []string{"rejected day:1: malformed JSON: unexpected end of JSON input at byte 17", second}},
		"a collection": {"{\"type\":\"FeatureCollection\",\"note\":\"" + pad + "\",\"features\":[" + good + "]}\n", []string{`day: position 0 ""/a 1 2 at 1773314200000`}},
		"documents":    {"{\n\"id\":\"a\",\"lon\":1,\"lat\":2,\"t\":1773314200000\n}\n[" + good + "]", []string{`day: position 0 ""/a 1 2 at 1773314200000`, `day: position 1 ""/a 1 2 at 1773314200000`}},
		"one feature":  {"{\"type\":\"FeatureCollection\",\"features\":[\n" + good + "]}", []string{`day: position 0 ""/a 1 2 at 1773314200000`}},
	} {
		t.Run(name, func(t *testing.T) { expect(t, told(t, Read(strings.NewReader(c.text), "day", "", JSON)), c.want...) })
	}
}

// Several files are one by their times, and each is read in its own order.
func TestMerge(t *testing.T) {
	file := func(name string, times ...int) Positions {
		var b strings.Builder
		for _, at := range times {
			fmt.Fprintf(&b, `{"lon":1,"lat":2,"t":%d}`+"\n", 1773314200000+at)
		}
		return Read(strings.NewReader(b.String()+"{}\n"), name, "", JSON)
	}
	order := func(p Positions) string {
		var b strings.Builder
		for f, err := range p {
			if err != nil {
				b.WriteString("! ")
				continue
			}
			fmt.Fprintf(&b, "%s%d ", f.ID, f.Time-1773314200000)
		}
		return b.String()
	}
	for want, files := range map[string][]Positions{
		"! a1 b2 a3 b3 ! a5 ! ":  {file("a", 1, 3, 5), file("b", 2, 3), file("c")},
		"a1 b2 b1 b3 ! a4 a2 ! ": {file("a", 1, 4, 2), file("b", 2, 1, 3)},
	} {
		if got := order(Merge(files)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := order(Concat([]Positions{file("a", 5), file("b", 1)})); got != "a5 ! b1 ! " {
		t.Error(got)
	}
	for range Merge([]Positions{file("a", 1), file("b", 2)}) {
		break // ends the reads of all files
	}
}
