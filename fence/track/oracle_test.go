package track_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// oracle is a second tracker, written from the documents alone: lists that are walked from end to
// end, and rational arithmetic in place of an index.
type oracle struct {
	options  track.Options
	policies map[string]track.Policy // by set
	rules    *[]oracleRule           // nil: everything is told
	part     func(id string) int     // partition of an object

	now     track.Millis
	hour    track.Millis  // of the last change of the fences or rules
	fences  []oracleFence // by set, then load order
	loaded  int
	objects map[string]*oracleObject
	removed map[int]uint64 // by partition: the highest number of an event of removed objects
}

type oracleFence struct {
	set      string
	order    int // of loading
	fence    fence.Fence
	measured float64 // inradius; 0: the fence is a square
}

type oracleObject struct {
	id       string
	marks    map[ruleMark]ruleState
	met      map[ruleMark]bool // conditions of rules about the length of visits, at the fix before
	last     track.Position
	props    json.RawMessage
	arrived  track.Millis
	seq      uint64
	in       map[fenceName]visit
	contrary map[fenceName]*contrary
	silent   bool             // for all sets
	hour     track.Millis     // of the last flip that it followed
	held     []waitingFix     // by their time
	outliers []track.Position // in a row, each fits the one before
	passages map[fenceName]*oraclePassage
}

type fenceName struct{ set, key string }

type visit struct {
	since track.Millis // when the object entered
	begun track.Millis // when its events say that it began: at the entry, or with the hours
	seq   uint64
	order [2]int // of the set and of the fence, which orders events of the same time
	shown bool   // a rule tells of it
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

// holding returns the fences that hold a fix.
func (o *oracle) holding(p *track.Position) map[fenceName]oracleFence {
	in := map[fenceName]oracleFence{}
	for _, f := range o.fences {
		if o.isIn(f, p) {
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

	rule    string
	left    track.Millis
	path    []track.Position // of the event, if not the last two
	inVisit bool             // visit is that of the fence
	ended   bool             // it comes before the end of the visit

	direction rule.Direction
}

// telling is what the events of one moment have in common.
type telling struct {
	time, arrived track.Millis
	prev          *geometry.Point
}

// kinds is the order of the events of one moment. No condition begins and ends at once.
var kinds = []track.Kind{
	track.Exit, track.Cross, track.Enter, track.Inside, track.Outside, track.Dwell, track.ConditionBegin,
}

func rankOf(k track.Kind) int {
	if k == track.ConditionEnd {
		k = track.ConditionBegin
	}
	return slices.Index(kinds, k)
}

// rank is that of the kind, unless it tells of a visit before its end.
func (h *happening) rank() int {
	if h.ended {
		return -1
	}
	return rankOf(h.kind)
}

// tell orders what happened to an object by kind, time and load order, and numbers it.
func (o *oracle) tell(id string, obj *oracleObject, all []happening, t telling) (lines []string) {
	slices.SortStableFunc(all, func(a, b happening) int {
		return cmp.Or(
			cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.at, b.at),
			slices.Compare(a.order[:], b.order[:]), cmp.Compare(a.rule, b.rule),
		)
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
			Since: h.since, Seq: obj.seq, Visit: h.visit, Props: obj.props, Arrived: t.arrived, Rule: h.rule, Left: h.left,
			Altitude: obj.last.Altitude,
		}
		if h.inVisit {
			e.Visit = obj.in[h.name].seq
		}
		if t.prev != nil {
			e.Prev, e.HasPrev = *t.prev, true
		}
		if e.Direction = h.direction; h.path != nil {
			e.Prev, e.Point, e.Altitude = pointOf(&h.path[0]), pointOf(&h.path[1]), h.path[1].Altitude
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
	return fmt.Sprintf("%s#%d %v %s/%s %v at %d t %d arrived %d since %d visit %d from %s to %v props %s rule %s left %d altitude %v %v",
		e.ID, e.Seq, e.Kind, f.set, f.key, e.Reason, e.At, e.Time, e.Arrived, e.Since, e.Visit, from, e.Point, e.Props, e.Rule, e.Left, e.Altitude, e.Direction)
}

// exits ends the visits to some sets, all for one reason, and forgets what was contrary there.
func (o *oracle) exits(obj *oracleObject, reason track.Reason, at, hour track.Millis, in func(set string) bool) (all []happening) {
	order := map[fenceName][2]int{}
	for name, v := range obj.in {
		order[name] = v.order
		if in(name.set) {
			all = append(all, o.exit(obj, o.named(name), v, reason, at, hour)...)
			delete(obj.in, name)
		}
	}
	maps.DeleteFunc(obj.contrary, func(name fenceName, _ *contrary) bool { return in(name.set) })
	same := func(fenceName) track.Reason { return reason }
	return append(all, o.forget(obj, o.rules, same, order, hour, hour, at)...)
}

// exit is the event of the end of a visit, if it is told at this hour.
func (o *oracle) exit(obj *oracleObject, f oracleFence, v visit, reason track.Reason, at, hour track.Millis) []happening {
	if !v.shown || !o.tells(obj, f, rule.Exit, hour) {
		return nil
	}
	name := fenceName{f.set, f.fence.Key}
	return []happening{{kind: track.Exit, reason: reason, name: name, at: max(at, v.begun), since: v.begun, visit: v.seq, order: v.order}}
}

func (o *oracle) named(name fenceName) oracleFence {
	for _, f := range o.fences {
		if f.set == name.set && f.fence.Key == name.key {
			return f
		}
	}
	panic("a visit to a fence that is not there")
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
	all := o.exits(obj, track.ObjectRemoved, o.now, o.now, anySet)
	lines = append(lines, o.tell(id, obj, all, telling{time: o.now, arrived: o.now})...)
	delete(o.objects, id)
	o.removed[o.part(id)] = max(o.removed[o.part(id)], obj.seq)
	return lines
}

// edit changes the fences, policies and rules. It judges every object where it stands by the
// fences that are new, changed or gone, and by all of a set that is tracked from now on.
func (o *oracle) edit(now track.Millis, change func()) (lines []string) {
	lines = o.advance(now)
	before := change0{slices.Clone(o.fences), o.rules, maps.Clone(o.policies)}
	change()
	o.hour = o.now
	for _, id := range slices.Sorted(maps.Keys(o.objects)) {
		obj := o.objects[id]
		maps.DeleteFunc(obj.contrary, func(name fenceName, _ *contrary) bool {
			return !isSamePolicy(o.policies[name.set], before.policies[name.set]) || !o.isAsBefore(name, before.fences)
		})
		maps.DeleteFunc(obj.passages, func(name fenceName, _ *oraclePassage) bool { return !o.keepsPassage(obj, name, before, o.now) })
		if !maps.Equal(o.policies, before.policies) { // a TTL may have passed
			lines = append(lines, o.due(id, obj)...)
		}
		if !obj.silent {
			lines = append(lines, o.tell(id, obj, o.judge(obj, before), telling{time: o.now, arrived: o.now})...)
		}
		lines = append(lines, o.due(id, obj)...) // a new rule may tell of a long visit
	}
	return lines
}

// isSamePolicy compares policies by their texts: no fixes are one, and a wait matters to reorder
// alone.
func isSamePolicy(a, b track.Policy) bool {
	if a == b {
		return true
	}
	textA, errA := json.Marshal(&a)
	textB, errB := json.Marshal(&b)
	if err := errors.Join(errA, errB); err != nil {
		panic(err)
	}
	return bytes.Equal(textA, textB)
}

// change0 is how things were before a change.
type change0 struct {
	fences   []oracleFence
	rules    *[]oracleRule
	policies map[string]track.Policy
}

// judge follows a change for one object.
func (o *oracle) judge(obj *oracleObject, before change0) (all []happening) {
	order, gone := map[fenceName][2]int{}, map[fenceName]track.Reason{}
	for name, v := range obj.in {
		order[name] = v.order
	}
	after, rules := o.holding(&obj.last), o.rules
	for _, set := range sets {
		o.rules = before.rules
		was := o.isTracked(obj.id, set)
		o.rules = rules
		is := o.isTracked(obj.id, set)
		for _, f := range before.fences {
			name := fenceName{set, f.fence.Key}
			v, member := obj.in[name]
			there, same := o.sameAs(f, o.fences)
			_, held := after[name]
			reason := track.FenceChanged
			switch {
			case f.set != set:
				continue
			case !there:
				reason = track.FenceRemoved
			case !is:
				reason = track.RuleRemoved
			case same || o.isSilentIn(obj, set) || held || o.isUnsaid(name, &obj.last):
				if !same {
					delete(obj.contrary, name)
				}
				continue
			}
			delete(obj.contrary, name)
			if !member {
				continue
			}
			o.rules = before.rules
			all = append(all, o.exit(obj, f, v, reason, o.now, o.now)...)
			o.rules = rules
			gone[name] = reason
			delete(obj.in, name)
		}
		for name, f := range after {
			there, same := o.sameAs(f, before.fences)
			_, member := obj.in[name]
			if name.set != set || !is || member || same && was || o.isSilentIn(obj, set) {
				continue
			}
			reason := track.FenceAdded
			if !was {
				reason = track.RuleAdded
			} else if there {
				reason = track.FenceChanged
			}
			obj.in[name] = visit{since: o.now, begun: o.now, order: orderOf(f), shown: o.shows(obj.id, f, o.now)}
			if obj.in[name].shown && o.tells(obj, f, rule.Enter, o.now) {
				all = append(all, happening{kind: track.Enter, reason: reason, name: name, at: o.now, since: o.now, order: orderOf(f)})
			}
		}
	}
	all = append(all, o.reveal(obj, before.rules, before.fences, o.now, o.now)...)
	o.redate(obj, before.rules, o.now)
	why := func(name fenceName) track.Reason { return gone[name] }
	return append(all, o.forget(obj, before.rules, why, order, o.now, o.now, o.now)...)
}

// isAsBefore reports whether a fence is still judged by the settings that it had.
func (o *oracle) isAsBefore(name fenceName, before []oracleFence) bool {
	find := func(all []oracleFence) int {
		return slices.IndexFunc(all, func(f oracleFence) bool { return f.set == name.set && f.fence.Key == name.key })
	}
	i, k := find(before), find(o.fences)
	return i >= 0 && k >= 0 && isAlike(&before[i].fence, &o.fences[k].fence)
}

// isUnsaid reports whether a fix does not say whether a fence holds it.
func (o *oracle) isUnsaid(name fenceName, p *track.Position) bool {
	f := o.named(name)
	_, known := o.altitudeFits(f, p)
	return !known && !isLine(&f.fence)
}

func (o *oracle) isSilentIn(obj *oracleObject, set string) bool {
	ttl := o.ttl(set)
	return ttl > 0 && obj.arrived+ttl <= o.now
}

// sameAs reports whether a fence is there in another state, and whether it is the same area.
func (o *oracle) sameAs(f oracleFence, others []oracleFence) (there, same bool) {
	for _, g := range others {
		if g.set == f.set && g.order == f.order {
			return true, reflect.DeepEqual(g.fence.Geometry, f.fence.Geometry) && reflect.DeepEqual(g.fence.Lines, f.fence.Lines) &&
				sameHeights(&g.fence, &f.fence)
		}
	}
	return false, false
}
