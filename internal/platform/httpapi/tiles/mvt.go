package tiles

import "encoding/binary"

// The format is Mapbox Vector Tile 2.1: protobuf messages, of which only these fields are used.
// https://github.com/mapbox/vector-tile-spec/tree/master/2.1
const (
	tileLayers = 3

	layerName     = 1
	layerFeatures = 2
	layerKeys     = 3
	layerValues   = 4
	layerExtent   = 5
	layerVersion  = 15

	featureTags     = 2
	featureType     = 3
	featureGeometry = 4

	valueString = 1
	valueUint   = 5
	valueBool   = 7

	typeLine    = 2
	typePolygon = 3

	moveTo    = 1
	lineTo    = 2
	closePath = 7
)

// bytesPerRectangle bounds a rectangle's geometry: three commands, two numbers for its first
// corner, and a number and a zero for each of three sides; the numbers take at most two bytes.
const bytesPerRectangle = 3 + 2*2 + 3*(2+1)

func appendField(dst []byte, field int, content []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(content)))
	return append(dst, content...)
}

func appendNumber(dst []byte, field int, n uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3)
	return binary.AppendUvarint(dst, n)
}

// layer is a layer under construction. Each feature is begun with tags and ended with add.
type layer struct {
	name     string
	keys     []string
	features []byte
	values   []byte
	count    uint64 // of values

	tags    []byte
	shape   shape
	scratch []byte
}

// size returns the approximate size of the layer.
func (l *layer) size() int { return len(l.features) + len(l.values) }

// value adds a value, and returns its number.
func (l *layer) value(v []byte) uint64 {
	l.values = appendField(l.values, layerValues, v)
	l.count++
	return l.count - 1
}

// tag gives the next feature a property: the number of its name in keys, and its value.
func (l *layer) tag(key int, v []byte) { l.tagAs(key, l.value(v)) }

// tagAs is tag with a value that was added before.
func (l *layer) tagAs(key int, value uint64) {
	l.tags = binary.AppendUvarint(l.tags, uint64(key))
	l.tags = binary.AppendUvarint(l.tags, value)
}

// add writes the feature with the present tags and shape.
func (l *layer) add() {
	f := appendField(l.scratch[:0], featureTags, l.tags)
	f = appendNumber(f, featureType, l.shape.kind)
	f = appendField(f, featureGeometry, l.shape.commands)
	l.features = appendField(l.features, layerFeatures, f)
	l.scratch, l.tags = f, l.tags[:0]
	l.shape.reset()
}

// appendTo writes the layer, unless it has no feature.
func (l *layer) appendTo(dst []byte) []byte {
	if len(l.features) == 0 {
		return dst
	}
	b := appendNumber(nil, layerVersion, 2)
	b = appendField(b, layerName, []byte(l.name))
	b = append(b, l.features...)
	for _, k := range l.keys {
		b = appendField(b, layerKeys, []byte(k))
	}
	b = append(b, l.values...)
	b = appendNumber(b, layerExtent, Extent)
	return appendField(dst, tileLayers, b)
}

func stringValue(s string) []byte { return appendField(nil, valueString, []byte(s)) }
func uintValue(n int) []byte      { return appendNumber(nil, valueUint, uint64(n)) }
func trueValue() []byte           { return appendNumber(nil, valueBool, 1) }

// grid is a vertex in whole units.
type grid struct{ x, y int32 }

// shape is the geometry of a polygon or a line under construction.
type shape struct {
	kind     uint64
	commands []byte
	cursor   grid
}

func (s *shape) reset() { s.commands, s.cursor = s.commands[:0], grid{} }

// path appends a piece of a line, of at least two vertices.
func (s *shape) path(p []grid) {
	s.kind = typeLine
	s.vertices(p)
}

// ring appends a closed ring of at least three vertices, without a repeated first vertex.
func (s *shape) ring(r []grid) {
	s.kind = typePolygon
	s.vertices(r)
	s.command(closePath, 1)
}

func (s *shape) vertices(r []grid) {
	s.command(moveTo, 1)
	s.to(r[0])
	s.command(lineTo, len(r)-1)
	for _, g := range r[1:] {
		s.to(g)
	}
}

func (s *shape) command(id, count int) {
	s.commands = binary.AppendUvarint(s.commands, uint64(count)<<3|uint64(id))
}

func (s *shape) to(g grid) {
	s.commands = appendZigzag(s.commands, g.x-s.cursor.x)
	s.commands = appendZigzag(s.commands, g.y-s.cursor.y)
	s.cursor = g
}

func appendZigzag(dst []byte, n int32) []byte {
	return binary.AppendUvarint(dst, uint64(uint32(n<<1)^uint32(n>>31)))
}
