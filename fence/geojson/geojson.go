// Package geojson reads and writes the fences of GeoJSON documents (RFC 7946). It reports every
// defect as a finding with its place, and reads on all processors.
package geojson

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"paddock/fence/geometry"
)

// Collection is what a document holds.
type Collection struct {
	Fences   []Fence
	Findings []Finding
	Omitted  int // findings beyond Limits.Findings
	Skipped  int // features that gave no fence

	inspected bool // the fences are validated
}

// ReadOptions are the settings of a read. The zero value is what most want.
type ReadOptions struct {
	IDProperty string // property that gives the key of a Feature without id; "" is none
	Strict     bool   // refuse what RFC 7946 calls invalid: see Code
	Limits     Limits

	Antimeridian geometry.Antimeridian // what an edge over half the world means; "" is AntimeridianPlanar

	Now func() time.Time // a fence that expires until then is skipped; nil: none is
}

// Limits bound what a document may ask for. Zeros are the defaults.
type Limits struct {
	FeatureBytes int // of one feature; 0 is 64 MiB. A larger one is refused, the others are read.
	Vertices     int // of the whole document; 0 is 20 million. More are an error that wraps ErrLimit.
	Findings     int // kept; 0 is 10,000. Those beyond are counted.
}

func (l Limits) WithDefaults() Limits {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&l.FeatureBytes, 64<<20)
	def(&l.Vertices, 20_000_000)
	def(&l.Findings, 10_000)
	return l
}

// allowance counts the vertices that may yet be read of a document. All its readers share it.
type allowance struct{ left atomic.Int64 }

func (l Limits) allowance() *allowance {
	a := new(allowance)
	a.left.Store(int64(l.Vertices))
	return a
}

// spend counts vertices, and reports whether the limit allows them.
func (a *allowance) spend(vertices int) bool { return a.left.Add(-int64(vertices)) >= 0 }

// errVertices ends the reading of a document with more vertices than its limit.
var errVertices = fmt.Errorf("%w: too many vertices", ErrLimit)

// ReadGeoJSON reads a FeatureCollection, a Feature, a polygon or a line (RFC 7946) as a stream, and
// parses its features on all CPUs. Besides its result, its memory is bounded by the largest
// feature, and by two batches of features for each CPU (see batchBytes, maxCopy). None of its
// goroutines is left when it returns. Each fence has memory of its own, so a fence that is replaced
// later does not live as long as its neighbours. file names the document in errors and findings.
//
// The error is a defect of the whole document: a *SyntaxError, ErrNotGeoJSON (also for TopoJSON),
// ErrCRS, ErrLimit, or the error of r. Every other defect is a Finding and costs at most its own
// feature. Code lists accepted, skipped and refused ones.
//
// A fence is a Feature with a Polygon or MultiPolygon, or one of these, which become polygons when
// they are read (Circle, Rectangle): a Feature, or an object without a type, with
// "circle":{"lon":,"lat":,"radius_m":}; a Feature with a Point and a number of metres as its
// property "radius"; a Feature without geometry, with a "bbox".
//
// A Feature with a LineString or MultiLineString is a fence that is only crossed. With a number of
// metres as its property BufferProperty it is a corridor, and has a polygon too (Corridor).
//
// Altitudes, bounding boxes beside a geometry, unknown members and a byte order mark are ignored.
// Ring directions mean nothing. A key that repeats in the document gets the suffix ~2, ~3 and so
// on.
func ReadGeoJSON(r io.Reader, file string, o ReadOptions) (*Collection, error) {
	o.Limits = o.Limits.WithDefaults()
	d := &document{lexer: newLexer(r, file, o.Limits.FeatureBytes), features: newPipeline(file, o)}
	defer d.features.wait()
	err := d.read()
	if first := d.features.settle(); first != nil {
		err = first // a feature's error comes before that of what follows it
	}
	if err != nil {
		return nil, err
	}
	return d.features.merger.out, nil
}

// document is one read of a document.
type document struct {
	lexer    *lexer     // checks all of it, and finds the features
	features pipeline   // parses them meanwhile
	top      rawFeature // of the top-level object, which may be a Feature or a geometry
	listed   bool       // it has an array of features
	tooLarge bool       // a member of the top-level object exceeds the limit
}

func (d *document) read() error {
	if err := d.lexer.mark(); err != nil {
		return err
	}
	if d.lexer.space() != '{' {
		if err := d.lexer.value(); err != nil {
			return err
		}
		return d.notGeoJSON("the document is no object")
	}
	if err := d.lexer.object(d.member); err != nil {
		return err
	}
	if err := d.lexer.end(); err != nil {
		return err
	}
	return d.finish()
}

// member reads a member of the top-level object. They come in any order, so features are
// read before the type may be known, and refused with the document later.
func (d *document) member(name string) error {
	if name == "features" && d.lexer.space() == '[' {
		d.listed = true
		return d.lexer.array(d.element)
	}
	field := d.top.field([]byte(name))
	if field == nil {
		return d.lexer.value()
	}
	v, err := d.lexer.keep()
	if err != nil {
		return err
	}
	d.tooLarge = d.tooLarge || v == nil
	*field = bytes.Clone(v)
	switch field {
	case &d.top.geometry:
		d.top.area.split(&cursor{data: *field})
	case &d.top.crs:
		return d.crs()
	}
	return nil
}

func (d *document) crs() error {
	if name, ok := CRSName(d.top.crs); !ok {
		return fmt.Errorf("%s: %w %q: coordinates must be longitude and latitude in WGS84 (CRS84, EPSG:4326)",
			d.lexer.file, ErrCRS, name)
	}
	return nil
}

// element reads an element of features.
func (d *document) element() error {
	v, err := d.lexer.keep()
	if err != nil {
		return err
	}
	return d.features.add(v)
}

// finish looks at what the whole document turned out to be.
func (d *document) finish() error {
	kind := d.top.kind()
	switch {
	case d.listed && kind == "FeatureCollection":
		return nil
	case kind == "FeatureCollection":
		return d.notGeoJSON("the FeatureCollection has no array of features")
	case d.listed:
		return d.notGeoJSON("there are features, but the type is %q, not FeatureCollection", kind)
	case kind == "Topology":
		return d.notGeoJSON("it is TopoJSON (type Topology): convert it to GeoJSON first")
	case d.tooLarge:
		return d.features.add(nil)
	case kind == "Feature" || d.top.typ == nil && d.top.circle != nil:
		return d.features.addRaw(&d.top)
	case isGeometry(kind):
		return d.features.addRaw(d.top.asGeometry())
	case d.top.typ == nil:
		return d.notGeoJSON("the object has no type")
	}
	return d.notGeoJSON("the type is %s", d.top.typ)
}

func (d *document) notGeoJSON(format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", d.lexer.file, ErrNotGeoJSON, fmt.Sprintf(format, args...))
}
