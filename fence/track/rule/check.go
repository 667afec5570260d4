package rule

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// Check returns the faults of the rule as *Faults, or nil. The rules that Parse returns have none.
func (r *Rule) Check() error {
	faults := &Faults{}
	r.check(faults.addf)
	return faults.err()
}

// report adds the fault of a field.
type report func(field, format string, args ...any)

// name reports a name that is longer than most, or not UTF-8.
func (add report) name(field, s string, most int) {
	switch {
	case len(s) > most:
		add(field, "%d bytes, the limit is %d", len(s), most)
	case !utf8.ValidString(s):
		add(field, "%q is not valid UTF-8", s)
	}
}

func (add report) pattern(field, s string) {
	if err := checkPattern(s); err != nil {
		add(field, "%w", err)
	}
}

// span reports a duration that is not between least and maxSpan in whole milliseconds.
func (add report) span(field string, d, least time.Duration) {
	switch {
	case d < least:
		add(field, "%v is less than %v", d, least)
	case d > maxSpan:
		add(field, "%v is more than %s", d, spanText(maxSpan))
	case d%resolution != 0:
		add(field, "%v is finer than %v", d, resolution)
	}
}

func (r *Rule) check(add report) {
	if err := CheckID(r.ID); err != nil {
		add("id", "%w", err)
	}
	r.checkSet(add)
	add.pattern("objects", r.Objects)
	add.name("fleet", r.Fleet, MaxName)
	r.checkDetect(add)
	r.checkSpans(add)
	r.checkSecond(add)
	if _, err := canonical(r.Deliver); err != nil {
		add("deliver", "%w", err)
	}
	if r.When != nil && r.When.text == "" {
		add("when", "not compiled: use ParseCondition")
	}
}

// CheckID checks the id of a rule: 1 to 128 characters of A-Z, a-z, 0-9, dot, hyphen and
// underscore, of which the first is a letter or a digit.
func CheckID(id string) error {
	if id == "" {
		return errors.New("missing")
	}
	if len(id) > MaxID {
		return fmt.Errorf("%d bytes, the limit is %d", len(id), MaxID)
	}
	for i, c := range id {
		if !isIDPart(c) || i == 0 && (c == '.' || c == '-' || c == '_') {
			return fmt.Errorf("%q: an id has letters A to Z, digits and . - _, and begins with a letter or digit", id)
		}
	}
	return nil
}

func isIDPart(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '-' || c == '_'
}

func (r *Rule) checkSet(add report) {
	switch {
	case r.Set == "" && r.Near == nil:
		add("set", "missing: name the set of fences")
	case r.Set != "" && r.Near != nil:
		add("set", "%q: a rule with near has no fences; leave set out", r.Set)
	case r.Near != nil && !r.Fences.All():
		add("fences", "a rule with near has no fences")
	}
	add.name("set", r.Set, MaxID)
	if len(r.Fences.IDs) > 0 && r.Fences.Where != nil {
		add("fences", "a list and a where: give one of them")
	}
	r.checkFences(add)
}

func (r *Rule) checkFences(add report) {
	if len(r.Fences.IDs) > MaxFences {
		add("fences", "%d ids, the limit is %d", len(r.Fences.IDs), MaxFences)
	}
	for i, id := range r.Fences.IDs {
		if id == "" || len(id) > MaxName || !utf8.ValidString(id) { // the first is enough
			add(fmt.Sprintf("fences[%d]", i), "%q is no id of 1 to %d bytes of UTF-8", shorten(id), MaxName)
			break
		}
	}
	if w := r.Fences.Where; w != nil && len(w) == 0 || len(w) > MaxProperties {
		add("fences.where", "%d properties: it takes 1 to %d", len(w), MaxProperties)
	}
	for name, v := range r.Fences.Where {
		add.name("fences.where", name, MaxName)
		switch v := v.(type) {
		case string:
			add.name("fences.where", v, MaxName)
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				add("fences.where", "%q: %v is no number", name, v)
			}
		case bool:
		default:
			add("fences.where", "%q: a %T is no text, number, true or false", name, v)
		}
	}
}

// checkDetect checks that settings of an event come with the event.
func (r *Rule) checkDetect(add report) {
	d := r.Detect
	switch {
	case d&^allKinds != 0:
		add("detect", "%#x has unknown kinds", uint8(d))
	case d != 0 && r.second():
		add("detect", "a rule with count or near has events of its own; leave detect out")
	case d.Has(Holds) && r.When == nil:
		add("when", "missing, as detect has condition")
	case d.Has(DwellTime) && r.Dwell.After == 0:
		add("dwell.after", "missing, as detect has dwell")
	}
	for _, s := range []struct {
		field string
		set   bool
		needs Detect
	}{
		{"dwell", r.Dwell != Dwell{}, DwellTime},
		{"inside", r.Inside != Repeat{}, Inside},
		{"outside", r.Outside != Repeat{}, Outside},
		{"direction", r.Direction != AnyDirection, Cross},
	} {
		if s.set && !d.Has(s.needs) {
			add(s.field, "it has no effect, as detect has no %v", s.needs)
		}
	}
	if r.Direction > Right {
		add("direction", "%d is neither left nor right", r.Direction)
	}
}

// Bounds of durations.
const (
	leastDwell  = time.Second
	leastRepeat = time.Second
)

func (r *Rule) checkSpans(add report) {
	if r.Dwell.After != 0 {
		add.span("dwell.after", r.Dwell.After, leastDwell)
	}
	for _, s := range []struct {
		field string
		every time.Duration
	}{{"dwell.every", r.Dwell.Every}, {"inside.every", r.Inside.Every}, {"outside.every", r.Outside.Every}} {
		if s.every != 0 {
			add.span(s.field, s.every, leastRepeat)
		}
	}
}

// checkSecond checks what rules about several objects have.
func (r *Rule) checkSecond(add report) {
	if r.AtLeast < 0 || r.AtLeast > MaxAtLeast {
		add("count.at_least", "%d is not from 1 to %d", r.AtLeast, MaxAtLeast)
	}
	if r.AtLeast != 0 && r.Near != nil {
		add("near", "a rule has count or near, not both")
	}
	if r.second() && r.When != nil {
		add("when", "a rule with count or near has no condition")
	}
	n := r.Near
	if n == nil {
		return
	}
	add.pattern("near.objects", n.Objects)
	add.name("near.fleet", n.Fleet, MaxName)
	if !(n.Metres > 0 && n.Metres <= MaxMetres) {
		add("near.metres", "%v is not above 0 and at most %d", n.Metres, MaxMetres)
	}
	if !(n.Exit() >= n.Metres && n.Exit() <= MaxMetres*exitShare) {
		add("near.exit_metres", "%v is not from metres (%v) to %v", n.Exit(), n.Metres, MaxMetres*exitShare)
	}
}
