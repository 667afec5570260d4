package main

import (
	"strings"
	"testing"
)

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
