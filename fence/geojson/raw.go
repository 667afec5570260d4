package geojson

import (
	"encoding/json"
	"fmt"
	"strings"

	"paddock/fence/geometry"
)

// rawFeature holds the members of an object that matter, as they are written; nil if absent.
type rawFeature struct {
	typ, id, properties, geometry, crs, coordinates, circle, bbox []byte

	area rawGeometry // the members of geometry
}

// rawGeometry holds the members of a geometry that matter, as they are written; nil if absent.
type rawGeometry struct{ typ, coordinates, crs []byte }

// field is where the member of that name is kept, nil if nowhere.
func (r *rawFeature) field(name []byte) *[]byte {
	switch string(name) {
	case "type":
		return &r.typ
	case "id":
		return &r.id
	case "properties":
		return &r.properties
	case "geometry":
		return &r.geometry
	case "crs":
		return &r.crs
	case "coordinates":
		return &r.coordinates
	case "circle":
		return &r.circle
	case "bbox":
		return &r.bbox
	}
	return nil
}

// typeName is the text of a member type, "" if it is no string.
func typeName(typ []byte) string {
	if len(typ) == 0 || typ[0] != '"' {
		return ""
	}
	switch string(typ) { // without a copy
	case `"Feature"`:
		return "Feature"
	case `"Polygon"`:
		return "Polygon"
	case `"MultiPolygon"`:
		return "MultiPolygon"
	}
	return string(unquote(typ))
}

func (r *rawFeature) kind() string { return typeName(r.typ) }

func (g *rawGeometry) kind() string { return typeName(g.typ) }

// split notes the members of the object in data; none if it is something else. They share its
// memory.
func (r *rawFeature) split(data []byte) {
	c := cursor{data: data}
	if c.kind() != '{' {
		return
	}
	c.pos++
	for c.more() {
		switch field := r.field(c.name()); field {
		case nil:
			c.member()
		case &r.geometry:
			r.geometry = r.area.split(&c)
		default:
			*field = c.member()
		}
	}
}

// split gives the value that the cursor is at, moves past it, and notes its members.
func (g *rawGeometry) split(c *cursor) []byte {
	*g = rawGeometry{}
	if c.kind() != '{' {
		return c.member()
	}
	from := c.pos
	c.pos++
	for c.more() {
		switch name, v := c.name(), c.member(); string(name) {
		case "type":
			g.typ = v
		case "coordinates":
			g.coordinates = v
		case "crs":
			g.crs = v
		}
	}
	return c.data[from:c.pos]
}

// asGeometry makes a Feature of an object that is a geometry itself.
func (r *rawFeature) asGeometry() *rawFeature {
	area := rawGeometry{typ: r.typ, coordinates: r.coordinates}
	if area.coordinates == nil {
		area.coordinates = []byte("null")
	}
	return &rawFeature{typ: []byte(`"Feature"`), geometry: []byte("{}"), area: area}
}

// parseRawFeature splits a Feature into its members, which share data's memory.
func parseRawFeature(data []byte) (rawFeature, *Finding) {
	var raw rawFeature
	raw.split(data)
	reason := ""
	switch kind := raw.kind(); {
	case kind == "Feature" || raw.typ == nil && raw.circle != nil:
		return raw, nil
	case shape(data) != "an object":
		reason = "it is " + shape(data)
	case raw.typ == nil:
		reason = "it has no type"
	default:
		reason = fmt.Sprintf("its type is %s", raw.typ)
	}
	return raw, &Finding{Feature: -1, Code: CodeNotFeature, Fatal: true, Reason: reason}
}

func isGeometry(kind string) bool {
	switch kind {
	case "Polygon", "MultiPolygon", "GeometryCollection", "Point", "MultiPoint", "LineString", "MultiLineString":
		return true
	}
	return false
}

// featureReader makes fences of Features.
type featureReader struct {
	options   ReadOptions
	left      *allowance
	scratch   geometry.Ring
	workspace workspace
}

// parse makes a fence of an element of features. Without text it was too large.
func (fr *featureReader) parse(text []byte) (p parsedFeature) {
	if len(text) == 0 {
		p.err = fr.oversize()
		return p
	}
	raw, bad := parseRawFeature(text)
	if bad != nil {
		p.err = &RefusedError{*bad}
		return p
	}
	return fr.take(&raw)
}

// take makes a fence of a Feature, unless the document has too many vertices already.
func (fr *featureReader) take(raw *rawFeature) (p parsedFeature) {
	if fr.left.spend(0) {
		p.fence, p.findings, p.err = fr.read(raw)
	} else {
		p.err = errVertices
	}
	return p
}

func (fr *featureReader) oversize() error {
	return refused("", CodeTooLarge, fmt.Sprintf("the feature has over %d bytes", fr.options.Limits.FeatureBytes), nil)
}

// read makes a fence of a Feature. What it returns shares no memory with raw. The key is
// empty if neither id nor property gives one.
func (fr *featureReader) read(raw *rawFeature) (Fence, []Finding, error) {
	f := Fence{ID: present(raw.id), Properties: present(raw.properties)}
	var findings []Finding
	note := func(c Code, format string, args ...any) {
		findings = append(findings, Finding{Feature: -1, Code: c, Reason: fmt.Sprintf(format, args...)})
	}
	if f.ID != nil && keyText(f.ID) == "" && f.ID[0] != '"' {
		note(CodeInvalidID, "the id is %s: ignored", shape(f.ID))
		f.ID = nil
	}
	if f.Properties != nil && f.Properties[0] != '{' {
		note(CodeInvalidProperties, "the properties are %s: ignored", shape(f.Properties))
		f.Properties = nil
	}
	f.Key = f.GivenKey(fr.options.IDProperty)
	if name, ok := CRSName(raw.crs); !ok {
		return Fence{}, nil, refused(f.Key, CodeCRS, fmt.Sprintf("the feature's coordinate reference system is %q", name), nil)
	}
	if name, ok := CRSName(raw.area.crs); !ok {
		return Fence{}, nil, refused(f.Key, CodeCRS, fmt.Sprintf("the geometry's coordinate reference system is %q", name), nil)
	}
	area, err := fr.geometry(raw, f.Key)
	if err != nil {
		return Fence{}, nil, err
	}
	f.Geometry, f.Lines = area.parts, area.lines
	settings, wrong := readSettings(f.Properties)
	if now := fr.options.Now; now != nil && settings.Ended(now()) {
		return Fence{}, nil, f.expired(settings.Expires)
	}
	findings = append(append(findings, area.findings...), wrong...)
	for _, fd := range findings {
		if fd.Fatal || fr.options.Strict && fd.Code.strict() {
			fd.Key, fd.Fatal = f.Key, true
			return Fence{}, nil, &RefusedError{fd}
		}
	}
	return f, Keyed(findings, f.Key), nil
}

// geometry reads the area of a Feature, whether it is written as a polygon or as a shape.
func (fr *featureReader) geometry(feature *rawFeature, key string) (area, error) {
	data, raw := feature.geometry, &feature.area
	if mp, ok, err := feature.shape(raw.kind(), raw); err != nil {
		return area{}, refused(key, CodeInvalidGeometry, err.Error(), nil)
	} else if ok {
		if !fr.left.spend(mp.Vertices()) {
			return area{}, errVertices
		}
		return inspect(mp, nil, &fr.workspace), nil
	}
	switch kind := raw.kind(); {
	case data == nil || string(data) == "null":
		return area{}, skipped(key, CodeNoGeometry, "it has no geometry")
	case kind == "Polygon" || kind == "MultiPolygon":
		return fr.coordinates(kind, raw.coordinates, key)
	case kind == "LineString" || kind == "MultiLineString":
		return fr.lines(kind, feature, key)
	case kind == "GeometryCollection":
		return area{}, refused(key, CodeGeometryCollection, "a GeometryCollection is not read: use a MultiPolygon", nil)
	case isGeometry(kind):
		return area{}, skipped(key, CodeNotPolygon, "a "+kind+" has no area")
	case raw.typ != nil:
		return area{}, refused(key, CodeInvalidGeometry, fmt.Sprintf("the geometry's type is %s", raw.typ), nil)
	case data[0] != '{':
		return area{}, refused(key, CodeInvalidGeometry, "the geometry is "+shape(data), nil)
	}
	return area{}, refused(key, CodeInvalidGeometry, "the geometry has no type", nil)
}

func (fr *featureReader) coordinates(kind string, data []byte, key string) (area, error) {
	var mp geometry.MultiPolygon
	defects, err := fr.positions(data, key, func(cr *coordinateReader) (err error) {
		if kind == "MultiPolygon" {
			mp, err = cr.multiPolygon()
			return err
		}
		pg, err := cr.polygon(0)
		mp = geometry.MultiPolygon{pg}
		return err
	})
	if err != nil {
		return area{}, err
	}
	if fr.unwraps() {
		mp = geometry.Unwrap(mp)
	}
	return inspect(mp, defects, &fr.workspace), nil
}

func (fr *featureReader) unwraps() bool {
	return fr.options.Antimeridian == geometry.AntimeridianUnwrap
}

// positions has the coordinates of a geometry read.
func (fr *featureReader) positions(data []byte, key string, read func(*coordinateReader) error) ([]ringDefect, error) {
	if data == nil {
		return nil, refused(key, CodeInvalidGeometry, "the geometry has no coordinates", nil)
	}
	left := int(fr.left.left.Load())
	cr := coordinateReader{cursor: cursor{data: data}, left: left, unwrap: fr.unwraps(), scratch: fr.scratch}
	err := read(&cr)
	fr.scratch = cr.scratch
	if !fr.left.spend(left - cr.left) {
		return nil, errVertices
	}
	if e, ok := err.(*shapeError); ok {
		return nil, refused(key, e.code, e.reason, e.at)
	}
	return cr.defects, err
}

func refused(key string, c Code, reason string, at *geometry.Point) error {
	return &RefusedError{Finding{Feature: -1, Key: key, Code: c, Reason: reason, At: at, Fatal: true}}
}

func skipped(key string, c Code, reason string) error {
	return &RefusedError{Finding{Feature: -1, Key: key, Code: c, Reason: reason}}
}

// ParseFeature reads a document that is one Feature with an area: see ReadGeoJSON. The
// fence's key is its id, else its id property, else empty. It keeps nothing of data. The
// error is a *SyntaxError, a *RefusedError, or wraps ErrLimit.
func ParseFeature(data []byte, o ReadOptions) (Fence, []Finding, error) {
	o.Limits = o.Limits.WithDefaults()
	if len(data) > o.Limits.FeatureBytes {
		return Fence{}, nil, fmt.Errorf("%w: the feature has over %d bytes", ErrLimit, o.Limits.FeatureBytes)
	}
	l := &lexer{file: "feature", buf: data, start: -1, limit: len(data)}
	if err := l.mark(); err != nil {
		return Fence{}, nil, err
	}
	v, err := l.keep()
	if err == nil {
		err = l.end()
	}
	if err != nil {
		return Fence{}, nil, err
	}
	raw, bad := parseRawFeature(v)
	if bad != nil {
		return Fence{}, nil, &RefusedError{*bad}
	}
	fr := featureReader{options: o, left: o.Limits.allowance()}
	return fr.read(&raw)
}

// GivenKey is the id as text, else the id property as text, else "".
func (f *Fence) GivenKey(property string) string {
	if k := keyText(f.ID); k != "" || property == "" {
		return k
	}
	key := ""
	for name, v := range members(f.Properties) {
		if string(name) == property {
			key = keyText(v)
		}
	}
	return key
}

// keyText is the text of a JSON string or number, "" for other values.
func keyText(v json.RawMessage) string {
	switch c := (&cursor{data: v}).kind(); {
	case c == '"':
		return string(unquote(v))
	case c == '-' || isDigit(c):
		return string(v)
	}
	return ""
}

// CRSName returns the name of a crs member of GeoJSON 2008, which is valid JSON, or nil if there is
// none. ok reports whether it means WGS84 with longitude first, as nil does.
func CRSName(crs []byte) (name string, ok bool) {
	if crs == nil || string(crs) == "null" {
		return "", true
	}
	name = string(crs[:min(len(crs), 80)])
	for member, v := range members(crs) {
		if string(member) != "properties" {
			continue
		}
		for k, v := range members(v) {
			switch string(k) {
			case "name", "href":
				name = keyText(v)
			case "code":
				name = "EPSG:" + keyText(v)
			}
		}
	}
	n := strings.ToLower(name)
	end := n[strings.LastIndexAny(n, ":/")+1:]
	return name, end == "crs84" || end == "4326" && strings.Contains(n, "epsg")
}
