package track

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track/rule"
)

// stateVersion is the version of the layout that Export writes. Import reads those before, too.
const stateVersion = 4

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
// The layout: version, time, number of the last event of removed objects, beginning of the era;
// the names of sets and fences, each once; for each handle a flag and the object, if it is taken;
// the free handles in the order of their next use, last first; the handles of the objects that
// are not silent, longest unheard first; for each TTL, the handle of the first of these that is
// not found silent, or the number of handles. Numbers are varints, coordinates and measures IEEE
// 754, least byte first.
func (s *Shard) Export(dst []byte) ([]byte, error) {
	if s.behind+len(s.amended) > 0 {
		return dst, ErrUnsettled
	}
	e := exporter{b: append(dst, stateVersion), s: s, fences: map[fenceID]uint64{}}
	e.int(int64(s.now))
	e.uint(s.numbers)
	e.int(int64(s.era.at))
	e.names()
	e.uint(uint64(s.objects.len()))
	for o := range s.objects.all() {
		e.object(o)
	}
	e.uint(uint64(len(s.free)))
	for _, h := range s.free {
		e.uint(uint64(h))
	}
	for o := s.heard.first; o != nil; o = s.heard.neighbour(o.later) {
		e.uint(uint64(o.handle))
	}
	e.uint(uint64(len(s.heard.next)))
	for i, o := range s.heard.next {
		e.int(int64(s.plan.ttls[i]))
		if o == nil {
			e.uint(uint64(s.objects.len()))
		} else {
			e.uint(uint64(o.handle))
		}
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

// names writes the sets of the view, and the fences that objects are in or may enter: place of
// the set, key.
func (e *exporter) names() {
	sets := e.s.era.view.Sets
	e.uint(uint64(len(sets)))
	for i := range sets {
		e.text(sets[i].Name)
	}
	var used []fenceID
	use := func(set SetID, ref fence.Ref) {
		id := fenceID{set, ref}
		if _, known := e.fences[id]; !known {
			e.fences[id] = uint64(len(used))
			used = append(used, id)
		}
	}
	for o := range e.s.objects.all() {
		for _, m := range e.s.visits.list(o) {
			use(o.era.view.Sets[m.set].ID, m.ref)
		}
		for i := range o.pending {
			use(o.pending[i].set, o.pending[i].ref)
		}
		for i := range o.passages {
			use(o.passages[i].set, o.passages[i].ref)
		}
		for _, m := range o.marks {
			if m.ref != noFence {
				use(m.set, m.ref)
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
	flagMore // what few objects have
)

func (e *exporter) object(o *object) {
	if o.gone() {
		e.b = append(e.b, 0)
		return
	}
	flags := byte(flagTaken)
	for _, f := range []struct {
		set  bool
		flag byte
	}{
		{o.silent(), flagSilent},
		{o.moved(), flagMoved},
		{o.accuracy().Known, flagAccuracy},
		{o.speed().Known, flagSpeed},
		{o.heading().Known, flagHeading},
		{o.props != nil, flagProps},
		{len(o.pending)+len(o.held)+len(o.marks)+len(o.passages)+o.outliers.count > 0 || o.altitude().Known, flagMore},
	} {
		if f.set {
			flags |= f.flag
		}
	}
	e.b = append(e.b, flags)
	fleet, id := e.s.nameOf(o)
	e.text(fleet)
	e.text(id)
	e.point(o.point)
	e.int(int64(o.time))
	e.int(int64(o.arrived))
	e.point(o.anchor.point())
	e.int(int64(o.time) - int64(o.stood))
	e.uint(o.seq)
	e.measures(o.accuracy(), o.speed(), o.heading())
	if o.props != nil {
		e.text(string(*o.props))
	}
	e.uint(uint64(o.count))
	for _, m := range e.s.membersOf(o) {
		e.uint(e.fences[fenceID{m.set, m.ref}])
		e.int(int64(m.since))
		e.uint(m.told)
	}
	if flags&flagMore != 0 {
		e.more(o)
	}
}

// more writes the part of an object that few have.
func (e *exporter) more(o *object) {
	e.uint(uint64(len(o.pending)))
	for i := range o.pending {
		p := &o.pending[i]
		e.uint(e.fences[fenceID{p.set, p.ref}])
		e.uint(uint64(p.fixes)<<1 | bit(p.enough))
		e.int(int64(p.at))
		e.int(int64(p.first))
		e.int(int64(p.due))
	}
	x := o.extra
	e.uint(uint64(x.outliers.count))
	e.point(x.outliers.point)
	e.int(int64(x.outliers.time))
	e.uint(uint64(len(x.held)))
	for i := range x.held {
		e.held(&x.held[i])
	}
	e.uint(uint64(len(x.marks)))
	for i := range x.marks {
		e.mark(&x.marks[i])
	}
	e.uint(bit(o.altitude().Known))
	e.measures(o.altitude())
	e.uint(uint64(len(x.passages)))
	for i := range x.passages {
		e.passage(&x.passages[i])
	}
}

// passage writes a passage.
func (e *exporter) passage(p *passage) {
	e.uint(e.fences[fenceID{p.set, p.ref}])
	e.uint(uint64(p.fixes)<<2 | bit(p.direction == rule.Left)<<1 | bit(p.altitude.Known))
	e.int(int64(p.at))
	e.point(p.from)
	e.point(p.to)
	e.measures(p.altitude)
}

// mark writes a mark: the rule, the kind, the place of the fence, or that of its set.
func (e *exporter) mark(m *mark) {
	e.text(m.rule)
	e.uint(uint64(m.kind)<<2 | bit(m.tried)<<1 | bit(m.ref == noFence))
	if m.ref == noFence {
		e.uint(uint64(slices.IndexFunc(e.s.era.view.Sets, func(t TrackedSet) bool { return t.ID == m.set })))
	} else {
		e.uint(e.fences[fenceID{m.set, m.ref}])
	}
	e.int(int64(m.at))
	e.int(int64(m.since))
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// held writes a fix that waits.
func (e *exporter) held(h *held) {
	flags := bit(h.Accuracy.Known) | bit(h.Speed.Known)<<1 | bit(h.Heading.Known)<<2 | bit(h.Props != nil)<<3 | bit(h.Altitude.Known)<<4 |
		bit(h.Trace != nil)<<5
	e.uint(flags)
	e.point(geometry.Point{Lon: h.Lon, Lat: h.Lat})
	e.int(int64(h.Time))
	e.int(int64(h.Arrived))
	e.int(int64(h.until))
	e.measures(h.Accuracy, h.Speed, h.Heading, h.Altitude)
	if h.Props != nil {
		e.text(string(h.Props))
	}
	if h.Trace != nil {
		e.text(h.Trace.Parent)
		e.text(h.Trace.State)
	}
}

func (e *exporter) measures(all ...Measure) {
	for _, m := range all {
		if m.Known {
			e.b = binary.LittleEndian.AppendUint32(e.b, math.Float32bits(m.Value))
		}
	}
}
