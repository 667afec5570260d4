package conformance

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const someList = `
# a comment
run 2
reason js  no streams here
reason net it needs more than a server
skip a/TestStream js
skip b/* net
fails a/TestTwo  the answer comes late
`

func parse(t *testing.T, text string) *List {
	t.Helper()
	l, err := ParseList(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestParseList(t *testing.T) {
	l := parse(t, someList)
	if l.Run != 2 || l.Reasons["js"] != "no streams here" || l.Skips["b/*"] != "net" || l.Fails["a/TestTwo"] != "the answer comes late" {
		t.Errorf("got %+v", l)
	}
	if !l.SkipsUnit("b") || l.SkipsUnit("a") {
		t.Error("b and nothing else is skipped as a whole")
	}
}

func TestParseListRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"another word":             "skips a/b c",
		"no reason of that key":    "skip a/TestStream js",
		"a reason that nobody has": "reason js no streams",
		"a skip without a reason":  "reason js no streams\nskip a/TestStream",
		"a test twice":             "reason js no streams\nskip a/TestStream js\nskip a/TestStream js",
		"no number":                "run many",
	} {
		if _, err := ParseList(strings.NewReader(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestSelect(t *testing.T) {
	s, err := parse(t, someList).Select([]string{"a/TestOne", "a/TestTwo", "a/TestStream", "b/TestX", "b/TestY"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a/TestOne", "a/TestTwo"}; !slices.Equal(s.Run, want) {
		t.Errorf("run %v, want %v", s.Run, want)
	}
	if want := []string{"b/TestX", "b/TestY"}; !slices.Equal(s.Skipped["net"], want) {
		t.Errorf("skipped %v, want %v", s.Skipped["net"], want)
	}
}

// A suite that has other tests than the list was made for must not pass.
func TestSelectRefuses(t *testing.T) {
	for name, tests := range map[string][]string{
		"a test less":                {"a/TestTwo", "a/TestStream", "b/TestX"},
		"a test more":                {"a/TestOne", "a/TestTwo", "a/TestThree", "a/TestStream", "b/TestX"},
		"a skip of nothing":          {"a/TestOne", "a/TestTwo", "b/TestX"},
		"a pattern of nothing":       {"a/TestOne", "a/TestTwo", "a/TestStream"},
		"a failure that is not run":  {"a/TestOne", "a/TestThree", "a/TestStream", "b/TestX"},
		"a suite that lists nothing": nil,
	} {
		if _, err := parse(t, someList).Select(tests); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// The lists of this repository can be read, and say how many tests are run.
func TestLists(t *testing.T) {
	for _, suite := range []Suite{NATSGo{Dir: "../../../conformance/natsgo"}, AsyncNATS{Dir: "../../../conformance/asyncnats"}} {
		text, err := os.ReadFile(suite.List())
		if err != nil {
			t.Fatal(err)
		}
		if l := parse(t, string(text)); l.Run < 90 {
			t.Errorf("%s runs %d tests", suite.Name(), l.Run)
		}
	}
}

// The suite is that of the client that everything else here uses.
func TestVersions(t *testing.T) {
	for _, file := range []string{"../../../../../go.mod", "../../../go.mod", "../../../conformance/natsgo/go.mod", "../../../conformance/natsgo/orbit/go.mod"} {
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "github.com/nats-io/nats.go v1.55.0") {
			t.Errorf("%s has another nats.go than the list of tests was made for", file)
		}
	}
}
