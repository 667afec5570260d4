package wrk

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// units is a ladder of units: each is scale times the one before.
type units struct {
	scale float64
	base  string
	up    []string
	last  int // how many steps a number is taken up at most, to be written
}

// The ladders. A number is never written in the last unit of a ladder, but may be read.
var (
	microseconds = units{1000, "us", []string{"ms", "s"}, 1}
	seconds      = units{60, "s", []string{"m", "h"}, 1}
	binary       = units{1024, "", []string{"K", "M", "G", "T", "P"}, 4}
	metric       = units{1000, "", []string{"k", "M", "G", "T", "P"}, 4}
)

// threshold is from which part of the next unit on a number is written in it.
const threshold = 0.85

// extended is a number as wrk computes with it: 80 bits of x86, with a fraction of 64. A number
// between two with two decimals is rounded by its last bit.
func extended(f float64) *big.Float { return new(big.Float).SetPrec(64).SetFloat64(f) }

// format writes a number with so many decimals.
func (u *units) format(n *big.Float, decimals int) string {
	n, scale := extended(0).Set(n), extended(u.scale)
	unit := u.base
	for i := 0; i < u.last && n.Cmp(extended(u.scale*threshold)) >= 0; i++ {
		n.Quo(n, scale)
		unit = u.up[i]
	}
	return n.Text('f', decimals) + unit
}

// formatMicroseconds writes a time of so many us: "5.62ms".
func formatMicroseconds(us *big.Float) string {
	const second = 1e6
	if us.Cmp(extended(second)) >= 0 {
		return seconds.format(extended(0).Quo(us, extended(second)), 2)
	}
	return microseconds.format(us, 2)
}

// formatSeconds writes a time of whole seconds: "5m".
func formatSeconds(s int64) string { return seconds.format(extended(float64(s)), 0) }

// formatBinary writes a number of bytes without its B: "93.47M".
func formatBinary(n float64) string { return binary.format(extended(n), 2) }

// formatMetric writes a number: "10.87k".
func formatMetric(n *big.Float) string { return metric.format(n, 2) }

// ParseCount reads a whole number, which may have a unit: 50, 1k, 2M, 1G.
func ParseCount(text string) (int64, error) {
	return metric.parse(text, "a whole number such as 50 or 1k")
}

// ParseSeconds reads whole seconds, which may have a unit: 10, 10s, 5m, 1h.
func ParseSeconds(text string) (int64, error) {
	return seconds.parse(text, "a time in whole seconds such as 10s, 5m or 1h")
}

var errRange = errors.New("it is too large")

func (u *units) parse(text, form string) (int64, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := text[len(digits):]
	factor, known := int64(1), unit == "" || strings.EqualFold(unit, u.base)
	for i := 0; i < len(u.up) && !known; i++ {
		factor *= int64(u.scale)
		known = strings.EqualFold(unit, u.up[i])
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && known && n > uint64(math.MaxInt64/factor):
		return 0, fmt.Errorf("%q: %w", text, errRange)
	case err != nil || !known:
		return 0, fmt.Errorf("%q is not %s", text, form)
	}
	return int64(n) * factor, nil
}
