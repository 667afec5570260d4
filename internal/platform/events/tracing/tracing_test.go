package tracing

import (
	"net/http"
	"strings"
	"testing"

	"paddock/fence/track"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A traceparent is taken as it is, or not at all; one of a later version in the form of version 00.
func TestParents(t *testing.T) {
	for text, want := range map[string]string{
		parent:                                parent,
		" " + parent + "\t":                   parent,
		parent[:53] + "03":                    parent[:53] + "03",
		"01" + parent[2:]:                     parent,
		"cc" + parent[2:53] + "fe-more-of-it": parent[:53] + "00",
		"01" + parent[2:] + "x":               "",
		parent + "-":                          "",
		parent + "-01":                        "",
		"ff" + parent[2:]:                     "",
		strings.ToUpper(parent):               "",
		parent[:54]:                           "",
		"":                                    "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": "",
		"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": "",
		"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01": "",
		"0\"-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0": "",
	} {
		got := ""
		if trace := Parse([]string{text}, nil); trace != nil {
			got = trace.Parent
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if Parse([]string{parent, parent}, nil) != nil || Parse(nil, []string{"a=1"}) != nil {
		t.Error("two, or none, are a context")
	}
}

// A tracestate has at most 512 bytes: long members go first, then the last ones. A malformed one
// goes alone.
func TestStates(t *testing.T) {
	long := "long=" + strings.Repeat("x", 200)
	short := func(n int) string { return strings.Repeat("k=12345678,", n) } // 11 bytes each
	for text, want := range map[string]string{
		"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE": "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
		" a=1 ,, b@c/d*-_9=x y\"\\z,":             "a=1,b@c/d*-_9=x y\"\\z",
		"":                                        "",
		"a":                                       "",
		"=1":                                      "",
		"a=":                                      "",
		"A=1":                                     "",
		"a=1,b==2":                                "",
		"a=\x01":                                  "",
		"a=ä":                                     "",
		short(32):                                 strings.TrimSuffix(short(32), ","),
		short(33):                                 "",
		long + "," + short(30):                    strings.TrimSuffix(short(30), ","),
		"a=1," + long + "," + short(27) + "," + long:         "a=1," + long + "," + strings.TrimSuffix(short(27), ","),
		long + "," + long + "," + short(20):                  long + "," + strings.TrimSuffix(short(20), ","),
		"v=" + strings.Repeat("x", 257):                      "",
		strings.Repeat("k", 257) + "=1":                      "",
		strings.Repeat("k="+strings.Repeat("x", 126)+",", 5): strings.TrimSuffix(strings.Repeat("k="+strings.Repeat("x", 126)+",", 3), ","),
	} {
		if got := Parse([]string{parent}, []string{text}).State; got != want || len(got) > MaxState {
			t.Errorf("%.60q: %d bytes, %q, want %q", text, len(got), got, want)
		}
	}
	if got := Parse([]string{parent}, []string{"a=1", "b=2"}).State; got != "a=1,b=2" {
		t.Errorf("two lines: %q", got)
	}
	if got := Parse([]string{parent}, []string{strings.Repeat(",", maxHeader+1)}).State; got != "" {
		t.Errorf("a long one: %q", got)
	}
}

// Both carriers give the same context.
func TestCarriers(t *testing.T) {
	want := track.Trace{Parent: parent, State: "a=1"}
	h := http.Header{}
	if FromHTTP(h) != nil || FromMessage(nil) != nil || FromMessage([]byte("NATS/1.0\r\nTraceparents: x\r\n\r\n")) != nil {
		t.Error("a context of nothing")
	}
	h.Set("traceparent", parent)
	h.Set("tracestate", "a=1")
	if got := FromHTTP(h); got == nil || *got != want {
		t.Errorf("%+v", got)
	}
	for _, header := range []string{
		"NATS/1.0\r\ntraceparent: " + parent + "\r\ntracestate:a=1\r\n\r\n",
		"NATS/1.0\r\nOther: x\r\nTraceparent:" + parent + "\r\nTraceState: a=1\r\n\r\n",
	} {
		if got := FromMessage([]byte(header)); got == nil || *got != want {
			t.Errorf("%q: %+v", header, got)
		}
	}
	if n := testing.AllocsPerRun(100, func() { FromHTTP(h); FromMessage([]byte("NATS/1.0\r\nA: b\r\n\r\n")) }); n > 10 {
		t.Errorf("%v allocations", n)
	}
	none := http.Header{}
	if n := testing.AllocsPerRun(100, func() { FromHTTP(none); FromMessage(nil) }); n != 0 {
		t.Errorf("%v allocations without a context", n)
	}
}
