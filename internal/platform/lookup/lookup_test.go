package lookup

import (
	"encoding/json"
	"errors"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
)

func catalog(t testing.TB) *fence.Catalog {
	t.Helper()
	c := &fence.Catalog{}
	for _, name := range []string{"one", "two"} {
		set, err := fence.NewSet(name, fence.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := fence.Fence{
			Key: "a\"<é>", Properties: json.RawMessage(`{"x":1}`),
			Geometry: geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 1, Lat: 0}, {Lon: 1, Lat: 1}, {Lon: 0, Lat: 1}}}},
		}
		if _, _, err := set.Put(f); err != nil {
			t.Fatal(err)
		}
		if err := c.Add(set); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

const (
	one  = `{"fences":[{"set":"one","id":"a\"\u003cé\u003e","properties":{"x":1}}]}`
	both = `{"fences":[{"set":"one","id":"a\"\u003cé\u003e","properties":{"x":1}},{"set":"two","id":"a\"\u003cé\u003e","properties":{"x":1}}]}`
	none = `{"fences":[]}`
)

// All forms of a request give the same answers, and a Lookup can be reused.
func TestForms(t *testing.T) {
	c, l := catalog(t), &Lookup{}
	in := geometry.Point{Lon: 0.5, Lat: 0.5}
	for _, tc := range []struct {
		set, want string
		ask       func() error
	}{
		{"", both, func() error { return l.Point(in) }},
		{"one", one, func() error { return l.Point(in) }},
		{"", both + "\n", func() error { return l.Document([]byte(" [0.5,0.5]\n")) }},
		{"", `{"results":[` + both + `,` + none + "]}\n", func() error { return l.Document([]byte(`{"points":[[0.5,0.5],[2,2]]}`)) }},
		{"", `{"results":[]}` + "\n", func() error { return l.Document([]byte(`{"points":[]}`)) }},
		{"one", one + "\n" + none + "\n", func() error { return l.Lines([]byte("[0.5,0.5]\n\n[2,2]")) }},
	} {
		if err := l.Begin(c, tc.set); err != nil {
			t.Fatal(err)
		}
		if err := tc.ask(); err != nil || string(l.Answer) != tc.want {
			t.Errorf("%v, %s\nwant %s", err, l.Answer, tc.want)
		}
	}
	l.End()
	if len(l.sets) != 0 || l.sets[:1][0].snap != nil {
		t.Error("a snapshot is still held")
	}
}

func TestRefusals(t *testing.T) {
	c := catalog(t)
	full := func(int64) bool { return false }
	for _, tc := range []struct {
		kind   Kind
		reason string
		ask    func(*Lookup) error
	}{
		{NoSet, `no set "three"; GET /v1/sets lists them`, func(l *Lookup) error { return l.Begin(c, "three") }},
		{Invalid, "points: must be an array", func(l *Lookup) error { return l.Document([]byte(`{"points":1}`)) }},
		{NoRoom, "too many large requests at once: send it again later, or in smaller parts", func(l *Lookup) error {
			l.Hold = full
			return l.Point(geometry.Point{})
		}},
	} {
		l := &Lookup{}
		if err := l.Begin(c, ""); err != nil {
			t.Fatal(err)
		}
		err := tc.ask(l)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != tc.kind || e.Reason != tc.reason {
			t.Errorf("got %v, want %s", err, tc.reason)
		}
	}
}

// A reused Lookup looks up one point without an allocation.
func TestPointDoesNotAllocate(t *testing.T) {
	c, l := catalog(t), &Lookup{}
	ask := func() {
		if l.Begin(c, "") != nil || l.Point(geometry.Point{Lon: 2, Lat: 2}) != nil {
			t.Error("refused")
		}
	}
	ask()
	if n := testing.AllocsPerRun(100, ask); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
