package track

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
)

// stateVersion is the version of the layout that Export writes.
const stateVersion = 1

// Errors of Export and Import.
var (
	// ErrUnsettled: Step has more to do, so some objects have the memberships of earlier fences.
	ErrUnsettled = errors.New("track: the objects have not met all changes of the fences")
	// ErrState: the bytes are not those of an exported state.
	ErrState = errors.New("track: not a valid state")
	// ErrStateVersion: the state was exported by a newer program.
	ErrStateVersion = errors.New("track: the state has a newer version than this program reads")
	// ErrStateFences: the state has visits to fences that the view does not have.
	ErrStateFences = errors.New("track: the state does not fit the fences")
)

// Export appends the state to dst: all objects, their order, and the time. The error is
// ErrUnsettled, or nil. Memberships name set and fence, so the state can be imported with other
// snapshots of the same fences.
//
// The layout: version, time, number of the last event of removed objects; the names of sets and
// fences, each once; for each handle a flag and the object, if it is taken; the free handles in the
// order of their next use, last first; the handles of the objects that are not silent, longest
// unheard first. Numbers are varints, coordinates and measures IEEE 754, least byte first.
func (s *Shard) Export(dst []byte) ([]byte, error) {
	if s.behind > 0 {
		return dst, ErrUnsettled
	}
	e := exporter{b: append(dst, stateVersion), s: s, fences: map[fenceID]uint64{}}
	e.int(int64(s.now))
	e.uint(s.numbers)
	e.names()
	e.uint(uint64(len(s.order)))
	for _, o := range s.order {
		e.object(o)
	}
	e.uint(uint64(len(s.free)))
	for _, h := range s.free {
		e.uint(uint64(h))
	}
	for o := s.heard.first; o != nil; o = o.later {
		e.uint(uint64(o.handle))
	}
	return e.b, nil
}

// fenceID names a fence of the view.
type fenceID struct {
	set SetID
	ref fence.Ref
}

type exporter struct {
	b      []byte
	s      *Shard
	fences map[fenceID]uint64 // place in the list of names
}

func (e *exporter) uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }
func (e *exporter) int(v int64)   { e.b = binary.AppendVarint(e.b, v) }
func (e *exporter) float(v float64) {
	e.b = binary.LittleEndian.AppendUint64(e.b, math.Float64bits(v))
}

func (e *exporter) text(s string) {
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

func (e *exporter) point(p geometry.Point) {
	e.float(p.Lon)
	e.float(p.Lat)
}

// names writes the sets of the view, and the fences that hold objects: place of the set, key.
func (e *exporter) names() {
	sets := e.s.view.Sets
	e.uint(uint64(len(sets)))
	for i := range sets {
		e.text(sets[i].Name)
	}
	var used []fenceID
	for _, o := range e.s.order {
		for i := range o.members {
			id := fenceID{o.members[i].set, o.members[i].ref}
			if _, known := e.fences[id]; !known {
				e.fences[id] = uint64(len(used))
				used = append(used, id)
			}
		}
	}
	e.uint(uint64(len(used)))
	for _, id := range used {
		at := slices.IndexFunc(sets, func(t TrackedSet) bool { return t.ID == id.set })
		e.uint(uint64(at))
		e.text(sets[at].Snapshot.Fence(id.ref).Key)
	}
}

// Flags of an object.
const (
	flagTaken = 1 << iota
	flagSilent
	flagMoved
	flagAccuracy
	flagSpeed
	flagHeading
	flagProps
)

func (e *exporter) object(o *object) {
	if o.gone {
		e.b = append(e.b, 0)
		return
	}
	flags := byte(flagTaken)
	for _, f := range []struct {
		set  bool
		flag byte
	}{
		{o.silent, flagSilent},
		{o.moved, flagMoved},
		{o.accuracy.Known, flagAccuracy},
		{o.speed.Known, flagSpeed},
		{o.heading.Known, flagHeading},
		{o.props != nil, flagProps},
	} {
		if f.set {
			flags |= f.flag
		}
	}
	e.b = append(e.b, flags)
	e.text(o.fleet)
	e.text(o.id)
	e.point(o.point)
	e.int(int64(o.time))
	e.int(int64(o.arrived))
	e.point(o.anchor)
	e.int(int64(o.anchorSince))
	e.uint(o.seq)
	for _, m := range []Measure{o.accuracy, o.speed, o.heading} {
		if m.Known {
			e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(m.Value))
		}
	}
	if o.props != nil {
		e.text(string(o.props))
	}
	e.uint(uint64(len(o.members)))
	for i := range o.members {
		m := &o.members[i]
		e.uint(e.fences[fenceID{m.set, m.ref}])
		e.int(int64(m.since))
		e.uint(m.visit)
	}
}

// Import puts an exported state in place of the shard's own, with the fences of v. The error is
// ErrState, ErrStateVersion or ErrStateFences; the shard is as it was then. The same inputs give
// the same events after it as on the shard that was exported, if v has the same sets and fences in
// the same order.
func (s *Shard) Import(state []byte, v *View) error {
	return s.take(importer{rest: state, view: v})
}

// ImportPart is Import for a view that lacks sets or fences, as after a loss: the objects are in
// them no more.
func (s *Shard) ImportPart(state []byte, v *View) error {
	return s.take(importer{rest: state, view: v, part: true})
}

func (s *Shard) take(i importer) error {
	if version := i.byte(); version > stateVersion {
		return fmt.Errorf("%w: %d", ErrStateVersion, version)
	} else if version == 0 {
		i.fail(ErrState)
	}
	n := NewShard(s.opts)
	n.view = i.view
	n.now, n.numbers = Millis(i.int()), i.uint()
	i.names()
	for range i.count(1) {
		n.restore(i.object())
		if i.err != nil {
			return i.err
		}
	}
	i.free(n)
	i.heard(n)
	if i.err == nil && len(i.rest) > 0 {
		i.fail(ErrState)
	}
	if i.err != nil {
		return i.err
	}
	*s = *n
	return nil
}

// restore adds an object at the next handle; nil is a free one.
func (s *Shard) restore(o *object) {
	if o == nil {
		o = &object{gone: true, silent: true}
	}
	o.handle, o.view = uint32(len(s.order)), s.view
	s.order = append(s.order, o)
	if o.gone {
		return
	}
	s.objects[key{o.fleet, o.id}] = o
	if o.silent {
		s.silent++
	}
}

// importer reads what exporter writes. After the first error, which it keeps, it returns zeros.
type importer struct {
	rest   []byte
	view   *View
	part   bool // the view may lack fences
	fences []importedFence
	err    error
}

type importedFence struct {
	fenceID
	missing bool
}

func (i *importer) fail(err error) {
	if i.err == nil {
		i.err, i.rest = err, nil
	}
}

func (i *importer) take(n int) []byte {
	if n > len(i.rest) {
		i.fail(ErrState)
		return make([]byte, min(n, 8))
	}
	b := i.rest[:n]
	i.rest = i.rest[n:]
	return b
}

func (i *importer) byte() byte { return i.take(1)[0] }
func (i *importer) float() float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(i.take(8)))
}

func (i *importer) uint() uint64 {
	v, n := binary.Uvarint(i.rest)
	if n <= 0 {
		i.fail(ErrState)
		return 0
	}
	i.rest = i.rest[n:]
	return v
}

func (i *importer) int() int64 {
	v, n := binary.Varint(i.rest)
	if n <= 0 {
		i.fail(ErrState)
		return 0
	}
	i.rest = i.rest[n:]
	return v
}

// count reads the number of following elements, each of which has at least this many bytes.
func (i *importer) count(bytes int) int {
	n := i.uint()
	if n > uint64(len(i.rest)/bytes) {
		i.fail(ErrState)
		return 0
	}
	return int(n)
}

func (i *importer) text() string { return string(i.take(i.count(1))) }

func (i *importer) point() geometry.Point { return geometry.Point{Lon: i.float(), Lat: i.float()} }

func (i *importer) measure(known bool) Measure {
	if !known {
		return Measure{}
	}
	return Measure{Value: math.Float32frombits(binary.LittleEndian.Uint32(i.take(4))), Known: true}
}

func (i *importer) names() {
	sets := make([]*TrackedSet, i.count(1))
	for k := range sets {
		name := i.text()
		at := slices.IndexFunc(i.view.Sets, func(t TrackedSet) bool { return t.Name == name })
		if at >= 0 {
			sets[k] = &i.view.Sets[at]
		}
	}
	for range i.count(2) {
		at, key := i.uint(), i.text()
		if at >= uint64(len(sets)) {
			i.fail(ErrState)
			return
		}
		f, err := sets[at].imported(key)
		if err != nil && !i.part {
			i.fail(err)
			return
		}
		i.fences = append(i.fences, f)
	}
}

// imported returns a fence of a set that may be missing, as nil.
func (t *TrackedSet) imported(key string) (importedFence, error) {
	if t == nil {
		return importedFence{missing: true}, fmt.Errorf("%w: the set of the fence %q is missing", ErrStateFences, key)
	}
	ref, ok := t.Snapshot.Lookup(key)
	if !ok {
		return importedFence{missing: true}, fmt.Errorf("%w: the set %q has no fence %q", ErrStateFences, t.Name, key)
	}
	return importedFence{fenceID: fenceID{t.ID, ref}}, nil
}

// object reads an object; nil is a free handle.
func (i *importer) object() *object {
	flags := i.byte()
	if flags&flagTaken == 0 {
		return nil
	}
	o := &object{fleet: i.text(), id: i.text(), point: i.point(), silent: flags&flagSilent != 0, moved: flags&flagMoved != 0}
	o.time, o.arrived = Millis(i.int()), Millis(i.int())
	o.anchor, o.anchorSince = i.point(), Millis(i.int())
	o.seq = i.uint()
	o.accuracy = i.measure(flags&flagAccuracy != 0)
	o.speed = i.measure(flags&flagSpeed != 0)
	o.heading = i.measure(flags&flagHeading != 0)
	if flags&flagProps != 0 {
		o.props = json.RawMessage(i.text())
	}
	for range i.count(3) {
		at := i.uint()
		if at >= uint64(len(i.fences)) {
			i.fail(ErrState)
			return nil
		}
		m := membership{set: i.fences[at].set, ref: i.fences[at].ref, since: Millis(i.int()), visit: i.uint()}
		if !i.fences[at].missing {
			o.members = append(o.members, m)
		}
	}
	slices.SortFunc(o.members, func(a, b membership) int { return a.compare(b.set, b.ref) })
	return o
}

// free reads the free handles.
func (i *importer) free(s *Shard) {
	gone := 0
	for _, o := range s.order {
		if o.gone {
			gone++
		}
	}
	n := i.count(1)
	if n != gone {
		i.fail(ErrState)
		return
	}
	seen := make(map[uint64]bool, n)
	for range n {
		h := i.uint()
		if h >= uint64(len(s.order)) || !s.order[h].gone || seen[h] {
			i.fail(ErrState)
			return
		}
		seen[h] = true
		s.free = append(s.free, uint32(h))
	}
}

// heard reads the order of the objects that are not silent.
func (i *importer) heard(s *Shard) {
	for range s.Len() - s.silent {
		h := i.uint()
		if h >= uint64(len(s.order)) {
			i.fail(ErrState)
			return
		}
		o := s.order[h]
		if o.silent || o.earlier != nil || s.heard.first == o || s.heard.last != nil && s.heard.last.arrived > o.arrived {
			i.fail(ErrState)
			return
		}
		s.heard.touch(o)
	}
	if len(s.objects) != s.Len() { // two objects of one name
		i.fail(ErrState)
	}
}
