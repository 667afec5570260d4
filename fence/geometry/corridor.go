package geometry

import (
	"errors"
	"fmt"
	"iter"
	"math"
)

const (
	// MaxBufferMeters and MinBufferMeters bound the buffer of a corridor.
	MaxBufferMeters = 10_000
	MinBufferMeters = 0.1

	// corridorDegrees is the length of the pieces in which a long edge is buffered, so that its
	// two sides stay parallel to it.
	corridorDegrees = 0.1

	// overlap is how far a part reaches into the next one, as a share of the buffer: no place is
	// then on the border of all parts that have it, whatever the boundary rule. Beside a bend it
	// reaches out of the corridor by half its square, a 125,000th of the buffer.
	overlap = 0.004
)

// Corridor is the area within a distance in metres of lines, on WGS84. Its sides are straight in
// longitude and latitude like the lines, and no further than a centimetre, or a hundred-thousandth
// of the buffer, from that distance. Joints and ends are round: their arcs are up to a thousandth
// of the buffer inside of it, at most 0.25 m.
//
// Each edge is a part, with the sector of the joint before it. Parts overlap, and their union is
// the corridor. They are split at the antimeridian. The result is the same to the bit on every
// processor.
//
// Short lines make large corridors, so spend is asked for vertices before they are made, or kept,
// and ends the work by false: then the error wraps ErrVertices. All other errors wrap ErrShape.
func Corridor(ml MultiLine, buffer float64, spend func(vertices int) bool) (MultiPolygon, error) {
	if !(buffer >= MinBufferMeters && buffer <= MaxBufferMeters) {
		return nil, fmt.Errorf("%w: a buffer of %v m is not within %v and %d", ErrShape, buffer, MinBufferMeters, MaxBufferMeters)
	}
	c := corridor{radius: buffer, flat: flatness(buffer), spend: spend}
	for _, l := range ml {
		if err := c.line(l); err != nil {
			return nil, err
		}
	}
	if len(c.parts) == 0 {
		return nil, fmt.Errorf("%w: a corridor needs a line of two different places", ErrShape)
	}
	return Unwrap(c.parts), nil
}

// ErrVertices is wrapped by the error for a corridor of more vertices than its caller allows.
var ErrVertices = errors.New("too many vertices")

// direction is a unit vector to the east and to the north.
type direction struct{ x, y float64 }

func (d direction) left() direction     { return direction{-d.y, d.x} }
func (d direction) opposite() direction { return direction{-d.x, -d.y} }

func (d direction) dot(e direction) float64   { return float64(d.x*e.x) + float64(d.y*e.y) }
func (d direction) cross(e direction) float64 { return float64(d.x*e.y) - float64(d.y*e.x) }

// between returns the direction in the middle of two that are less than half a turn apart.
func (d direction) between(e direction) direction { return toward(d.x+e.x, d.y+e.y) }

func toward(x, y float64) direction {
	size := math.Sqrt(float64(x*x) + float64(y*y))
	return direction{x / size, y / size}
}

// joint is a vertex of a line, and the directions of the edges before and after it.
type joint struct {
	at            Point
	metric        Metric
	before, after direction
	skew          float64 // half of how much a course turns from north with each metre to the east
	radius        float64
	flat          float64 // the cosine of the angle that one chord of an arc may span
}

// corridor makes the parts of one.
type corridor struct {
	radius, flat float64 // of each joint
	spend        func(vertices int) bool
	parts        MultiPolygon
}

// flatness returns the cosine of the angle that one chord of an arc may span.
func flatness(radius float64) float64 {
	sagitta := min(0.25/radius, 0.001)
	return 1 - float64(sagitta*(4-float64(2*sagitta))) // of twice the angle of half a chord
}

// line adds the parts of a line. It holds two joints at a time, however long the line is.
func (c *corridor) line(l Line) error {
	edges := 0
	for i, p := range l {
		if reason := p.OutOfRange(); reason != "" {
			return fmt.Errorf("%w: vertex %d of a line: %s", ErrShape, i, reason)
		}
		if i > 0 {
			edges += int(pieces(l[i-1], p))
		}
	}
	if !c.spend(edges * leastOfPart) {
		return c.tooLarge()
	}
	var from, to joint
	n := 0
	for p := range densified(l) {
		next := c.joint(p)
		if n > 0 {
			to.after = to.course(to.at, p)
			next.before = next.course(to.at, p)
		}
		if n > 1 {
			if err := c.stretch(&from, &to, n == 2, false); err != nil {
				return err
			}
		}
		from, to = to, next
		n++
	}
	if n < 2 {
		return nil
	}
	return c.stretch(&from, &to, n == 2, true)
}

// stretch adds the part between two joints.
func (c *corridor) stretch(from, to *joint, first, last bool) error {
	for _, j := range []*joint{from, to} {
		if float64(c.radius*c.radius) > j.metric.near2 {
			return fmt.Errorf("%w: a corridor of %v m at latitude %v is too near to the pole", ErrShape, c.radius, j.at.Lat)
		}
	}
	r := stretch(from, to, first, last)
	if !c.spend(len(r) - leastOfPart) {
		return c.tooLarge()
	}
	c.parts = append(c.parts, Polygon{r})
	return nil
}

func (c *corridor) tooLarge() error {
	return fmt.Errorf("%w: a corridor of %v m has more than are allowed", ErrVertices, c.radius)
}

// leastOfPart is how many vertices a part has at least.
const leastOfPart = 5

// pieces returns how many parts an edge gets.
func pieces(a, b Point) float64 {
	return math.Ceil(max(math.Abs(b.Lon-a.Lon), math.Abs(b.Lat-a.Lat)) / corridorDegrees)
}

// densified iterates over the line without repetitions, and with vertices on its long edges.
func densified(l Line) iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for i, b := range l {
			if i > 0 {
				a := l[i-1]
				if a == b {
					continue
				}
				dlon, dlat := b.Lon-a.Lon, b.Lat-a.Lat
				n := pieces(a, b)
				for k := 1.0; k < n; k++ {
					if !yield(Point{a.Lon + float64(k/n*dlon), a.Lat + float64(k/n*dlat)}) {
						return
					}
				}
			}
			if !yield(b) {
				return
			}
		}
	}
}

func (c *corridor) joint(p Point) joint {
	j := joint{at: p, metric: MetricAt(p), radius: c.radius, flat: c.flat}
	sin, _ := sincos(p.Lat)
	j.skew = sin / (2 * j.metric.axis)
	return j
}

// course returns the direction of the edge a-b at the joint.
func (j *joint) course(a, b Point) direction {
	return toward((b.Lon-a.Lon)*j.metric.east[0], (b.Lat-a.Lat)*j.metric.north[0])
}

// to returns the place at the radius of the joint in a direction.
func (j *joint) to(d direction) Point { return j.place(d, j.radius) }

// past returns the place at the end of a side, and a little further on.
func (j *joint) past(d direction) Point {
	x, y := d.x+float64(overlap*j.before.x), d.y+float64(overlap*j.before.y)
	return j.place(toward(x, y), j.radius*math.Sqrt(1+overlap*overlap))
}

// place returns the place at so many metres in a direction.
func (j *joint) place(d direction, metres float64) Point {
	// The course is that of the middle of the way.
	turn := float64(d.x*metres) * j.skew
	d = toward(d.x+float64(d.y*turn), d.y-float64(d.x*turn))
	m := &j.metric
	y := d.y * metres
	dlat := y / m.north[0]
	for range 2 {
		dlat = y / (m.north[0] + float64(dlat/2*m.north[1]))
	}
	h := dlat / 2
	dlon := d.x * metres / (m.east[0] + float64(h*(m.east[1]+float64(h*m.east[2]))))
	return Point{j.at.Lon + dlon, min(max(j.at.Lat+dlat, -90), 90)}
}

// stretch returns the ring of the edge between two joints, with the sector of the first, or with
// half a circle where the line begins or ends.
func stretch(from, to *joint, first, last bool) Ring {
	left, right := from.after.left(), from.after.left().opposite()
	end := to.before.left()
	var r Ring
	switch bend := from.before.cross(from.after); {
	case first:
		r = from.arc(Ring{from.to(right)}, right, from.after.opposite())
		r = from.arc(r, from.after.opposite(), left)
	case bend > 0: // the sector is on the right side
		before := from.before.left().opposite()
		r = from.sector(Ring{from.to(right)}, right, before)
		r = append(r, from.at, from.to(left))
	default:
		r = append(r, from.to(right), from.at, from.to(from.before.left()))
		r = from.sector(r, from.before.left(), left)
	}
	if last {
		return to.arc(to.arc(append(r, to.to(end)), end, to.before), to.before, end.opposite())
	}
	return append(r, to.past(end), to.past(end.opposite()))
}

// sector appends the arc from one direction, which the ring ends with, to another, on the outer
// side of the joint.
func (j *joint) sector(r Ring, d, e direction) Ring {
	if d.dot(e) >= 0 {
		return j.arc(r, d, e)
	}
	outer := toward(j.before.x-j.after.x, j.before.y-j.after.y)
	return j.arc(j.arc(r, d, outer), outer, e)
}

// arc appends the vertices of an arc of a quarter at most, without the first.
func (j *joint) arc(r Ring, d, e direction) Ring {
	if d.dot(e) >= j.flat {
		return append(r, j.to(e))
	}
	middle := d.between(e)
	return j.arc(j.arc(r, d, middle), middle, e)
}
