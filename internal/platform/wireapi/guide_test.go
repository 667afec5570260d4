package wireapi

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The code in the guide is compiled and run: each piece of it is in the examples, except for the
// one that needs a certificate.
func TestGuideShowsTheExamples(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/guides/platform-by-wire.md")
	must(t, err)
	examples, err := os.ReadFile("example_test.go")
	must(t, err)
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	pieces := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(guide, -1)
	found := 0
	for _, p := range pieces {
		if strings.Contains(flat(string(examples)), flat(string(p[1]))) {
			found++
		} else if !strings.Contains(string(p[1]), "tls.Config") {
			t.Errorf("no example has\n%s", p[1])
		}
	}
	if found < 5 {
		t.Errorf("%d pieces", found)
	}
}

// KINDS.md shows the bytes of a position and of a search.
func TestKindsShowsTheVectors(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/wire-kinds.md")
	must(t, err)
	hex := func(b []byte) string { return fmt.Sprintf("% x", b) }
	position := body(t, "v42", -73.9586, 40.7811, 1773314205000)
	for _, part := range [][]byte{position[:4], position[4:12], position[12:20], position[20:28], position[28:], compactBody("", false, 13.41, 52.52)} {
		if !strings.Contains(string(text), "\n"+hex(part)+" ") {
			t.Errorf("nothing begins with %s", hex(part))
		}
	}
}
