package hooks

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"paddock/internal/process/strictyaml"
)

// The examples of the documents have no fault, and the one of all keys has each key.
func TestExamples(t *testing.T) {
	example, err := os.ReadFile("../../../../docs/reference/paddock.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../../../docs/guides/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile(`(?m)^# webhooks:\n(?:#.*\n)+`).FindString(string(example))
	texts := []string{regexp.MustCompile(`(?m)^# ?`).ReplaceAllString(section, "")}
	for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(string(guide), -1) {
		texts = append(texts, m[1])
	}
	if section == "" || len(texts) < 3 {
		t.Fatalf("%q", texts)
	}
	for i, text := range texts {
		file, root := strictyaml.Parse("example.yaml", []byte(text))
		file.Env = func(string) (string, bool) { return secret, true }
		keys := map[string]bool{}
		for _, e := range root.Entries("the file") {
			Read(e.Value)
			for _, inner := range e.Value.Entries("webhooks") {
				if inner.Key == "endpoints" && i == 0 {
					for _, field := range inner.Value.Items("endpoints")[0].Entries("a webhook") {
						keys[field.Key] = true
					}
				}
			}
		}
		if err := file.Err(); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
		for _, key := range strings.Fields("id url sets fences events fleets objects rules format max_batch headers secrets enabled") {
			if i == 0 && !keys[key] {
				t.Errorf("the example has no %s", key)
			}
		}
	}
}
