package bus

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"paddock/bus/internal/subjects"
)

// The literal meaning of permissions: every subject of up to three tokens of a
// small alphabet is tried.
type literal struct{ p Permissions }

func literalMatch(pattern, subject []string) bool {
	switch {
	case len(pattern) == 0 || len(subject) == 0:
		return len(pattern) == len(subject)
	case pattern[0] == ">":
		return true
	default:
		return (pattern[0] == "*" || pattern[0] == subject[0]) && literalMatch(pattern[1:], subject[1:])
	}
}

func dots(s string) []string { return strings.Split(s, ".") }

func (l literal) publish(subject string) bool {
	match := func(e string) bool { return literalMatch(dots(e), dots(subject)) }
	p := l.p.Publish
	return (len(p.Allow) == 0 || slices.ContainsFunc(p.Allow, match)) && !slices.ContainsFunc(p.Deny, match)
}

// delivered reports whether a subscription that has been accepted gets subject.
func (l literal) delivered(subject, queue string) bool {
	return !slices.ContainsFunc(l.p.Subscribe.Deny, func(e string) bool {
		pattern, q, named := strings.Cut(e, " ")
		return literalMatch(dots(pattern), dots(subject)) && (!named || queue != "" && literalMatch(dots(q), dots(queue)))
	})
}

// covered reports whether the entries without queue permit every subject of pattern.
func (l literal) covered(pattern string, all []string) bool {
	if len(l.p.Subscribe.Allow) == 0 {
		return true
	}
	for _, subject := range all {
		if literalMatch(dots(pattern), dots(subject)) && !slices.ContainsFunc(l.p.Subscribe.Allow, func(e string) bool {
			return literalMatch(dots(e), dots(subject))
		}) {
			return false
		}
	}
	return true
}

func allSubjects() (all []string) {
	for range 3 {
		longer := []string{"a", "b", "c"} // c is in no pattern: it stands for all the rest
		for _, s := range all {
			for _, tok := range []string{"a", "b", "c"} {
				longer = append(longer, s+"."+tok)
			}
		}
		all = longer
	}
	var deeper []string
	for _, s := range all {
		deeper = append(deeper, s+".c.c.c")
	}
	return append(all, deeper...)
}

func randomPattern(rng *rand.Rand) string {
	var toks []string
	for range 1 + rng.IntN(3) {
		tok := []string{"a", "b", "*", "*", ">"}[rng.IntN(5)]
		if toks = append(toks, tok); tok == ">" {
			break
		}
	}
	return strings.Join(toks, ".")
}

func randomEntries(rng *rand.Rand, most int) (list []string) {
	for range rng.IntN(most + 1) {
		list = append(list, randomPattern(rng))
	}
	return list
}

func TestPermissionsAgainstTheirMeaning(t *testing.T) {
	all := allSubjects()
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		l := literal{Permissions{
			Publish:   SubjectPermission{randomEntries(rng, 3), randomEntries(rng, 3)},
			Subscribe: SubjectPermission{randomEntries(rng, 3), randomEntries(rng, 3)},
		}}
		for i := range l.p.Subscribe.Deny {
			if rng.IntN(3) == 0 {
				l.p.Subscribe.Deny[i] += " " + randomPattern(rng)
			}
		}
		if err := l.p.check(); err != nil {
			t.Fatal(err)
		}
		g := newGrant(&l.p)
		for _, subject := range all {
			if got, want := g.mayPublish([]byte(subject)), l.publish(subject); got != want {
				t.Fatalf("%+v: publish %s: %v, want %v", l.p, subject, got, want)
			}
		}
		for range 50 {
			subscribesLiterally(t, l, g, randomPattern(rng), []string{"", "a", "a.b", "b"}[rng.IntN(4)], all)
		}
	}
}

// subscribesLiterally checks one SUB: an accepted one gets the permitted messages and no others,
// and a pattern that is permitted as a whole is not refused.
func subscribesLiterally(t *testing.T, l literal, g *grant, pattern, queue string, all []string) {
	t.Helper()
	accepted := g.maySubscribe([]byte(pattern), queue)
	if !accepted {
		clean := !slices.ContainsFunc(l.p.Subscribe.Deny, func(e string) bool {
			subject, _, _ := strings.Cut(e, " ")
			return subjects.Overlap(subject, pattern)
		})
		single := slices.ContainsFunc(l.p.Subscribe.Allow, func(e string) bool { return subjects.Covers(e, []byte(pattern)) })
		if clean && (single || len(l.p.Subscribe.Allow) == 0) {
			t.Fatalf("%+v: SUB %s %s is refused", l.p, pattern, queue)
		}
		return
	}
	if !l.covered(pattern, all) {
		t.Fatalf("%+v: SUB %s %s is accepted beyond what is allowed", l.p, pattern, queue)
	}
	f := g.filterFor(pattern, queue)
	for _, subject := range all {
		if !literalMatch(dots(pattern), dots(subject)) {
			continue
		}
		got := f == nil || !f.denies([]byte(subject))
		if want := l.delivered(subject, queue); got != want {
			t.Fatalf("%+v: SUB %s %s gets %s: %v, want %v", l.p, pattern, queue, subject, got, want)
		}
	}
}

func TestOverlapAndCovers(t *testing.T) {
	all := allSubjects()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		a, b := randomPattern(rng), randomPattern(rng)
		both, within := false, true
		for _, s := range all {
			inA, inB := literalMatch(dots(a), dots(s)), literalMatch(dots(b), dots(s))
			both = both || inA && inB
			within = within && (inA || !inB)
		}
		if subjects.Overlap(a, b) != both {
			t.Fatalf("subjects.Overlap(%s, %s) is not %v", a, b, both)
		}
		if subjects.Covers(a, []byte(b)) != within {
			t.Fatalf("subjects.Covers(%s, %s) is not %v", a, b, within)
		}
	}
}

// Permissions for answers do not pile up for unanswered requests.
func TestAnswersAreBounded(t *testing.T) {
	a := newAnswers(&ResponsePermission{Max: 1, Expires: -1})
	for i := range 3 * maxAnswers {
		a.request(fmt.Appendf(nil, "in.%d", i), int64(i))
	}
	if len(a.open) != maxAnswers || len(a.queue)-a.first != maxAnswers || cap(a.queue) > 4*maxAnswers {
		t.Errorf("%d open, %d in order from %d on, room for %d", len(a.open), len(a.queue), a.first, cap(a.queue))
	}
	if a.take([]byte("in.0")) || !a.take(fmt.Appendf(nil, "in.%d", 3*maxAnswers-1)) {
		t.Error("the oldest is kept, or the latest is not")
	}
	long := strings.Repeat("x", 4000)
	for i := range 10000 {
		a.request(fmt.Appendf(nil, "%s%d", long, i), 0)
	}
	if a.bytes > maxAnswerBytes {
		t.Errorf("%d bytes", a.bytes)
	}
	for range 3 * maxAnswers { // the same one again and again
		a.request([]byte("in"), 0)
	}
	if len(a.queue)-a.first > maxAnswers || !a.take([]byte("in")) || a.take([]byte("in")) {
		t.Error("one reply that comes again is not one")
	}
}

func TestAnswersExpire(t *testing.T) {
	a := newAnswers(&ResponsePermission{Max: -1, Expires: time.Minute})
	now := time.Now().UnixNano()
	a.request([]byte("old"), now-int64(2*time.Minute))
	a.request([]byte("fresh"), now)
	if len(a.open) != 1 || a.take([]byte("old")) || !a.take([]byte("fresh")) || !a.take([]byte("fresh")) {
		t.Errorf("open: %v", a.open)
	}
	a.request([]byte("later"), now+int64(2*time.Minute))
	if len(a.open) != 1 || a.bytes != len("later") {
		t.Errorf("open: %v, %d bytes", a.open, a.bytes)
	}
}
