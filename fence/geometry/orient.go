package geometry

import (
	"math"
	"math/big"
)

const (
	// orientBound times |l|+|r| bounds the error of l-r computed in float64, where l and r are the
	// two products of the determinant: (3 + 16u)u with u = 2^-53. Shewchuk, "Adaptive Precision
	// Floating-Point Arithmetic and Fast Robust Geometric Predicates", 1997, ccwerrboundA.
	orientBound = 3.3306690738754716e-16

	// The bound holds while products do not underflow. At 1e-250 the slack in it, 13u^2 of the sum,
	// is above 1e-281, far more than the 5e-324 that an underflow can lose. Overflow needs no
	// limit: it makes the bound infinite or the determinant NaN, so that neither comparison holds.
	orientMin = 1e-250

	// The expansion is exact while each nonzero coordinate has its magnitude in this range: a
	// product is then at most 1e300, and its rounding error a multiple of 2^-1036, a normal number.
	expandMin, expandMax = 1e-140, 1e150

	// bigPrec holds the determinant of any finite float64 values without rounding: a
	// difference spans bits 2^-1074 to 2^1024, a product twice that, the last difference one more.
	bigPrec = 4400
)

// Orient is positive if a, b, c turn counterclockwise (c is to the left of a -> b), negative
// if clockwise, 0 if and only if they are collinear. Its sign is exact for all finite values.
//
// Products are written float64(x*y) so that no compiler fuses them with the subtraction: the
// bound is for rounded products, and the same answer is due on every CPU.
func Orient(a, b, c Point) int {
	acx, bcx := a.Lon-c.Lon, b.Lon-c.Lon
	acy, bcy := a.Lat-c.Lat, b.Lat-c.Lat
	l := float64(acx * bcy)
	r := float64(acy * bcx)
	det := l - r
	sum := math.Abs(l) + math.Abs(r)
	if sum > orientMin {
		bound := float64(orientBound * sum)
		if det > bound {
			return 1
		}
		if det < -bound {
			return -1
		}
	}
	return orientExact(a, b, c)
}

func orientExact(a, b, c Point) int {
	if expandable(a) && expandable(b) && expandable(c) {
		return orientExpand(a, b, c)
	}
	return orientBig(a, b, c)
}

func expandable(p Point) bool { return inExpandRange(p.Lon) && inExpandRange(p.Lat) }

func inExpandRange(x float64) bool {
	x = math.Abs(x)
	return x == 0 || (x >= expandMin && x <= expandMax)
}

// orientExpand sums the six products of the determinant as a nonoverlapping expansion, whose
// last nonzero component has the sign of the whole.
func orientExpand(a, b, c Point) int {
	var e expansion
	e.addProduct(a.Lon, b.Lat)
	e.addProduct(-a.Lon, c.Lat)
	e.addProduct(-c.Lon, b.Lat)
	e.addProduct(-a.Lat, b.Lon)
	e.addProduct(a.Lat, c.Lon)
	e.addProduct(c.Lat, b.Lon)
	return e.sign()
}

// expansion is an exact sum of float64 components, nonoverlapping and in increasing
// magnitude. Twelve are enough for six products of two components each.
type expansion struct {
	n int
	c [12]float64
}

// addProduct adds x*y: its rounded value, and the rounding error that the fused operation
// gives exactly.
func (e *expansion) addProduct(x, y float64) {
	p := float64(x * y)
	e.add(math.FMA(x, y, -p))
	e.add(p)
}

// add is Shewchuk's Grow-Expansion without zero components.
func (e *expansion) add(q float64) {
	k := 0
	for _, x := range e.c[:e.n] {
		s := q + x
		bv := s - q
		err := (q - (s - bv)) + (x - bv)
		if err != 0 {
			e.c[k] = err
			k++
		}
		q = s
	}
	if q != 0 {
		e.c[k] = q
		k++
	}
	e.n = k
}

func (e *expansion) sign() int {
	if e.n == 0 {
		return 0
	}
	if e.c[e.n-1] > 0 {
		return 1
	}
	return -1
}

// orientBig serves values so small or large that products leave the range of float64. Values
// that are not finite have no orientation: 0.
func orientBig(a, b, c Point) int {
	for _, x := range [...]float64{a.Lon, a.Lat, b.Lon, b.Lat, c.Lon, c.Lat} {
		if x-x != 0 {
			return 0
		}
	}
	l := new(big.Float).Mul(bigDiff(a.Lon, c.Lon), bigDiff(b.Lat, c.Lat))
	r := new(big.Float).Mul(bigDiff(a.Lat, c.Lat), bigDiff(b.Lon, c.Lon))
	return l.Cmp(r)
}

func bigDiff(x, y float64) *big.Float {
	return new(big.Float).SetPrec(bigPrec).Sub(big.NewFloat(x), big.NewFloat(y))
}
