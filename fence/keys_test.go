package fence

import "testing"

// TestKeysAreImmutable makes many maps of each one, and looks whether they see one another.
func TestKeysAreImmutable(t *testing.T) {
	base := newKeys(0)
	for _, k := range []string{"a", "b", "c"} { // a bucket with room at its end
		base = base.with(k, 1)
	}
	x, y, none := base.with("x", 2), base.with("y", 3), base.without("b")
	for name, tc := range map[string]struct {
		keys *keys
		want string
	}{"base": {base, "abc"}, "x": {x, "abcx"}, "y": {y, "abcy"}, "none": {none, "ac"}} {
		for _, k := range "abcxy" {
			_, got := tc.keys.get(string(k))
			want := false
			for _, w := range tc.want {
				want = want || w == k
			}
			if got != want {
				t.Errorf("%s: %c is there: %v", name, k, got)
			}
		}
		if tc.keys.n != len(tc.want) {
			t.Errorf("%s: %d keys", name, tc.keys.n)
		}
	}
}
