package document_test

import (
	"strings"
	"testing"

	"paddock/fence/track/rule/internal/document"
)

func parse(t *testing.T, text string) *document.Value {
	t.Helper()
	v, err := document.ParseJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestMerge runs the cases of RFC 7396, appendix A.
func TestMerge(t *testing.T) {
	for _, c := range []struct{ original, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		original := parse(t, c.original)
		if got := string(document.Merge(original, parse(t, c.patch)).AppendJSON(nil)); got != c.want {
			t.Errorf("%s with %s: %s, want %s", c.original, c.patch, got, c.want)
		}
		if got := string(original.AppendJSON(nil)); got != c.original {
			t.Errorf("%s with %s: the original became %s", c.original, c.patch, got)
		}
	}
}

// TestCanonical holds the canonical form of values.
func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		` { "b" : [ 1 , 2.50 ], "a" : {} } `:      `{"a":{},"b":[1,2.5]}`,
		`[-0,-0.0,0e9,1E3,100000000000000000001]`: `[0,0,0,1000,100000000000000000001]`,
		`["\u0041\/<>&\n\"é"]`:                    `["A/<>&\n\"é"]`,
		`[true,false,null]`:                       `[true,false,null]`,
	} {
		if got := string(parse(t, text).AppendJSON(nil)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestYAMLIsJSON holds that YAML gives the values that its JSON has.
func TestYAMLIsJSON(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [x, 'y', \"z\"]\n":           `{"a":1,"b":["x","y","z"]}`,
		"- 0123\n- 0x10\n- 1_0\n- 1.5\n- -3":   `["0123","0x10","1_0",1.5,-3]`,
		"- yes\n- true\n- null\n- ~\n- ''":     `["yes",true,null,null,""]`,
		"a: |\n  x\n  y\nb: >-\n  x\n  y\n":    `{"a":"x\ny\n","b":"x y"}`,
		"1: a\ntrue: b\n":                      `{"1":"a","true":"b"}`,
		"a:\n  - b: 1\n    c: {d: []}\n  - []": `{"a":[{"b":1,"c":{"d":[]}},[]]}`,
		"t: 07:00-18:00\nd: 2026-01-01\n":      `{"d":"2026-01-01","t":"07:00-18:00"}`,
	} {
		v, err := document.ParseYAML([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if got := string(v.AppendJSON(nil)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestRefused holds what is no document.
func TestRefused(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "two values": "1 2", "a member twice": `{"a":1,"a":1}`, "bad UTF-8": "\"\xff\"",
		"a comma too many": "[1,]", "no colon": `{"a"}`, "deep": strings.Repeat("[", 33) + strings.Repeat("]", 33),
	} {
		if v, err := document.ParseJSON([]byte(text)); err == nil {
			t.Errorf("%s is %s", name, v.AppendJSON(nil))
		}
	}
	var wide strings.Builder
	for i := range 1025 {
		wide.WriteString(`"` + strings.Repeat("x", i) + `":1,`)
	}
	if _, err := document.ParseJSON([]byte("{" + strings.TrimSuffix(wide.String(), ",") + "}")); err == nil {
		t.Error("an object of 1025 members")
	}
	for name, text := range map[string]string{
		"an alias": "a: &x 1\nb: *x\n", "a tag": "a: !!str 1\n", "not a number": "a: .nan\n", "a merge": "a: &x {b: 1}\nc:\n  <<: *x\n",
		"a key that is a list": "? [a]\n: 1\n", "two documents": "a: 1\n---\nb: 1\n", "deep": strings.Repeat("[", 40) + strings.Repeat("]", 40),
	} {
		if v, err := document.ParseYAML([]byte(text)); err == nil {
			t.Errorf("%s is %s", name, v.AppendJSON(nil))
		}
	}
}
