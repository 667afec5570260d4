package track_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
)

// oracle is a second tracker, written from the documents alone: lists that are walked from end to
// end, and rational arithmetic in place of an index.
type oracle struct {
	options  track.Options
	policies map[string]track.Policy // by set
	part     func(id string) int     // partition of an object

	now     track.Millis
	fences  []oracleFence // by set, then load order
	loaded  int
	objects map[string]*oracleObject
	removed map[int]uint64 // by partition: the highest number of an event of removed objects
}

type oracleFence struct {
	set   string
	order int // of loading
	fence fence.Fence
}

type oracleObject struct {
	last     track.Position
	props    json.RawMessage
	arrived  track.Millis
	seq      uint64
	in       map[fenceName]visit
	contrary map[fenceName]*contrary
	silent   bool             // for all sets
	held     []waitingFix     // by their time
	outliers []track.Position // in a row, each fits the one before
}

type fenceName struct{ set, key string }

type visit struct {
	since track.Millis
	seq   uint64
	order [2]int // of the set and of the fence, which orders events of the same time
}

// contrary is a row of fixes that all say that a membership is wrong.
type contrary struct {
	enters  bool
	crossed track.Millis
	fixes   []contraryFix
	order   [2]int
}

type contraryFix struct {
	time, arrived track.Millis
	counts, sure  bool
}

type waitingFix struct {
	track.Position
	until track.Millis
}

func newOracle(options track.Options, part func(id string) int) *oracle {
	return &oracle{
		options: options, part: part, policies: map[string]track.Policy{},
		objects: map[string]*oracleObject{}, removed: map[int]uint64{},
	}
}

// sets is the order in which the tests add sets.
var sets = []string{"s", "t"}

// policy is the policy of a set with the overrides of the options.
func (o *oracle) policy(set string) track.Policy {
	p := o.policies[set]
	if o.options.TTL > 0 {
		p.TTL = o.options.TTL
	}
	if o.options.MaxGap > 0 {
		p.MaxGap = o.options.MaxGap
	}
	if o.options.Initial != track.InitialNone || o.options.NoInitial {
		p.Initial = o.options.Initial
	}
	return p
}

func (o *oracle) ttl(set string) track.Millis { return track.Millis(o.policy(set).TTL.Milliseconds()) }

// put adds a fence, or replaces the geometry of one, which keeps its place.
func (o *oracle) put(set string, f fence.Fence) {
	i := slices.IndexFunc(o.fences, func(g oracleFence) bool { return g.set == set && g.fence.Key == f.Key })
	if i >= 0 {
		o.fences[i].fence = f
		return
	}
	o.loaded++
	o.fences = append(o.fences, oracleFence{set: set, order: o.loaded, fence: f})
}

func (o *oracle) delete(set, key string) {
	o.fences = slices.DeleteFunc(o.fences, func(g oracleFence) bool { return g.set == set && g.fence.Key == key })
}

// holding returns the fences that hold a point.
func (o *oracle) holding(p geometry.Point) map[fenceName]oracleFence {
	in := map[fenceName]oracleFence{}
	for _, f := range o.fences {
		if holds(f.fence.Geometry, p) {
			in[fenceName{f.set, f.fence.Key}] = f
		}
	}
	return in
}

func orderOf(f oracleFence) [2]int { return [2]int{slices.Index(sets, f.set), f.order} }

// happening is an event before it has its number.
type happening struct {
	kind   track.Kind
	reason track.Reason
	name   fenceName
	at     track.Millis
	since  track.Millis
	visit  uint64
	order  [2]int
}

// telling is what the events of one moment have in common.
type telling struct {
	time, arrived track.Millis
	prev          *geometry.Point
}

// tell orders what happened to an object by kind, time and load order, and numbers it.
func (o *oracle) tell(id string, obj *oracleObject, all []happening, t telling) (lines []string) {
	slices.SortFunc(all, func(a, b happening) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.at, b.at), slices.Compare(a.order[:], b.order[:]))
	})
	for _, h := range all {
		obj.seq++
		if h.kind == track.Enter {
			h.visit = obj.seq
			v := obj.in[h.name]
			v.seq = obj.seq
			obj.in[h.name] = v
		}
		e := &track.Event{
			ID: id, Kind: h.kind, Reason: h.reason, Point: pointOf(&obj.last), At: h.at, Time: t.time,
			Since: h.since, Seq: obj.seq, Visit: h.visit, Props: obj.props, Arrived: t.arrived,
		}
		if t.prev != nil {
			e.Prev, e.HasPrev = *t.prev, true
		}
		lines = append(lines, describe(e, h.name))
	}
	return lines
}

func pointOf(p *track.Position) geometry.Point { return geometry.Point{Lon: p.Lon, Lat: p.Lat} }

// describe writes all of an event in the fence.
func describe(e *track.Event, f fenceName) string {
	from := "-"
	if e.HasPrev {
		from = fmt.Sprint(e.Prev)
	}
	return fmt.Sprintf("%s#%d %v %s/%s %v at %d t %d arrived %d since %d visit %d from %s to %v props %s",
		e.ID, e.Seq, e.Kind, f.set, f.key, e.Reason, e.At, e.Time, e.Arrived, e.Since, e.Visit, from, e.Point, e.Props)
}

// exits ends the visits to some sets, all for one reason, and forgets what was contrary there.
func (o *oracle) exits(obj *oracleObject, reason track.Reason, at track.Millis, in func(set string) bool) (all []happening) {
	for name, v := range obj.in {
		if in(name.set) {
			all = append(all, happening{track.Exit, reason, name, max(at, v.since), v.since, v.seq, v.order})
			delete(obj.in, name)
		}
	}
	maps.DeleteFunc(obj.contrary, func(name fenceName, _ *contrary) bool { return in(name.set) })
	return all
}

func anySet(string) bool { return true }

func (o *oracle) advance(now track.Millis) (lines []string) {
	o.now = max(o.now, now)
	for _, id := range slices.Sorted(maps.Keys(o.objects)) {
		lines = append(lines, o.due(id, o.objects[id])...)
	}
	return lines
}

func (o *oracle) remove(id string, now track.Millis) (lines []string) {
	obj := o.objects[id]
	if obj == nil {
		return nil
	}
	o.now = max(o.now, now)
	lines = o.due(id, obj)
	all := o.exits(obj, track.ObjectRemoved, o.now, anySet)
	lines = append(lines, o.tell(id, obj, all, telling{time: o.now, arrived: o.now})...)
	delete(o.objects, id)
	o.removed[o.part(id)] = max(o.removed[o.part(id)], obj.seq)
	return lines
}

// edit changes the fences and policies. It judges every object where it stands by the fences that
// are new, changed or gone.
func (o *oracle) edit(now track.Millis, change func()) (lines []string) {
	lines = o.advance(now)
	before, policies := slices.Clone(o.fences), maps.Clone(o.policies)
	change()
	for _, id := range slices.Sorted(maps.Keys(o.objects)) {
		obj := o.objects[id]
		maps.DeleteFunc(obj.contrary, func(name fenceName, _ *contrary) bool { return o.policies[name.set] != policies[name.set] })
		lines = append(lines, o.due(id, obj)...)
		if obj.silent {
			continue
		}
		var all []happening
		for _, set := range sets {
			if ttl := o.ttl(set); ttl == 0 || obj.arrived+ttl > o.now {
				all = append(all, o.judge(obj, set, before)...)
			}
		}
		lines = append(lines, o.tell(id, obj, all, telling{time: o.now, arrived: o.now})...)
	}
	return lines
}

// judge compares memberships in the changed fences of a set with the place of the object.
func (o *oracle) judge(obj *oracleObject, set string, before []oracleFence) (all []happening) {
	after := o.holding(pointOf(&obj.last))
	for _, f := range before {
		name := fenceName{set, f.fence.Key}
		i := slices.IndexFunc(o.fences, func(g oracleFence) bool { return g.set == f.set && g.order == f.order })
		if f.set != set || i >= 0 && reflect.DeepEqual(o.fences[i].fence.Geometry, f.fence.Geometry) {
			continue
		}
		delete(obj.contrary, name)
		v, was := obj.in[name]
		if _, is := after[name]; !was || is {
			continue
		}
		reason := track.FenceRemoved
		if i >= 0 {
			reason = track.FenceChanged
		}
		all = append(all, happening{track.Exit, reason, name, max(o.now, v.since), v.since, v.seq, v.order})
		delete(obj.in, name)
	}
	for name, f := range after {
		i := slices.IndexFunc(before, func(g oracleFence) bool { return g.set == f.set && g.order == f.order })
		if name.set != set || i >= 0 && reflect.DeepEqual(before[i].fence.Geometry, f.fence.Geometry) {
			continue
		}
		if _, was := obj.in[name]; was {
			continue
		}
		reason := track.FenceAdded
		if i >= 0 {
			reason = track.FenceChanged
		}
		obj.in[name] = visit{since: o.now, order: orderOf(f)}
		all = append(all, happening{track.Enter, reason, name, o.now, o.now, 0, orderOf(f)})
	}
	return all
}
