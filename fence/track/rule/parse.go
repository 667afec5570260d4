package rule

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"paddock/fence/track/rule/internal/document"
)

// Parse reads the JSON of one rule. The error is *Faults if the text is JSON; it holds all errors
// of the rule.
func Parse(text []byte) (*Rule, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("a rule of %d bytes, the limit is %d", len(text), MaxText)
	}
	doc, err := document.ParseJSON(text)
	if err != nil {
		return nil, err
	}
	return decode(doc)
}

// UnmarshalJSON reads a rule as Parse does.
func (r *Rule) UnmarshalJSON(text []byte) error {
	parsed, err := Parse(text)
	if err == nil {
		*r = *parsed
	}
	return err
}

// Patch returns the rule changed by a JSON merge patch (RFC 7396): the members of the patch replace
// those of the rule, and null gives a member its default. The id does not change.
func (r *Rule) Patch(patch []byte) (*Rule, error) {
	if len(patch) > MaxText {
		return nil, fmt.Errorf("a patch of %d bytes, the limit is %d", len(patch), MaxText)
	}
	change, err := document.ParseJSON(patch)
	if err != nil {
		return nil, err
	}
	if change.Kind != document.Object {
		return nil, errors.New("a patch is an object")
	}
	before, err := document.ParseJSON(r.AppendJSON(nil))
	if err != nil {
		return nil, err
	}
	changed, err := decode(document.Merge(before, change))
	if err == nil && changed.ID != r.ID {
		return nil, (&Faults{List: []*Fault{{Field: "id", Err: fmt.Errorf("a patch does not change the id %q: put a new rule and delete this one", r.ID)}}}).err()
	}
	return changed, err
}

// decode reads a rule, checks it, and brings it into normal form.
func decode(doc *document.Value) (*Rule, error) {
	faults := &Faults{}
	r := decodeInto(reader{doc, "", faults})
	return r, faults.err()
}

// decodeInto reads a rule and adds its faults. It returns nil if there are any.
func decodeInto(from reader) *Rule {
	before := from.faults.count()
	r := &Rule{}
	from.fields(r.fields())
	if from.faults.count() == before {
		r.check(func(field, format string, args ...any) {
			from.faults.addf(join(from.path, field), format, args...)
		})
	}
	if from.faults.count() > before {
		return nil
	}
	r.normalize()
	return r
}

// second reports whether the rule is about several objects, and so has no events of one.
func (r *Rule) second() bool { return r.AtLeast != 0 || r.Near != nil }

func (r *Rule) fields() map[string]func(reader) {
	return map[string]func(reader){
		"id": plain(&r.ID), "set": plain(&r.Set), "objects": plain(&r.Objects), "fleet": plain(&r.Fleet),
		"fences": r.Fences.read,
		"detect": r.Detect.read,
		"dwell": func(v reader) {
			v.fields(map[string]func(reader){"after": span(&r.Dwell.After), "every": span(&r.Dwell.Every)})
		},
		"inside": r.Inside.read, "outside": r.Outside.read,
		"when":      into(&r.When, ParseCondition),
		"direction": into(&r.Direction, ParseDirection),
		"active":    func(v reader) { r.Active = readSchedule(v) },
		"count":     r.readCount,
		"near":      func(v reader) { r.Near = readNear(v) },
		"deliver":   func(v reader) { r.Deliver = v.AppendJSON(nil) },
		"enabled": func(v reader) {
			if v.is(document.Bool) {
				r.Disabled = v.Text == "false"
			}
		},
	}
}

func (r *Rule) readCount(v reader) {
	before := v.faults.count()
	v.fields(map[string]func(reader){"at_least": func(v reader) { v.whole(&r.AtLeast) }})
	if r.AtLeast == 0 && v.faults.count() == before {
		v.faults.addf(join(v.path, "at_least"), "it takes 1 to %d", MaxAtLeast)
	}
}

func (r *Repeat) read(v reader) {
	v.fields(map[string]func(reader){"every": span(&r.Every)})
}

func (d *Detect) read(v reader) {
	if v.Kind == document.List && len(v.Items) == 0 {
		v.fault("the list is empty: leave it out for enter and exit")
	}
	v.items(len(detectNames), func(item reader) {
		var one Detect
		into(&one, ParseDetect)(item)
		*d |= one
	})
}

func readNear(v reader) *Near {
	n := &Near{}
	v.fields(map[string]func(reader){
		"objects": plain(&n.Objects), "fleet": plain(&n.Fleet),
		"metres":      func(v reader) { v.float(&n.Metres) },
		"exit_metres": func(v reader) { v.float(&n.ExitMetres) },
	})
	return n
}

// normalize brings equal rules into one form.
func (r *Rule) normalize() {
	r.Objects, r.Fleet = canonicalPattern(r.Objects), normal(r.Fleet)
	slices.Sort(r.Fences.IDs)
	r.Fences.IDs = slices.Compact(r.Fences.IDs)
	if len(r.Fences.Where) == 0 {
		r.Fences.Where = nil
	}
	if r.Detect == 0 && !r.second() {
		r.Detect = defaultDetect
	}
	r.Deliver, _ = canonical(r.Deliver)
	if r.Active != nil && r.Active.always() {
		r.Active = nil
	}
	if r.Near != nil {
		n := *r.Near
		n.Objects, n.Fleet, n.ExitMetres = canonicalPattern(n.Objects), normal(n.Fleet), r.Near.Exit()
		r.Near = &n
	}
}

// canonical returns the canonical form of what a rule delivers to; null is nil.
func canonical(text json.RawMessage) (json.RawMessage, error) {
	if len(text) == 0 {
		return nil, nil
	}
	doc, err := document.ParseJSON(text)
	if err != nil || doc.Kind == document.Null {
		return nil, err
	}
	if text = doc.AppendJSON(nil); len(text) > MaxDelivery {
		return nil, fmt.Errorf("%d bytes, the limit is %d", len(text), MaxDelivery)
	}
	return text, nil
}

// canonicalPattern returns the canonical text of a valid pattern, "" for *.
func canonicalPattern(text string) string {
	p, _ := NewPattern(text)
	return normal(p.text)
}

// spanText returns a duration without units that are zero: 5m, not 5m0s.
func spanText(d time.Duration) string {
	s := d.String()
	if d >= time.Minute && d%time.Minute == 0 {
		s = s[:len(s)-len("0s")]
	}
	if d >= time.Hour && d%time.Hour == 0 {
		s = s[:len(s)-len("0m")]
	}
	return s
}

// MarshalJSON returns the JSON of AppendJSON, in which package json escapes <, > and &.
func (r *Rule) MarshalJSON() ([]byte, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	return r.AppendJSON(nil), nil
}

var _ json.Marshaler = (*Rule)(nil)
