package wire_test

import (
	"os"
	"strings"
	"testing"
)

// TestGuideIsOfExamples holds that every piece of code in the guide stands in an
// Example, which the tests run.
func TestGuideIsOfExamples(t *testing.T) {
	var examples strings.Builder
	for _, path := range []string{"example_test.go", "wirestats/example_test.go"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		examples.WriteString(flush(string(b)))
	}
	guide, err := os.ReadFile("../docs/guides/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	pieces := strings.Split(string(guide), "```go\n")[1:]
	if len(pieces) < 10 {
		t.Fatalf("the guide has %d pieces of code", len(pieces))
	}
	for _, piece := range pieces {
		code, _, ok := strings.Cut(piece, "```")
		if !ok || !strings.Contains(examples.String(), flush(code)) {
			t.Errorf("not of an Example:\n%s", code)
		}
	}
}

// flush takes the indentation off each line.
func flush(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}
