package rule_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"paddock/fence/track/rule"
)

// The answers of a condition with unknown ones.
const (
	isFalse = iota
	isUnknown
	isTrue
)

// leaves are comparisons with their answers, of a bus without speed in a school zone.
var leaves = []struct {
	text   string
	answer int
}{
	{`object.kind == "bus"`, isTrue},
	{`object.loaded`, isTrue},
	{`fence.maxspeed < 9`, isTrue},
	{`object.kind != 'bus'`, isFalse},
	{`object.empty`, isFalse},
	{`fence.owner == 1`, isFalse},
	{`speed > 5`, isUnknown},
	{`object.kind < 5`, isUnknown},
	{`object.owner == fence.owner`, isUnknown},
}

// randomCondition returns a condition with its answer, by the tables of three-valued logic.
func randomCondition(r *rand.Rand, depth int) (text string, answer int) {
	if depth == 0 || r.IntN(4) == 0 {
		leaf := leaves[r.IntN(len(leaves))]
		return leaf.text, leaf.answer
	}
	left, a := randomCondition(r, depth-1)
	right, b := randomCondition(r, depth-1)
	and := [3][3]int{{0, 0, 0}, {0, 1, 1}, {0, 1, 2}}
	or := [3][3]int{{0, 1, 2}, {1, 1, 2}, {2, 2, 2}}
	switch r.IntN(5) {
	case 0:
		return fmt.Sprintf("not (%s)", left), [3]int{2, 1, 0}[a]
	case 1, 2:
		return fmt.Sprintf("(%s) %s (%s)", left, []string{"and", "&&"}[r.IntN(2)], right), and[a][b]
	}
	return fmt.Sprintf("(%s) %s (%s)", left, []string{"or", "||"}[r.IntN(2)], right), or[a][b]
}

// TestLogic compares random conditions, and their canonical texts, with three-valued logic.
func TestLogic(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	in := input(bus, school)
	seen := [3]int{}
	for range 5000 {
		text, answer := randomCondition(r, 4)
		seen[answer]++
		for _, c := range []struct {
			text string
			want bool
		}{{text, answer == isTrue}, {"not (" + text + ")", answer == isFalse}} {
			condition, err := rule.ParseCondition(c.text)
			if err != nil {
				t.Fatalf("%s: %v", c.text, err)
			}
			again, err := rule.ParseCondition(condition.String())
			if err != nil || condition.Holds(in) != c.want || again.Holds(in) != c.want {
				t.Fatalf("%s as %s: want %v, %v", c.text, condition, c.want, err)
			}
		}
	}
	for answer, n := range seen {
		if n < 500 {
			t.Errorf("the answer %d came %d times", answer, n)
		}
	}
}
