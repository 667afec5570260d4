package track

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"paddock/fence/geometry"
	"paddock/fence/internal/setting"
	"paddock/fence/track/rule"
)

// Import puts an exported state in place of the shard's own, with the fences of v. The error is
// ErrState, ErrStateVersion or ErrStateFences; the shard is as it was then. The same inputs give
// the same events after it as on the shard that was exported, if v has the same sets and fences
// in the same order.
func (s *Shard) Import(state []byte, v *View) error {
	return s.restoreFrom(&importer{rest: state, view: v})
}

// ImportPart is Import for a view that lacks sets or fences, as after a loss: the objects are in
// them no more.
func (s *Shard) ImportPart(state []byte, v *View) error {
	return s.restoreFrom(&importer{rest: state, view: v, part: true})
}

func (s *Shard) restoreFrom(i *importer) error {
	if i.version = i.byte(); i.version > stateVersion {
		return fmt.Errorf("%w: %d", ErrStateVersion, i.version)
	} else if i.version == 0 {
		i.fail(ErrState)
	}
	n := NewShard(s.opts)
	n.told = s.told
	n.now, n.numbers = Millis(i.int()), i.uint()
	at := n.now
	if i.version > 1 {
		at = Millis(i.int())
	}
	n.era = newEra(i.view, at, nil)
	n.replan()
	i.names()
	for range i.count(1) {
		o := i.object()
		if i.err != nil {
			return i.err
		}
		n.restore(o)
	}
	i.free(n)
	i.heard(n)
	i.silence(n)
	if i.err == nil && len(i.rest) > 0 {
		i.fail(ErrState)
	}
	if i.err != nil {
		return i.err
	}
	*s = *n
	s.tellAll()
	return nil
}

// restore adds an object at the next handle; nil is a free one.
func (s *Shard) restore(i *imported) {
	o := s.objects.add()
	handle := o.handle
	if i == nil {
		*o = object{handle: handle, extra: &noExtra, name: noName, flags: gone | silent}
		return
	}
	*o = i.object
	o.handle = handle
	s.name(o, i.fleet, i.id)
	if _, twice := s.find(i.fleet, i.id); !twice {
		s.addName(o)
	}
	o.bond = s.era.bondOf(s.era.classOf(i.fleet, i.id))
	s.members = append(s.members[:0], i.members...)
	s.keep(o)
	if o.silent() {
		s.silent++
	}
	s.arm(o)
}

// imported is an object with what its shard keeps elsewhere.
type imported struct {
	object
	fleet, id string
	members   []membership
}

// importer reads what exporter writes. After the first error, which it keeps, it returns zeros.
type importer struct {
	version byte
	rest    []byte
	view    *View
	part    bool // the view may lack fences
	sets    []*TrackedSet
	fences  []importedFence
	err     error
}

// importedFence is a fence of the list of names.
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
	i.sets = sets
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
func (i *importer) object() *imported {
	flags := i.byte()
	if flags&flagTaken == 0 {
		return nil
	}
	o := &imported{fleet: i.text(), id: i.text()}
	o.extra, o.point = &noExtra, i.point()
	o.set(silent, flags&flagSilent != 0)
	o.set(moved, flags&flagMoved != 0)
	o.time, o.arrived = Millis(i.int()), Millis(i.int())
	o.anchor = spotAt(i.point())
	o.stood = uint16(min(max(o.time-Millis(i.int()), 0), mostStood))
	o.seq = i.uint()
	o.report(i.measure(flags&flagAccuracy != 0), i.measure(flags&flagSpeed != 0), i.measure(flags&flagHeading != 0), Measure{})
	if flags&flagProps != 0 {
		props := json.RawMessage(i.text())
		o.props = &props
	}
	for range i.count(3) {
		i.membership(o)
	}
	slices.SortFunc(o.members, func(a, b membership) int { return a.compare(b.set, b.ref) })
	if flags&flagMore != 0 {
		i.more(&o.object)
	}
	return o
}

func (i *importer) membership(o *imported) {
	f := i.fence()
	m, told := newMembership(f.set, f.ref, Millis(i.int()), true), i.uint()
	if m.told = told; i.version == 1 {
		m = m.as(told, true)
	}
	if m.visit() > o.seq {
		i.fail(ErrState)
	}
	if !f.missing {
		o.members = append(o.members, m)
	}
}

// fence reads a place in the list of names.
func (i *importer) fence() importedFence {
	at := i.uint()
	if at >= uint64(len(i.fences)) {
		i.fail(ErrState)
		return importedFence{}
	}
	return i.fences[at]
}

// more reads the part of an object that few have.
func (i *importer) more(o *object) {
	x := extra{rare: &rare{}}
	for range i.count(5) {
		f, n := i.fence(), i.uint()
		p := pending{
			set: f.set, ref: f.ref, reach: math.Inf(1), fixes: int32(min(n>>1, setting.MaxFixes)), enough: n&1 != 0,
			at: Millis(i.int()), first: Millis(i.int()), due: Millis(i.int()),
		}
		if !f.missing {
			x.pending = append(x.pending, p)
		}
	}
	slices.SortFunc(x.pending, func(a, b pending) int {
		return (&membership{set: a.set, ref: a.ref}).compare(b.set, b.ref)
	})
	x.outliers = outliers{count: int(min(i.uint(), believed-1)), point: i.point(), time: Millis(i.int())}
	for range i.count(heldBytes) {
		x.held = append(x.held, i.held())
	}
	ascending := slices.IsSortedFunc(x.held, func(a, b held) int { return cmp.Compare(a.Time, b.Time) })
	if !ascending || len(x.held) > maxHeld {
		i.fail(ErrState)
	}
	for range i.count(5) {
		if m, missing := i.mark(); !missing {
			x.marks = append(x.marks, m)
		}
	}
	if i.version > 2 {
		o.report(o.accuracy(), o.speed(), o.heading(), i.measure(i.uint()&1 != 0))
		for range i.count(passageBytes) {
			if p, missing := i.passage(); !missing {
				x.passages = append(x.passages, p)
			}
		}
		if len(x.passages) > maxPassages {
			i.fail(ErrState)
		}
	}
	if x.rare.isEmpty() {
		x.rare = &noRare
	}
	if !x.isEmpty() {
		o.extra = &x
	}
}

// passageBytes is the least length of a passage.
const passageBytes = 3 + 32

// passage reads a passage; missing reports that its fence is gone.
func (i *importer) passage() (p passage, missing bool) {
	f, flags := i.fence(), i.uint()
	p = passage{set: f.set, ref: f.ref, direction: rule.Right, fixes: int(min(flags>>2, setting.MaxFixes)), at: Millis(i.int())}
	if flags&2 != 0 {
		p.direction = rule.Left
	}
	p.path = path{i.point(), i.point(), i.measure(flags&1 != 0)}
	return p, f.missing
}

// mark reads a mark; missing reports that its fence or set is gone.
func (i *importer) mark() (m mark, missing bool) {
	m.rule = i.text()
	flags, at := i.uint(), i.uint()
	m.kind, m.tried = Kind(min(flags>>2, uint64(len(kindNames)))), flags&2 != 0
	switch whole := flags&1 != 0; {
	case int(m.kind) == len(kindNames), whole && at >= uint64(len(i.sets)), !whole && at >= uint64(len(i.fences)):
		i.fail(ErrState)
	case !whole:
		m.set, m.ref, missing = i.fences[at].set, i.fences[at].ref, i.fences[at].missing
	case i.sets[at] == nil && i.part:
		missing = true
	case i.sets[at] == nil:
		i.fail(fmt.Errorf("%w: the set of the rule %q is missing", ErrStateFences, m.rule))
	default:
		m.set, m.ref = i.sets[at].ID, noFence
	}
	m.at, m.since = Millis(i.int()), Millis(i.int())
	if m.kind == Dwell && m.since == 0 { // of a program that did not remember what was told
		m.since = m.at - 1
	}
	return m, missing
}

// heldBytes is the least length of a fix that waits.
const heldBytes = 1 + 16 + 3

func (i *importer) held() held {
	flags, p := i.uint(), i.point()
	h := held{Position: Position{Lon: p.Lon, Lat: p.Lat}}
	h.Time, h.Arrived, h.until = Millis(i.int()), Millis(i.int()), Millis(i.int())
	h.Accuracy, h.Speed, h.Heading = i.measure(flags&1 != 0), i.measure(flags&2 != 0), i.measure(flags&4 != 0)
	h.Altitude = i.measure(flags&16 != 0)
	if flags&8 != 0 {
		h.Props = json.RawMessage(i.text())
	}
	if flags&32 != 0 && i.version > 3 {
		h.Trace = &Trace{Parent: i.text(), State: i.text()}
	}
	return h
}

// free reads the free handles.
func (i *importer) free(s *Shard) {
	gone := 0
	for o := range s.objects.all() {
		if o.gone() {
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
		if h >= uint64(s.objects.len()) || !s.objects.at(uint32(h)).gone() || seen[h] {
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
		if h >= uint64(s.objects.len()) {
			i.fail(ErrState)
			return
		}
		o := s.objects.at(uint32(h))
		if o.silent() || o.earlier != 0 || s.heard.first == o || s.heard.last != nil && s.heard.last.arrived > o.arrived {
			i.fail(ErrState)
			return
		}
		s.heard.touch(o)
	}
	if s.names.used != s.Len() { // two objects of one name
		i.fail(ErrState)
	}
}

// silence reads how far the objects are found silent. With other TTLs that begins again.
func (i *importer) silence(s *Shard) {
	s.heard.reset(len(s.plan.ttls))
	if i.version == 1 {
		return
	}
	for range i.count(2) {
		ttl, h := Millis(i.int()), i.uint()
		k, found := slices.BinarySearch(s.plan.ttls, ttl)
		switch {
		case h > uint64(s.objects.len()) || h < uint64(s.objects.len()) && s.objects.at(uint32(h)).silent():
			i.fail(ErrState)
			return
		case !found:
		case h == uint64(s.objects.len()):
			s.heard.next[k] = nil
		default:
			s.heard.next[k] = s.objects.at(uint32(h))
		}
	}
}
