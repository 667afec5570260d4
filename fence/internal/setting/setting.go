// Package setting reads the values of policies and of fences' settings from text. Both have the
// same bounds and the same errors.
package setting

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// The bounds of values.
const (
	MaxFixes    = 100
	MaxMetres   = 100_000
	MaxFactor   = 100
	MaxAfter    = 30 * 24 * time.Hour
	MaxAltitude = 100_000 // metres above or below 0
)

// Fixes reads a number of fixes.
func Fixes(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxFixes {
		return 0, fmt.Errorf("%.64q is not a whole number from 1 to %d", text, MaxFixes)
	}
	return n, nil
}

// Number reads a number from 0 to most.
func Number(text string, most float64) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= most) {
		return 0, fmt.Errorf("%.64q is not a number from 0 to %v", text, most)
	}
	return math.Abs(v), nil // not -0
}

// Altitude reads metres above or below 0.
func Altitude(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(v) <= MaxAltitude) {
		return 0, fmt.Errorf("%.64q is not a number of metres from %d to %d", text, -MaxAltitude, MaxAltitude)
	}
	return v + 0, nil // not -0
}

// Duration reads a duration of whole milliseconds.
func Duration(text string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > most || d%time.Millisecond != 0 {
		return 0, fmt.Errorf("%.64q is not a duration from 0s to %v in whole milliseconds, such as 90s or 5m", text, most)
	}
	return d, nil
}

// NoAltitude reads what a fix without an altitude means for a fence with a floor or a ceiling:
// ignore, or inside.
func NoAltitude(text string) (inside bool, err error) {
	switch text {
	case "ignore":
		return false, nil
	case "inside":
		return true, nil
	}
	return false, fmt.Errorf("%.64q is neither ignore nor inside", text)
}
