package strictyaml_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"paddock/internal/process/strictyaml"
)

// read reads a file of names with lists of ports.
func read(text string) (got []string, faults string) {
	file, root := strictyaml.Parse("/etc/x.yaml", []byte(text))
	file.Env = func(name string) (string, bool) { return "of-" + name, name != "NONE" }
	if root != nil {
		text := func(s string) (string, error) { return s, nil }
		strictyaml.Fields{
			"name": func(e strictyaml.Entry) {
				if s, ok := e.Text("name"); ok {
					got = append(got, s)
				}
			},
			"ports": strictyaml.ListInto(&got, text),
		}.Read(root, "the file")
	}
	var all []string
	for _, f := range file.Faults() {
		all = append(all, f.Error())
	}
	return got, strings.Join(all, "\n")
}

func TestValues(t *testing.T) {
	got, faults := read("name: ${A}/${B}\nports: [017, '${C}', no]\n")
	if want := []string{"of-A/of-B", "017", "of-C", "no"}; !slices.Equal(got, want) || faults != "" {
		t.Errorf("%q, %s", got, faults)
	}
	got, faults = read("ports: [a:b, a:7, c]\nname: x:y\n")
	if want := []string{"a:b", "a:7", "c", "x:y"}; !slices.Equal(got, want) || faults != "" {
		t.Errorf("%q, %s", got, faults)
	}
	if got, faults := read("# nothing\n"); got != nil || faults != "" {
		t.Errorf("%q, %s", got, faults)
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"name: a\n\tports: []\n":    "x.yaml:2:1: tab in indentation; YAML wants spaces",
		"name: [a\n":                "x.yaml:1:7: ",
		"name: ${NONE}\nport: []\n": "x.yaml:1:7: the environment has no NONE\nx.yaml:2:1: unknown key port; did you mean ports?",
		"name: ${A\n":               "x.yaml:1:7: ${ without }",
		"name:\nports: 7\n":         "x.yaml:1:1: name has no value; write \"\" for an empty one, or leave the key out\nx.yaml:2:8: ports is a list, not a single value",
		"ports: [[1], {a: b}]\n":    "x.yaml:1:9: a value of ports takes one value, not a list\nx.yaml:1:14: a value of ports takes one value, not keys of its own",
		"[a]: b\n":                  "x.yaml:1:4: found an invalid key for this map",
		"- a\n":                     "x.yaml:1:1: the file holds keys with values, not a list",
		"name: a\n---\nname: b\n":   "x.yaml:3:5: a second document; one file is one configuration",
		"color: red\n":              "x.yaml:1:1: unknown key color; there are name, ports",
	} {
		if _, faults := read(text); !strings.HasPrefix(faults, want) {
			t.Errorf("%q:\n%s\nwant\n%s", text, faults, want)
		}
	}
}

func ExampleParse() {
	file, root := strictyaml.Parse("fleet.yaml", []byte("fleet: bus\nsise: 12\n"))
	text := func(e strictyaml.Entry) { fmt.Println(e.Text(e.Key)) }
	strictyaml.Fields{"fleet": text, "size": text}.Read(root, "the file")
	for _, fault := range file.Faults() {
		fmt.Println(fault)
	}
	// Output:
	// bus true
	// fleet.yaml:2:1: unknown key sise; did you mean size?
}
