package tile38_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"paddock/internal/imports/feature"
	"paddock/internal/imports/tile38"
)

func read(t testing.TB, text string) (*feature.List, error) {
	t.Helper()
	var l feature.List
	err := tile38.Read(&feature.Input{Name: "dump", Data: []byte(text)}, &l)
	return &l, err
}

// shown is a feature on one line.
func shown(f *feature.Feature) string {
	g := &f.Geometry
	return fmt.Sprintf("%s %s %s %v %v %v %v", f.Set, f.ID, f.Properties.JSON(), g.Areas, g.Lines, g.Points, g.Radius)
}

// commands runs lines, and returns the features.
func commands(t *testing.T, lines ...string) (all []string, l *feature.List) {
	t.Helper()
	l, err := read(t, strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Features {
		all = append(all, shown(&l.Features[i]))
	}
	return all, l
}

// TestObjects holds what each type of object becomes. Points of Tile38 are latitude first.
func TestObjects(t *testing.T) {
	for line, want := range map[string]string{
		`SET z a BOUNDS 30 -115 40 -110`:                                               `z "a"  [[[{-115 30} {-110 30} {-110 40} {-115 40}]]] [] [] 0`,
		`set z a FIELD speed 90 FIELD owner "the city" POINT 33.5 -115.5`:              `z "a" {"speed":90,"owner":"the city"} [] [] [{-115.5 33.5}] 0`,
		`SET z a POINT 33.5 -115.5 120`:                                                `z "a"  [] [] [{-115.5 33.5}] 0`,
		`SET z a HASH 9q`:                                                              `z "a"  [] [] [{-118.125 36.5625}] 0`,
		`SET z a OBJECT {"type":"Polygon","coordinates":[[[0,0],[1,0],[1, 1],[0,0]]]}`: `z "a"  [[[{0 0} {1 0} {1 1}]]] [] [] 0`,
		`SET z a OBJECT '{"type":"LineString","coordinates":[[0,0],[1,0]]}'`:           `z "a"  [] [[{0 0} {1 0}]] [] 0`,
		`SET z a OBJECT "{\"type\":\"Point\",\"coordinates\":[1,2,3]}"`:                `z "a"  [] [] [{1 2}] 0`,
		`SET z a OBJECT {"type":"Feature","geometry":null,"properties":{"n":1}}`:       `z "a" {"n":1} [] [] [] 0`,
		`SET z a OBJECT {"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}}]}`:                        `z "a"  [] [] [{1 2} {3 4}] 0`,
		`SET z a OBJECT {"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"type":"Circle","radius":1.5,"radius_units":"km"}}`:               `z "a" {"type":"Circle","radius":1.5,"radius_units":"km"} [] [] [{1 2}] 1500`,
		`SET z a OBJECT {"type":"GeometryCollection","geometries":[{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]],[[0.5,0.2],[0.6,0.2],[0.6,0.3]]]]}]}`: `z "a"  [[[{0 0} {1 0} {1 1}] [{0.5 0.2} {0.6 0.2} {0.6 0.3}]]] [] [] 0`,
	} {
		if got, l := commands(t, line); len(got) != 1 || got[0] != want || len(l.Findings) > 0 {
			t.Errorf("%s:\n got %v %v\nwant %s", line, got, l.Findings, want)
		}
	}
}

// TestOrder holds that commands count in their order.
func TestOrder(t *testing.T) {
	got, l := commands(t,
		`# a comment`, ``,
		`SET z a FIELD n 1 BOUNDS 0 0 1 1`,
		`SET z b BOUNDS 0 0 1 1`,
		`SET z a BOUNDS 0 0 2 2`,
		`FSET z a XX n 2 m 3`,
		`SET z b NX BOUNDS 5 5 6 6`,
		`SET z c XX BOUNDS 5 5 6 6`,
		`SET y d BOUNDS 0 0 1 1`,
		`SET y bus:1 BOUNDS 0 0 1 1`,
		`PDEL y bus*`,
		`RENAME y x`,
		`SET w e BOUNDS 0 0 1 1`,
		`DROP w`,
		`DEL z b`,
		`SET z s STRING "no place"`,
		`JSET z a x 1`,
		`JSET z a x 2`,
		`SET z f EX 60 BOUNDS 0 0 1 1`,
		`SET z g FIELD n 1 FIELD m 1 OBJECT {"type":"Feature","properties":{"old":1},"geometry":null}`,
		`SET z g FIELD m 2 OBJECT {"type":"Feature","properties":{"own":1},"geometry":{"type":"LineString","coordinates":[[0,0],[1,0]]}}`)
	want := []string{
		`z "a" {"n":2,"m":3} [[[{0 0} {2 0} {2 2} {0 2}]]] [] [] 0`,
		`x "d"  [[[{0 0} {1 0} {1 1} {0 1}]]] [] [] 0`,
		`z "f"  [[[{0 0} {1 0} {1 1} {0 1}]]] [] [] 0`,
		`z "g" {"own":1,"n":1,"m":2} [] [[{0 0} {1 0}]] [] 0`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if text := fmt.Sprint(l.Findings); len(l.Findings) != 3 || !strings.Contains(text, `line 16 "s": not-carried: a STRING has no place`) ||
		!strings.Contains(text, "line 17: not-carried: the command JSET is not read") || !strings.Contains(text, `line 19 "f": not-carried: EX 60`) {
		t.Error(text)
	}
	if got, _ := commands(t, `SET z a BOUNDS 0 0 1 1`, `FLUSHDB`); len(got) > 0 {
		t.Error(got)
	}
}

// TestFaults holds that a command with a fault is named with its line, and costs no other.
func TestFaults(t *testing.T) {
	for line, want := range map[string]string{
		`SET z`:                         "SET: it lacks arguments",
		`SET z a`:                       "SET: it lacks arguments",
		`SET z a POINT 1`:               "SET: it lacks arguments",
		`SET z a POINT x 1`:             `SET: "x" is not a number`,
		`SET z a CONE 1 2`:              `SET: "CONE" is no type of area`,
		`SET z a BOUNDS 1 2 3 4 5`:      `there is more behind BOUNDS: "5"`,
		`SET z a HASH 9a`:               `"9a" is no geohash`,
		`SET z a OBJECT {"type":`:       "an object of JSON",
		`SET z a OBJECT '{"type":"X"}'`: `GeoJSON: the type is "X"`,
		`SET z a OBJECT "{`:             "are not closed",
		`SET z a OBJECT '{"type":"Point","coordinates":[1]}'`:                  "a position of 1 numbers",
		`SETHOOK h http://x NEARBY f FENCE POINT 1 2`:                          "a POINT without a distance: a fence cannot say it",
		`SETHOOK h http://x NEARBY f POINT 1 2 3`:                              "SETHOOK: it has no FENCE",
		`SETHOOK h http://x SCAN f FENCE`:                                      `"SCAN" is not NEARBY, WITHIN or INTERSECTS`,
		`SETCHAN h WITHIN f FENCE DETECT entr BOUNDS 1 2 3 4`:                  "SETCHAN: DETECT:",
		`SETCHAN h WITHIN f FENCE SECTOR 1 2 3 4 5`:                            "a SECTOR: a fence cannot say it",
		`SETCHAN h WITHIN f FENCE BUFFER 5 BOUNDS 1 2 3 4`:                     "BUFFER: a fence cannot say it",
		`SETCHAN h WITHIN f MATCH a[bc] FENCE BOUNDS 1 2 3 4`:                  `the pattern "a[bc]": a fence cannot say it`,
		`SETCHAN h WITHIN f WHERE "speed > 5" FENCE BOUNDS 1 2 3 4`:            "an expression: a fence cannot say it",
		`SETCHAN h WITHIN f WHEREIN a 9 x FENCE BOUNDS 1 2 3 4`:                "WHEREIN: 9 values",
		`SETCHAN h WITHIN f FENCE GET z none`:                                  `the hook: GET "z" "none": there is no such fence`,
		`SETCHAN h WITHIN f FENCE OBJECT {"type":"Point","coordinates":[1,2]}`: "an area that is a point",
	} {
		got, l := commands(t, line, `SET ok a BOUNDS 1 2 3 4`)
		if len(got) != 1 || len(l.Rules) > 0 || len(l.Findings) != 1 || !l.Findings[0].Lost || l.Findings[0].Place.Number != 1 || !strings.Contains(l.Findings[0].Reason, want) {
			t.Errorf("%s: %v %v, want %s", line, got, l.Findings, want)
		}
	}
}

// edge is the northern edge of the web's map, whose last digits depend on the processor.
var edge = regexp.MustCompile(`85\.0511287798\d+`)

// TestHooks holds the rule, and the fence, of each kind of geofence.
func TestHooks(t *testing.T) {
	for line, want := range map[string]string{
		`SETHOOK warehouse http://10.0.20.78/endpoint NEARBY fleet FENCE DETECT enter,exit POINT 33.5 -112.2 6000`: `hooks "warehouse"  [] [] [{-112.2 33.5}] 6000` +
			` {"id":"warehouse","set":"hooks","fences":["warehouse"],"fleet":"fleet"}`,
		`SETCHAN c WITHIN fleet MATCH bus* FENCE DETECT inside BOUNDS 0 0 1 1`: `hooks "c"  [[[{0 0} {1 0} {1 1} {0 1}]]] [] [] 0` +
			` {"id":"c","set":"hooks","fences":["c"],"objects":"bus*","fleet":"fleet","detect":["inside"]}`,
		`SETCHAN "all of it" INTERSECTS fleet FENCE CIRCLE 1 2 300`: `hooks "all of it"  [] [] [{2 1}] 300` +
			` {"id":"all-of-it","set":"hooks","fences":["all of it"],"fleet":"fleet","detect":["enter","exit","inside","outside","cross"]}`,
		`SETCHAN t WITHIN fleet FENCE DETECT enter TILE 0 0 1`: `hooks "t"  [[[{-180 0} {0 0} {0 85.05112877981} {-180 85.05112877981}]]] [] [] 0` +
			` {"id":"t","set":"hooks","fences":["t"],"fleet":"fleet","detect":["enter"]}`,
		`SETCHAN q WITHIN fleet FENCE DETECT enter QUADKEY 0`: `hooks "q"  [[[{-180 0} {0 0} {0 85.05112877981} {-180 85.05112877981}]]] [] [] 0` +
			` {"id":"q","set":"hooks","fences":["q"],"fleet":"fleet","detect":["enter"]}`,
		`SETCHAN h WITHIN fleet FENCE DETECT exit HASH 9`: `hooks "h"  [[[{-135 0} {-90 0} {-90 45} {-135 45}]]] [] [] 0` +
			` {"id":"h","set":"hooks","fences":["h"],"fleet":"fleet","detect":["exit"]}`,
		`SETCHAN w NEARBY fleet WHERE speed 70 +inf WHERE n (1 5 WHEREIN kind 2 a 7 FENCE DETECT enter POINT 0 0 5`: `hooks "w"  [] [] [{0 0}] 5` +
			` {"id":"w","set":"hooks","fences":["w"],"fleet":"fleet","detect":["enter"],"when":"object.speed >= 70 and object.n > 1 and object.n <= 5 and (object.kind == \"a\" or object.kind == 7)"}`,
		`SETCHAN r NEARBY people FENCE ROAM trucks t* 50`: ` {"id":"r","fleet":"people","near":{"objects":"t*","fleet":"trucks","metres":50}}`,
		`SETCHAN o WITHIN fleet FENCE DETECT enter OBJECT {"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"type":"Circle","radius":9}}`: `hooks "o" {"type":"Circle","radius":9} [] [] [{1 2}] 9` +
			` {"id":"o","set":"hooks","fences":["o"],"fleet":"fleet","detect":["enter"]}`,
	} {
		got, l := commands(t, line)
		if len(l.Rules) != 1 {
			t.Errorf("%s: %v", line, l.Findings)
			continue
		}
		text := strings.Join(got, "") + " " + string(l.Rules[0].AppendJSON(nil))
		if text = edge.ReplaceAllString(text, "85.05112877981"); text != want {
			t.Errorf("%s:\n got %s\nwant %s", line, text, want)
		}
	}
	got, l := commands(t,
		`SET "City Zones" north BOUNDS 0 0 1 1`,
		`SETHOOK a,b kafka://user:secret@queue:9092/topic META shift night WITHIN fleet FENCE COMMANDS set DETECT enter GET "City Zones" north`,
		`SETCHAN a.b NEARBY fleet FENCE POINT 0 0 5`, `SETCHAN gone NEARBY fleet FENCE POINT 0 0 5`, `DELCHAN gone`,
		`SETCHAN a-b NEARBY fleet FENCE DETECT exit POINT 0 0 5`)
	if len(got) != 3 || len(l.Rules) != 3 || string(l.Rules[0].AppendJSON(nil)) != `{"id":"a-b","set":"city-zones","fences":["north"],"fleet":"fleet","detect":["enter"]}` || l.Rules[2].ID != "a-b-2" {
		t.Errorf("%v %v", got, l.Rules)
	}
	text := fmt.Sprint(l.Findings)
	for _, want := range []string{"META shift of the hook", "COMMANDS set of the hook", "the endpoint kafka://queue:9092: it gets no events", `the rule a-b selects objects of the fleet "fleet"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error(text)
	}
}

// resp is a command of RESP.
func resp(args ...string) string {
	text := fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
	}
	return text
}

// TestAOF holds that an append-only file gives what its commands give, that the last one may be
// cut, and that a fault in the middle is an error.
func TestAOF(t *testing.T) {
	first := resp("set", "z", "a b", "object", `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`)
	second := resp("SETHOOK", "h", "http://x", "NEARBY", "f", "FENCE", "POINT", "1", "2", "3")
	l, err := read(t, first+second)
	if err != nil || len(l.Features) != 2 || len(l.Rules) != 1 || l.Features[1].Place.String() != "command 2" || string(l.Features[0].ID) != `"a b"` {
		t.Fatalf("%v %+v", err, l)
	}
	for cut := 1; cut < len(second); cut++ {
		l, err := read(t, first+second[:cut])
		if err != nil || len(l.Features) != 1 || len(l.Findings) != 1 || l.Findings[0].Place.Number != 2 {
			t.Fatalf("%d bytes: %v %+v", cut, err, l)
		}
	}
	for bad, want := range map[string]string{
		first + "+OK\r\n" + second:            `dump: command 2: "+OK" is not * and a number`,
		"*2\r\n$1\r\nab\r\n$1\r\na\r\n":       "command 1: an argument of 1 bytes does not end where it should",
		"*9999999\r\n" + second:               "command 1: 9999999 arguments",
		"*1\r\n$-1\r\n                      ": `command 1: "$-1" is not $ and a number`,
	} {
		if _, err := read(t, bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %s", bad, err, want)
		}
	}
}

// TestIs holds which files are taken for commands.
func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		resp("SET", "a"): true, "SET a b POINT 1 2": true, "# zones\n\nsethook a b": true, "set,name\n1": false, "settings: 1": false, "*2\r\nx": false, "": false,
	} {
		if tile38.Is([]byte(text)) != want {
			t.Errorf("%.30q: %v", text, !want)
		}
	}
}

// FuzzRead holds that no bytes make the reader panic, and that rules have no faults.
func FuzzRead(f *testing.F) {
	f.Add([]byte(resp("SET", "z", "a", "FIELD", "n", "1", "BOUNDS", "0", "0", "1", "1") + resp("SETHOOK", "h", "http://x", "WITHIN", "f", "FENCE", "GET", "z", "a")))
	f.Add([]byte("SET z a OBJECT {\"type\":\"Point\",\"coordinates\":[1,2]}\nSETCHAN 'a\\'b' NEARBY f WHERE n -inf (5 MATCH x* FENCE ROAM g y* 50\nPDEL z a?"))
	f.Add([]byte("SETCHAN t INTERSECTS f WHEREIN k 1 v FENCE TILE 1 1 3\nSET \"\\x41\" b HASH 9q8y\nRENAME A z"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, _ := read(t, string(data))
		for _, r := range l.Rules {
			if err := r.Check(); err != nil {
				t.Error(err)
			}
		}
	})
}
