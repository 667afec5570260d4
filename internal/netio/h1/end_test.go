package h1

import (
	"errors"
	"testing"
)

// The end of a head does not depend on how it is cut into pieces.
func TestEnd(t *testing.T) {
	for _, c := range []struct {
		text            string
		target, visitor int // the end that each finds, 0: incomplete, -1: refused
	}{
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET", 27, 27},
		{"GET / HTTP/1.1\r\n\r\n", 18, 18},
		{"HTTP/1.1 200 OK\nX: y\n\nbody", 22, -1},
		{"HTTP/1.1 200 OK\r\nX: y\n\r\nbody", 24, -1},
		{"HTTP/1.1 200 OK\nX: y\r\n\nbody", 23, -1},
		{"\r\nbody", 2, 0}, // trailers; a visitor's head would be cut off before
		{"\n", 1, -1},
		{"GET / HTTP/1.1\r\nHost: a\r\n", 0, 0},
		{"GET / HTTP/1.1\r", 0, 0},
		{"", 0, 0},
		{"G@T", 0, -1},
		{"GET / HTTP/2.0\r\n", 0, -1},
	} {
		seen := 0
		for n := range len(c.text) + 1 {
			if end := End([]byte(c.text[:n]), seen); end > 0 {
				if end != c.target {
					t.Errorf("%q ends at %d, want %d", c.text, end, c.target)
				}
				break
			}
			seen = n
		}
		if end := End([]byte(c.text), 0); end != c.target {
			t.Errorf("%q, at once, ends at %d, want %d", c.text, end, c.target)
		}
		if c.text == "" || c.text[0] == '\r' {
			continue
		}
		end, err := 0, error(nil)
		for n := 1; n <= len(c.text) && end == 0 && err == nil; n++ {
			end, err = VisitorEnd([]byte(c.text[:n]), n-1)
		}
		if (err != nil) != (c.visitor < 0) || err == nil && end != c.visitor || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%q of a visitor ends at %d, %v; want %d", c.text, end, err, c.visitor)
		}
	}
}
