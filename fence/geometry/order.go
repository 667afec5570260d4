package geometry

import (
	"cmp"
	"math"
	"math/big"
)

// meeting is a crossing of an edge.
type meeting struct {
	Crossing
	p, q Point
}

// compare orders two crossings as on the moved path. Where the rounding of their shares would
// decide, it is done by fractions.
func (w *Path) compare(x, y *meeting) int {
	if math.Abs(x.Share-y.Share) <= w.bound(x)+w.bound(y) {
		return w.compareExactly(x, y)
	}
	return cmp.Compare(x.Share, y.Share)
}

// shareBound times the relative sizes of the products bounds the error of a share, with much room:
// a product of two differences has an error of 3u, with u = 2^-53, a difference of products one of
// 4u of their sum, and a share one of 8u of both sums, if the determinant is more than its error.
// If it is less, the bound is above 1, which is beyond every difference of shares.
const shareBound = 0x1p-48

// bound returns a bound of the error of the share. It is NaN for an edge that is not finite.
func (w *Path) bound(m *meeting) float64 {
	p, q := w.edge(m)
	dx, dy := w.b.Lon-w.a.Lon, w.b.Lat-w.a.Lat
	ex, ey := q.Lon-p.Lon, q.Lat-p.Lat
	fx, fy := p.Lon-w.a.Lon, p.Lat-w.a.Lat
	l, r := float64(dx*ey), float64(dy*ex)
	size, det := math.Abs(l)+math.Abs(r), math.Abs(l-r)
	if size < orientMin || det == 0 {
		return math.Inf(1)
	}
	return shareBound * (math.Abs(fx*ey) + math.Abs(fy*ex) + size) / det
}

// edge returns the edge of a crossing in the coordinates of the path.
func (w *Path) edge(m *meeting) (p, q Point) {
	if !w.over {
		return m.p, m.q
	}
	p, q = Point{m.p.Lon - 180, m.p.Lat}, Point{m.q.Lon - 180, m.q.Lat}
	if w.beside(p, q) || !w.meets(p, q) {
		p, q = Point{m.p.Lon + 180, m.p.Lat}, Point{m.q.Lon + 180, m.q.Lat}
	}
	return p, q
}

// compareExactly is compare without rounding.
func (w *Path) compareExactly(x, y *meeting) int {
	s, t := w.terms(x), w.terms(y)
	return cmp.Or(s[0].Cmp(t[0]), s[1].Cmp(t[1]), s[2].Cmp(t[2]))
}

// terms returns u, v and t for the share u + v e + t e^2 at which the moved path meets the edge.
func (w *Path) terms(m *meeting) [3]*big.Rat {
	p, q := w.edge(m)
	dx, dy := ratDiff(w.b.Lon, w.a.Lon), ratDiff(w.b.Lat, w.a.Lat)
	ex, ey := ratDiff(q.Lon, p.Lon), ratDiff(q.Lat, p.Lat)
	fx, fy := ratDiff(p.Lon, w.a.Lon), ratDiff(p.Lat, w.a.Lat)
	det := minus(dx.Mul(dx, ey), dy.Mul(dy, ex)) // is not 0, as the path meets the edge
	u := minus(fx.Mul(fx, ey), fy.Mul(fy, ex))
	return [3]*big.Rat{u.Quo(u, det), ey.Quo(ey.Neg(ey), det), ex.Quo(ex, det)}
}

func minus(x, y *big.Rat) *big.Rat { return x.Sub(x, y) }

func ratDiff(x, y float64) *big.Rat {
	return minus(new(big.Rat).SetFloat64(x), new(big.Rat).SetFloat64(y))
}
