package wireapi

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"paddock/internal/platform/lookup"
	"paddock/wire"
)

const (
	inA  = `{"fences":[{"set":"squares","id":"a","properties":{"name":"a"}}]}`
	inAB = `{"fences":[{"set":"squares","id":"a","properties":{"name":"a"}},{"set":"squares","id":"b","properties":{"name":"b"}}]}`
	inC  = `{"fences":[{"set":"far","id":"c","properties":{"name":"c"}}]}`
	none = `{"fences":[]}`
)

// compactBody is a search in the compact form.
func compactBody(set string, many bool, points ...float64) []byte {
	b := []byte{lookup.CompactVersion, 0}
	if set != "" {
		b[1] |= lookup.CompactSet
		b = append(append(b, byte(len(set))), set...)
	}
	if many {
		b[1] |= lookup.CompactMany
	}
	for _, f := range points {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

func TestSearch(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	for _, tc := range []struct {
		name string
		body []byte
		want string
	}{
		{"point", []byte(`{"lon":1,"lat":1}`), inA},
		{"pair", []byte(" [7,5] "), inAB},
		{"of a set", []byte(`{"set":"far","lon":7,"lat":5}`), none},
		{"of another set", []byte(`{"lon":105,"lat":45,"set":"far"}`), inC},
		{"GeoJSON", []byte(`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,1]},"properties":{}}`), inA},
		{"many", []byte(`{"points":[[1,1],{"lon":7,"lat":5},[50,1]]}`), `{"results":[` + inA + `,` + inAB + `,` + none + `]}`},
		{"many of a set", []byte(`{"points":[[1,1],[105,45]],"set":"far"}`), `{"results":[` + none + `,` + inC + `]}`},
		{"compact", compactBody("", false, 7, 5), inAB},
		{"compact of a set", compactBody("far", false, 7, 5), none},
		{"compact many", compactBody("", true, 1, 1, 105, 45), `{"results":[` + inA + `,` + inC + `]}`},
		{"compact many, one", compactBody("squares", true, 1, 1), `{"results":[` + inA + `]}`},
		{"compact many, none", compactBody("", true), `{"results":[]}`},
		{"of KINDS.md", []byte("\x01\x00\x52\xb8\x1e\x85\xeb\xd1\x2a\x40\xc3\xf5\x28\x5c\x8f\x42\x4a\x40"), none},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := c.Call(s.ctx(), KindSearch, tc.body)
			if err != nil || string(got) != tc.want+"\n" {
				t.Errorf("%v, %s\nwant %s", err, got, tc.want)
			}
		})
	}
	if n := s.api.Stats().Searches; n != 13 {
		t.Errorf("%d searches", n)
	}
}

func TestSearchRefusals(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	nan := math.NaN()
	for _, tc := range []struct {
		body []byte
		code wire.Code
		text string
	}{
		{nil, wire.InvalidArgument, `body: empty: send a point, {"points":[...]}, or one point a line as application/x-ndjson`},
		{[]byte(`{`), wire.InvalidArgument, "body: malformed JSON: unexpected end of JSON input"},
		{[]byte(`[1,91]`), wire.InvalidArgument, "body: lat 91 is out of range -90 to 90: lon and lat swapped?"},
		{[]byte(`{"points":[[1,1],[1]]}`), wire.InvalidArgument, "points[1]: a point has two coordinates, lon and lat"},
		{[]byte(`{"set":"","lon":1,"lat":1}`), wire.InvalidArgument, "set: empty"},
		{[]byte(`{"set":5,"lon":1,"lat":1}`), wire.InvalidArgument, "set: must be a string"},
		{[]byte(`{"set":"none","lon":1,"lat":1}`), wire.NotFound, `no set "none"; GET /v1/sets lists them`},
		{compactBody("none", false, 1, 1), wire.NotFound, `no set "none"; GET /v1/sets lists them`},
		{[]byte{1}, wire.InvalidArgument, "body: cut off"},
		{[]byte{1, 16}, wire.InvalidArgument, "flags: reserved bits 0x10"},
		{[]byte{1, 1}, wire.InvalidArgument, "set: cut off"},
		{[]byte{1, 1, 4, 'a', 'b', 'c'}, wire.InvalidArgument, "set: cut off"},
		{[]byte{1, 1, 0}, wire.InvalidArgument, "set: empty"},
		{[]byte{1, 0}, wire.InvalidArgument, "points: 0 without the flag for many"},
		{compactBody("", false, 1, 1, 2, 2), wire.InvalidArgument, "points: 2 without the flag for many"},
		{compactBody("", false, 1, 1)[:17], wire.InvalidArgument, "points: cut off"},
		{compactBody("", true, 1, 1, 2), wire.InvalidArgument, "points: cut off"},
		{compactBody("", false, nan, 1), wire.InvalidArgument, "body: lon NaN is out of range -180 to 180"},
		{compactBody("", true, 1, 1, 1, nan), wire.InvalidArgument, "points[1]: lat NaN is out of range -90 to 90"},
		{compactBody("", false, 181, 1), wire.InvalidArgument, "body: lon 181 is out of range -180 to 180"},
	} {
		_, err := c.Call(s.ctx(), KindSearch, tc.body)
		if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != tc.code || e.Msg != tc.text {
			t.Errorf("%q: got %v, want %v %s", tc.body, err, tc.code, tc.text)
		}
	}
	if got, err := c.Call(s.ctx(), KindSearch, []byte(`[1,1]`)); err != nil || string(got) != inA+"\n" {
		t.Errorf("afterwards: %v, %s", err, got)
	}
}

func TestSearchThatGoesOnIsRefused(t *testing.T) {
	s := newSite(t, nil)
	c := s.dial(nil)
	answer, err := c.CallStream(s.ctx(), KindSearch, []byte(`{"points":[`), wire.CallOptions{More: true})
	must(t, err)
	defer answer.Stream.Close()
	_, err = answer.Stream.Accepted(s.ctx())
	if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != wire.OutOfRange {
		t.Errorf("got %v", err)
	}
}

// A short request can have a long answer. It continues as a stream, and its memory is counted.
func TestLongAnswers(t *testing.T) {
	s := newSite(t, func(c *Config) { c.MaxLarge = 4 << 20 })
	big := square("h", -50, -50, 10)
	big.Properties = json.RawMessage(`{"x":"` + strings.Repeat("x", 300<<10) + `"}`)
	s.addSet("heavy", big)
	c := s.dial(&wire.Config{MaxMessage: 8 << 20})
	got, err := c.Call(s.ctx(), KindSearch, []byte(`[-45,-45]`))
	if err != nil || len(got) < 300<<10 || !json.Valid(got) {
		t.Errorf("%v, %d bytes", err, len(got))
	}
	_, err = c.Call(s.ctx(), KindSearch, []byte(`{"points":[`+strings.Repeat("[-45,-45],", 30)+`[0,0]]}`))
	if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != wire.ResourceExhausted {
		t.Errorf("an answer without room: %v", err)
	}
	if n := s.api.Stats().RefusedLarge; n != 1 {
		t.Errorf("%d refused", n)
	}
	if used := s.api.large.Used(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}
