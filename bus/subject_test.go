package bus

import (
	"slices"
	"strings"
	"testing"

	"paddock/bus/internal/subjects"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, subject string
		want             bool
	}{
		{"foo", "foo", true},
		{"foo", "Foo", false},
		{"foo", "foo.bar", false},
		{"foo.bar", "foo", false},
		{"*", "foo", true},
		{"*", "foo.bar", false},
		{"*.*", "foo.bar", true},
		{"foo.*", "foo", false},
		{">", "foo", true},
		{">", "foo.bar.baz", true},
		{"foo.>", "foo", false},
		{"foo.>", "foo.bar", true},
		{"foo.>", "foo.bar.baz", true},
		{"*.>", "foo.bar", true},
		{"foo.*.baz", "foo.bar.baz", true},
		{"foo*", "foox", false},
		{"foo*", "foo*", true},
		{"foo.*", "foo.*", true},
		{"foo.bar", "foo.*", false},
		{">", "foo..bar", false},
		{">", ".foo", false},
		{">", "foo.", false},
		{"*", "", false},
	} {
		if got := Match(tc.pattern, tc.subject); got != tc.want {
			t.Errorf("Match(%q, %q) = %t", tc.pattern, tc.subject, got)
		}
	}
}

func TestValid(t *testing.T) {
	for _, tc := range []struct {
		text             string
		subject, pattern bool
	}{
		{"foo", true, true},
		{"foo.bar", true, true},
		{"ä.\xff", true, true},
		{"f*o.b>r", true, true},
		{"foo.*", false, true},
		{"*.foo.>", false, true},
		{">", false, true},
		{">.foo", false, false},
		{"", false, false},
		{".", false, false},
		{"foo.", false, false},
		{".foo", false, false},
		{"foo..bar", false, false},
		{"foo bar", false, false},
		{"foo\r\nPUB x 0", false, false},
		{"foo\x00", false, false},
		{"foo\x7f", false, false},
	} {
		if got := ValidSubject(tc.text); got != tc.subject {
			t.Errorf("ValidSubject(%q) = %t", tc.text, got)
		}
		if got := ValidPattern(tc.text); got != tc.pattern {
			t.Errorf("ValidPattern(%q) = %t", tc.text, got)
		}
	}
}

// naiveMatch is the rule, written for reading.
func naiveMatch(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	if slices.Contains(s, "") {
		return false
	}
	for i := range p {
		if i == len(p)-1 && p[i] == ">" {
			return len(s) >= len(p)
		}
		if i >= len(s) || p[i] != "*" && p[i] != s[i] {
			return false
		}
	}
	return len(p) == len(s)
}

// FuzzMatch: Match and the index both follow the rule, for a pattern alone and
// among others, and removing leaves nothing behind.
func FuzzMatch(f *testing.F) {
	f.Add("foo.*", "foo.bar")
	f.Add("foo.>", "foo.bar.baz")
	f.Add(">", "a..b")
	f.Add("*.*", "*.>")
	f.Add("a.>.b", "a.>.b")
	f.Fuzz(func(t *testing.T, pattern, subject string) {
		want := naiveMatch(pattern, subject)
		if got := Match(pattern, subject); got != want {
			t.Fatalf("Match(%q, %q) = %t", pattern, subject, got)
		}
		if !ValidPattern(pattern) {
			return
		}
		x := newIndex()
		s := &subscription{subject: pattern}
		others := []*subscription{{subject: subject + ".x"}, {subject: pattern, queue: "q"}, {subject: "*.>"}}
		var in []*subscription
		for _, o := range append(others, s) {
			if subjects.WellFormedPattern([]byte(o.subject)) {
				x.insert(o)
				in = append(in, o)
			}
		}
		var m matches
		x.match([]byte(subject), &m)
		found := slices.ContainsFunc(m.plain, func(l []*subscription) bool { return slices.Contains(l, s) })
		if found != want {
			t.Fatalf("index with %q finds it for %q: %t", pattern, subject, found)
		}
		for _, o := range in {
			x.remove(o)
			x.remove(o)
		}
		if x.len() != 0 || !x.now.Load().unused() {
			t.Fatalf("the index keeps %+v", x)
		}
	})
}
