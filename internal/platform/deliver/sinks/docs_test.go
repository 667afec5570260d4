package sinks

import (
	"os"
	"regexp"
	"testing"

	"paddock/internal/process/strictyaml"
)

// The examples of the documents have no fault.
func TestExamples(t *testing.T) {
	example, err := os.ReadFile("../../../../docs/reference/paddock.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../../../docs/guides/sinks.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{regexp.MustCompile(`(?m)^# ?`).ReplaceAllString(regexp.MustCompile(`(?m)^# sinks:\n(?:#.*\n)+`).FindString(string(example)), "")}
	for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(string(guide), -1) {
		text := m[1]
		if text[0] == ' ' { // the end alone
			text = "sinks:\n  - id: x\n" + text
		}
		texts = append(texts, text)
	}
	met := map[string]bool{}
	for _, text := range texts {
		file, root := strictyaml.Parse("example.yaml", []byte(text))
		file.Env = func(string) (string, bool) { return "x", true }
		for _, e := range root.Entries("the file") {
			for _, s := range Read(e.Value).Sinks {
				met[s.Kind] = true
			}
		}
		if err := file.Err(); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	for kind := range kinds {
		if !met[kind] {
			t.Errorf("no example has a sink of the kind %s", kind)
		}
	}
}
