package terminal

import (
	"strings"
	"testing"
)

// A line that wraps could not be cleared, and would fill the screen.
func TestStatusFitsItsTerminal(t *testing.T) {
	var out strings.Builder
	columns := 10
	s := &StatusLine{out: &out, columns: func() int { return columns }}
	for _, c := range []struct {
		columns int
		want    string
	}{{10, "123456789"}, {12, "12345678901"}, {40, "123456789012"}, {0, "123456789012"}} {
		out.Reset()
		columns = c.columns
		s.Show("123456789012")
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

// Without a terminal the log is passed on as it is.
func TestNoTerminal(t *testing.T) {
	var out strings.Builder
	s := NewStatusLine(&out)
	if _, err := s.Write([]byte("log\n")); err != nil || s.Visible() || out.String() != "log\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}
