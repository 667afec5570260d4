package spelling

import "testing"

func TestAdvice(t *testing.T) {
	words := []string{"enter", "exit", "inside", "outside"}
	for _, c := range []struct{ word, want string }{
		{"entre", "did you mean enter?"},
		{"exits", "did you mean exit?"},
		{"nside", "did you mean inside?"},
		{"utsid", "did you mean outside?"},
		{"xt", "did you mean exit?"},
		{"", "there are enter, exit, inside, outside"},
		{"leaves", "there are enter, exit, inside, outside"},
		{"insiderrr", "there are enter, exit, inside, outside"},
	} {
		if got := Advice(c.word, words); got != c.want {
			t.Errorf("%q: %s, want %s", c.word, got, c.want)
		}
	}
	if got := Nearest("b", []string{"a", "c"}); got != "a" { // the first of those as near
		t.Errorf("nearest %q", got)
	}
}
