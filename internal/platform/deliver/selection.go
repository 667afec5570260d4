package deliver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/events"
)

// The bounds of a selection.
const (
	maxNames = 100 // in each list
	maxName  = 256 // bytes
)

// Selection selects events. An empty field selects all; an event has to fulfil each of the others.
type Selection struct {
	Sets    []string `json:"sets,omitempty"`
	Fences  []string `json:"fences,omitempty"` // ids
	Events  []string `json:"events,omitempty"` // names of kinds
	Fleets  []string `json:"fleets,omitempty"`
	Objects string   `json:"objects,omitempty"` // pattern of their ids, see [rule.Pattern]
	Rules   []string `json:"rules,omitempty"`   // ids, see Selector.Selects
}

// Lists returns the lists of the selection by their names.
func (s *Selection) Lists() map[string]*[]string {
	return map[string]*[]string{"sets": &s.Sets, "fences": &s.Fences, "events": &s.Events, "fleets": &s.Fleets, "rules": &s.Rules}
}

// Check calls fault for each fault of the selection, with the name of the field.
func (s *Selection) Check(fault func(field string, err error)) {
	for field, list := range s.Lists() {
		if err := checkNames(*list, field); err != nil {
			fault(field, err)
		}
	}
	if s.Objects != "" {
		if _, err := rule.NewPattern(s.Objects); err != nil {
			fault("objects", err)
		}
	}
}

func checkNames(names []string, field string) error {
	if len(names) > maxNames {
		return fmt.Errorf("%d values, the limit is %d", len(names), maxNames)
	}
	for i, name := range names {
		var err error
		switch {
		case name == "":
			err = errors.New("it is empty")
		case len(name) > maxName:
			err = fmt.Errorf("%d bytes, the limit is %d", len(name), maxName)
		case slices.Contains(names[:i], name):
			err = fmt.Errorf("%.64q stands twice", name)
		case field == "events":
			_, err = track.ParseKind(name)
		case field == "rules":
			err = rule.CheckID(name)
		}
		if err != nil {
			return fmt.Errorf("value %d: %w", i+1, err)
		}
	}
	return nil
}

// Selector decides on events for a selection that has no fault.
type Selector struct {
	s       *Selection
	objects *rule.Pattern // nil: all
	rules   func() *rule.Table
}

// NewSelector returns the selector of a selection. rules returns the present rules; nil: there are
// none.
func NewSelector(s *Selection, rules func() *rule.Table) *Selector {
	sel := &Selector{s: s, rules: rules}
	if s.Objects != "" {
		if p, err := rule.NewPattern(s.Objects); err == nil {
			sel.objects = &p
		}
	}
	return sel
}

// match judges by the names of an event alone.
func (s *Selector) match(r *events.Record) bool {
	in := func(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }
	return in(s.s.Sets, r.Set) && in(s.s.Fences, r.Fence) && in(s.s.Events, r.Kind.String()) && in(s.s.Fleets, r.Fleet) &&
		(s.objects == nil || s.objects.Match(r.Object))
}

// ofRules judges an event that match has selected by the rules of the selection. An event that
// names its rule is selected by that name. Enter, exit and cross name none, as several rules may
// tell of them, and neither does the inside event of an object's first position: they are selected
// if one of the rules, as it is now, is about such an event of this object and fence, and was open.
// The condition of such a rule is not judged again, as an event has not all that it needs.
func (s *Selector) ofRules(r *events.Record) bool {
	if len(s.s.Rules) == 0 {
		return true
	}
	var e ruledEvent
	if json.Unmarshal(r.JSON.Bytes(), &e) != nil {
		return false
	}
	if e.Data.Rule != "" {
		return slices.Contains(s.s.Rules, e.Data.Rule)
	}
	if s.rules == nil {
		return false
	}
	table := s.rules()
	return slices.ContainsFunc(s.s.Rules, func(id string) bool {
		found, ok := table.Get(id)
		return ok && tells(found, r, &e)
	})
}

// ruledEvent is what the choice of a rule needs of an event beside its record.
type ruledEvent struct {
	Data struct {
		Rule      string `json:"rule"`
		Direction string `json:"direction"`
		Fence     struct {
			Properties json.RawMessage `json:"properties"`
		} `json:"fence"`
	} `json:"data"`
}

// detectOf has what the rules of an event that names none ask for. The inside event of an object's
// first position stands for its enter.
var detectOf = map[track.Kind]rule.Detect{track.Enter: rule.Enter, track.Inside: rule.Enter, track.Exit: rule.Exit, track.Cross: rule.Cross}

// tells reports whether a rule is about events like this one.
func tells(l *rule.Rule, r *events.Record, e *ruledEvent) bool {
	detect := l.Detect
	if detect == 0 {
		detect = rule.Enter | rule.Exit
	}
	kind, ok := detectOf[r.Kind]
	return ok && !l.Disabled && l.AtLeast == 0 && l.Near == nil && detect.Has(kind) && l.Set == r.Set &&
		l.Selects(r.Fleet, r.Object) && l.Fences.Select(r.Fence, e.Data.Fence.Properties) &&
		(r.Kind != track.Cross || l.Direction == rule.AnyDirection || l.Direction.String() == e.Data.Direction) &&
		l.Active.Open(judgedAt(r).Time())
}

// judgedAt returns when the rules of an event were open. Tracking judges that by the time at which
// the cause of the event arrived, and not by that of the event, which a device may tell. An exit
// with which a rule closes comes at the first moment at which the rule is not open any more.
func judgedAt(r *events.Record) track.Millis {
	if r.Kind == track.Exit && (r.Visit.Reason == track.Schedule || r.Visit.Reason == track.Expired) {
		return r.Arrived - 1
	}
	return r.Arrived
}

// String returns the selection in words.
func (s *Selection) String() string {
	var parts []string
	for _, list := range []struct {
		name   string
		values []string
	}{{"rules", s.Rules}, {"sets", s.Sets}, {"fences", s.Fences}, {"events", s.Events}, {"fleets", s.Fleets}} {
		if len(list.values) > 0 {
			parts = append(parts, list.name+" "+strings.Join(list.values, ","))
		}
	}
	if s.Objects != "" {
		parts = append(parts, "objects "+s.Objects)
	}
	if len(parts) == 0 {
		return "all events"
	}
	return strings.Join(parts, ", ")
}
