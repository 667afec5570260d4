package imports

import (
	"context"
	"errors"
	"fmt"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/track/rule"
	"paddock/internal/imports/feature"
)

// converter takes the features of one file, checks each as a set would, and writes it.
type converter struct {
	ctx      context.Context
	options  Options
	writer   *writer
	own      string // the set of features that name none
	report   FileReport
	outputs  []*output
	taken    int
	vertices int
	rules    []*rule.Rule
	writeErr error // of the import, and not of the file
}

func newConverter(r *run, file, set string) *converter {
	return &converter{ctx: r.ctx, options: r.options, writer: r.writer, own: set, report: FileReport{File: file, Sets: []SetReport{}, Findings: []feature.Finding{}}}
}

// limits are those of the reader of sets.
var limits = geojson.Limits{}.WithDefaults()

// Take implements [feature.Sink].
func (c *converter) Take(f *feature.Feature) error {
	if c.taken++; c.taken > MaxFeatures {
		return fmt.Errorf("%s: over %d features", c.report.File, MaxFeatures)
	}
	if c.writeErr = c.ctx.Err(); c.writeErr != nil {
		return c.writeErr
	}
	if !c.complete(f) {
		return nil
	}
	text := encode(f)
	read, findings, err := geojson.ParseFeature(text, geojson.ReadOptions{})
	if err != nil {
		c.refuse(f, err)
		return nil
	}
	if c.vertices += read.Geometry.Vertices(); c.vertices > limits.Vertices {
		return fmt.Errorf("%s: over %d vertices", c.report.File, limits.Vertices)
	}
	for i := range findings {
		c.Note(placed(f.Place, &findings[i]))
	}
	return c.write(f, text, read.Key)
}

// write writes a feature to its set.
func (c *converter) write(f *feature.Feature, text []byte, key string) error {
	out, err := c.output(f.Set)
	if err != nil {
		return err
	}
	if key != "" && out.repeats(key) {
		c.Note(feature.Finding{Place: f.Place, Key: key, Code: geojson.CodeDuplicateID, Reason: "the id is that of an earlier feature of the set"})
	}
	if c.writeErr = out.append(text); c.writeErr != nil {
		return c.writeErr
	}
	c.report.Features++
	return nil
}

// output returns the file of a set.
func (c *converter) output(set string) (*output, error) {
	if set == "" {
		set = c.own
	}
	for _, o := range c.outputs { // mostly one
		if o.given == set {
			return o, nil
		}
	}
	name := fence.Slug(set)
	if name == "" {
		return nil, fmt.Errorf("%s: no set can be named after %q: it has neither a letter a-z nor a digit", c.report.File, set)
	}
	o, err := c.writer.open(c.report.File, set, name)
	if err != nil {
		if !errors.Is(err, errTaken) && !errors.Is(err, errTooMany) {
			c.writeErr = err
		}
		return nil, err
	}
	c.outputs = append(c.outputs, o)
	return o, nil
}

// complete gives a feature the id, the radius and the width that the options name. It reports
// whether the feature has a place.
func (c *converter) complete(f *feature.Feature) bool {
	if name := c.options.IDProperty; name != "" {
		id := f.Properties.Get(name)
		if id == nil || id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
			c.Note(feature.Noted(f.Place, feature.CodeNoID, "it has no text or number as property %s: it keeps its own id", name))
		} else {
			f.ID = id
		}
	}
	g := &f.Geometry
	if len(g.Areas) > 0 && len(g.Lines)+len(g.Points) > 0 {
		c.Note(feature.Noted(f.Place, feature.CodeMixed, "%d lines and %d points beside areas are left out", len(g.Lines), len(g.Points)))
	}
	switch {
	case g.Empty():
		c.skip(f, geojson.CodeNoGeometry, "it has no geometry")
		return false
	case len(g.Areas) > 0:
	case len(g.Lines) > 0:
		c.buffer(f)
	default:
		return c.circle(f)
	}
	return true
}

// buffer makes a corridor of lines that have a width.
func (c *converter) buffer(f *feature.Feature) {
	buffer, given := f.Properties.Float(geojson.BufferProperty)
	switch {
	case given:
	case f.Properties.Get(geojson.BufferProperty) != nil:
		return // refused by the check, with the reason
	case f.Geometry.Buffer != 0:
		buffer = f.Geometry.Buffer
	case c.options.Width != 0:
		buffer = c.options.Width / 2
	default:
		return
	}
	f.Properties.Number(geojson.BufferProperty, buffer)
}

// circle gives points their radius. It reports whether they have one.
func (c *converter) circle(f *feature.Feature) bool {
	g := &f.Geometry
	if g.Radius == 0 {
		var err error
		if g.Radius, err = f.Properties.Radius(); err != nil {
			c.refuse(f, err)
			return false
		}
	}
	if g.Radius == 0 {
		g.Radius = c.options.Radius
	}
	if g.Radius == 0 {
		c.skip(f, geojson.CodeNotPolygon, "a point without a radius has no area: --radius gives it one")
		return false
	}
	if len(g.Points) == 1 {
		return true
	}
	for _, p := range g.Points {
		area, err := geometry.Circle(p, g.Radius)
		if err != nil {
			c.refuse(f, err)
			return false
		}
		g.Areas = append(g.Areas, area...)
	}
	return true
}

// encode writes a feature as GeoJSON.
func encode(f *feature.Feature) []byte {
	if g := &f.Geometry; len(g.Areas)+len(g.Lines) == 0 && len(g.Points) == 1 {
		f.Properties.Number("radius", g.Radius)
		b := []byte(`{"type":"Feature",`)
		if f.ID != nil {
			b = append(append(append(b, `"id":`...), f.ID...), ',')
		}
		b = append(append(b, `"properties":`...), f.Properties.JSON()...)
		b = append(b, `,"geometry":{"type":"Point","coordinates":[`...)
		b = append(append(b, feature.JSONNumber(g.Points[0].Lon)...), ',')
		return append(append(b, feature.JSONNumber(g.Points[0].Lat)...), "]}}"...)
	}
	out := geojson.Fence{Properties: f.Properties.JSON()}
	if out.Geometry = f.Geometry.Areas; len(out.Geometry) == 0 {
		out.Lines = f.Geometry.Lines
	}
	return out.AppendFeature(nil, f.ID)
}

// Note implements [feature.Sink].
func (c *converter) Note(f feature.Finding) {
	f.File = c.report.File
	if f.Lost {
		c.report.Refused++
	}
	if len(c.report.Findings) == MaxFindings {
		c.report.Omitted++
		return
	}
	c.report.Findings = append(c.report.Findings, f)
}

// Rule implements [feature.Sink].
func (c *converter) Rule(r *rule.Rule) {
	if len(c.rules) == MaxRules {
		c.Note(feature.Refused(feature.Place{}, geojson.CodeTooLarge, "over %d rules: the rule %s is left out", MaxRules, r.ID))
		return
	}
	c.rules = append(c.rules, r)
}

// skip notes a feature that is no fence.
func (c *converter) skip(f *feature.Feature, code geojson.Code, reason string) {
	c.report.Skipped++
	c.Note(feature.Finding{Place: f.Place, Key: f.Key(), Code: code, Reason: reason})
}

// refuse notes a feature that no set takes, or that is no fence.
func (c *converter) refuse(f *feature.Feature, err error) {
	refused, ok := errors.AsType[*geojson.RefusedError](err)
	if !ok {
		code := geojson.CodeInvalidGeometry
		if errors.Is(err, geojson.ErrLimit) {
			code = geojson.CodeTooLarge
		}
		if _, ok := errors.AsType[*geojson.SyntaxError](err); ok {
			code, err = geojson.CodeOutOfRange, errors.New("a coordinate is not a finite number")
		}
		c.Note(f.Refused(code, "%v", err))
		return
	}
	n := placed(f.Place, &refused.Finding)
	if !n.Lost {
		c.report.Skipped++
	}
	c.Note(n)
}

// placed gives a finding of the reader of sets its place in the file.
func placed(at feature.Place, fd *geojson.Finding) feature.Finding {
	return feature.Finding{Place: at, Key: fd.Key, Code: fd.Code, Reason: fd.Reason, At: fd.At, Lost: fd.Fatal}
}

// finish ends the sets of the file.
func (c *converter) finish() error {
	for _, o := range c.outputs {
		if c.writeErr = o.end(); c.writeErr != nil {
			return c.writeErr
		}
		c.report.Sets = append(c.report.Sets, SetReport{Set: o.name, File: o.path, Features: o.features})
	}
	c.report.Rules = len(c.rules)
	return c.writer.addRules(c.report.File, c.rules)
}

// drop removes what the file has written.
func (c *converter) drop() {
	for _, o := range c.outputs {
		c.writer.drop(o)
	}
}
