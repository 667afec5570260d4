package ingest

import (
	"encoding/hex"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"paddock/fence/track"
	"paddock/internal/platform/position"
)

// vector is a case of position/testdata/positions.txt.
type vector struct {
	name         string
	body         []byte
	json, reason string // at most one of them is set
}

func vectors(t testing.TB) (all []vector) {
	t.Helper()
	text, err := os.ReadFile("../position/testdata/positions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		var v vector
		for line := range strings.Lines(block) {
			word, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
			switch rest = strings.TrimSpace(rest); word {
			case "name":
				v.name = rest
			case "json":
				v.json = rest
			case "error":
				v.reason = rest
			case "hex":
				b, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
				if err != nil {
					t.Fatalf("%s: %v", v.name, err)
				}
				v.body = append(v.body, b...)
			}
		}
		if v.name != "" {
			all = append(all, v)
		}
	}
	return all
}

// binary decodes one body.
func binaryBody(body []byte) *Batch {
	b, d := &Batch{}, decoder()
	d.Binary(b, 7, body)
	return b
}

// same compares positions bit for bit.
func same(a, b *track.Position) bool {
	bits := func(p *track.Position) [2]uint64 { return [2]uint64{math.Float64bits(p.Lon), math.Float64bits(p.Lat)} }
	return bits(a) == bits(b) && a.Fleet == b.Fleet && a.ID == b.ID && a.Time == b.Time && a.Arrived == b.Arrived &&
		a.Accuracy == b.Accuracy && a.Speed == b.Speed && a.Heading == b.Heading && a.Altitude == b.Altitude && string(a.Props) == string(b.Props) &&
		(a.Props == nil) == (b.Props == nil)
}

// A position means the same at every door.
func TestVectors(t *testing.T) {
	good, bad := 0, 0
	seen := map[string]bool{}
	for _, v := range vectors(t) {
		if seen[v.name] || (v.json == "") == (v.reason == "") {
			t.Fatalf("%s: twice, or not one of json and error", v.name)
		}
		seen[v.name] = true
		t.Run(v.name, func(t *testing.T) {
			got := binaryBody(v.body)
			if v.reason != "" {
				bad++
				if len(got.Positions) != 0 || len(got.Rejected) != 1 || got.Rejected[0] != (Rejection{7, v.reason}) {
					t.Errorf("got %s%v\nwant %s", show(got.Positions), got.Rejected, v.reason)
				}
				return
			}
			good++
			d := decoder()
			want, err := d.Decode([]byte(v.json))
			if err != nil || len(want.Positions) != 1 {
				t.Fatalf("%v, %+v", err, want)
			}
			if len(got.Positions) != 1 || len(got.Rejected) != 0 || got.index(0) != 7 || !same(&got.Positions[0], &want.Positions[0]) {
				t.Errorf("got %s%v\nwant %s", show(got.Positions), got.Rejected, show(want.Positions))
			}
		})
	}
	if good < 30 || bad < 90 {
		t.Errorf("%d good and %d bad vectors", good, bad)
	}
}

func TestBodiesTooLargeForVectors(t *testing.T) {
	long := make([]byte, maxElementBytes+1)
	long[0] = position.Version
	props := []byte(`{"x":"` + strings.Repeat("x", position.MaxProps) + `"}`)
	head, err := position.Append(nil, &position.Position{ID: "a", Time: int64(arrival), Props: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	fleetless, large := head[:len(head)-2], append([]byte("\xa4\x62id\x61a\x63lon\x01\x63lat\x02\x65props\xa1\x61x\x79\x40\x00"), strings.Repeat("x", 16<<10)...)
	const props16 = "props: 16392 bytes, the limit is 16384" // 8 bytes of JSON around the text
	for _, c := range []struct {
		want string
		body []byte
	}{
		{"longer than 65536 bytes", long}, {props16, append(fleetless[:len(fleetless):len(fleetless)], props...)}, {props16, large},
	} {
		if b := binaryBody(c.body); len(b.Rejected) != 1 || b.Rejected[0].Reason != c.want {
			t.Errorf("got %v, want %s", b.Rejected, c.want)
		}
	}
}

// Defaults of a door apply here too. The body overrides them, which is counted.
func TestFleetOfTheDoor(t *testing.T) {
	d := decoder()
	d.Fleet = "trams"
	b := &Batch{}
	for i, p := range []position.Position{{ID: "a", Time: int64(arrival)}, {ID: "b", Fleet: "buses", Time: int64(arrival)}} {
		body, err := position.Append(nil, &p)
		if err != nil {
			t.Fatal(err)
		}
		d.Binary(b, i, body)
	}
	if len(b.Positions) != 2 || b.Positions[0].Fleet != "trams" || b.Positions[1].Fleet != "buses" || b.Renamed != 1 {
		t.Errorf("%s renamed %d", show(b.Positions), b.Renamed)
	}
}

// The body belongs to its connection and will be overwritten.
func TestNothingOfABodyIsKept(t *testing.T) {
	for _, v := range vectors(t) {
		body := append([]byte(nil), v.body...)
		got, want := binaryBody(body), binaryBody(v.body)
		for i := range body {
			body[i] = 0xcc
		}
		if show(got.Positions) != show(want.Positions) {
			t.Errorf("%s: %s became %s", v.name, show(want.Positions), show(got.Positions))
		}
	}
}

// FuzzPosition checks that a body is one position or one rejection. A position is valid, and in the
// fixed layout it decodes to itself.
func FuzzPosition(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := binaryBody(body)
		if len(b.Positions)+len(b.Rejected) != 1 {
			t.Fatalf("%+v", b)
		}
		if len(b.Rejected) == 1 {
			if r := b.Rejected[0].Reason; r == "" || len(r) > 400 || !utf8.ValidString(r) {
				t.Errorf("reason %q", r)
			}
			return
		}
		p := &b.Positions[0]
		check(t, p)
		again(t, b.Positions)
		body, err := position.Append(nil, &position.Position{
			Fleet: p.Fleet, ID: p.ID, Time: int64(p.Time), Lon: p.Lon, Lat: p.Lat, Props: p.Props,
			Accuracy: position.Measure(p.Accuracy), Speed: position.Measure(p.Speed), Heading: position.Measure(p.Heading),
			Altitude: position.Measure(p.Altitude),
		})
		if err != nil {
			t.Fatal(err)
		}
		if b := binaryBody(body); len(b.Positions) != 1 || !same(&b.Positions[0], p) {
			t.Errorf("%+v\nwant %s", b, show([]track.Position{*p}))
		}
	})
}
