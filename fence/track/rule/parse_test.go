package rule_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"paddock/fence/track/rule"
)

// TestCanonicalForm holds that rules that mean the same have the same bytes, and that these are
// read as the same rule.
func TestCanonicalForm(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"defaults are left out", `{"id":"a","set":"s","fences":"*","objects":"*","fleet":"*","detect":["exit","enter"],"enabled":true,"deliver":null}`, `{"id":"a","set":"s"}`},
		{"members have an order", `{"set":"s","id":"a","enabled":false,"objects":"b*"}`, `{"id":"a","set":"s","objects":"b*","enabled":false}`},
		{"ids of fences are sorted, and stand once", `{"id":"a","set":"s","fences":["b",101,"a","b"]}`, `{"id":"a","set":"s","fences":["101","a","b"]}`},
		{"where is sorted", `{"id":"a","set":"s","fences":{"where":{"b":1.0,"a":"x","c":true}}}`, `{"id":"a","set":"s","fences":{"where":{"a":"x","b":1,"c":true}}}`},
		{"events are in order", `{"id":"a","set":"s","detect":["cross","dwell","enter","enter"],"dwell":{"every":"60m","after":"300s"},"direction":"left"}`, `{"id":"a","set":"s","detect":["enter","cross","dwell"],"dwell":{"after":"5m","every":"1h"},"direction":"left"}`},
		{"durations", `{"id":"a","set":"s","detect":["inside","outside"],"inside":{"every":"90m"},"outside":{"every":"1500ms"}}`, `{"id":"a","set":"s","detect":["inside","outside"],"inside":{"every":"1h30m"},"outside":{"every":"1.5s"}}`},
		{"patterns", `{"id":"a","set":"s","objects":"a**b\\c"}`, `{"id":"a","set":"s","objects":"a*bc"}`},
		{"escapes stay", `{"id":"a","set":"s","objects":"a\\*\\?"}`, `{"id":"a","set":"s","objects":"a\\*\\?"}`},
		{"conditions", `{"id":"a","set":"s","detect":["condition"],"when":"!(speed>1.0)&&object['kind']==\"bus\""}`, `{"id":"a","set":"s","detect":["condition"],"when":"not speed > 1 and object.kind == \"bus\""}`},
		{"schedules", `{"id":"a","set":"s","active":{"valid_until":"2026-01-02T01:00:00+01:00","week":{"tue":["01:00-02:00"],"mon":["01:00-01:30","01:15-02:00"]}}}`, `{"id":"a","set":"s","active":{"week":{"mon-tue":["01:00-02:00"]},"valid_until":"2026-01-02T00:00:00Z"}}`},
		{"a schedule without bounds", `{"id":"a","set":"s","active":{"zone":"Europe/Berlin","week":{"mon-sun":["00:00-24:00"]}}}`, `{"id":"a","set":"s"}`},
		{"counts", `{"id":"a","set":"s","count":{"at_least":3}}`, `{"id":"a","set":"s","count":{"at_least":3}}`},
		{"near", `{"id":"a","near":{"metres":100,"objects":"*","fleet":"*","exit_metres":125}}`, `{"id":"a","near":{"metres":100}}`},
		{"deliver is kept", `{"id":"a","set":"s","deliver":[{"webhook":"https://x/?a&b","n":[1.0,12345678901234567890,{}]}]}`, `{"id":"a","set":"s","deliver":[{"n":[1,12345678901234567890,{}],"webhook":"https://x/?a&b"}]}`},
	} {
		r, err := rule.Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		once := string(r.AppendJSON(nil))
		if once != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, once, c.want)
		}
		var again rule.Rule
		if err := json.Unmarshal([]byte(once), &again); err != nil {
			t.Errorf("%s: read again: %v", c.name, err)
		}
		if twice := string(again.AppendJSON(nil)); twice != once {
			t.Errorf("%s: %s the second time", c.name, twice)
		}
	}
}

// TestFaults holds that each error names the field, and the way out.
func TestFaults(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct{ text, want string }{
		{`{"set":"s"}`, `id: missing`},
		{`{"id":"a"}`, `set: missing: name the set of fences`},
		{`{"id":"a/b","set":"s"}`, `id: "a/b": an id has letters A to Z, digits and . - _, and begins with a letter or digit`},
		{`{"id":".","set":"s"}`, `id: ".": an id has letters A to Z, digits and . - _, and begins with a letter or digit`},
		{`{"id":7,"set":"s"}`, `id: 7 is not a text: put it in quotes`},
		{`{"id":"` + long + `","set":"s"}`, `id: 300 bytes, the limit is 128`},
		{`{"id":"a","sett":"s"}`, `sett: there is no such field; did you mean set?`},
		{`{"id":"a","set":"s","colour":"s"}`, `colour: there is no such field; there are active, count, deliver, detect, direction, dwell, enabled, fences, fleet, id, inside, near, objects, outside, set, when`},
		{`{"id":"a","set":"s","dwell":{"afterr":"5m"}}`, `dwell.afterr: there is no such field; did you mean after?`},
		{`{"id":"a","set":"s","fences":[]}`, `fences: the list is empty: leave fences out, or write "*", for all`},
		{`{"id":"a","set":"s","fences":["a",""]}`, `fences[1]: "" is no id of 1 to 256 bytes of UTF-8`},
		{`{"id":"a","set":"s","fences":["a",1.5]}`, `fences[1]: 1.5 is not a text: put it in quotes`},
		{`{"id":"a","set":"s","fences":"depot"}`, `fences: "depot" is neither "*" nor a list of ids nor {"where":{...}}`},
		{`{"id":"a","set":"s","fences":{}}`, `fences: where is missing`},
		{`{"id":"a","set":"s","fences":{"where":{}}}`, `fences.where: 0 properties: it takes 1 to 16`},
		{`{"id":"a","set":"s","fences":{"where":{"x":[1]}}}`, `fences.where: "x": a list is no text, number, true or false`},
		{`{"id":"a","set":"s","objects":"a\\"}`, `objects: "a\\" ends with a \ that escapes nothing: write \\ for the character`},
		{`{"id":"a","set":"s","objects":"` + long + `"}`, `objects: 300 bytes, the limit is 256`},
		{`{"id":"a","set":"s","detect":["entr"]}`, `detect[0]: "entr" is no event; did you mean enter?`},
		{`{"id":"a","set":"s","detect":[]}`, `detect: the list is empty: leave it out for enter and exit`},
		{`{"id":"a","set":"s","detect":["dwell"]}`, `dwell.after: missing, as detect has dwell`},
		{`{"id":"a","set":"s","dwell":{"after":"5m"}}`, `dwell: it has no effect, as detect has no dwell`},
		{`{"id":"a","set":"s","detect":["dwell"],"dwell":{"after":300}}`, `dwell.after: 300 has no unit: write "300s", or another of ms, s, m, h`},
		{`{"id":"a","set":"s","detect":["dwell"],"dwell":{"after":"10ms"}}`, `dwell.after: 10ms is less than 1s`},
		{`{"id":"a","set":"s","detect":["dwell"],"dwell":{"after":"9999h"}}`, `dwell.after: 9999h0m0s is more than 8784h`},
		{`{"id":"a","set":"s","detect":["inside"],"inside":{"every":"-1s"}}`, `inside.every: -1s is less than 1s`},
		{`{"id":"a","set":"s","direction":"left"}`, `direction: it has no effect, as detect has no cross`},
		{`{"id":"a","set":"s","direction":"up"}`, `direction: "up" is neither left nor right`},
		{`{"id":"a","set":"s","detect":["condition"]}`, `when: missing, as detect has condition`},
		{`{"id":"a","set":"s","when":"spede > 3"}`, `when: column 1: spede is no name; did you mean speed?; a text has quotes, a property is written as object.spede or fence.spede`},
		{`{"id":"a","set":"s","active":{"zone":"Local"}}`, `active.zone: "Local" depends on the machine: name a zone, such as Europe/Berlin`},
		{`{"id":"a","set":"s","active":{"zone":"localtime"}}`, `active.zone: "localtime" depends on the machine: name a zone, such as Europe/Berlin`},
		{`{"id":"a","set":"s","active":{"zone":"posixrules"}}`, `active.zone: "posixrules" depends on the machine: name a zone, such as Europe/Berlin`},
		{`{"id":"a","set":"s","active":{"zone":"Europe/./Berlin"}}`, `active.zone: "Europe/./Berlin" is no zone of the time zone database: name one such as Europe/Berlin`},
		{`{"id":"a","set":"s","active":{"zone":"Europe//Berlin"}}`, `active.zone: "Europe//Berlin" is no zone of the time zone database: name one such as Europe/Berlin`},
		{`{"id":"a","set":"s","active":{"zone":"Mars"}}`, `active.zone: "Mars" is no zone of the time zone database: name one such as Europe/Berlin`},
		{`{"id":"a","set":"s","active":{"week":{"mon":["7:00-8:00"]}}}`, `active.week.mon[0]: "7:00-8:00" is no window: write 07:00-18:00; 24:00 is the end of the day`},
		{`{"id":"a","set":"s","active":{"week":{"monday":["07:00-08:00"]}}}`, `active.week.monday: "monday" is no day: write mon, or mon-fri, or mon,wed`},
		{`{"id":"a","set":"s","active":{"week":{}}}`, `active.week: no window is open: leave week out for all hours, or set enabled to false`},
		{`{"id":"a","set":"s","active":{"valid_from":"2026-01-02"}}`, `active.valid_from: "2026-01-02" is no time: write 2026-03-12T08:00:00Z, or an offset such as +01:00 in place of Z`},
		{`{"id":"a","set":"s","active":{"valid_from":"0001-01-01T00:00:00+05:00"}}`, `active.valid_from: the time is before the year 1`},
		{`{"id":"a","set":"s","active":{"valid_from":"0000-12-31T23:00:00-01:00"}}`, `active.valid_from: the time is before the year 1`},
		{`{"id":"a","set":"s","active":{"valid_until":"9999-12-31T23:30:00-01:00"}}`, `active.valid_until: the time is after the year 9999`},
		{`{"id":"a","set":"s","active":{"valid_from":"2026-01-02T00:00:00Z","valid_until":"2026-01-02T00:00:00Z"}}`, `active: valid_until is not after valid_from`},
		{`{"id":"a","set":"s","count":{}}`, `count.at_least: it takes 1 to 10000000`},
		{`{"id":"a","set":"s","count":{"at_least":1.5}}`, `count.at_least: 1.5 is no whole number`},
		{`{"id":"a","set":"s","count":{"at_least":1},"detect":["enter"]}`, `detect: a rule with count or near has events of its own; leave detect out`},
		{`{"id":"a","set":"s","near":{"metres":1}}`, `set: "s": a rule with near has no fences; leave set out`},
		{`{"id":"a","near":{"metres":0}}`, `near.metres: 0 is not above 0 and at most 10000`},
		{`{"id":"a","near":{"metres":10,"exit_metres":5}}`, `near.exit_metres: 5 is not from metres (10) to 12500`},
		{`{"id":"a","set":"s","enabled":"no"}`, `enabled: "no" is not true or false`},
		{`{"id":"a","set":"s","set":"t"}`, `"set" is given twice`},
		{`{"id":"a","set":"s"}{}`, `more follows the value, at byte 21`},
		{`{"id":"a","set"`, `the JSON is not complete, at byte 15`},
		{`[]`, `a list is not an object`},
		{`{"id":"a","set":"s","deliver":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, `lists and objects nest deeper than 32, at byte 62`},
		{`{"fleets":1,"id":7,"dwell":3}`, "fleets: there is no such field; did you mean fleet?\nid: 7 is not a text: put it in quotes\ndwell: 3 is not an object"},
	} {
		if r, err := rule.Parse([]byte(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%.200s:\n got %v, %v\nwant %s", c.text, r, err, c.want)
		}
	}
}

// TestManyFaults holds that the list of faults is bounded.
func TestManyFaults(t *testing.T) {
	_, err := rule.Parse([]byte(`{"fences":[` + strings.TrimSuffix(strings.Repeat("null,", 100), ",") + `]}`))
	faults, ok := errors.AsType[*rule.Faults](err)
	if !ok || len(faults.List) != 20 || faults.More != 80 || !strings.HasSuffix(err.Error(), "\nand 80 more") {
		t.Errorf("%v", err)
	}
}

// TestCheck holds that a rule made in Go is held to the same limits.
func TestCheck(t *testing.T) {
	bad := rule.Rule{
		ID: "a", Set: "s", Detect: rule.Enter | 1<<7, Objects: "\xff", Direction: 9,
		Fences: rule.Fences{IDs: make([]string, rule.MaxFences+1), Where: map[string]any{"x": 7}},
		When:   &rule.Condition{}, Deliver: json.RawMessage(`{"a":1,"a":1}`),
	}
	err := bad.Check()
	faults, ok := errors.AsType[*rule.Faults](err)
	if !ok {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range faults.List {
		got[f.Field] = true
	}
	for _, field := range []string{"fences", "fences[0]", "fences.where", "objects", "detect", "direction", "when", "deliver"} {
		if !got[field] {
			t.Errorf("no fault of %s in %v", field, err)
		}
	}
	if text, err := json.Marshal(&bad); err == nil {
		t.Errorf("marshalled as %s", text)
	}
}

// TestZeroValues holds what the fields of a rule mean that Go code leaves out.
func TestZeroValues(t *testing.T) {
	r := rule.Rule{ID: "a", Set: "s", Active: &rule.Schedule{}, Deliver: json.RawMessage(`{"b":1, "a":2}`)}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	if got := string(r.AppendJSON(nil)); got != `{"id":"a","set":"s","deliver":{"a":2,"b":1}}` {
		t.Error(got)
	}
	if !r.Active.Open(time.Unix(0, 0)) {
		t.Error("the zero schedule is closed")
	}
	long := strings.Repeat("object.a||", 400) + "object.a"
	if c, err := rule.ParseCondition(long); err == nil {
		t.Errorf("a canonical text of %d bytes", len(c.String()))
	}
}

// TestPatch holds that a patch replaces, removes and merges, and leaves the rest.
func TestPatch(t *testing.T) {
	before, err := rule.Parse([]byte(`{"id":"a","set":"s","fences":{"where":{"zone":"x","kind":"y"}},"detect":["dwell"],"dwell":{"after":"5m","every":"1m"}}`))
	if err != nil {
		t.Fatal(err)
	}
	unchanged := string(before.AppendJSON(nil))
	for _, c := range []struct{ patch, want string }{
		{`{}`, unchanged},
		{`{"dwell":{"every":null},"enabled":false}`, `{"id":"a","set":"s","fences":{"where":{"kind":"y","zone":"x"}},"detect":["dwell"],"dwell":{"after":"5m"},"enabled":false}`},
		{`{"fences":{"where":{"kind":null,"new":1}},"dwell":null,"detect":null}`, `{"id":"a","set":"s","fences":{"where":{"new":1,"zone":"x"}}}`},
		{`{"fences":["a"],"id":"a"}`, `{"id":"a","set":"s","fences":["a"],"detect":["dwell"],"dwell":{"after":"5m","every":"1m"}}`},
		{`{"dwell":null}`, `dwell.after: missing, as detect has dwell`},
		{`{"id":"b"}`, `id: a patch does not change the id "a": put a new rule and delete this one`},
		{`{"ide":"b"}`, `ide: there is no such field; did you mean id?`},
		{`[]`, `a patch is an object`},
		{`{`, `the JSON is not complete, at byte 1`},
	} {
		after, err := before.Patch([]byte(c.patch))
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = string(after.AppendJSON(nil))
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.patch, got, c.want)
		}
		if text := string(before.AppendJSON(nil)); text != unchanged {
			t.Fatalf("the patch %s changed the rule itself to %s", c.patch, text)
		}
	}
}

// TestFile holds that a file gives the rules of its JSON, and faults with their place.
func TestFile(t *testing.T) {
	rules, err := rule.ParseFile("rules.yaml", []byte(`
# the fleet
rules:
  - id: "7"
    set: schools   # from schools.geojson
    fences: [0123, 101, true-north]
    detect: [condition]
    when: speed_kmh > fence.maxspeed and object.kind == "bus"
    active:
      zone: Europe/Berlin
      week:
        mon-fri: [07:00-08:30, "12:00-13:00"]
  - id: late
    set: customers
    detect: [dwell]
    dwell: {after: 30m}
    deliver:
      - webhook: https://example.org
`))
	want := []string{
		`{"id":"7","set":"schools","fences":["0123","101","true-north"],"detect":["condition"],"when":"speed_kmh > fence.maxspeed and object.kind == \"bus\"","active":{"zone":"Europe/Berlin","week":{"mon-fri":["07:00-08:30","12:00-13:00"]}}}`,
		`{"id":"late","set":"customers","detect":["dwell"],"dwell":{"after":"30m"},"deliver":[{"webhook":"https://example.org"}]}`,
	}
	if err != nil || len(rules) != len(want) {
		t.Fatalf("%d rules, %v", len(rules), err)
	}
	for i, r := range rules {
		if got := string(r.AppendJSON(nil)); got != want[i] {
			t.Errorf("%s\nwant %s", got, want[i])
		}
	}
	for text, want := range map[string]string{
		`{"rules":[{"id":"a","set":"s"},{"id":"b"}]}`: "rules.yaml: rules[1].set: missing: name the set of fences",
		`{"rules":[`:                        "rules.yaml: the JSON is not complete, at byte 10",
		strings.Repeat("#", rule.MaxYAML+1): "rules.yaml: 4194305 bytes, the limit of YAML is 4194304: write the rules as JSON, whose limit is 67108864",
		"":                                  "",
		"# nothing":                         "",
		"rules: []":                         "",
		"rule: []":                          "rules.yaml:1:1: rule: there is no such field; did you mean rules?",
		"rules:\n  - id: a\n":               "rules.yaml:2:7: rules[0].set: missing: name the set of fences",
		"rules:\n- id: a\n  set: s\n  dwell:\n    after: 5\n": "rules.yaml:5:12: rules[0].dwell.after: 5 has no unit: write \"5s\", or another of ms, s, m, h",
		"rules:\n- {id: a, set: s}\n- {id: a, set: t}\n":      "rules.yaml:3:8: rules[1].id: a is the id of rules[0] too",
		"rules:\n- {id: a, set: s, objects: *}\n":             "rules.yaml:2:29: anchors, aliases, tags and special numbers are not understood here; a text that begins with * or & needs quotes",
		"rules:\n- {id: a, set: s, detect: [dwell]}\n":        "rules.yaml:2:3: rules[0].dwell.after: missing, as detect has dwell",
		"rules:\n\t- id: a\n":                                 "rules.yaml:2:1: tab in indentation; YAML wants spaces",
		"rules: []\n---\nrules: []\n":                         "rules.yaml:3:6: a second document; one file is one document",
		"rules:\n- id: a\n  id: b\n":                          "rules.yaml:3:3: mapping key \"id\" already defined at [2:3]",
	} {
		if _, err := rule.ParseFile("rules.yaml", []byte(text)); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}
