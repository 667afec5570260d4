package tiles

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// decoded is a tile as a client sees it, decoded by the text of the specification.
type decoded map[string][]feature

type feature struct {
	properties map[string]any
	rings      [][]grid // closed, without a repeated first vertex; the pieces of a line
	line       bool
}

// message calls field for each field of a protobuf message, with its number and its value or bytes.
func message(b []byte, field func(number int, n uint64, content []byte)) error {
	for len(b) > 0 {
		tag, k := binary.Uvarint(b)
		if k <= 0 {
			return fmt.Errorf("bad tag")
		}
		b = b[k:]
		n, k := binary.Uvarint(b)
		if k <= 0 {
			return fmt.Errorf("bad number")
		}
		b = b[k:]
		switch tag & 7 {
		case 0:
			field(int(tag>>3), n, nil)
		case 2:
			if n > uint64(len(b)) {
				return fmt.Errorf("field of %d bytes, there are %d", n, len(b))
			}
			field(int(tag>>3), n, b[:n])
			b = b[n:]
		default:
			return fmt.Errorf("wire type %d", tag&7)
		}
	}
	return nil
}

func numbers(b []byte) (ns []uint64) {
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 {
			return nil
		}
		ns, b = append(ns, n), b[k:]
	}
	return ns
}

func decode(t testing.TB, tile []byte) decoded {
	t.Helper()
	if len(tile) > MaxBytes {
		t.Errorf("a tile of %d bytes", len(tile))
	}
	d := decoded{}
	err := message(tile, func(field int, _ uint64, content []byte) {
		if field != tileLayers {
			t.Errorf("field %d of a tile", field)
		}
		name, features := decodeLayer(t, content)
		if _, twice := d[name]; twice || len(features) == 0 {
			t.Errorf("layer %q: twice %v, %d features", name, twice, len(features))
		}
		d[name] = features
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func decodeLayer(t testing.TB, b []byte) (name string, features []feature) {
	t.Helper()
	var keys []string
	var values []any
	var raw [][]byte
	var version, extent uint64
	must(t, message(b, func(field int, n uint64, content []byte) {
		switch field {
		case layerName:
			name = string(content)
		case layerFeatures:
			raw = append(raw, content)
		case layerKeys:
			keys = append(keys, string(content))
		case layerValues:
			must(t, message(content, func(kind int, n uint64, content []byte) {
				switch kind {
				case valueString:
					values = append(values, string(content))
				case valueUint:
					values = append(values, int(n))
				case valueBool:
					values = append(values, n == 1)
				default:
					t.Errorf("value of kind %d", kind)
				}
			}))
		case layerExtent:
			extent = n
		case layerVersion:
			version = n
		default:
			t.Errorf("field %d of a layer", field)
		}
	}))
	if version != 2 || extent != Extent {
		t.Errorf("layer %q: version %d, extent %d", name, version, extent)
	}
	for _, r := range raw {
		features = append(features, decodeFeature(t, r, keys, values))
	}
	return name, features
}

func decodeFeature(t testing.TB, b []byte, keys []string, values []any) feature {
	t.Helper()
	f := feature{properties: map[string]any{}}
	must(t, message(b, func(field int, n uint64, content []byte) {
		switch field {
		case featureTags:
			tags := numbers(content)
			for i := 0; i+1 < len(tags); i += 2 {
				f.properties[keys[tags[i]]] = values[tags[i+1]]
			}
		case featureType:
			if f.line = n == typeLine; !f.line && n != typePolygon {
				t.Errorf("geometry of type %d", n)
			}
		case featureGeometry:
			f.rings = decodeRings(t, numbers(content))
		default:
			t.Errorf("field %d of a feature", field)
		}
	}))
	if len(f.rings) == 0 || !f.line && area2(f.rings[0]) <= 0 {
		t.Errorf("feature %v does not begin with an outline: %v", f.properties, f.rings)
	}
	return f
}

func decodeRings(t testing.TB, ns []uint64) (rings [][]grid) {
	t.Helper()
	var at grid
	step := func() grid {
		delta := func(n uint64) int32 { return int32(uint32(n)>>1) ^ -int32(uint32(n)&1) }
		at.x, at.y = at.x+delta(ns[0]), at.y+delta(ns[1])
		ns = ns[2:]
		return at
	}
	for len(ns) > 0 {
		id, count := ns[0]&7, int(ns[0]>>3)
		ns = ns[1:]
		switch {
		case id == moveTo && count == 1 && len(ns) >= 2:
			rings = append(rings, []grid{step()})
		case id == lineTo && count >= 1 && len(rings) > 0 && len(ns) >= 2*count:
			for range count {
				rings[len(rings)-1] = append(rings[len(rings)-1], step())
			}
		case id == closePath && count == 1 && len(rings) > 0 && len(rings[len(rings)-1]) >= 3:
		default:
			t.Fatalf("command %d, %d times, with %d numbers left", id, count, len(ns))
		}
	}
	for _, r := range rings {
		for _, g := range r {
			if g.x < -buffer || g.x > Extent+buffer || g.y < -buffer || g.y > Extent+buffer {
				t.Fatalf("vertex %v is far from the tile", g)
			}
		}
	}
	return rings
}

// holds reports whether a point is in a feature, by the parity of its rings.
func (f feature) holds(x, y float64) bool {
	odd := false
	for _, r := range f.rings {
		for i, a := range r {
			b := r[(i+1)%len(r)]
			if (float64(a.y) <= y) != (float64(b.y) <= y) &&
				x < float64(a.x)+(y-float64(a.y))*float64(b.x-a.x)/float64(b.y-a.y) {
				odd = !odd
			}
		}
	}
	return odd
}

func (d decoded) byKey(t testing.TB) map[string]feature {
	t.Helper()
	m := map[string]feature{}
	for _, f := range d["fences"] {
		key := f.properties["key"].(string)
		if _, twice := m[key]; twice {
			t.Errorf("fence %s is there twice", key)
		}
		m[key] = f
	}
	return m
}

// rest returns the counts of the rest.
func (d decoded) rest() (small, dropped int) {
	if len(d["rest"]) == 0 {
		return 0, 0
	}
	p := d["rest"][0].properties
	return p["small"].(int), p["dropped"].(int)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
