package position

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

// layouts returns the vectors of the fixed layout, with the platform's error, "" if it accepts the
// body.
func layouts(t testing.TB) map[string]struct {
	body   []byte
	reason string
} {
	t.Helper()
	text, err := os.ReadFile("testdata/positions.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]struct {
		body   []byte
		reason string
	}{}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		name, reason := "", ""
		var body []byte
		for line := range strings.Lines(block) {
			word, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
			switch rest = strings.TrimSpace(rest); word {
			case "name":
				name = rest
			case "error":
				reason = rest
			case "hex":
				b, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				body = append(body, b...)
			}
		}
		if len(body) > 0 && body[0] == Version {
			found[name] = struct {
				body   []byte
				reason string
			}{body, reason}
		}
	}
	if len(found) < 50 {
		t.Fatalf("%d vectors", len(found))
	}
	return found
}

// Each accepted body is the only encoding of its position. Errors in values are not errors of the
// layout.
func TestVectors(t *testing.T) {
	refused := 0
	for name, v := range layouts(t) {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(v.body)
			if err != nil {
				refused++
				if _, ok := errors.AsType[*Error](err); !ok || err.Error() != v.reason {
					t.Errorf("got %v, want %s", err, v.reason)
				}
				return
			}
			again, err := Append([]byte("kept"), &p)
			if err != nil || !bytes.Equal(again, append([]byte("kept"), v.body...)) {
				t.Errorf("%v, %x\nwant %x", err, again, v.body)
			}
		})
	}
	if refused < 19 {
		t.Errorf("only %d bodies are refused by their layout", refused)
	}
}

func TestEveryField(t *testing.T) {
	want := Position{
		Fleet: "buses", ID: "v42", Time: -1, Lon: -73.9586, Lat: math.Inf(1),
		Accuracy: Known(0), Speed: Known(8.25), Heading: Known(270), Altitude: Known(-3.5), Props: []byte(`{}`),
	}
	b, err := Append(nil, &want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(b)
	if err != nil || got.Fleet != want.Fleet || got.ID != want.ID || got.Time != want.Time || got.Lon != want.Lon || got.Lat != want.Lat ||
		got.Accuracy != want.Accuracy || got.Speed != want.Speed || got.Heading != want.Heading || got.Altitude != want.Altitude || string(got.Props) != "{}" {
		t.Errorf("%v, got %+v\nwant %+v", err, got, want)
	}
	if _, err := Parse(append([]byte{2}, b[1:]...)); err == nil || err.Error() != "version: 2, not 1" {
		t.Errorf("another version: %v", err)
	}
}

func TestAppendRefusesWhatDoesNotFit(t *testing.T) {
	for want, p := range map[string]Position{
		"id: empty":                              {},
		"id: 257 bytes, the limit is 256":        {ID: strings.Repeat("x", 257)},
		"fleet: 65536 bytes, the limit is 256":   {ID: "a", Fleet: strings.Repeat("x", 65536)},
		"props: 16385 bytes, the limit is 16384": {ID: "a", Props: make([]byte, MaxProps+1)},
	} {
		dst, err := Append([]byte("kept"), &p)
		if err == nil || err.Error() != want || string(dst) != "kept" {
			t.Errorf("got %v and %q, want %s", err, dst, want)
		}
	}
	p := Position{ID: strings.Repeat("i", MaxName), Fleet: strings.Repeat("f", MaxName), Props: make([]byte, MaxProps), Accuracy: Known(1), Speed: Known(1), Heading: Known(1), Altitude: Known(1)}
	if b, err := Append(nil, &p); err != nil || len(b) != MaxSize {
		t.Errorf("%v, %d bytes, want %d", err, len(b), MaxSize)
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	p := Position{Fleet: "buses", ID: "v42", Time: 1773314205000, Lon: 1, Lat: 2, Speed: Known(3)}
	dst := make([]byte, 0, MaxSize)
	if n := testing.AllocsPerRun(100, func() { dst, _ = Append(dst[:0], &p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzLayout checks that a body either has one encoding, or an error that names its field.
func FuzzLayout(f *testing.F) {
	for _, v := range layouts(f) {
		f.Add(v.body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := Parse(body)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Field == "" || e.Reason == "" {
				t.Errorf("refused with %v", err)
			}
			return
		}
		if again, err := Append(nil, &p); err != nil || !bytes.Equal(again, body) {
			t.Errorf("%v: %x became %x", err, body, again)
		}
	})
}
