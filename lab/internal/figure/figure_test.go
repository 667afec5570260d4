package figure_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"paddock/lab/internal/figure"
)

func TestTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ns", 999: "999ns", 1000: "1.00µs", 12_345: "12.3µs", 999_400: "999µs",
		1_234_567: "1.23ms", 45 * time.Millisecond: "45.0ms", 2 * time.Second: "2.00s", -time.Millisecond: "-1.00ms",
		99 * time.Second: "99.0s", 100 * time.Second: "1m40s", time.Hour: "1h0m0s",
	} {
		if got := figure.Time(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{figure.Count(0), "0"},
		{figure.Count(999), "999"},
		{figure.Count(-1234), "-1,234"},
		{figure.Count(-123), "-123"},
		{figure.Count(1234567), "1,234,567"},
		{figure.Number(0), "0"},
		{figure.Number(1.234), "1.23"},
		{figure.Number(31234.6), "31,235"},
		{figure.Bytes(999), "999 B"},
		{figure.Bytes(1000), "1.00 kB"},
		{figure.Bytes(12_345_678), "12.3 MB"},
		{figure.Percent(0.1234), "12.3 %"},
		{figure.Percent(0.000012), "0.0012 %"},
		{figure.Percent(0), "0.0 %"},
		{figure.Quantile(0.999), "p99.9"},
		{figure.Quantile(0.9999), "p99.99"},
		{figure.Quantile(1), "p100"},
	} {
		if tc.got != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
}

// Nothing that a service sends moves the cursor, breaks the line or turns the writing.
func FuzzText(f *testing.F) {
	f.Add("\x1b]0;owned\x07\r\n\x00\u202e\u009b31m\xff plain ü")
	f.Fuzz(func(t *testing.T, s string) {
		got := figure.Text(s)
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q became %q", s, got)
		}
	})
}
