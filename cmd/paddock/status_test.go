package main

import (
	"strings"
	"testing"
	"time"
)

// Where no event was measured, the status has no p99.
func TestStatusP99(t *testing.T) {
	if got := formatP99(0); got != "p99 -" {
		t.Error(got)
	}
	if got := formatP99(1234 * time.Microsecond); got != "p99 1.2 ms" {
		t.Error(got)
	}
}

// A status that wraps could not be cleared, and would fill the screen.
func TestStatusFitsItsTerminal(t *testing.T) {
	var out strings.Builder
	columns := 10
	s := &statusLine{terminal: true, out: &out, width: func() int { return columns }}
	for _, c := range []struct {
		columns int
		want    string
	}{{10, "123456789"}, {12, "12345678901"}, {40, "123456789012"}, {0, "123456789012"}} {
		out.Reset()
		columns = c.columns
		s.show("123456789012")
		if got := out.String(); got != clearLine+c.want {
			t.Errorf("%d columns: %q", c.columns, got)
		}
	}
	out.Reset()
	if n, err := s.Write([]byte("log\n")); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got := out.String(); got != clearLine+"log\n123456789012" {
		t.Errorf("a log line: %q", got)
	}
}
