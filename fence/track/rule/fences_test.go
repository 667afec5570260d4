package rule_test

import (
	"encoding/json"
	"testing"

	"paddock/fence/track/rule"
)

// TestFences holds which fences a rule selects.
func TestFences(t *testing.T) {
	const school = `{"zone":"school","lanes":2,"lit":true,"tags":["a"],"end":null}`
	for _, c := range []struct {
		fences, id, properties string
		want                   bool
	}{
		{`"*"`, "7", "", true},
		{`["9","7"]`, "7", "", true},
		{`["9","7"]`, "8", "", false},
		{`[7]`, "7", school, true},
		{`{"where":{"zone":"school"}}`, "7", school, true},
		{`{"where":{"zone":"School"}}`, "7", school, false},
		{`{"where":{"zone":"school","lanes":2.0,"lit":true}}`, "7", school, true},
		{`{"where":{"zone":"school","lanes":3}}`, "7", school, false},
		{`{"where":{"lanes":"2"}}`, "7", school, false},
		{`{"where":{"lit":"true"}}`, "7", school, false},
		{`{"where":{"tags":"a"}}`, "7", school, false},
		{`{"where":{"end":"x"}}`, "7", school, false},
		{`{"where":{"other":false}}`, "7", school, false},
		{`{"where":{"zone":"school"}}`, "7", "", false},
	} {
		r, err := rule.Parse([]byte(`{"id":"a","set":"s","fences":` + c.fences + `}`))
		if err != nil {
			t.Errorf("%s: %v", c.fences, err)
			continue
		}
		raw := json.RawMessage(c.properties)
		if got := r.Fences.Select(c.id, raw); got != c.want {
			t.Errorf("%s of %s %s: %v", c.fences, c.id, c.properties, got)
		}
		if all := r.Fences.All(); all != (c.fences == `"*"`) {
			t.Errorf("%s: all is %v", c.fences, all)
		}
		if n := testing.AllocsPerRun(10, func() { r.Fences.Select(c.id, raw) }); n != 0 {
			t.Errorf("%s: %v allocations", c.fences, n)
		}
	}
}
