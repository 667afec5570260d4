// Package logging makes the slog.Logger of a command: text on a terminal, JSON for programs that
// collect the output.
//
// Times are in UTC with milliseconds in both formats, so that the lines of two machines can be
// merged.
package logging

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
)

// Format is the encoding of records.
type Format string

// The formats. Auto is text when the output is a terminal and JSON otherwise.
const (
	Auto Format = "auto"
	Text Format = "text"
	JSON Format = "json"
)

// Formats lists the values that ParseFormat accepts, the default first.
func Formats() []string { return []string{string(Auto), string(Text), string(JSON)} }

// Levels lists the values that ParseLevel accepts, from the most to the least verbose.
func Levels() []string { return []string{"debug", "info", "warn", "error"} }

// Options configure New. The zero value logs from level info on, in Auto.
type Options struct {
	Level  slog.Level
	Format Format
}

// Parse reads the two settings of flags and of the configuration file. An empty text stands for the
// default: info, auto.
func Parse(level, format string) (Options, error) {
	l, err := ParseLevel(level)
	if err != nil {
		return Options{}, err
	}
	f, err := ParseFormat(format)
	return Options{Level: l, Format: f}, err
}

// ParseLevel reads one of Levels, in any case; "" is info.
func ParseLevel(s string) (slog.Level, error) {
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(cmp.Or(s, "info"), l.String()) {
			return l, nil
		}
	}
	return 0, fmt.Errorf("no log level is called %q; levels are %s", s, strings.Join(Levels(), ", "))
}

// ParseFormat reads one of Formats, in any case; "" is auto.
func ParseFormat(s string) (Format, error) {
	if f := strings.ToLower(cmp.Or(s, string(Auto))); slices.Contains(Formats(), f) {
		return Format(f), nil
	}
	return "", fmt.Errorf("no log format is called %q; formats are %s", s, strings.Join(Formats(), ", "))
}

// New returns a logger that writes to w. It is safe for concurrent use.
func New(w io.Writer, o Options) *slog.Logger {
	h := &slog.HandlerOptions{Level: o.Level, ReplaceAttr: inUTC}
	if o.Format == Text || o.Format != JSON && IsTerminal(w) {
		return slog.New(slog.NewTextHandler(w, h))
	}
	return slog.New(slog.NewJSONHandler(w, h))
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// inUTC writes a record's own time as 2026-02-03T04:05:06.789Z.
func inUTC(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		a.Value = slog.StringValue(a.Value.Time().UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	}
	if l, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && l < slog.LevelDebug {
		a.Value = slog.StringValue("TRACE")
	}
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().Round(time.Microsecond).String())
	}
	return a
}
