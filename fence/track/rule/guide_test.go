package rule_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"paddock/fence/track/rule"
)

var codeBlock = regexp.MustCompile("(?ms)^```(yaml|json)\n(.*?)^```")

// guide reads the rules of the guide. Blocks of YAML are a file, or entries of its list.
func guide(t *testing.T) map[string]*rule.Rule {
	t.Helper()
	page, err := os.ReadFile("../../../docs/guides/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*rule.Rule{}
	for _, block := range codeBlock.FindAllStringSubmatch(string(page), -1) {
		text := block[2]
		if block[1] == "json" {
			text = `{"rules":[` + text + `]}`
		} else if !strings.HasPrefix(text, "rules:") {
			text = "rules:\n" + text
		}
		rules, err := rule.ParseFile("rules.yaml", []byte(text))
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
		for _, r := range rules {
			if same := all[r.ID]; same != nil && string(same.AppendJSON(nil)) != string(r.AppendJSON(nil)) {
				t.Errorf("two rules %s: %s and %s", r.ID, same.AppendJSON(nil), r.AppendJSON(nil))
			}
			all[r.ID] = r
		}
	}
	return all
}

// TestGuide holds that the rules of the guide are valid, and that their conditions hold and do not
// hold where the guide says.
func TestGuide(t *testing.T) {
	rules := guide(t)
	if len(rules) != 21 {
		t.Errorf("%d rules", len(rules))
	}
	for _, c := range []struct {
		id, object, fence string
		speed             rule.Measure
		want              bool
	}{
		{"school-speed", `{}`, `{"maxspeed_mph":20}`, known(10), true},
		{"school-speed", `{}`, `{"maxspeed_mph":20}`, known(8), false},
		{"over-the-limit", `{}`, `{"maxspeed":50}`, known(13.9), true},
		{"over-the-limit", `{}`, `{}`, known(13.9), false},
		{"no-permit", `{"permit":"a"}`, `{"permit":"a"}`, rule.Measure{}, false},
		{"no-permit", `{"permit":"b"}`, `{"permit":"a"}`, rule.Measure{}, true},
		{"no-permit", `{}`, `{"permit":"a"}`, rule.Measure{}, true},
		{"off-route", `{"route":7}`, `{"route":7}`, rule.Measure{}, true},
		{"off-route", `{}`, `{}`, rule.Measure{}, false},
		{"idling", `{"engine":"on"}`, `{}`, known(0.2), true},
		{"idling", `{"engine":"on","electric":true}`, `{}`, known(0.2), false},
		{"idling", `{"engine":"on"}`, `{}`, rule.Measure{}, false},
		{"bad-reception", `{}`, `{}`, rule.Measure{}, true},
		{"cold-chain", `{"temperature":9.5}`, `{"max_temperature":8}`, rule.Measure{}, true},
	} {
		r := rules[c.id]
		if r == nil {
			t.Errorf("no rule %s", c.id)
		} else if got := r.When.Holds(input(c.object, c.fence, c.speed)); got != c.want {
			t.Errorf("%s of %s in %s at %v: %v", c.id, c.object, c.fence, c.speed, got)
		}
	}
}
