package pointquery

import (
	"encoding/json"
	"strings"
	"testing"
)

// message is a query as the original program declared it.
type message struct {
	Type       string         `json:"type"`
	Properties map[string]any `json:"properties"`
	Geometry   struct {
		Type        string    `json:"type"`
		Coordinates []float64 `json:"coordinates"`
	} `json:"geometry"`
}

// reference answers with encoding/json. It returns false if the query is invalid.
func reference(body []byte) (echo string, at Point, ok bool) {
	var m *message
	if json.Unmarshal(body, &m) != nil || m == nil || m.Type != "Feature" || m.Geometry.Type != "Point" || len(m.Geometry.Coordinates) < 2 {
		return "", Point{}, false
	}
	text, err := json.Marshal(m)
	return string(text), Point{m.Geometry.Coordinates[0], m.Geometry.Coordinates[1]}, err == nil
}

// agrees compares Append with the reference if it accepts the body.
func agrees(t *testing.T, body string) (taken bool) {
	t.Helper()
	const before = "before"
	out, at, taken := Append([]byte(before), []byte(body))
	if !taken {
		return false
	}
	got, ok := strings.CutPrefix(string(out), before)
	if !ok {
		t.Errorf("%q: what was there has become %q", body, out)
	}
	want, wantAt, ok := reference([]byte(body))
	if !ok || got != want || at != wantAt {
		t.Errorf("%q\ngot  %v %s\nwant %v %s, %v", body, at, got, wantAt, want, ok)
	}
	return true
}

const bus = `{"type":"Feature","properties":{"line":"MTA NYCT_M2","vehicle":"MTA NYCT_3846","bearing":53.790543,"ts":"2016-03-12T11:16:45.000-05:00"},"geometry":{"type":"Point","coordinates":[-73.958606,40.781142]}}`

func withProperties(p string) string {
	return `{"type":"Feature","properties":` + p + `,"geometry":{"type":"Point","coordinates":[1,2]}}`
}

func withCoordinates(c string) string {
	return `{"type":"Feature","properties":{},"geometry":{"type":"Point","coordinates":` + c + `}}`
}

// The queries of common programs are accepted, with the reference's result.
func TestTaken(t *testing.T) {
	for _, body := range []string{
		bus,
		" \t\r\n{ \"type\" : \"Feature\" , \"properties\" : { \"b\" : 1 , \"a\" : [ ] } , \"geometry\" : { \"type\" : \"Point\" , \"coordinates\" : [ 1 , 2 ] } } \n",
		`{"geometry":{"coordinates":[1,2],"type":"Point"},"type":"Feature"}`,
		`{"geometry":{"coordinates":[1,2],"type":"Point"},"properties":{"z":1,"a":2},"type":"Feature"}`,
		`{"properties":null,"geometry":{"coordinates":[1,2],"type":"Point"},"type":"Feature"}`,
		`{"id":7,"type":"Feature","bbox":[1,2,3,4],"properties":{},"crs":{"b":{"x":[{}]},"a":1},"geometry":{"type":"Point","bbox":[1],"coordinates":[1,2]},"":null}`,
		withProperties(`{"c":3,"a":1,"b":2}`),
		withProperties(`{"a":{"z":{"y":2,"x":1},"b":[{"n":null,"m":true},false]},"A":"","aa":{}}`),
		withProperties(`{"p":1,"o":2,"n":3,"m":4,"l":5,"k":6,"j":7,"i":8,"h":9,"g":10,"f":11,"e":12,"d":13,"c":14,"b":15,"a":16}`),
		withProperties("{\"html\":\"<a&b>\",\"accent\":\"é, 地, 😀\",\"del\":\"\x7f\"}"),
		withProperties(`{"n":[0,-0,1.0,1e3,1E+2,100,0.1,0.000001,0.0000009,1e21,999999999999999,1234567890123456,12345678901234567890,-12.5,0.10,1e-7,-0.0,5e-324,1.7976931348623157e308]}`),
		withProperties(strings.Repeat(`{"a":`, maxDepth) + "1" + strings.Repeat("}", maxDepth)),
		withCoordinates(`[-73.95860612345678,40.781142123456785]`),
		withCoordinates(`[-0,-0.0,33.5,4e0,5]`),
	} {
		if !agrees(t, body) {
			t.Errorf("not taken: %s", body)
		}
	}
}

// These queries are left to encoding/json, for its error texts and special cases.
func TestLeft(t *testing.T) {
	for _, body := range []string{
		"", " ", "null", "[]", "{}", "{", `{"type"`, bus[:len(bus)-1], bus + "x", bus + bus, "\x00" + bus, bus + "\x00",
		`{"TYPE":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}`,
		`{"type":"Feature","type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}`,
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"geometry":{}}`,
		`{"type":"Feature","properties":{"a":1},"properties":{"b":1},"geometry":{"type":"Point","coordinates":[1,2]}}`,
		`{"type":"Feature","propertie` + "\u017f" + `":{"a":1},"geometry":{"type":"Point","coordinates":[1,2]}}`,
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2],"Coordinates":[3,4]}}`,
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2],"coordinates":[3,4]}}`,
		`{"type":"feature","geometry":{"type":"Point","coordinates":[1,2]}}`,
		`{"type":"Feature","geometry":{"type":"LineString","coordinates":[[1,2],[3,4]]}}`,
		`{"type":"Feature","geometry":{"coordinates":[1,2]}}`,
		`{"type":"Feature","geometry":{"type":"Point"}}`,
		`{"type":"Feature","geometry":null}`,
		withProperties(`{"a":1,"a":2}`), withProperties(`{"a":1,"b":2,"a":3}`),
		withProperties(`"text"`), withProperties(`[]`), withProperties(`{"a":1,}`), withProperties(`{"a":}`), withProperties(`{,}`),
		withProperties(`{"a":"\u0041"}`), withProperties("{\"a\":\"\xff\"}"), withProperties("{\"a\":\"\u2028\"}"), withProperties("{\"a\":\"\n\"}"),
		withProperties(`{"a":1e999}`), withProperties(`{"a":01}`), withProperties(`{"a":+1}`), withProperties(`{"a":1.}`), withProperties(`{"a":.5}`), withProperties(`{"a":-}`), withProperties(`{"a":1e}`), withProperties(`{"a":nul}`), withProperties(`{"a":[1,]}`),
		withProperties(strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1)),
		withCoordinates(`[]`), withCoordinates(`[1]`), withCoordinates(`[null,1]`), withCoordinates(`[[1,2]]`), withCoordinates(`["1",2]`), withCoordinates(`{}`), withCoordinates(`[1,2`), withCoordinates(`null`),
	} {
		if agrees(t, body) {
			t.Errorf("taken: %s", body)
		}
	}
}

// Append writes behind dst, within its capacity.
func TestAppendAllocatesNothing(t *testing.T) {
	dst, body := make([]byte, 0, 4<<10), []byte(bus)
	if n := testing.AllocsPerRun(100, func() {
		if _, _, ok := Append(dst, body); !ok {
			t.Fatal("not taken")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzPointQuery checks that an accepted query is valid for encoding/json too, with the same place
// and echo.
func FuzzPointQuery(f *testing.F) {
	f.Add(bus)
	f.Add(withProperties(`{"c":[1.50,"<é>",{"b":1e21,"a":-0}],"a":{"y":null,"x":true},"b":123456789012345678}`))
	f.Add(withCoordinates(`[-73.95860612345678,4.0781142123456785e1,0.0000001]`))
	f.Add(`{"id":"x","geometry":{"bbox":[{}],"coordinates":[1,2],"type":"Point"},"Type":1,"type":"Feature"}`)
	f.Fuzz(func(t *testing.T, body string) { agrees(t, body) })
}

// FuzzNumber checks that the text of every number is that of encoding/json.
func FuzzNumber(f *testing.F) {
	for _, n := range []string{"1", "-0", "0.1", "1e21", "123456789012345", "0.000001", "999999999999999.9", "1.10", "4.9e-324"} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n string) { agrees(t, withProperties(`{"n":`+n+`}`)) })
}

func BenchmarkAppend(b *testing.B) {
	jittered := strings.Replace(bus, "-73.958606,40.781142", "-73.95860612345678,40.781142123456785", 1)
	for name, body := range map[string]string{"bus": bus, "jittered": jittered} {
		b.Run(name, func(b *testing.B) {
			dst, body := make([]byte, 0, 4<<10), []byte(body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, ok := Append(dst, body); !ok {
					b.Fatal("not taken")
				}
			}
		})
		b.Run(name+"/encoding-json", func(b *testing.B) {
			body := []byte(body)
			for b.Loop() {
				if _, _, ok := reference(body); !ok {
					b.Fatal("no query")
				}
			}
		})
	}
}
