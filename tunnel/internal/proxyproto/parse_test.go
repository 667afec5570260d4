package proxyproto_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"paddock/tunnel/internal/proxyproto"
)

// vector is a line of testdata/headers.txt.
type vector struct {
	name string
	text []byte
	want string
}

func vectors(t testing.TB) (all []vector) {
	t.Helper()
	file, err := os.ReadFile("testdata/headers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " | ")
		at := strings.LastIndex(rest, " | ")
		text, err := strconv.Unquote(rest[:at])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, vector{name, []byte(text), rest[at+3:]})
	}
	return all
}

// told returns the result of Parse in the form of the vectors.
func told(b []byte) string {
	h, n, err := proxyproto.Parse(b)
	switch {
	case err != nil:
		return "! " + err.Error()
	case n == 0:
		return "more"
	case !h.Source.IsValid():
		return "nobody"
	}
	text := fmt.Sprint(h.Source, " ", h.Destination)
	if h.ALPN != "" {
		text += " " + h.ALPN
	}
	if h.Authority != "" {
		text += " " + h.Authority
	}
	if n < len(b) {
		text += fmt.Sprintf(" and %d bytes", len(b)-n)
	}
	return text
}

func TestParse(t *testing.T) {
	for _, v := range vectors(t) {
		got := told(v.text)
		if excerpt, refused := strings.CutPrefix(v.want, "! "); refused {
			if !strings.HasPrefix(got, "! ") || !strings.Contains(got, excerpt) {
				t.Errorf("%s: %s, want refused for %q", v.name, got, excerpt)
			}
		} else if got != v.want {
			t.Errorf("%s: %s, want %s", v.name, got, v.want)
		}
	}
}

// However a header is cut, it is incomplete until its last byte has arrived, and bytes behind that
// do not change it. A header that is refused early stays refused.
func TestParseInPieces(t *testing.T) {
	for _, v := range vectors(t) {
		_, whole, bad := proxyproto.Parse(v.text)
		for n := range v.text {
			got, took, err := proxyproto.Parse(v.text[:n])
			switch {
			case bad != nil && err == nil && took != 0, bad == nil && err != nil:
				t.Errorf("%s, %d bytes of it: %+v, %d, %v", v.name, n, got, took, err)
			case bad == nil && whole > 0 && (took != 0) != (n >= whole):
				t.Errorf("%s, %d bytes of it: %d", v.name, n, took)
			}
		}
	}
}

// Written headers read back as they were.
func TestRoundTrip(t *testing.T) {
	at := netip.MustParseAddrPort
	for _, h := range []proxyproto.Header{
		{Source: at("192.0.2.1:1"), Destination: at("192.0.2.2:2")},
		{Source: at("[2001:db8::1]:1"), Destination: at("[2001:db8::2]:2"), ALPN: "h2"},
		{Source: at("192.0.2.1:1"), Destination: at("[::1]:2"), Authority: "a.example"},
		{Source: at("0.0.0.0:0"), Destination: at("255.255.255.255:65535"), ALPN: strings.Repeat("a", 255), Authority: strings.Repeat("b", 255)},
		{},
	} {
		text := h.Append(nil)
		if got, n, err := proxyproto.Parse(append(text, "behind"...)); got != h || n != len(text) || err != nil {
			t.Errorf("%+v: %+v, %d of %d bytes, %v", h, got, n, len(text), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.text)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := proxyproto.Parse(b)
		known := errors.Is(err, proxyproto.ErrNone) || errors.Is(err, proxyproto.ErrMalformed) || errors.Is(err, proxyproto.ErrTooLong)
		switch {
		case err != nil && (!known || n != 0 || h != proxyproto.Header{}):
			t.Fatalf("%+v, %d bytes, and %v", h, n, err)
		case n < 0 || n > min(len(b), proxyproto.MaxBytes) || n == 0 && (h != proxyproto.Header{}):
			t.Fatalf("%+v of %d bytes, from %d", h, n, len(b))
		case h.Source.IsValid() != h.Destination.IsValid() || h.Source.Addr().Is4In6() || h.Source.Addr().Zone() != "":
			t.Fatalf("%+v", h)
		case n == 0:
			if len(b) >= proxyproto.MaxBytes && err == nil {
				t.Fatalf("more than %d bytes are wanted", len(b))
			}
			return
		}
		if again, same, err := proxyproto.Parse(b[:n]); again != h || same != n || err != nil {
			t.Fatalf("%+v; without what is behind it: %+v, %d, %v", h, again, same, err)
		}
		text := h.Append(nil)
		again, _, err := proxyproto.Parse(text)
		if err != nil || again.Source != h.Source || again.Destination != h.Destination {
			t.Fatalf("%+v was written as %x, which is %+v, %v", h, text, again, err)
		}
	})
}
