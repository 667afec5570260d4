package peers

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// text is the output of a client. It keeps the first error, which names the line.
type text struct {
	name  string // of the client
	all   string
	lines []string
	err   error
}

func newText(name, all string) *text {
	return &text{name: name, all: all, lines: strings.Split(all, "\n")}
}

// look reads the values behind a prefix as [fmt.Sscanf] does, from the first line that begins with
// it, and reports whether there is one. With the prefix "" it is the first line of the format.
func (t *text) look(prefix, format string, values ...any) bool {
	for i, line := range t.lines {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix)
		if !ok {
			continue
		}
		_, err := fmt.Sscanf(strings.TrimSpace(rest), format, values...)
		if err == nil {
			return true
		}
		if prefix != "" {
			t.fault(i, err)
			return true
		}
	}
	return false
}

// need is look for a line that all outputs have.
func (t *text) need(prefix, format string, values ...any) {
	if !t.look(prefix, format, values...) && t.err == nil {
		t.err = fmt.Errorf("%s prints no line %q: %q", t.name, prefix+format, clip([]byte(t.all)))
	}
}

func (t *text) fault(line int, err error) {
	if t.err == nil {
		t.err = fmt.Errorf("line %d of %s's output cannot be read: %.100q: %w", line+1, t.name, t.lines[line], err)
	}
}

// percentiles reads the lines that begin with a percentage. Their times are numbers of a unit, or
// have units of their own if that is 0.
func (t *text) percentiles(unit time.Duration) (all []Percentile) {
	for i, line := range t.lines {
		fields := strings.Fields(line)
		if len(fields) < 2 || !strings.HasSuffix(fields[0], "%") {
			continue
		}
		var p Percentile
		err := percent(&p.Percent)(fields[0])
		if err == nil {
			err = times(&p.Latency, unit)(fields[1])
		}
		if err != nil {
			t.fault(i, err)
			return nil
		}
		all = append(all, p)
	}
	return all
}

// result returns the figures, or an error if they are not all there, or are of no request.
func (t *text) result(f *Figures) (*Figures, error) {
	if t.err == nil && f.Requests == 0 {
		t.err = fmt.Errorf("%s has done no request: %q", t.name, clip([]byte(t.all)))
	}
	if t.err != nil {
		return nil, t.err
	}
	return f, nil
}

// quantity reads a number with a unit. It implements [fmt.Scanner].
type quantity func(text string) error

// Scan reads up to a space; a comma at the end is none of it.
func (q quantity) Scan(s fmt.ScanState, _ rune) error {
	token, err := s.Token(true, nil)
	if err != nil {
		return err
	}
	return q(strings.TrimSuffix(string(token), ","))
}

// times reads a number of a unit; with the unit 0, a time such as 5.62ms.
func times(to *time.Duration, unit time.Duration) quantity {
	return func(text string) (err error) {
		if unit == 0 {
			*to, err = time.ParseDuration(text)
			return err
		}
		n, err := strconv.ParseFloat(text, 64)
		*to = time.Duration(n * float64(unit))
		return err
	}
}

func duration(to *time.Duration) quantity     { return times(to, 0) }
func milliseconds(to *time.Duration) quantity { return times(to, time.Millisecond) }

// percent reads 90.98%. The C library's -nan% of nothing is 0.
func percent(to *float64) quantity {
	return func(text string) (err error) {
		if text = strings.TrimSuffix(text, "%"); text == "-nan" || text == "nan" {
			text = "0"
		}
		*to, err = strconv.ParseFloat(text, 64)
		return err
	}
}

// metric reads a number such as 10.93k, and binary one of bytes such as 93.47MB.
func metric(to *float64) quantity { return scaled(to, 1000, "kMGTP") }
func binary(to *float64) quantity { return scaled(to, 1024, "KMGTP") }

func scaled(to *float64, by float64, units string) quantity {
	return func(text string) error {
		text, factor := strings.TrimSuffix(text, "B"), 1.0
		for i, unit := range units {
			if digits, ok := strings.CutSuffix(text, string(unit)); ok {
				text, factor = digits, math.Pow(by, float64(i+1))
				break
			}
		}
		n, err := strconv.ParseFloat(text, 64)
		*to = n * factor
		return err
	}
}
