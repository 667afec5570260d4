package geojson

import (
	"math"
	"sync"
	"sync/atomic"

	"paddock/fence/geometry"
)

// measured keeps the settings of a fence, and what measuring it takes. That is made when first
// needed, and all of it but the size is immutable.
type measured struct {
	settings  *Settings // nil: none
	preparing sync.Once
	buffer    float64
	area      *geometry.PreparedArea // nil for one of few vertices
	lines     geometry.PreparedLines
	sizing    sync.Mutex // of the next size
	size      atomic.Pointer[size]
}

// size is what is known of the inradius of a fence: it is no less, and no more if that is all.
type size struct {
	metres float64
	all    bool
}

// fewVertices is how many vertices an area may have to be measured as it is.
const fewVertices = 32

// Keep makes the fence remember its settings and its measures. Its set calls it before
// the fence is published.
func (f *Fence) Keep() {
	m := new(measured)
	m.settings, _ = readSettings(f.Properties)
	f.measured = m
}

// prepared returns what distances are measured with.
func (f *Fence) prepared() *measured {
	m := f.measured
	if m == nil {
		m = new(measured)
	}
	m.preparing.Do(func() {
		if len(f.Lines) > 0 {
			m.buffer, _, _ = bufferOf(f.Properties)
			m.lines = geometry.PrepareLines(f.Lines)
		} else if f.Geometry.Vertices() > fewVertices {
			m.area = geometry.PrepareArea(f.Geometry)
		}
	})
	return m
}

// OnlyCrossed reports whether the fence is a line that is no corridor: it holds no point.
func (f *Fence) OnlyCrossed() bool { return len(f.Lines) > 0 && len(f.Geometry) == 0 }

// Buffer is the buffer of a corridor in metres, 0 for other fences.
func (f *Fence) Buffer() float64 {
	if len(f.Lines) == 0 {
		return 0
	}
	return f.prepared().buffer
}

// Inradius is the radius in metres of the largest circle in a part of the fence, by up to a tenth
// less: see geometry.MultiPolygon.Inradius. For a corridor it is the buffer, for a line 0. A fence
// of a set computes it once. It is safe for any number of goroutines.
func (f *Fence) Inradius() float64 { return f.InradiusUpTo(math.Inf(1)) }

// InradiusUpTo is Inradius, but may return any radius of a circle within that is enough. That takes
// far less time for a large fence. Less than enough is Inradius.
func (f *Fence) InradiusUpTo(enough float64) float64 {
	if len(f.Lines) > 0 {
		return f.Buffer()
	}
	m := f.prepared()
	if s := m.size.Load(); s.answers(enough) {
		return s.metres
	}
	m.sizing.Lock()
	defer m.sizing.Unlock()
	s := m.size.Load()
	if s.answers(enough) {
		return s.metres
	}
	if s != nil { // twice as much at least, so that the search is not repeated for each little more
		enough = max(enough, 2*s.metres)
	}
	metres := f.Geometry.InradiusUpTo(enough)
	m.size.Store(&size{metres, metres < enough})
	return metres
}

func (s *size) answers(enough float64) bool { return s != nil && (s.all || s.metres >= enough) }

// Distance returns the distance in metres from p to the boundary of the fence: positive if the
// fence holds p, negative if not. For a line it is the distance to the line, which is negative. It
// is -Inf if p is not finite. geometry.Metric states the error.
//
// That to the boundary of a corridor is the difference between the buffer and the distance to its
// line. It is less than to where the boundary is, beside an inner corner.
func (f *Fence) Distance(p geometry.Point) float64 {
	m := f.prepared()
	switch {
	case m.area != nil:
		return m.area.SignedDistance(p)
	case len(f.Lines) == 0:
		return f.Geometry.SignedDistance(p)
	}
	off := m.buffer - m.lines.Distance(p)
	switch {
	case len(f.Geometry) > 0 && f.Geometry.Contains(p): // an arc may be a little less than round
		return max(off, 0)
	case off >= 0: // as -0 is not
		return 0
	}
	return off
}

// Progress returns the metres along the fence's lines, from their beginning, to the place that is
// nearest to p. It is NaN for a fence without lines, or if p is not finite.
func (f *Fence) Progress(p geometry.Point) float64 { return f.Lines.Progress(p) }

// Bounds is the smallest box around the fence and its lines.
func (f *Fence) Bounds() geometry.Box { return f.Geometry.Bounds().Union(f.Lines.Bounds()) }
