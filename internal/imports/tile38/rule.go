package tile38

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/track/rule"
	"paddock/internal/imports/feature"
)

// hooksSet is the set of the fences that hooks have themselves.
const hooksSet = "hooks"

// allEvents are the events of a geofence without DETECT.
const allEvents = rule.Enter | rule.Exit | rule.Inside | rule.Outside | rule.Cross

// take gives the fence and the rule of a hook to the sink. fences are those of collections.
func (s *state) take(h *hook, fences map[string]map[string]bool) error {
	r, err := h.rule(s.id(h.name))
	if err == nil && h.from != [2]string{} && !fences[h.from[0]][h.from[1]] {
		err = fmt.Errorf("GET %.40q %.40q: there is no such fence", h.from[0], h.from[1])
	}
	if err != nil {
		s.out.Note(feature.Finding{Place: h.place, Key: h.name, Code: geojson.CodeInvalidGeometry, Reason: "the hook: " + err.Error(), Lost: true})
		return nil
	}
	if h.near == nil && h.from == [2]string{} {
		f := &feature.Feature{Set: hooksSet, ID: feature.Text(h.name), Geometry: h.area, Place: h.place}
		for name, value := range feature.Members(h.properties) {
			f.Properties.Set(name, feature.Compact(value))
		}
		if err := s.out.Take(f); err != nil {
			return err
		}
	}
	s.rules[r.ID] = true
	s.out.Rule(r)
	note := func(code geojson.Code, format string, args ...any) {
		s.out.Note(feature.Finding{Place: h.place, Key: h.name, Code: code, Reason: fmt.Sprintf(format, args...)})
	}
	for _, n := range h.notes {
		note(feature.CodeNotCarried, "%s of the hook", n)
	}
	if h.endpoint != "" {
		note(feature.CodeNotCarried, "the endpoint %s: it gets no events by the rule", shown(h.endpoint))
	}
	if h.key != "" {
		note(feature.CodeRule, "the rule %s selects objects of the fleet %q: send positions with that fleet, or take it out of the rule", r.ID, h.key)
	}
	if len(h.when) > 0 {
		note(feature.CodeRule, "the rule %s looks at properties of positions where the hook looked at fields", r.ID)
	}
	return nil
}

// rule makes the rule of a hook.
func (h *hook) rule(id string) (r *rule.Rule, err error) {
	r = &rule.Rule{ID: id, Objects: h.match, Fleet: h.key, Near: h.near}
	if h.near == nil {
		set, key := hooksSet, h.name
		if h.from != [2]string{} {
			set, key = fence.Slug(h.from[0]), h.from[1]
		}
		r.Set, r.Fences.IDs = set, []string{key}
		r.Detect = cmp.Or(h.detect, allEvents)
	}
	if len(h.when) > 0 {
		if r.When, err = rule.ParseCondition(strings.Join(h.when, " and ")); err != nil {
			return nil, err
		}
	}
	return r, r.Check()
}

// id returns an id of a rule for the name of a hook: other characters than those of ids become -,
// and one that is taken gets a number.
func (s *state) id(name string) string {
	id := strings.Map(func(c rune) rune {
		if c < 0x80 && rule.CheckID("a"+string(c)) == nil {
			return c
		}
		return '-'
	}, name)
	if id = id[:min(len(id), rule.MaxID-8)]; rule.CheckID(id) != nil {
		id = "hook" + id
	}
	free := id
	for n := 2; s.rules[free]; n++ {
		free = fmt.Sprintf("%s-%d", id, n)
	}
	return free
}

// shown is an endpoint without what may be secret in it.
func shown(endpoint string) string {
	first, _, _ := strings.Cut(endpoint, ",")
	u, err := url.Parse(first)
	if err != nil || u.Host == "" {
		return "of the hook"
	}
	return u.Scheme + "://" + u.Host
}
