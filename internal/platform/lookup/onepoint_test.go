package lookup

import (
	"fmt"
	"strings"
	"testing"
)

// onePoint are bodies about one point, and some that are not.
var onePoint = []string{
	`[0.5,0.5]`, ` [ 0.5 , 0.5 , 7 ] `, `[0.5]`, `[]`, `[0.5,"1"]`, `[0.5,null]`, `[null,0.5,1]`, `[0.5,0.5,null]`, `[[0.5,0.5]]`, `[1e999,1]`, `[1e-999,1]`, `[-0,-0.0]`, `[0.5,91]`, `[0.5,0.5]x`, `[0.5,0.5`,
	`{"lon":0.5,"lat":0.5}`, `{"lat":5e-1,"lon":0.5,"id":"v1","speed":3}`, `{"lon":0.5}`, `{"lon":0.5,"lat":"0.5"}`, `{"lon":0.5,"lat":null}`,
	`{"lon":0.5,"lat":0.5,"lat":2}`, `{"Lon":0.5,"lat":0.5}`, `{"lon":9,"LON":0.5,"lat":0.5}`, `{"lon":00.5,"lat":0.5}`, `{"lon":.5,"lat":0.5}`, `{"lon":+0.5,"lat":0.5}`,
	`{"type":"Point","coordinates":[0.5,0.5]}`, `{"coordinates":[0.5,0.5],"type":"Point"}`, `{"type":"MultiPoint","coordinates":[0.5,0.5]}`, `{"coordinates":[0.5,0.5]}`, `{"type":"Point","coordinates":null}`,
	`{"type":"Feature","properties":{"a":[1,{"b":2}]},"geometry":{"type":"Point","coordinates":[0.5,0.5]}}`,
	`{"type":"Feature","geometry":{"coordinates":[0.5,0.5],"type":"Point","crs":null}}`, `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[0.5,0.5]}}`,
	`{"type":"Feature","geometry":null,"coordinates":[1,1]}`, `{"type":"Point","geometry":{},"coordinates":[0.5,0.5]}`, `{"type":"Feature","geometry":{"type":"Point","type":"Point","coordinates":[0.5,0.5]}}`,
	`{"type":"Feature","geometry":{"type":"Point","coordinates":[2,2]},"lon":0.5,"lat":0.5}`, `{"type":5,"lon":0.5,"lat":0.5}`, `{"lon":0.5,"lat":0.5,"geometry":5}`, `{"lon":0.5,"lat":0.5,"coordinates":[[1]]}`,
	`{"lon":0.5,"lat":0.5,"set":"one"}`, `{"lon":0.5,"lat":0.5,"set":"three"}`, `{"lon":0.5,"lat":0.5,"set":""}`, `{"lon":0.5,"lat":0.5,"set":null}`, `{"lon":0.5,"lat":0.5,"set":1}`, `{"lon":0.5,"lat":0.5,"set":"\u006fne"}`, `{"lon":0.5,"lat":0.5,"Set":"one"}`,
	`{"set":"one","generation":1,"lon":0.5,"lat":0.5}`, `{"set":"one","generation":2,"lon":0.5,"lat":0.5}`, `{"set":"one","generation":01,"lon":0.5,"lat":0.5}`, `{"set":"one","generation":1.0,"lon":0.5,"lat":0.5}`,
	`{"set":"one","generation":-1,"lon":0.5,"lat":0.5}`, `{"set":"one","generation":99999999999999999999,"lon":0.5,"lat":0.5}`, `{"generation":1,"lon":0.5,"lat":0.5}`, `{"set":"one","generation":null,"lon":0.5,"lat":0.5}`,
	`{"lon":0.5,"lat":0.5,"properties":"none"}`, `{"lon":0.5,"lat":0.5,"properties":"all"}`, `{"lon":0.5,"lat":0.5,"properties":"some"}`, `{"lon":0.5,"lat":0.5,"properties":""}`, `{"lon":0.5,"lat":0.5,"properties":"n\u006fne"}`, `{"lon":0.5,"lat":0.5,"properties":5}`,
	`{"points":[[0.5,0.5]]}`, `{"points":null,"lon":0.5,"lat":0.5}`, `{"lon":0.5,"lat":0.5,"points":[]}`, `{"lon":0.5,"lat":0.5,}`, `{"lon":0.5,"lat":0.5}}`, `{"lon":0.5 "lat":0.5}`,
	`{"lon":0.5,"lat":0.5,"x":"` + "\xff" + `"}`, `{"lon":0.5,"lat":0.5,"x":"` + "\x01" + `"}`, `{"lon":0.5,"lat":0.5,"ſet":"one"}`, `{"lon":0.5,"lat":0.5,"x":"\ud800"}`, "\ufeff[0.5,0.5]", "\u00a0[0.5,0.5]", "\v[0.5,0.5]",
	`{"lon":0.5,"lat":0.5,"x":` + strings.Repeat("[", 12) + strings.Repeat("]", 12) + `}`, ``, `{}`, `null`, `5`, `"x"`, `{`,
}

// FuzzOnePoint checks that the single pass gives the same answers, and the same errors, as
// encoding/json.
func FuzzOnePoint(f *testing.F) {
	for _, body := range onePoint {
		f.Add(body, "")
		f.Add(body, "one")
	}
	c := catalog(f)
	f.Fuzz(func(t *testing.T, body, set string) {
		ask := func(how func(*Lookup) error) string {
			l := &Lookup{}
			if err := how(l); err != nil {
				return fmt.Sprintf("%#v", err)
			}
			return string(l.Answer)
		}
		door := Terms{Set: set}
		got := ask(func(l *Lookup) error { return l.JSON(c, door, []byte(body)) })
		want := ask(func(l *Lookup) error { return l.any(c, door, []byte(body)) })
		if got != want {
			t.Errorf("%q, set %q:\ngot  %s\nwant %s", body, set, got, want)
		}
	})
}

// onePointForms are the forms that programs send.
var onePointForms = map[string]string{
	"pair":    `[2.5,2.25]`,
	"members": `{"lon":2.5,"lat":2.25}`,
	"feature": `{"type":"Feature","properties":{"line":"M2"},"geometry":{"type":"Point","coordinates":[2.5,2.25]}}`,
}

// A reused Lookup reads a body with one point without an allocation.
func TestOnePointDoesNotAllocate(t *testing.T) {
	c, l := catalog(t), &Lookup{}
	for name, body := range onePointForms {
		body := []byte(body)
		ask := func() {
			if err := l.JSON(c, Terms{Set: "one"}, body); err != nil || string(l.Answer) != none+"\n" {
				t.Error(err, string(l.Answer))
			}
		}
		ask()
		if n := testing.AllocsPerRun(100, ask); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// BenchmarkOnePoint reads a body with one point, in one pass and with encoding/json.
func BenchmarkOnePoint(b *testing.B) {
	c, l := catalog(b), &Lookup{}
	for name, body := range onePointForms {
		body := []byte(body)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = l.JSON(c, Terms{Set: "one"}, body)
			}
		})
		b.Run(name+"-any", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = l.any(c, Terms{Set: "one"}, body)
			}
		})
	}
}
