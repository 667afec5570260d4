package rule_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"paddock/fence/track/rule"
)

// TestPatterns holds what is special in a pattern, and what is not.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, id string
		want        bool
	}{
		{"", "anything", true},
		{"*", "", true},
		{"*", "é", true},
		{"bus-*", "bus-7", true},
		{"bus-*", "bus-", true},
		{"bus-*", "Bus-7", false},
		{"bus-*", "a bus-7", false},
		{"*-bus", "7-bus", true},
		{"*-bus", "7-bus-", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*a*b*", "xxbxxaxx", false},
		{"a?c", "abc", true},
		{"a?c", "aéc", true},
		{"a?c", "ac", false},
		{"a?c", "abbc", false},
		{"?", "日", true},
		{"??", "日", false},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{"{a,b}", "{a,b}", true},
		{"a.c", "abc", false},
		{"^a$", "^a$", true},
		{`\*`, "*", true},
		{`\*`, "x", false},
		{`a\?`, "a?", true},
		{`a\?`, "ab", false},
		{`\\`, `\`, true},
		{`\a`, "a", true},
		{"**a**", "bab", true},
		{"*?*", "", false},
		{"*?*", "x", true},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"*aab", "aaaab", true},
		{"a*b*a", "aba", true},
	} {
		p, err := rule.NewPattern(c.pattern)
		if err != nil || p.Match(c.id) != c.want {
			t.Errorf("%q, %q: %v, %v", c.pattern, c.id, p.Match(c.id), err)
		}
	}
}

// naive is a pattern as a regular expression.
func naive(pattern string) *regexp.Regexp {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			b.WriteString("(?s:.*)")
		case '?':
			b.WriteString("(?s:.)")
		case '\\':
			i++
			fallthrough
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	return regexp.MustCompile("^" + b.String() + "$")
}

// TestPatternsNaive compares random patterns with regular expressions.
func TestPatternsNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		pattern, id := letters(r, `ab*?`, 8), letters(r, "ab", 10)
		p, err := rule.NewPattern(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if pattern == "" {
			pattern = "*"
		}
		if got, want := p.Match(id), naive(pattern).MatchString(id); got != want {
			t.Fatalf("%q, %q: %v", pattern, id, got)
		}
	}
}

func letters(r *rand.Rand, alphabet string, most int) string {
	b := make([]byte, r.IntN(most+1))
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

// FuzzPattern holds that no pattern makes Match panic, and that the canonical text means the same.
func FuzzPattern(f *testing.F) {
	f.Add(`a*\*?`, "abc*d")
	f.Fuzz(func(t *testing.T, pattern, id string) {
		p, err := rule.NewPattern(pattern)
		if err != nil {
			return
		}
		again, err := rule.NewPattern(p.String())
		if err != nil || again != p {
			t.Fatalf("%q as %q, then %q, %v", pattern, p, again, err)
		}
		p.Match(id)
	})
}
