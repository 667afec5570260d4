package lookup

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"
)

// compactBody returns a request in the compact form.
func compactBody(flags byte, set string, generation uint64, points ...float64) []byte {
	b := []byte{CompactVersion, flags}
	if flags&CompactSet != 0 {
		b = append(append(b, byte(len(set))), set...)
	}
	if flags&CompactGeneration != 0 {
		b = binary.LittleEndian.AppendUint64(b, generation)
	}
	return append(b, inColumns(points...)...)
}

// The terms of a door and of a body are combined.
func TestTerms(t *testing.T) {
	c := catalog(t)
	first, next := uint64(1), uint64(2)
	const bare = `{"fences":[{"set":"one","id":"a\"\u003cé\u003e"}]}`
	for _, tc := range []struct {
		door   Terms
		body   string
		want   string
		kind   Kind
		reason string
	}{
		{body: `[0.5,0.5]`, want: both},
		{body: `{"set":"one","lon":0.5,"lat":0.5}`, want: one},
		{door: Terms{Set: "one"}, body: `[0.5,0.5]`, want: one},
		{door: Terms{Set: "one"}, body: `{"set":"one","lon":0.5,"lat":0.5}`, want: one},
		{door: Terms{Set: "one", Properties: "none"}, body: `[0.5,0.5]`, want: bare},
		{body: `{"set":"one","properties":"none","points":[[0.5,0.5]]}`, want: `{"results":[` + bare + `]}`},
		{body: `{"type":"Feature","properties":{"set":5},"geometry":{"type":"Point","coordinates":[0.5,0.5]}}`, want: both},
		{door: Terms{Set: "one", Generation: &first}, body: `[0.5,0.5]`, want: one},
		{door: Terms{Set: "one"}, body: `{"generation":1,"lon":0.5,"lat":0.5}`, want: one},
		{door: Terms{Set: "one"}, body: string(compactBody(CompactGeneration, "", 1, 0.5, 0.5)), want: one},
		{body: string(compactBody(CompactSet|CompactMany, "one", 0, 0.5, 0.5, 2, 2)), want: `{"results":[` + one + `,` + none + `]}`},

		{door: Terms{Set: "one"}, body: `{"set":"two","lon":0,"lat":0}`, reason: `set: "two" in the body, "one" outside of it`},
		{door: Terms{Set: "one"}, body: string(compactBody(CompactSet, "two", 0, 1, 1)), reason: `set: "two" in the body, "one" outside of it`},
		{door: Terms{Properties: "name"}, body: `[0,0]`, reason: `properties "name": use all or none`},
		{body: `{"properties":"some","lon":0,"lat":0}`, reason: `properties "some": use all or none`},
		{body: `{"generation":-1,"lon":0,"lat":0}`, reason: "generation: must be a whole number"},
		{body: `{"generation":1,"lon":0,"lat":0}`, reason: "set missing: a generation is that of one set"},
		{body: string(compactBody(CompactColumns, "", 0, 1, 1)), reason: "set missing: an answer in columns is that of one set"},
		{body: "\x01\x09\x01a", reason: "generation: cut off"},
		{door: Terms{Set: "one", Generation: &next}, body: `[0,0]`, kind: Gone, reason: `set "one" is at generation 1: 2 is not kept; ask again for this one, or for none`},
	} {
		l := &Lookup{}
		err := l.Request(c, tc.door, []byte(tc.body))
		if tc.reason == "" {
			if err != nil || string(l.Answer) != tc.want+"\n" {
				t.Errorf("%q: %v, %s\nwant %s", tc.body, err, l.Answer, tc.want)
			}
			continue
		}
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != tc.kind || e.Reason != tc.reason {
			t.Errorf("%q: got %v, want %s", tc.body, err, tc.reason)
		}
	}
}

// Any body is answered with JSON or columns, or refused with a reason.
func FuzzRequest(f *testing.F) {
	f.Add(compactBody(0, "", 0, 1, 2))
	f.Add(compactBody(CompactSet|CompactMany, "grid", 0, 1, 2, 3, 4))
	f.Add(compactBody(compactFlags, "grid", 1, 1, 2, 3, 4))
	f.Add([]byte(`{"points":[[1,1]],"set":"grid","generation":1,"properties":"none"}`))
	f.Add([]byte(`{"set":5}`))
	c := grid(f, 4)
	f.Fuzz(func(t *testing.T, body []byte) {
		var l Lookup
		err := l.Request(c, Terms{}, body)
		if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Reason == "") {
			t.Errorf("refused with %v", err)
		}
		if err != nil {
			return
		}
		if len(body) > 1 && body[0] == CompactVersion && body[1]&CompactColumns != 0 {
			readColumns(t, l.Answer)
		} else if !json.Valid(l.Answer) {
			t.Errorf("answer %s", l.Answer)
		}
	})
}
