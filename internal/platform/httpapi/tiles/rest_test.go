package tiles

import (
	"math/rand/v2"
	"testing"
)

func TestRectanglesAreTheMarkedCells(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		var r, covered rest
		for range random.IntN(60) {
			x, y := random.Float64()*5000-500, random.Float64()*5000-500
			r.mark(span{x, y, x + random.Float64()*600, y + random.Float64()*600})
		}
		r.rectangles(func(x, y, width, height int) {
			for j := y; j < y+height; j++ {
				for i := x; i < x+width; i++ {
					if covered.marked(i, j) {
						t.Fatalf("cell %d %d is covered twice", i, j)
					}
					covered.rows[j][i/64] |= 1 << (i % 64)
				}
			}
		})
		if covered.rows != r.rows {
			t.Fatal("other cells are covered than were marked")
		}
	}
}

func TestMark(t *testing.T) {
	for _, c := range []struct {
		s     span
		cells int
	}{
		{span{0, 0, 0, 0}, 1},
		{span{0, 0, cell, cell}, 1},
		{span{1, 1, cell + 1, 2}, 2},
		{span{-100, -100, -1, -1}, 0},
		{span{Extent, 0, Extent + 10, 10}, 0},
		{span{-1e9, -1e9, 1e9, 1e9}, cells * cells},
	} {
		var r rest
		any := r.mark(c.s)
		n := 0
		for y := range cells {
			for x := range cells {
				if r.marked(x, y) {
					n++
				}
			}
		}
		if n != c.cells || any != (n > 0) {
			t.Errorf("%v: %d cells, %v", c.s, n, any)
		}
	}
}
