package city

import "math"

// Own trigonometry: math.Sin and its kin may differ in the last bit between
// CPUs (assembly on some, fused multiply-add on others). These few terms are
// good to 1e-9, which no map notices, and give the same bits everywhere.

// sincos is the sine and cosine of an angle given as a part of a full turn.
func sincos(turns float64) (sin, cos float64) {
	turns -= math.Floor(turns)
	quarter := math.Floor(float64(turns*4) + 0.5)
	x := float64((turns - float64(quarter/4)) * (2 * math.Pi))
	x2 := float64(x * x)
	s := float64(x * horner(x2, 1, -1.0/6, 1.0/120, -1.0/5040, 1.0/362880))
	c := horner(x2, 1, -1.0/2, 1.0/24, -1.0/720, 1.0/40320, -1.0/3628800)
	switch int(quarter) & 3 {
	case 1:
		return c, -s
	case 2:
		return -s, -c
	case 3:
		return -c, s
	}
	return s, c
}

// horner evaluates the polynomial with the given coefficients, lowest first.
func horner(x float64, coef ...float64) float64 {
	var sum float64
	for i := len(coef) - 1; i >= 0; i-- {
		sum = float64(sum*x) + coef[i]
	}
	return sum
}

// bearing is the direction of d in degrees clockwise from north, in [0, 360),
// good to about a hundredth of a degree.
func bearing(d vec) float64 {
	east, north := math.Abs(d.x), math.Abs(d.y)
	if east == 0 && north == 0 {
		return 0
	}
	a := min(east, north) / max(east, north)
	x2 := float64(a * a)
	deg := float64(float64(a*horner(x2, 0.99997726, -0.33262347, 0.19354346, -0.11643287, 0.05265332, -0.01172120)) * (180 / math.Pi))
	if east > north {
		deg = 90 - deg
	}
	if d.y < 0 {
		deg = 180 - deg
	}
	if d.x < 0 {
		deg = 360 - deg
	}
	if deg >= 360 {
		deg -= 360
	}
	return deg
}
