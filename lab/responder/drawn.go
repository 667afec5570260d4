package responder

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Drawn answers each request after a time that is drawn from a distribution, whatever
// others there are. Between its points the distribution is linear.
type Drawn struct {
	Points []Point // by share, from 0 to 1
	rng    *rand.Rand
}

// Point says that a share of the answers takes no longer than a time.
type Point struct {
	Share float64 // 0 to 1
	Time  time.Duration
}

// NewDrawn makes the law of at least two points, of the shares 0 and 1 among them. The same
// seed gives the same times.
func NewDrawn(seed uint64, points ...Point) (*Drawn, error) {
	ok := len(points) >= 2 && points[0].Share == 0 && points[len(points)-1].Share == 1 && points[0].Time >= 0
	for i := 1; ok && i < len(points); i++ {
		ok = points[i].Share > points[i-1].Share && points[i].Time >= points[i-1].Time
	}
	if !ok {
		return nil, errors.New("responder: a distribution's points begin at the share 0, end at 1, and never go back")
	}
	return &Drawn{Points: slices.Clone(points), rng: rand.New(rand.NewPCG(seed, 0))}, nil
}

// Due draws the next time.
func (d *Drawn) Due(arrived time.Duration) time.Duration {
	return arrived + d.Response(d.rng.Float64())
}

// Response is the p-quantile of the times, 0 <= p <= 1.
func (d *Drawn) Response(p float64) time.Duration {
	i, found := slices.BinarySearchFunc(d.Points, p, func(x Point, p float64) int {
		switch {
		case x.Share < p:
			return -1
		case x.Share > p:
			return 1
		}
		return 0
	})
	if found || i == 0 {
		return d.Points[i].Time
	}
	from, to := d.Points[i-1], d.Points[i]
	return from.Time + time.Duration((p-from.Share)/(to.Share-from.Share)*float64(to.Time-from.Time))
}

// String is like "drawn 0=1ms 0.5=2ms 1=1s".
func (d *Drawn) String() string {
	var b strings.Builder
	b.WriteString("drawn")
	for _, p := range d.Points {
		fmt.Fprintf(&b, " %g=%v", p.Share, p.Time)
	}
	return b.String()
}
