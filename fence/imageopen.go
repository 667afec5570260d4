package fence

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"unsafe"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/cellmap"
	"paddock/fence/internal/index"
)

// OpenImage makes a set from the output of WriteImage under the same options, and returns the note
// that was kept with it. The image belongs to the set from now on: it must not change, and must
// stay as long as any fence of the set is in use. It is copied if it does not begin at a multiple
// of 8.
//
// Every byte is checked, first against the checksum, then for use: an image of arbitrary bytes is
// refused, or gives a set that answers. The error wraps ErrImage and names the fault, or is that of
// NewSet.
func OpenImage(name string, image []byte, o Options) (set *Set, note []byte, err error) {
	set, err = NewSet(name, o)
	if err != nil {
		return nil, nil, err
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(image)))%8 != 0 {
		image = append(make([]byte, 0, len(image)+8), image...)
	}
	r := imageReader{set: set}
	if err := r.open(image); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrImage, err)
	}
	return set, r.section[sectionNote], nil
}

// imageReader makes a set of an image.
type imageReader struct {
	set     *Set
	section [imageSections][]byte

	entries  []*index.Entry
	table    *index.Table
	keys     *keys
	findings []geojson.Finding
	rings    []geometry.Ring // all but empty ones
	starts   []uint32
}

func (r *imageReader) open(image []byte) error {
	sum, err := r.header(image)
	if err != nil {
		return err
	}
	var (
		index   *cellmap.Map
		damaged error
		invalid error
		beside  sync.WaitGroup
	)
	beside.Go(func() {
		if crc32.Checksum(image[imageSummed:], castagnoli) != sum {
			damaged = fmt.Errorf("the checksum is wrong: it is damaged")
		}
	})
	geometry, err := r.geometry()
	if err == nil {
		beside.Go(func() { index, invalid = r.cellmap() })
		err = r.fences(geometry)
	}
	if err == nil {
		err = r.readFindings()
	}
	beside.Wait()
	if err := cmp.Or(damaged, err, invalid); err != nil {
		return err
	}
	r.Publish(index)
	return nil
}

// header finds the sections, and gives the checksum of all.
func (r *imageReader) header(image []byte) (sum uint32, err error) {
	if len(image) < int(imageHeaderSize) {
		return 0, fmt.Errorf("%d bytes are less than a header", len(image))
	}
	h := (*imageHeader)(unsafe.Pointer(unsafe.SliceData(image)))
	switch {
	case string(h.Magic[:]) != imageMagic:
		return 0, fmt.Errorf("it does not begin with %s", imageMagic)
	case h.Order != imageOrder:
		return 0, fmt.Errorf("it was written on a machine of the other byte order")
	case h.Version != imageVersion:
		return 0, fmt.Errorf("it has version %d, not %d", h.Version, imageVersion)
	case h.Size != uint64(len(image)):
		return 0, fmt.Errorf("it has %d bytes, not %d", len(image), h.Size)
	}
	for i, s := range h.Sections {
		if s.Offset%8 != 0 || s.Offset > h.Size || s.Size > h.Size-s.Offset {
			return 0, fmt.Errorf("section %d lies beyond its end", i)
		}
		r.section[i] = image[s.Offset : s.Offset+s.Size : s.Offset+s.Size]
	}
	if want := imageOptions(r.set.options); string(r.section[sectionOptions]) != want {
		return 0, fmt.Errorf("it is of a set with other options: %.200q, not %.200q", r.section[sectionOptions], want)
	}
	return h.Sum, nil
}

// fences makes the entries, which share the image's memory.
func (r *imageReader) fences(geometry []geometry.Polygon) error {
	fences, ok := sliceOf[imageFence](r.section[sectionFences])
	if !ok {
		return fmt.Errorf("section %d is of no whole number of fences", sectionFences)
	}
	lines, err := r.lines()
	if err != nil {
		return err
	}
	made := make([]Fence, len(fences))
	text := r.section[sectionText]
	for i, f := range fences {
		key, id, properties := cut(&text, f.Key), cutJSON(&text, f.ID), cutJSON(&text, f.Properties)
		if uint64(f.Parts) > uint64(len(geometry)) || uint64(f.Lines) > uint64(len(lines)) || len(key) == 0 || uint32(len(key)) != f.Key {
			return fmt.Errorf("fence %d has no such parts or lines, or no key", i)
		}
		made[i] = Fence{Key: string(key), ID: id, Properties: properties, Geometry: geometry[:f.Parts:f.Parts]}
		if f.Lines > 0 {
			made[i].Lines = lines[:f.Lines:f.Lines]
		}
		geometry, lines = geometry[f.Parts:], lines[f.Lines:]
	}
	if len(geometry) != 0 || len(lines) != 0 || len(text) != 0 {
		return fmt.Errorf("%d parts, %d lines and %d bytes of text belong to no fence", len(geometry), len(lines), len(text))
	}
	return r.list(made)
}

// list makes the table and the keys.
func (r *imageReader) list(fences []Fence) error {
	r.table, r.keys = &index.Table{}, newKeys(len(fences))
	for i := range fences {
		f := &fences[i]
		if fd, bad := f.Refusal(); bad {
			return fmt.Errorf("fence %d: %v", i, fd)
		}
		if _, taken := r.keys.get(f.Key); taken {
			return fmt.Errorf("fence %d has the key of another: %.64q", i, f.Key)
		}
		e := index.NewEntry(Ref(i), f, nil)
		r.entries = append(r.entries, e)
		r.table.Put(Ref(i), e)
		r.keys.put(f.Key, Ref(i))
	}
	return nil
}

// geometry makes the parts of all fences.
func (r *imageReader) geometry() ([]geometry.Polygon, error) {
	parts, ok1 := sliceOf[uint32](r.section[sectionParts])
	sizes, ok2 := sliceOf[uint32](r.section[sectionRings])
	points, ok3 := sliceOf[geometry.Point](r.section[sectionPoints])
	if !ok1 || !ok2 || !ok3 {
		return nil, fmt.Errorf("a section of the geometry has a size that is none")
	}
	rings := make([]geometry.Ring, len(sizes))
	r.rings, r.starts = make([]geometry.Ring, 0, len(sizes)), make([]uint32, 0, len(sizes))
	at := uint64(0)
	for i, n := range sizes {
		if uint64(n) > uint64(len(points))-at {
			return nil, fmt.Errorf("ring %d has more vertices than there are", i)
		}
		rings[i] = points[at : at+uint64(n) : at+uint64(n)]
		if n > 0 {
			r.rings, r.starts = append(r.rings, rings[i]), append(r.starts, uint32(at))
		}
		at += uint64(n)
	}
	polygons := make([]geometry.Polygon, len(parts))
	for i, n := range parts {
		if uint64(n) > uint64(len(rings)) {
			return nil, fmt.Errorf("part %d has more rings than there are", i)
		}
		polygons[i], rings = rings[:n:n], rings[n:]
	}
	if len(rings) != 0 || at != uint64(len(points)) || at > 1<<32-1 {
		return nil, fmt.Errorf("%d rings and %d vertices belong to no part", len(rings), uint64(len(points))-at)
	}
	return polygons, nil
}

// lines makes the lines of all fences.
func (r *imageReader) lines() (geometry.MultiLine, error) {
	sizes, ok1 := sliceOf[uint32](r.section[sectionLines])
	places, ok2 := sliceOf[geometry.Point](r.section[sectionPlaces])
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("a section of the lines has a size that is none")
	}
	lines := make(geometry.MultiLine, len(sizes))
	for i, n := range sizes {
		if uint64(n) > uint64(len(places)) {
			return nil, fmt.Errorf("line %d has more vertices than there are", i)
		}
		lines[i], places = geometry.Line(places[:n:n]), places[n:]
	}
	if len(places) != 0 {
		return nil, fmt.Errorf("%d vertices belong to no line", len(places))
	}
	return lines, nil
}

// cut takes n bytes off the text, or none if there are less.
func cut(text *[]byte, n uint32) []byte {
	if uint64(n) > uint64(len(*text)) {
		return nil
	}
	b := (*text)[:n:n]
	*text = (*text)[n:]
	return b
}

// cutJSON is cut for what may be nil.
func cutJSON(text *[]byte, n uint32) []byte {
	if n == 0 {
		return nil
	}
	return cut(text, n-1)
}

// readFindings gives the findings to their fences.
func (r *imageReader) readFindings() error {
	in := findingReader{b: r.section[sectionFindings]}
	for len(in.b) > 0 {
		ref, f := in.next()
		switch {
		case in.failed:
			return fmt.Errorf("its findings end in the middle of one")
		case ref == ownFinding:
			r.findings = append(r.findings, f)
		case ref < uint64(len(r.entries)):
			e := r.entries[ref]
			e.Findings = append(e.Findings, f)
		default:
			return fmt.Errorf("a finding is about fence %d of %d", ref, len(r.entries))
		}
	}
	return nil
}

// cellmap makes the index; nil if there is none. It needs the geometry, and no fence.
func (r *imageReader) cellmap() (*cellmap.Map, error) {
	if len(r.section[sectionGrid]) == 0 {
		return nil, nil
	}
	grid, ok := sliceOf[cellmap.Grid](r.section[sectionGrid])
	dir, ok2 := sliceOf[uint32](r.section[sectionDir])
	words, ok3 := sliceOf[uint32](r.section[sectionWords])
	if !ok || !ok2 || !ok3 || len(grid) != 1 {
		return nil, fmt.Errorf("a section of the index has a size that is none")
	}
	fences := len(r.section[sectionFences]) / int(unsafe.Sizeof(imageFence{}))
	return cellmap.Open(grid[0], dir, words, r.rings, r.starts, r.set.options.Boundary.Rule(), fences)
}

// publish makes what was read the set's first generation.
func (r *imageReader) Publish(m *cellmap.Map) {
	s := r.set
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = int64(len(r.entries))
	s.writer = newWriter(s.options.index())
	if w, ok := s.writer.(*cellmap.Writer); ok && m != nil {
		w.Begin(m, r.table)
	} else {
		for _, e := range r.entries {
			s.writer.Replace(nil, e)
		}
	}
	s.publish(&Snapshot{table: r.table, keys: r.keys, bounds: r.table.Bounds(), findings: slices.Clip(r.findings)})
}
