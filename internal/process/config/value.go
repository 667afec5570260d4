package config

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes, written as 64MiB, 64 MiB, 1.5GB or 4096.
type Size int64

// Binary units, see also units for how they are written.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// units by their spelling, in the order in which String prefers them.
var units = []struct {
	name  string
	bytes Size
}{
	{"GiB", GiB},
	{"MiB", MiB},
	{"KiB", KiB},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

// ParseSize reads a number with one of the units B, KB, MB, GB, KiB, MiB, GiB in
// any case; without a unit it is bytes.
func ParseSize(s string) (Size, error) {
	number, factor := s, Size(1)
	for _, u := range units {
		if cut := len(s) - len(u.name); cut >= 0 && strings.EqualFold(s[cut:], u.name) {
			number, factor = strings.TrimSpace(s[:cut]), u.bytes
			break
		}
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(number, "_", ""), 64)
	if err != nil || math.IsNaN(x) {
		return 0, fmt.Errorf("%q is not a size such as 64MiB", s)
	}
	bytes := x * float64(factor)
	if bytes < 0 || bytes >= math.MaxInt64 || bytes != math.Trunc(bytes) {
		return 0, fmt.Errorf("%q is no whole number of bytes in range", s)
	}
	return Size(bytes), nil
}

// String returns the shortest text that ParseSize reads as the same size.
func (s Size) String() string {
	for _, u := range units[:3] {
		if s != 0 && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// Secret is a text that must not be printed or logged.
type Secret string

const hidden = "[hidden]"

// String hides the text. The conversion string(s) returns it.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// LogValue hides the text from the log.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// parse sets a field from its text. The field is a pointer into a Config.
func parse(field any, text string) (err error) {
	switch p := field.(type) {
	case *string:
		*p = text
	case *Secret:
		*p = Secret(text)
	case *bool:
		*p, err = parseBool(text)
	case *int:
		*p, err = parseInt(text)
	case *Size:
		*p, err = ParseSize(text)
	case *time.Duration:
		*p, err = parseDuration(text)
	default:
		panic(fmt.Sprintf("config: a setting has the type %T, which nothing reads", field))
	}
	return err
}

func parseBool(s string) (bool, error) {
	on := strings.EqualFold(s, "true")
	return on, when(!on && !strings.EqualFold(s, "false"), "%q is neither true nor false", s)
}

func parseInt(s string) (int, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 0)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is too large", s)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is no whole number", s)
	}
	return int(n), nil
}

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration such as 90s, 15m or 1h30m", s)
	}
	return d, nil
}

// zeroAllowed holds the numbers for which 0 has a meaning of its own.
var zeroAllowed = map[string]bool{
	"history.keep":      true, // for ever
	"history.max_bytes": true, // a share of the disk
	"journal.keep":      true, // for ever
	"journal.max_bytes": true, // a share of the disk
	"journal.min_free":  true, // never refuse
	"sets.zoom":         true, // the whole world
	"track.max_gap":     true, // that of the policy
	"track.ttl":         true, // that of the policy
	"track.max_ahead":   true, // no clock may be ahead
}

// bounds checks that a number is positive, or 0 where that means something.
func (s setting) bounds() error {
	v := reflect.ValueOf(s.field).Elem()
	if !v.CanInt() || v.Int() > 0 || v.Int() == 0 && zeroAllowed[s.key] {
		return nil
	}
	return fmt.Errorf("%v is too small", v.Interface())
}

// oneOf checks that s is one of words.
func oneOf(s string, words ...string) error {
	return when(!slices.Contains(words, s), "%q is none of %s", s, strings.Join(words, ", "))
}
