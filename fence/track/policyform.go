package track

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/fence/internal/setting"
)

// The bounds of fields of a policy, beside those of package setting.
const (
	maxSpeed   = 1e6
	maxSilence = 366 * 24 * time.Hour
	maxReorder = time.Minute
)

// policyField reads and writes one field of a policy as text.
type policyField struct {
	name string
	set  func(p *Policy, text string) error
	get  func(p *Policy) any // a number or a text
}

var policyFields = []policyField{
	{"fixes", setFixes, func(p *Policy) any { return max(p.Fixes, 1) }},
	number("metres", setting.MaxMetres, func(p *Policy) *float64 { return &p.Metres }),
	number("sure", setting.MaxMetres, func(p *Policy) *float64 { return &p.Sure }),
	number("accuracy_factor", setting.MaxFactor, func(p *Policy) *float64 { return &p.AccuracyFactor }),
	number("max_accuracy", setting.MaxMetres, func(p *Policy) *float64 { return &p.MaxAccuracy }),
	duration("enter_after", setting.MaxAfter, func(p *Policy) *time.Duration { return &p.EnterAfter }),
	duration("exit_after", setting.MaxAfter, func(p *Policy) *time.Duration { return &p.ExitAfter }),
	{"altitude", setAltitude, func(p *Policy) any { return p.Altitude.String() }},
	number("max_speed", maxSpeed, func(p *Policy) *float64 { return &p.MaxSpeed }),
	duration("max_gap", maxSilence, func(p *Policy) *time.Duration { return &p.MaxGap }),
	duration("ttl", maxSilence, func(p *Policy) *time.Duration { return &p.TTL }),
	{"late", setLate, func(p *Policy) any { return p.late() }},
	{"initial", setInitial, func(p *Policy) any { return p.Initial.String() }},
}

// PolicyFields lists the names that Policy.Set knows.
func PolicyFields() []string {
	names := make([]string, 0, 1+len(policyFields))
	names = append(names, "preset")
	for i := range policyFields {
		names = append(names, policyFields[i].name)
	}
	return names
}

// Set sets one field from its text in a file: a number, a duration as 5m, or a word. The field
// preset replaces all others, so it comes first. Errors name the field, the value and the way
// out.
func (p *Policy) Set(name, text string) error {
	if name == "preset" {
		preset, err := ParsePolicy(text)
		if err == nil {
			*p = preset
		}
		return err
	}
	i := slices.IndexFunc(policyFields, func(f policyField) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("unknown field %q: use one of %s", name, strings.Join(PolicyFields(), ", "))
	}
	if err := policyFields[i].set(p, text); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func setFixes(p *Policy, text string) error {
	n, err := setting.Fixes(text)
	if err == nil {
		p.Fixes = n
	}
	return err
}

func number(name string, most float64, of func(*Policy) *float64) policyField {
	return policyField{name, func(p *Policy, text string) error {
		v, err := setting.Number(text, most)
		if err == nil {
			*of(p) = v
		}
		return err
	}, func(p *Policy) any { return *of(p) }}
}

func duration(name string, most time.Duration, of func(*Policy) *time.Duration) policyField {
	return policyField{name, func(p *Policy, text string) (err error) {
		*of(p), err = setting.Duration(text, most)
		return err
	}, func(p *Policy) any { return of(p).String() }}
}

func setAltitude(p *Policy, text string) error {
	inside, err := setting.NoAltitude(text)
	if p.Altitude = AltitudeIgnore; inside {
		p.Altitude = AltitudeInside
	}
	return err
}

func setInitial(p *Policy, text string) (err error) {
	p.Initial, err = ParseInitial(text)
	return err
}

func setLate(p *Policy, text string) error {
	switch text {
	case "drop":
		p.Late, p.Reorder = LateDrop, 0
		return nil
	case "history":
		p.Late, p.Reorder = LateHistory, 0
		return nil
	}
	wait, isReorder := strings.CutPrefix(text, "reorder:")
	if !isReorder {
		return fmt.Errorf("%q is not drop, history or reorder:DURATION", text)
	}
	d, err := setting.Duration(wait, maxReorder)
	if err == nil && d == 0 {
		err = errors.New("a duration of 0: use drop")
	}
	if err != nil {
		return err
	}
	p.Late, p.Reorder = LateReorder, d
	return nil
}

// late returns the text that setLate reads.
func (p *Policy) late() string {
	switch p.Late {
	case LateHistory:
		return "history"
	case LateReorder:
		return "reorder:" + p.Reorder.String()
	}
	return "drop"
}

// MarshalJSON writes all fields.
func (p Policy) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range policyFields {
		f := &policyFields[i]
		value, err := json.Marshal(f.get(&p))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(strconv.AppendQuote(b, f.name), ':'), value...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads the name of a preset, or an object with fields. Fields that the object does
// not have are those of its preset, or of raw.
func (p *Policy) UnmarshalJSON(data []byte) error {
	var preset string
	if json.Unmarshal(data, &preset) == nil && data[0] == '"' {
		read, err := ParsePolicy(preset)
		if err == nil {
			*p = read
		}
		return err
	}
	fields, err := readFields(data)
	if err != nil {
		return err
	}
	read := raw
	if text, ok := fields["preset"]; ok {
		if err := read.Set("preset", text); err != nil {
			return err
		}
		delete(fields, "preset")
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names) // the same error each time
	for _, name := range names {
		if err := read.Set(name, fields[name]); err != nil {
			return err
		}
	}
	*p = read
	return nil
}

// readFields reads a JSON object of numbers and texts.
func readFields(data []byte) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("a policy is the name of a preset, such as \"steady\", or an object of fields")
	}
	fields := map[string]string{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string)
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%s: the field is there twice", name)
		}
		value, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch v := value.(type) {
		case string:
			fields[name] = v
		case json.Number:
			fields[name] = v.String()
		default:
			return nil, fmt.Errorf("%s: %v is neither a number nor a text", name, value)
		}
	}
	return fields, nil
}
