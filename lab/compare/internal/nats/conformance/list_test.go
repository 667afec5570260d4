// Package conformance runs test suites of clients of the NATS protocol against a server's binary,
// and judges the results.
//
// A suite belongs to another project: it is fetched when it is needed, and never changed. This
// repository holds a [List] for it: the tests that do not apply to this kind of server, each with a
// reason, the tests that are known to fail, and how many are to be run. A test that fails and is
// not on the list is an error, and so is an unexpected number of tests: a suite that skips tests by
// itself does not pass by that.
package conformance

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// List is the knowledge about a suite's tests. Names are "unit/test", where a unit is one test
// program.
type List struct {
	Reasons map[string]string // why tests are skipped, by key
	Skips   map[string]string // key of the reason, by name; names may be patterns of [path.Match]
	Fails   map[string]string // the symptom, by name
	Run     int               // how many tests are run
}

// ParseList reads a list: lines "run N", "reason KEY text", "skip NAME KEY" and
// "fails NAME text"; # begins a comment line.
func ParseList(r io.Reader) (*List, error) {
	l := &List{Reasons: map[string]string{}, Skips: map[string]string{}, Fails: map[string]string{}}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := l.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return l, l.check()
}

func (l *List) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	first, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	text = strings.TrimSpace(text)
	into := map[string]map[string]string{"reason": l.Reasons, "skip": l.Skips, "fails": l.Fails}[word]
	switch {
	case word == "run":
		n, err := strconv.Atoi(first)
		l.Run = n
		return err
	case into == nil:
		return fmt.Errorf("%q is neither run, reason, skip nor fails", word)
	case first == "" || text == "":
		return fmt.Errorf("%s needs a name and a text", word)
	case into[first] != "":
		return fmt.Errorf("%s is there twice", first)
	}
	into[first] = text
	return nil
}

// check reports reasons that are missing or that nothing has.
func (l *List) check() error {
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.Skips)) {
		key := l.Skips[name]
		if l.Reasons[key] == "" {
			return fmt.Errorf("%s: no reason %q", name, key)
		}
		used[key] = true
	}
	for key := range l.Reasons {
		if !used[key] {
			return fmt.Errorf("nothing is skipped for the reason %q", key)
		}
	}
	return nil
}

// Selection divides a suite's tests.
type Selection struct {
	Run     []string
	Skipped map[string][]string // by the reason's key
}

// Select applies the list to the tests of a suite. A name that the suite does not have is an error,
// and so is another number of tests to run.
func (l *List) Select(tests []string) (*Selection, error) {
	s := &Selection{Skipped: map[string][]string{}}
	used := map[string]bool{}
	for _, test := range tests {
		if entry, ok := l.skip(test); ok {
			used[entry] = true
			s.Skipped[l.Skips[entry]] = append(s.Skipped[l.Skips[entry]], test)
			continue
		}
		s.Run = append(s.Run, test)
	}
	for _, entry := range slices.Sorted(maps.Keys(l.Skips)) {
		if !used[entry] {
			return nil, fmt.Errorf("%s is skipped, and the suite has no such test", entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Fails)) {
		if !slices.Contains(s.Run, name) {
			return nil, fmt.Errorf("%s is expected to fail, and is not run", name)
		}
	}
	if len(s.Run) != l.Run {
		return nil, fmt.Errorf("%d tests are to be run, where the list says %d", len(s.Run), l.Run)
	}
	return s, nil
}

// skip returns the entry of the list that names the test.
func (l *List) skip(test string) (entry string, ok bool) {
	if _, ok := l.Skips[test]; ok {
		return test, true
	}
	for entry := range l.Skips {
		if ok, err := path.Match(entry, test); ok && err == nil {
			return entry, true
		}
	}
	return "", false
}

// SkipsUnit reports whether all tests of a unit are left out, by a pattern.
func (l *List) SkipsUnit(unit string) bool { return l.Skips[unit+"/*"] != "" }

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
