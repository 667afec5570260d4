package flatgeobuf_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"paddock/internal/imports/feature"
	"paddock/internal/imports/flatgeobuf"
)

// node is a table to write: fields are scalars as bytes, vectors, tables and vectors of tables.
type node map[int]any

// vector is a vector of so many elements.
type vector struct {
	n     int
	bytes []byte
}

// repeated is a vector of one table, many times.
type repeated struct {
	n     int
	table node
}

func text(s string) vector { return vector{len(s), []byte(s)} }

func doubles(all ...float64) vector {
	v := vector{n: len(all)}
	for _, f := range all {
		v.bytes = binary.LittleEndian.AppendUint64(v.bytes, math.Float64bits(f))
	}
	return v
}

func uints(all ...uint32) vector {
	v := vector{n: len(all)}
	for _, n := range all {
		v.bytes = binary.LittleEndian.AppendUint32(v.bytes, n)
	}
	return v
}

// buffer writes a table with its size before it.
func buffer(n node) []byte {
	b, at := n.write(make([]byte, 4))
	binary.LittleEndian.PutUint32(b, uint32(at))
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// write appends a table and all that it refers to, and returns where it is.
func (n node) write(b []byte) ([]byte, int) {
	keys := slices.Sorted(maps.Keys(n))
	head, body := make([]byte, 4), make([]byte, 4)
	at := map[int]int{}
	for _, k := range keys {
		for len(head) < 4+2*k+2 {
			head = append(head, 0)
		}
		binary.LittleEndian.PutUint16(head[4+2*k:], uint16(len(body)))
		at[k] = len(body)
		inline, ok := n[k].([]byte)
		if !ok {
			inline = make([]byte, 4)
		}
		body = append(body, inline...)
	}
	binary.LittleEndian.PutUint16(head, uint16(len(head)))
	binary.LittleEndian.PutUint16(head[2:], uint16(len(body)))
	binary.LittleEndian.PutUint32(body, uint32(len(head)))
	b = append(b, head...)
	table := len(b)
	b = append(b, body...)
	patch := func(at, to int) { binary.LittleEndian.PutUint32(b[at:], uint32(to-at)) }
	for _, k := range keys {
		switch v := n[k].(type) {
		case vector:
			patch(table+at[k], len(b))
			b = append(binary.LittleEndian.AppendUint32(b, uint32(v.n)), v.bytes...)
		case node:
			var to int
			b, to = v.write(b)
			patch(table+at[k], to)
		case []node:
			patch(table+at[k], len(b))
			b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
			list := len(b)
			b = append(b, make([]byte, 4*len(v))...)
			for i := range v {
				var to int
				b, to = v[i].write(b)
				patch(list+4*i, to)
			}
		case repeated:
			patch(table+at[k], len(b))
			b = binary.LittleEndian.AppendUint32(b, uint32(v.n))
			list := len(b)
			var to int
			b, to = v.table.write(append(b, make([]byte, 4*v.n)...))
			for i := range v.n {
				patch(list+4*i, to)
			}
		}
	}
	return b, table
}

// header is a header without an index, with one more field.
func header(more node) node {
	h := node{9: []byte{0, 0}}
	maps.Copy(h, more)
	return h
}

func file(h node, features ...node) []byte {
	b := append([]byte("fgb\x03fgb\x01"), buffer(h)...)
	for _, f := range features {
		b = append(b, buffer(f)...)
	}
	return b
}

// crs is a coordinate reference system of a code.
func crs(code int32) node {
	return node{10: node{0: text("EPSG"), 1: binary.LittleEndian.AppendUint32(nil, uint32(code)), 2: text("its name")}}
}

func geometry(kind byte, fields node) node {
	g := node{6: []byte{kind}}
	maps.Copy(g, fields)
	return node{0: g}
}

func read(data []byte) (*feature.List, error) {
	var l feature.List
	err := flatgeobuf.Read(&feature.Input{Name: "a.fgb", Data: data}, &l)
	return &l, err
}

var (
	square   = doubles(0, 0, 2, 0, 2, 2, 0, 2, 0, 0, 0.5, 0.5, 1, 0.5, 1, 1, 0.5, 0.5)
	withHole = node{1: square, 0: uints(5, 9)}
)

// TestGeometries holds the types of geometries, named by the feature or by the header.
func TestGeometries(t *testing.T) {
	multi := geometry(6, node{7: []node{withHole, {1: doubles(5, 5, 6, 5, 6, 6, 5, 5)}}})
	for _, c := range []struct {
		name string
		f    node
		want string
	}{
		{"point", geometry(1, node{1: doubles(1, 2)}), "[] [] [{1 2}]"},
		{"line", geometry(2, node{1: doubles(1, 2, 3, 4)}), "[] [[{1 2} {3 4}]] []"},
		{"polygon", geometry(3, withHole), "[[[{0 0} {2 0} {2 2} {0 2}] [{0.5 0.5} {1 0.5} {1 1}]]] [] []"},
		{"one ring", geometry(3, node{1: doubles(0, 0, 1, 0, 1, 1, 0, 0)}), "[[[{0 0} {1 0} {1 1}]]] [] []"},
		{"points", geometry(4, node{1: doubles(1, 2, 3, 4)}), "[] [] [{1 2} {3 4}]"},
		{"lines", geometry(5, node{1: doubles(1, 2, 3, 4, 5, 6, 7, 8), 0: uints(2, 4)}), "[] [[{1 2} {3 4}] [{5 6} {7 8}]] []"},
		{"polygons", multi, "[[[{0 0} {2 0} {2 2} {0 2}] [{0.5 0.5} {1 0.5} {1 1}]] [[{5 5} {6 5} {6 6}]]] [] []"},
		{"collection", geometry(7, node{7: []node{multi[0].(node), {6: []byte{1}, 1: doubles(1, 2)}}}), "[[[{0 0} {2 0} {2 2} {0 2}] [{0.5 0.5} {1 0.5} {1 1}]] [[{5 5} {6 5} {6 6}]]] [] [{1 2}]"},
		{"none", node{}, "[] [] []"},
	} {
		l, err := read(file(header(crs(4326)), c.f))
		if err != nil || len(l.Features) != 1 || len(l.Findings) > 0 {
			t.Fatalf("%s: %v, %v", c.name, err, l.Findings)
		}
		g := &l.Features[0].Geometry
		if got := fmt.Sprint(g.Areas, g.Lines, g.Points); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	l, err := read(file(header(node{2: []byte{3}}), node{0: withHole}))
	if err != nil || len(l.Features) != 1 || len(l.Features[0].Geometry.Areas) != 1 || len(l.Findings) != 1 {
		t.Errorf("a type of the header: %v, %+v", err, l)
	}
}

// TestProperties holds the types of columns.
func TestProperties(t *testing.T) {
	var columns []node
	for kind, name := range []string{"byte", "ubyte", "bool", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "string", "json", "time", "binary"} {
		columns = append(columns, node{0: text(name), 1: []byte{byte(kind)}})
	}
	var b []byte
	add := func(column int, value ...byte) {
		b = append(binary.LittleEndian.AppendUint16(b, uint16(column)), value...)
	}
	long := func(s string) []byte { return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s))), s...) }
	ones := []byte{255, 255, 255, 255, 255, 255, 255, 255}
	for i, size := range []int{1, 1, 1, 2, 2, 4, 4, 8, 8} {
		add(i, ones[:size]...)
	}
	add(9, binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.1))...)
	add(10, binary.LittleEndian.AppendUint64(nil, math.Float64bits(-0.25))...)
	add(11, long("a \"b\" ß")...)
	add(12, long("{\n \"x\": [1]}")...)
	add(13, long("2026-03-12T11:16:45Z")...)
	add(14, long("\x00")...)
	want := `{"byte":-1,"ubyte":255,"bool":true,"short":-1,"ushort":65535,"int":-1,"uint":4294967295,"long":-1,"ulong":18446744073709551615,` +
		`"float":0.1,"double":-0.25,"string":"a \"b\" ß","json":{"x":[1]},"time":"2026-03-12T11:16:45Z","binary":null}`
	f := geometry(1, node{1: doubles(1, 2)})
	f[1] = vector{len(b), b}
	h := header(crs(4326))
	h[7] = columns
	l, err := read(file(h, f))
	if err != nil || len(l.Features) != 1 {
		t.Fatalf("%v, %v", err, l.Findings)
	}
	if got := string(l.Features[0].Properties.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for cut := 1; cut < len(b); cut++ { // no value is read that is not whole
		f[1] = vector{cut, b[:cut]}
		if l, err = read(file(h, f)); err != nil || len(l.Features)+len(l.Findings) != 1 {
			t.Fatalf("%d bytes: %v, %+v", cut, err, l)
		}
	}
}

// TestFaults holds the errors of files and features.
func TestFaults(t *testing.T) {
	good := geometry(3, withHole)
	whole := file(header(crs(4326)), good)
	other := crs(0)
	other[10].(node)[4] = text(`PROJCRS["Lambert-93",BASEGEOGCRS["RGF93"]]`)
	count := header(crs(4326))
	count[8] = binary.LittleEndian.AppendUint64(nil, 2)
	name := repeated{1000, node{0: text(strings.Repeat("n", 10_000))}}
	names, own := header(crs(4326)), geometry(3, withHole)
	names[7], own[2] = name, name
	index := header(crs(4326))
	index[8], index[9] = count[8], []byte{16, 0}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"other":     {[]byte("fgb\x02fgb\x00    "), "it is no FlatGeobuf file of version 3"},
		"header":    {whole[:40], "header: the file ends within it"},
		"cut":       {whole[:len(whole)-1], "feature 0: the file ends within it"},
		"code":      {file(header(crs(2263)), good), `"EPSG:2263 its name"`},
		"text":      {file(header(other), good), `"Lambert-93"`},
		"index":     {file(index, good)[:120], "index: the file ends within it"},
		"count":     {file(count, good), "refused: invalid-geometry: 1 features, the header names 2: the file is cut"},
		"ends":      {file(header(crs(4326)), geometry(3, node{1: square, 0: uints(5, 10)})), "feature 0: refused: invalid-geometry: a part of the points 5 to 10 of 9"},
		"curve":     {file(header(crs(4326)), geometry(10, withHole)), "geometries of type 10, such as curves, are not read"},
		"names":     {file(names), "header: more names of columns than the bytes can hold"},
		"own names": {file(header(crs(4326)), own), "feature 0: refused: invalid-geometry: more names of columns than the bytes can hold"},
		"no column": {file(header(crs(4326)), node{1: vector{2, []byte{1, 0}}}), "properties: there is no column 1"},
	} {
		l, err := read(c.data)
		text := fmt.Sprint(err, l.Findings)
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
	for i := range whole { // no byte that is wrong makes the reader panic
		for _, c := range []byte{0, 1, 127, 255} {
			bad := slices.Clone(whole)
			bad[i] = c
			_, _ = read(bad)
		}
	}
}

// FuzzRead holds that no bytes make the reader panic, or give more points than they can hold.
func FuzzRead(f *testing.F) {
	h := header(crs(4326))
	h[7] = []node{{0: text("n"), 1: []byte{5}}, {0: text("s"), 1: []byte{11}}}
	multi := geometry(6, node{7: []node{withHole, {1: doubles(5, 5, 6, 5, 6, 6, 5, 5)}}})
	multi[1] = vector{14, []byte{0, 0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 'a', 'b'}}
	f.Add(file(h, multi, geometry(1, node{1: doubles(1, 2)})))
	f.Add(file(header(node{2: []byte{3}}), node{0: withHole}))
	f.Add(file(header(crs(0)), geometry(7, node{7: []node{multi[0].(node)}})))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, _ := read(data)
		points := 0
		for i := range l.Features {
			g := &l.Features[i].Geometry
			points += g.Areas.Vertices() + len(g.Points)
		}
		if points > len(data)/16 {
			t.Errorf("%d points of %d bytes", points, len(data))
		}
	})
}
