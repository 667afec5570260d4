package fence

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/cellmap"
	"paddock/internal/sampling"
)

// imageDocument has what an image must carry: keys of all sorts, properties and none, holes,
// parts, findings of fences and of features that gave none.
const imageDocument = `{"type":"FeatureCollection","features":[
{"type":"Feature","id":"a","properties":{"n":1},"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[2,2],[4,2],[4,4],[2,4],[2,2]]]}},
{"type":"Feature","id":"a","properties":null,"geometry":{"type":"MultiPolygon","coordinates":[[[[9,0],[12,0],[12,9],[9,9]]],[[[20,20],[21,20],[21,21],[20,20]]]]}},
{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[1,1],[8,8],[8,1],[1,1]]]}},
{"type":"Feature","id":"line","geometry":{"type":"LineString","coordinates":[[1,1],[1,1],[30,-2]]}},
{"type":"Feature","id":"lines","properties":{"direction":"left"},"geometry":{"type":"MultiLineString","coordinates":[[[1,1],[2,3]],[[5,5]],[[-7,1],[3,1]]]}},
{"type":"Feature","id":"route","properties":{"paddock:buffer":250},"geometry":{"type":"LineString","coordinates":[[1,1],[2,3],[2.5,3]]}},
{"type":"Feature","geometry":null}]}`

func documentSet(t testing.TB, text string, o Options) *Set {
	t.Helper()
	c, err := geojson.ReadGeoJSON(strings.NewReader(text), "doc", o.Reading())
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSet("x", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Replace(c); err != nil {
		t.Fatal(err)
	}
	return s
}

func imageOf(t testing.TB, s *Set, note string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.WriteImage(&b, []byte(note)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestImageOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		for _, boundary := range []geometry.Boundary{geometry.BoundaryHalfOpen, geometry.BoundaryClosed} {
			o := Options{Kind: kind, Boundary: boundary}
			made := documentSet(t, imageDocument, o)
			opened, note, err := OpenImage("y", imageOf(t, made, "from doc"), o)
			if err != nil || string(note) != "from doc" || opened.Name() != "y" {
				t.Fatalf("%s, %s: %v, note %q", kind, boundary, err, note)
			}
			sameSets(t, made, opened)
			for _, s := range []*Set{made, opened} { // an image's set goes on as any other
				if _, _, err := s.Add(*made.Snapshot().Fence(2)); err != nil {
					t.Fatal(err)
				}
				s.Delete("a")
			}
			sameSets(t, made, opened)
		}
	}
}

// sameSets compares all that can be asked of two sets.
func sameSets(t *testing.T, a, b *Set) {
	t.Helper()
	x, y := a.Snapshot(), b.Snapshot()
	var docs [2]bytes.Buffer
	for i, s := range []*Snapshot{x, y} {
		if err := s.WriteGeoJSON(&docs[i]); err != nil {
			t.Fatal(err)
		}
	}
	if docs[0].String() != docs[1].String() {
		t.Errorf("%s: documents differ:\n%s\n%s", a.Kind(), &docs[0], &docs[1])
	}
	if f, g := fmt.Sprint(findingTexts(x)), fmt.Sprint(findingTexts(y)); f != g {
		t.Errorf("%s: findings differ:\n%s\n%s", a.Kind(), f, g)
	}
	if x.Generation() != y.Generation() || x.Bounds() != y.Bounds() || x.Len() != y.Len() {
		t.Errorf("%s: generation %d, %d; bounds %v, %v", a.Kind(), x.Generation(), y.Generation(), x.Bounds(), y.Bounds())
	}
	for lon := -0.5; lon < 22; lon += 0.5 {
		for lat := -0.5; lat < 22; lat += 0.5 {
			if p, q := x.Append(nil, lon, lat), y.Append(nil, lon, lat); !slices.Equal(p, q) {
				t.Fatalf("%s: (%v, %v) is in %v, %v", a.Kind(), lon, lat, p, q)
			}
		}
	}
	for _, f := range x.All() {
		p, _ := x.Lookup(f.Key)
		if q, ok := y.Lookup(f.Key); !ok || p != q {
			t.Errorf("%s: %q is %d, %d", a.Kind(), f.Key, p, q)
		}
	}
}

func findingTexts(s *Snapshot) (texts []string) {
	for _, f := range s.Findings() {
		texts = append(texts, f.String())
	}
	return texts
}

func TestImageIsRefused(t *testing.T) {
	whole := imageOf(t, documentSet(t, imageDocument, Options{}), "")
	cases := []struct {
		name, want string
		change     func(b []byte) []byte
		options    Options
	}{
		{"empty", "less than a header", func([]byte) []byte { return nil }, Options{}},
		{"foreign", "does not begin with PDKFENCE", func([]byte) []byte { return bytes.Repeat([]byte("x"), 1000) }, Options{}},
		{"truncated", "bytes, not", func(b []byte) []byte { return b[:len(b)-8] }, Options{}},
		{"older", "version 2, not 3", func(b []byte) []byte { b[8]--; return b }, Options{}},
		{"other byte order", "other byte order", func(b []byte) []byte { slices.Reverse(b[12:16]); return b }, Options{}},
		{"a bit", "checksum is wrong", func(b []byte) []byte { b[len(b)/2] ^= 4; return b }, Options{}},
		{"other kind", `other options: "kind=cellmap`, func(b []byte) []byte { return b }, Options{Kind: KindRTree}},
		{"other id", "other options", func(b []byte) []byte { return b }, Options{IDProperty: "n"}},
		{"other boundary", "other options", func(b []byte) []byte { return b }, Options{Boundary: geometry.BoundaryOpen}},
	}
	for _, c := range cases {
		_, _, err := OpenImage("x", c.change(bytes.Clone(whole)), c.options)
		if !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	edited := documentSet(t, imageDocument, Options{})
	edited.Delete("a")
	if err := edited.WriteImage(&bytes.Buffer{}, nil); !errors.Is(err, ErrEdited) {
		t.Errorf("of an edited set: %v", err)
	}
}

// Every bit counts, wherever it is.
func TestImageOfOneWrongBit(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	whole := imageOf(t, documentSet(t, imageDocument, Options{}), "note")
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		if _, _, err := OpenImage("x", b, Options{}); err == nil {
			t.Fatalf("byte %d of %d may be wrong", i, len(whole))
		}
	}
}

// repair makes size and checksum those of the bytes, so that what is behind them is reached.
func repair(b []byte) {
	if len(b) < int(imageHeaderSize) {
		return
	}
	h := imageHeader{Version: imageVersion, Order: imageOrder, Size: uint64(len(b)), Sum: crc32.Checksum(b[imageSummed:], castagnoli)}
	copy(h.Magic[:], imageMagic)
	copy(b[:imageSummed], bytesOf([]imageHeader{h}))
}

// Whatever bytes are opened, with a checksum that is right too: they are refused, or give a
// set that answers.
func FuzzImage(f *testing.F) {
	crowd := crowdDocument()
	for _, o := range []Options{{}, {Boundary: geometry.BoundaryClosed}, {Kind: KindRTree}} {
		f.Add(imageOf(f, documentSet(f, imageDocument, o), "note"))
		f.Add(imageOf(f, documentSet(f, `{"type":"FeatureCollection","features":[]}`, o), ""))
	}
	f.Add(imageOf(f, documentSet(f, crowd, Options{}), "note"))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = append(make([]byte, 0, len(b)+8), b...)
		repair(b)
		for _, o := range []Options{{}, {Boundary: geometry.BoundaryClosed}, {Kind: KindRTree}} {
			if s, _, err := OpenImage("x", b, o); err == nil {
				askAll(t, s)
			}
		}
	})
}

// crowdDocument has so many fences on one spot that a cell needs the wide form of a record.
func crowdDocument() string {
	var b strings.Builder
	b.WriteString(`{"type":"FeatureCollection","features":[`)
	for i := range 70 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,%d],[-1,%d],[0,0]]]}}`, i+1, i+2)
	}
	b.WriteString(`]}`)
	return b.String()
}

// askAll asks a set everything, at its vertices and between them.
func askAll(t *testing.T, s *Set) {
	snap := s.Snapshot()
	lon, lat := []float64{0, 180, -180, 1e9}, []float64{0, 90, -90, 1e9}
	for _, f := range snap.All() {
		for _, part := range f.Geometry {
			for _, ring := range part {
				for i, p := range ring {
					q := ring[(i+1)%len(ring)]
					lon = append(lon, p.Lon, (p.Lon+q.Lon)/2, p.Lon+1e-9)
					lat = append(lat, p.Lat, (p.Lat+q.Lat)/2, p.Lat-1e-9)
				}
			}
		}
	}
	var batch Batch
	snap.AppendBatch(&batch, lon, lat)
	for i := range lon {
		for _, r := range snap.Append(nil, lon[i], lat[i]) {
			if snap.Fence(r) == nil {
				t.Fatalf("(%v, %v) is in fence %d, which is not there", lon[i], lat[i], r)
			}
		}
	}
	snap.Findings()
	snap.Stats()
	for _, f := range snap.All() {
		if r, ok := snap.Lookup(f.Key); !ok || snap.Fence(r) != f {
			t.Fatalf("the key %q is not found", f.Key)
		}
	}
	s.Delete("a")
	s.Snapshot().Append(nil, 1, 1)
}

// A record of nothing at the very end of the words is loaded by batches all the same.
func TestImageOfARecordOfNothing(t *testing.T) {
	m := &cellmap.Map{W: 1, H: 1, Shift: cellmap.MinShift, Dir: []uint32{cellmap.EntryCell | 1}, Words: []uint32{0, 0}}
	if err := m.Check(0); err == nil {
		t.Error("taken")
	}
	m.Words = append(m.Words, 0)
	if err := m.Check(0); err != nil {
		t.Error(err)
	}
}

// Single words are changed, so that whatever they are is bounded by something.
func TestImageOfOneWrongWord(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	for _, text := range []string{imageDocument, crowdDocument()} {
		whole := imageOf(t, documentSet(t, text, Options{}), "")
		words := []uint32{1, 0, 1<<32 - 1, cellmap.EntryNode, cellmap.EntryCell | 3, 77}
		step := 4 * max(1, len(whole)/4*sampling.Slowdown/400) // some hundred in all
		for i, at := 0, int(imageHeaderSize); at+4 <= len(whole); i, at = i+1, at+step {
			b := append(make([]byte, 0, len(whole)+8), whole...)
			*(*uint32)(unsafe.Pointer(&b[at])) = words[i%len(words)]
			repair(b)
			if s, _, err := OpenImage("x", b, Options{}); err == nil {
				askAll(t, s)
			}
		}
	}
}
