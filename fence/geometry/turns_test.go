package geometry

import (
	"math"
	"math/rand/v2"
	"testing"

	"paddock/internal/sampling"
)

// TestTurns: along any path through an area of overlapping parts the turns alternate, the first one
// depends on where the path begins, the last one on where it ends, and both are those of Passes.
// All coordinates are small integers, so that paths go through vertices and along edges.
func TestTurns(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(23, 23))
	met := 0
	for range 20_000 / sampling.Slowdown {
		origin := float64(rng.IntN(2)) * 180
		at := func() Point { return Point{WrapLon(origin + float64(rng.IntN(9)-4)), float64(rng.IntN(9) - 4)} }
		var mp MultiPolygon
		for range 1 + rng.IntN(3) {
			mp = append(mp, Polygon{{at(), at(), at()}})
			if origin != 0 { // a part on one side of the antimeridian
				w, s := float64(rng.IntN(3)), float64(rng.IntN(4)-4)
				mp[len(mp)-1] = Polygon{rectangle(-180+w, s, -178+w, s+3)}
			}
		}
		a, b := at(), at()
		turns := mp.AppendTurns(nil, a, b)
		in, last := mp.Contains(a), 0.0
		for _, turn := range turns {
			if turn.In == in || turn.Share < last {
				t.Fatalf("%v from %v to %v: %v", mp, a, b, turns)
			}
			in, last = turn.In, turn.Share
		}
		if in != mp.Contains(b) {
			t.Fatalf("%v from %v to %v: %v, and the end is in: %v", mp, a, b, turns, !in)
		}
		first, last, ok := mp.Passes(a, b)
		if ok != (len(turns) > 0) || ok && (first != turns[0].Share || last != turns[len(turns)-1].Share) {
			t.Fatalf("%v from %v to %v: %v, Passes has %v %v %v", mp, a, b, turns, first, last, ok)
		}
		met += len(turns)
	}
	if met < 1000/sampling.Slowdown {
		t.Errorf("only %d turns", met)
	}
	if got := (MultiPolygon{Polygon{rectangle(0, 0, 1, 1)}}).AppendTurns(nil, Point{0, 0}, Point{0, math.Inf(1)}); got != nil {
		t.Error(got)
	}
}
