package slo

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxObjectives bounds how many there may be.
const maxObjectives = 64

// ParseError describes a mistake in a text, with its position.
type ParseError struct {
	Column int // of the text's bytes, from 1
	Reason string
}

func (e *ParseError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Reason) }

// Parse reads objectives with commas, semicolons or spaces between them. The error is a
// *ParseError.
func Parse(text string) ([]Objective, error) {
	var list []Objective
	for at := 0; at <= len(text); {
		end := at + partEnd(text[at:])
		p := parser{text: text[at:end], column: at + 1}
		o, err := p.objective()
		if err != nil {
			return nil, err
		}
		if list = append(list, o); len(list) > maxObjectives {
			return nil, p.fail(0, "more than %d objectives", maxObjectives)
		}
		at = end + 1
	}
	return list, nil
}

const spaces = " \t"

// partEnd is where the first objective of a text ends: at a comma or a semicolon, or at the space
// between its limit and the letter with which the next objective begins.
func partEnd(text string) int {
	end := strings.IndexAny(text, ",;")
	if end < 0 {
		end = len(text)
	}
	op := strings.IndexAny(text[:end], "<>=")
	if op < 0 {
		return end
	}
	limit := strings.TrimLeft(text[op:end], "<>=")
	for i := end - len(limit); i+1 < end; i++ {
		before := strings.TrimRight(text[end-len(limit):i], spaces)
		if strings.IndexByte(spaces, text[i]) >= 0 && before != "" && !strings.HasSuffix(before, "*") && isLetter(strings.TrimLeft(text[i:end], spaces)) {
			return i
		}
	}
	return end
}

// isLetter reports whether a text begins with a letter, as measures do.
func isLetter(text string) bool { return text != "" && text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z' }

// parser reads one objective.
type parser struct {
	text   string
	column int // of its first byte
}

func (p *parser) fail(at int, format string, args ...any) error {
	for at < len(p.text) && strings.IndexByte(spaces, p.text[at]) >= 0 {
		at++
	}
	return &ParseError{p.column + at, fmt.Sprintf(format, args...)}
}

func (p *parser) objective() (o Objective, err error) {
	at := strings.IndexAny(p.text, "<>=")
	if at < 0 {
		if strings.TrimSpace(p.text) == "" {
			return o, p.fail(0, "an objective is missing, such as p99<50ms")
		}
		return o, p.fail(len(p.text), "a comparison is missing behind %q: one of < <= > >=", strings.TrimSpace(p.text))
	}
	limitAt := at + 1
	if strings.HasPrefix(p.text[limitAt:], "=") {
		limitAt++
	}
	op := slices.Index(opNames[:], p.text[at:limitAt])
	if op < 0 {
		return o, p.fail(at, "%q is no comparison: one of < <= > >=", p.text[at:limitAt])
	}
	o.Op = Op(op)
	if err := p.measure(&o, strings.TrimSpace(p.text[:at])); err != nil {
		return o, err
	}
	return o, p.limit(&o, limitAt)
}

func (p *parser) measure(o *Objective, name string) error {
	if of, rest, found := strings.Cut(name, "."); found && !strings.HasPrefix(name, "p") {
		at := slices.Index(timesNames[:], of)
		if at < 0 {
			return p.fail(0, "%q is none of the times %s", of, strings.Join(timesNames[:], ", "))
		}
		if rest == "err" || rest == "rate" {
			return p.fail(0, "%q is no measure of times", rest)
		}
		o.Times, name = Times(at), rest
	}
	if share, ok := strings.CutPrefix(name, "p"); ok {
		f, err := strconv.ParseFloat(share, 64)
		if err != nil || !(f > 0 && f <= 100) || !plain(share) {
			return p.fail(0, "%q is no percentile: above p0 and up to p100, such as p99.9", name)
		}
		o.Measure, o.Share = Quantile, f/100
		return nil
	}
	at := slices.Index(measureNames[1:], name)
	if at < 0 {
		return p.fail(0, "%q is no measure: p50 to p100, mean, min, max, err or rate", name)
	}
	o.Measure = Measure(at + 1)
	return nil
}

// plain reports whether a number is written with digits and a point alone.
func plain(s string) bool { return s != "" && strings.Trim(s, "0123456789.") == "" }

func (p *parser) limit(o *Objective, at int) error {
	text := strings.TrimSpace(p.text[at:])
	if text == "" {
		return p.fail(at, "a limit is missing behind %q", p.text[:at])
	}
	switch o.Measure {
	case Rate:
		return p.rate(o, text, at)
	case Err:
		number, percent := strings.CutSuffix(text, "%")
		f, ok := parseNumber(number)
		if percent {
			f /= 100
		}
		if !ok || f > 1 {
			return p.fail(at, "%q is no share of requests: such as 0.1%% or 0.001", text)
		}
		o.Number = f
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return p.fail(at, "%q is no time: a number and its unit, such as 50ms", text)
	}
	o.Time = d
	return nil
}

func (p *parser) rate(o *Objective, text string, at int) error {
	factor, ofTarget := strings.CutSuffix(text, "target")
	if ofTarget {
		o.OfTarget, o.Number = true, 1
		if factor == "" {
			return nil
		}
		var starred bool
		if factor, starred = strings.CutSuffix(strings.TrimSpace(factor), "*"); !starred {
			return p.fail(at, "%q is no rate: such as 1000/s or 0.99*target", text)
		}
		text = factor
	}
	f, ok := parseNumber(strings.TrimSuffix(text, "/s"))
	if !ok || ofTarget && strings.HasSuffix(text, "/s") {
		return p.fail(at, "%q is no rate: such as 1000/s or 0.99*target", text)
	}
	o.Number = f
	return nil
}

// parseNumber reads a number from 0 on.
func parseNumber(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && plain(text) && f >= 0 && !math.IsInf(f, 0)
}
