package fence

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// The stored form of a set is a head and pages, of 256 refs each. An edit changes the head and
// one page, so a store that keeps each page under a hash of its bytes writes little:
//
//	head    version, generation, next ref, number of pages, findings of no fence
//	page    version, then each fence: place in the page, key, id, properties, geometry, lines,
//	        findings
//
// A page without lines has version 1, in which fences have none, and another one version 2.
//
// Numbers are varints, coordinates IEEE 754, least byte first. There is no index in it: an image
// has one, but only of a set that was never edited.
const (
	storedVersion = 1
	storedLines   = 2
)

// restoredAnew is the number of changed fences from which on a restored set gets a new index.
const restoredAnew = 1024

// ErrStored is wrapped where bytes are not the stored form of a set.
var ErrStored = errors.New("not a stored set")

// Page is the fences of 256 refs in a row. Pages of snapshots of one set that are == have the same
// fences.
type Page struct{ page *index.Page }

// Pages returns all pages, by ref. The last ones may have no fences.
func (s *Snapshot) Pages() []Page {
	pages := make([]Page, s.table.Pages())
	for i := range pages {
		pages[i] = Page{s.table.Page(i)}
	}
	return pages
}

// Empty reports whether the page has no fences.
func (p Page) Empty() bool { return p.page == nil }

// Append appends the stored form of the page.
func (p Page) Append(b []byte) []byte {
	if p.page == nil {
		return append(b, storedVersion)
	}
	version := byte(storedVersion)
	for _, e := range p.page.All() {
		if len(e.Fence.Lines) > 0 {
			version = storedLines
		}
	}
	b = append(b, version)
	for place, e := range p.page.All() {
		b = appendEntry(append(b, byte(place)), e, version)
	}
	return b
}

// StoredSize returns a bound on the bytes of the pages that a set has which gets fences in this
// order: each has fences that follow each other.
func StoredSize(fences []Fence) (most int) {
	size := 0
	for i := range fences {
		size += storedSize(&fences[i])
		if before := i - index.PageSize; before >= 0 {
			size -= storedSize(&fences[before])
		}
		most = max(most, size)
	}
	return most
}

// storedSize returns a bound on the bytes of a fence, whose findings are few.
func storedSize(f *Fence) int {
	const point, number, more = 16, binary.MaxVarintLen64, 4 << 10
	n := more + len(f.Key) + len(f.ID) + len(f.Properties)
	for _, part := range f.Geometry {
		n += number
		for _, ring := range part {
			n += number + point*len(ring)
		}
	}
	for _, l := range f.Lines {
		n += number + point*len(l)
	}
	return n
}

// AppendHead appends the stored form of a snapshot without its pages.
func (s *Snapshot) AppendHead(b []byte) []byte {
	b = append(b, storedVersion)
	for _, n := range []uint64{s.generation, uint64(s.next), uint64(s.table.Pages()), uint64(len(s.findings))} {
		b = binary.AppendUvarint(b, n)
	}
	for _, f := range s.findings {
		b = appendFinding(b, ownFinding, f)
	}
	return b
}

// Digest returns a hash of the stored form: a snapshot and one that was restored from it have the
// same. After an edit it is found from that of the other pages.
func (s *Snapshot) Digest() (d [sha256.Size]byte) {
	b := s.AppendHead(nil)
	for _, p := range s.Pages() {
		page := d // zero: no fences
		if !p.Empty() {
			page = p.page.Digest(func() [sha256.Size]byte { return sha256.Sum256(p.Append(nil)) })
		}
		b = append(b, page[:]...)
	}
	return sha256.Sum256(b)
}

// appendEntry appends all of a fence but its place, for a page of that version.
func appendEntry(b []byte, e *index.Entry, version byte) []byte {
	f := e.Fence
	b = append(binary.AppendUvarint(b, uint64(len(f.Key))), f.Key...)
	for _, raw := range [][]byte{f.ID, f.Properties} {
		if raw == nil {
			b = append(b, 0)
			continue
		}
		b = append(binary.AppendUvarint(b, uint64(len(raw))+1), raw...)
	}
	b = binary.AppendUvarint(b, uint64(len(f.Geometry)))
	for _, part := range f.Geometry {
		b = binary.AppendUvarint(b, uint64(len(part)))
		for _, ring := range part {
			b = appendPoints(b, ring)
		}
	}
	if version == storedLines {
		b = binary.AppendUvarint(b, uint64(len(f.Lines)))
		for _, l := range f.Lines {
			b = appendPoints(b, l)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(e.Findings)))
	for _, f := range e.Findings {
		b = appendFinding(b, uint64(e.Ref), f)
	}
	return b
}

func appendPoints(b []byte, points []geometry.Point) []byte {
	b = binary.AppendUvarint(b, uint64(len(points)))
	for _, p := range points {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Lon))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(p.Lat))
	}
	return b
}

// Restore replaces the set's state by a stored one: head is its head, and changed has, by number,
// the pages that the set does not have already. Refs, keys, generation and findings are those of
// the snapshot that was stored. The error wraps ErrStored; the set is then as it was.
//
// The set should be one that the snapshot, or another one of the same set, was restored to, and
// have the same options.
func (s *Set) Restore(head []byte, changed map[int][]byte) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := restoring{set: s, now: s.current.Load(), in: findingReader{b: head}}
	next, err := r.restore(changed)
	if err != nil {
		return nil, fmt.Errorf("%w: set %q: %w", ErrStored, s.name, err)
	}
	s.next = next.next
	if r.few() {
		for _, c := range r.edits {
			s.writer.Replace(c.old, c.successor)
		}
	} else {
		s.writer = newWriter(s.options.index())
		for e := range next.table.All() {
			s.writer.Replace(nil, e)
		}
	}
	next.index, next.outline = s.writer.Publish(next.table), s.current.Load().outline.Follow(next.table)
	s.current.Store(next)
	s.tend()
	return next, nil
}

// restoring is the state of Restore.
type restoring struct {
	set   *Set
	now   *Snapshot
	in    findingReader
	edits []edit
}

// edit is a fence that another one follows; either may be nil.
type edit struct{ old, successor *index.Entry }

// few reports whether the present index can take the edits.
func (r *restoring) few() bool {
	return r.now.generation > 0 && len(r.edits) < restoredAnew && 2*len(r.edits) <= r.now.Len()
}

func (r *restoring) restore(changed map[int][]byte) (*Snapshot, error) {
	in := &r.in
	if v := in.take(1); in.failed || v[0] != storedVersion {
		return nil, errors.New("its head has another version")
	}
	next := &Snapshot{generation: in.uvarint(), next: int64(in.uvarint())}
	pages := in.uvarint()
	for range in.count(6) {
		_, f := in.next()
		next.findings = append(next.findings, f)
	}
	if in.failed || len(in.b) > 0 || next.next > 1<<32 || next.next < 0 || pages > 1<<32/index.PageSize {
		return nil, errors.New("its head is damaged")
	}
	for i := int(pages); i < r.now.table.Pages(); i++ { // are gone
		if err := r.page(i, nil); err != nil {
			return nil, err
		}
	}
	for _, i := range slices.Sorted(maps.Keys(changed)) {
		if i < 0 || i >= int(pages) {
			return nil, fmt.Errorf("it has no page %d", i)
		}
		if err := r.page(i, changed[i]); err != nil {
			return nil, fmt.Errorf("page %d: %w", i, err)
		}
	}
	return next, r.publish(next, int(pages))
}

// page finds the edits that make a page that of these bytes.
func (r *restoring) page(i int, stored []byte) error {
	var then [index.PageSize]*index.Entry
	if len(stored) > 0 {
		if stored[0] != storedVersion && stored[0] != storedLines {
			return errors.New("it has another version")
		}
		in := findingReader{b: stored[1:]}
		for last := -1; len(in.b) > 0; {
			place := int(in.take(1)[0])
			if place <= last {
				return errors.New("its fences are out of order")
			}
			e, err := in.entry(Ref(i*index.PageSize+place), stored[0])
			if err != nil {
				return err
			}
			then[place], last = e, place
		}
	}
	for place, e := range then {
		old := r.now.table.Get(Ref(i*index.PageSize + place))
		if old == e || old != nil && e != nil && bytes.Equal(appendEntry(nil, old, storedLines), appendEntry(nil, e, storedLines)) {
			continue
		}
		r.edits = append(r.edits, edit{old, e})
	}
	return nil
}

// publish makes table and keys of the next snapshot.
func (r *restoring) publish(next *Snapshot, pages int) error {
	next.table = r.now.table
	if r.few() {
		for _, c := range r.edits {
			if c.successor == nil {
				next.table = next.table.With(c.old.Ref, nil)
			} else {
				next.table = next.table.With(c.successor.Ref, c.successor)
			}
		}
	} else {
		gone := make(map[*index.Entry]bool, len(r.edits))
		next.table = &index.Table{}
		for _, c := range r.edits {
			gone[c.old] = true
			if c.successor != nil {
				next.table.Put(c.successor.Ref, c.successor)
			}
		}
		for e := range r.now.table.All() {
			if !gone[e] {
				next.table.Put(e.Ref, e)
			}
		}
	}
	next.table = next.table.Sized(pages)
	next.keys = newKeys(next.table.Fences)
	for e := range next.table.All() {
		if _, taken := next.keys.get(e.Fence.Key); taken {
			return fmt.Errorf("two fences have the key %.64q", e.Fence.Key)
		}
		if int64(e.Ref) >= next.next {
			return fmt.Errorf("fence %q has a ref that was never given", e.Fence.Key)
		}
		next.keys.put(e.Fence.Key, e.Ref)
	}
	next.bounds = next.table.Bounds()
	return nil
}

// count reads the number of following elements, each of which has at least this many bytes.
func (r *findingReader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.b)/size) {
		r.failed, r.b = true, nil
		return 0
	}
	return int(n)
}

// raw reads what may be nil.
func (r *findingReader) raw() []byte {
	n := r.uvarint()
	if n == 0 {
		return nil
	}
	return bytes.Clone(r.take(n - 1))
}

// points reads what appendPoints wrote.
func (r *findingReader) points() []geometry.Point {
	points := make([]geometry.Point, r.count(16))
	for i := range points {
		points[i] = geometry.Point{Lon: r.float(), Lat: r.float()}
	}
	return points
}

// entry reads what appendEntry wrote.
func (r *findingReader) entry(ref Ref, version byte) (*index.Entry, error) {
	f := &Fence{Key: r.text(), ID: r.raw(), Properties: r.raw()}
	f.Geometry = make(geometry.MultiPolygon, r.count(1))
	for i := range f.Geometry {
		f.Geometry[i] = make(geometry.Polygon, r.count(1))
		for k := range f.Geometry[i] {
			f.Geometry[i][k] = r.points()
		}
	}
	if version == storedLines {
		for range r.count(1) {
			f.Lines = append(f.Lines, r.points())
		}
	}
	var findings []geojson.Finding
	for range r.count(7) {
		_, fd := r.next()
		findings = append(findings, fd)
	}
	if r.failed || f.Key == "" {
		return nil, errors.New("it ends in the middle of a fence")
	}
	if fd, bad := f.Refusal(); bad {
		return nil, fmt.Errorf("fence %d: %v", ref, fd)
	}
	return index.NewEntry(ref, f, findings), nil
}
