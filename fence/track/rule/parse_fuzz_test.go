package rule_test

import (
	"testing"

	"paddock/fence/track/rule"
)

// FuzzParse holds that no text makes Parse panic, that a rule it takes has no faults, and that its
// canonical form is a fixed point, also of an empty patch.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"id":"a","set":"s","fences":["b",101],"detect":["dwell","inside"],"dwell":{"after":"5m","every":"90s"},"inside":{"every":"1m"}}`,
		`{"id":"a","set":"s","fences":{"where":{"b":1.5,"a":"x"}},"objects":"a*\\*","fleet":"f","detect":["condition","cross"],"when":"speed > 3","direction":"left"}`,
		`{"id":"a","set":"s","count":{"at_least":3},"active":{"zone":"Europe/Berlin","week":{"fri-mon":["22:00-06:00"]},"valid_from":"2026-01-01T00:00:00Z"}}`,
		`{"id":"a","near":{"objects":"b*","metres":50,"exit_metres":80},"deliver":{"b":1,"a":[2.50]},"enabled":false}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := rule.Parse([]byte(text))
		if err != nil {
			return
		}
		if err := r.Check(); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		once := string(r.AppendJSON(nil))
		again, err := rule.Parse([]byte(once))
		if err != nil || string(again.AppendJSON(nil)) != once {
			t.Fatalf("%s, then %v, %v", once, again, err)
		}
		if patched, err := r.Patch([]byte(`{}`)); err != nil || string(patched.AppendJSON(nil)) != once {
			t.Fatalf("%s with an empty patch: %v, %v", once, patched, err)
		}
	})
}

// FuzzParseFile holds that no text makes ParseFile panic.
func FuzzParseFile(f *testing.F) {
	f.Add("rules:\n  - id: a\n    set: s\n    detect: [dwell]\n    dwell: {after: 5m}\n")
	f.Add(`{"rules":[{"id":"a","set":"s"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := rule.ParseFile("rules.yaml", []byte(text)); err != nil && err.Error() == "" {
			t.Fatal("an error without a text")
		}
	})
}
