// Package figure formats measurements for people: three digits and a unit. It also formats text
// that a service sent, so that none of it reaches a terminal raw.
package figure

import (
	"strconv"
	"time"
)

// Micros writes a time of so many microseconds.
func Micros(us float64) string { return Time(time.Duration(us * float64(time.Microsecond))) }

// Time is like "850µs", "1.23ms", "20.4s": three digits, and minutes from 100 s on.
func Time(d time.Duration) string {
	switch a := d.Abs(); {
	case a < time.Microsecond:
		return strconv.FormatInt(int64(d), 10) + "ns"
	case a < time.Millisecond:
		return digits(float64(d)/float64(time.Microsecond)) + "µs"
	case a < time.Second:
		return digits(float64(d)/float64(time.Millisecond)) + "ms"
	case a < 100*time.Second:
		return digits(d.Seconds()) + "s"
	}
	return d.Round(time.Second).String()
}

// digits writes a number from 1 to below 1000 with three digits.
func digits(f float64) string {
	a := f
	if a < 0 {
		a = -a
	}
	switch {
	case a < 9.995:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case a < 99.95:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

// Count is like "1,234,567".
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Number is a measured number: with thousands marked where it is large, and three digits
// where it is small.
func Number(f float64) string {
	if f >= 1000 || f <= -1000 {
		return Count(int64(f + 0.5))
	}
	if f == 0 {
		return "0"
	}
	return digits(f)
}

// Bytes is like "12.3 MB", in powers of 1000.
func Bytes(n int64) string {
	f, unit := float64(n), "B"
	for _, next := range []string{"kB", "MB", "GB", "TB", "PB"} {
		if f < 999.5 {
			break
		}
		f, unit = f/1000, next
	}
	if unit == "B" {
		return strconv.FormatInt(n, 10) + " B"
	}
	return digits(f) + " " + unit
}

// Percent is a share as "12.3 %".
func Percent(share float64) string {
	if share != 0 && share < 0.001 && share > -0.001 {
		return strconv.FormatFloat(100*share, 'g', 2, 64) + " %"
	}
	return strconv.FormatFloat(100*share, 'f', 1, 64) + " %"
}

// Quantile is the name of a quantile from 0 to 1: "p50", "p99.9".
func Quantile(q float64) string {
	return "p" + strconv.FormatFloat(100*q, 'g', 10, 64)
}

// Text returns text of a service in one line of printable characters. Other characters are escaped
// as in a Go string.
func Text(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
