package members_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"paddock/fence/track/rule/internal/members"
)

// FuzzOf compares the members of valid objects with package json, and holds that no other text
// makes Of panic.
func FuzzOf(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { "a" : 1 , "b" : [ 1 , {"]":"}"} ] , "c\u0041\"" : "x\\" } `, `{"a":-1e5,"a":null,"":true}`, `{"a":`, `[1]`, `{"a":{"b":[[]]},"c":"\ud83d\ude00"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := map[string]json.RawMessage{}
		for name, value := range members.Of(text) {
			got[string(name)] = value
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(text, &want) != nil || !utf8.Valid(text) { // which package json mends
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%q: %d members, want %d", text, len(got), len(want))
		}
		for name, value := range want {
			if string(got[name]) != string(value) {
				t.Fatalf("%q: %q is %q, want %q", text, name, got[name], value)
			}
		}
	})
}
