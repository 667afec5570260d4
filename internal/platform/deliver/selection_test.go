package deliver

import (
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/events"
)

// eventOf returns an event of the object bus-1 in the fence depot of the set yards.
func eventOf(kind track.Kind, data string) *events.Record {
	return &events.Record{
		Set: "yards", Fence: "depot", Fleet: "city", Object: "bus-1", Kind: kind,
		JSON: events.Plain([]byte(`{"id":"bus-1/1","data":{"fence":{"id":"depot","properties":{"zone":"a"}}` + data + `}}`)),
	}
}

// An event is selected by each field of a selection.
func TestSelectionFields(t *testing.T) {
	enter := eventOf(track.Enter, "")
	for _, c := range []struct {
		s    Selection
		want bool
	}{
		{Selection{}, true},
		{Selection{Sets: []string{"yards"}, Fences: []string{"depot"}, Events: []string{"exit", "enter"}, Fleets: []string{"city"}, Objects: "bus-*"}, true},
		{Selection{Sets: []string{"other"}}, false},
		{Selection{Fences: []string{"other"}}, false},
		{Selection{Events: []string{"exit"}}, false},
		{Selection{Fleets: []string{"other"}}, false},
		{Selection{Objects: "car-*"}, false},
	} {
		s := NewSelector(&c.s, nil)
		if got := s.match(enter) && s.ofRules(enter); got != c.want {
			t.Errorf("%v: %v", &c.s, got)
		}
	}
}

// A rule selects the events that carry its name, and enter, exit and cross if it is about them.
func TestSelectionByRules(t *testing.T) {
	table := func(text string) func() *rule.Table {
		r, err := rule.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		rules, err := rule.NewTable([]*rule.Rule{r})
		if err != nil {
			t.Fatal(err)
		}
		return func() *rule.Table { return rules }
	}
	for _, c := range []struct {
		rule  string
		event *events.Record
		want  bool
	}{
		{`{"id":"r","set":"yards"}`, eventOf(track.Enter, ""), true},
		{`{"id":"r","set":"yards"}`, eventOf(track.Dwell, `,"rule":"r"`), true},
		{`{"id":"r","set":"yards"}`, eventOf(track.Dwell, `,"rule":"other"`), false},
		{`{"id":"other","set":"yards"}`, eventOf(track.Enter, ""), false},
		{`{"id":"r","set":"other"}`, eventOf(track.Enter, ""), false},
		{`{"id":"r","set":"yards","detect":["exit"]}`, eventOf(track.Enter, ""), false},
		{`{"id":"r","set":"yards","objects":"car-*"}`, eventOf(track.Enter, ""), false},
		{`{"id":"r","set":"yards","fleet":"other"}`, eventOf(track.Enter, ""), false},
		{`{"id":"r","set":"yards","fences":["other"]}`, eventOf(track.Enter, ""), false},
		{`{"id":"r","set":"yards","fences":{"where":{"zone":"a"}}}`, eventOf(track.Enter, ""), true},
		{`{"id":"r","set":"yards","fences":{"where":{"zone":"b"}}}`, eventOf(track.Enter, ""), false},
		{`{"id":"r","set":"yards","enabled":false}`, eventOf(track.Enter, ""), false},
		{`{"id":"r","set":"yards","detect":["cross"],"direction":"left"}`, eventOf(track.Cross, `,"direction":"left"`), true},
		{`{"id":"r","set":"yards","detect":["cross"],"direction":"left"}`, eventOf(track.Cross, `,"direction":"right"`), false},
		{`{"id":"r","set":"yards","active":{"valid_until":"1960-01-01T00:00:00Z"}}`, eventOf(track.Enter, ""), false},
		{`{"id":"r","set":"yards","detect":["enter"]}`, eventOf(track.Inside, ""), true},
		{`{"id":"r","set":"yards","detect":["exit"]}`, eventOf(track.Inside, ""), false},
	} {
		s := NewSelector(&Selection{Rules: []string{"r"}}, table(c.rule))
		if got := s.match(c.event) && s.ofRules(c.event); got != c.want {
			t.Errorf("%s, %v: %v", c.rule, c.event.Kind, got)
		}
	}
	if NewSelector(&Selection{Rules: []string{"r"}}, nil).ofRules(eventOf(track.Enter, "")) {
		t.Error("an event was selected by a rule that is not there")
	}
}

// A rule with hours selects the exits with which it closes, and an event of a device's earlier time
// that came within the hours.
func TestSelectionByHours(t *testing.T) {
	r, err := rule.Parse([]byte(`{"id":"r","set":"yards","active":{"week":{"mon-sun":["22:00-05:00"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := rule.NewTable([]*rule.Rule{r})
	if err != nil {
		t.Fatal(err)
	}
	s := NewSelector(&Selection{Rules: []string{"r"}}, func() *rule.Table { return rules })
	at := func(clock string) track.Millis {
		when, err := time.Parse(time.DateTime, "2026-03-04 "+clock)
		if err != nil {
			t.Fatal(err)
		}
		return track.Millis(when.UnixMilli())
	}
	for _, c := range []struct {
		kind        track.Kind
		reason      track.Reason
		at, arrived string
		want        bool
	}{
		{track.Enter, track.Schedule, "22:00:00", "22:00:00", true},
		{track.Exit, track.Schedule, "05:00:00", "05:00:00", true},
		{track.Exit, track.Expired, "05:00:00", "05:00:00", true},
		{track.Exit, track.Move, "05:00:00", "05:00:00", false},
		{track.Exit, track.Move, "21:59:40", "22:00:10", true},
		{track.Exit, track.Move, "04:59:40", "05:00:10", false},
	} {
		e := eventOf(c.kind, "")
		e.Arrived, e.Visit = at(c.arrived), events.Visit{At: at(c.at), Reason: c.reason}
		if got := s.ofRules(e); got != c.want {
			t.Errorf("%v of %s, arrived %s, %v: %v", c.kind, c.at, c.arrived, c.reason, got)
		}
	}
}

// Each fault of a selection is told with its field.
func TestSelectionFaults(t *testing.T) {
	s := Selection{Sets: []string{""}, Fences: []string{"a", "a"}, Events: []string{"entr"}, Rules: []string{"-"}, Objects: `x\`, Fleets: make([]string, 101)}
	var got []string
	s.Check(func(field string, err error) { got = append(got, field+": "+err.Error()) })
	slices.Sort(got)
	want := []string{
		`events: value 1: unknown event "entr"`, `fences: value 2: "a" stands twice`, "fleets: 101 values, the limit is 100",
		"objects: ", `rules: value 1: "-": an id has`, "sets: value 1: it is empty",
	}
	for i := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("%q, want %q", got, want)
			break
		}
	}
}
