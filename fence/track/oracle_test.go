package track_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
)

// oracle is a second tracker, written from the documents alone: lists that are walked from end to
// end, and rational arithmetic in place of an index.
type oracle struct {
	initial track.Initial
	ttl     track.Millis
	part    func(id string) int // partition of an object

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
	last    track.Position
	props   json.RawMessage
	arrived track.Millis
	seq     uint64
	in      map[fenceName]visit
	silent  bool
}

type fenceName struct{ set, key string }

type visit struct {
	since track.Millis
	seq   uint64
	order [2]int // of the set and of the fence, which orders events of the same time
}

func newOracle(initial track.Initial, ttl track.Millis, part func(id string) int) *oracle {
	return &oracle{initial: initial, ttl: ttl, part: part, objects: map[string]*oracleObject{}, removed: map[int]uint64{}}
}

// sets is the order in which the tests add sets.
var sets = []string{"s", "t"}

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

// tell orders what happened to an object by kind, time and load order, and numbers it.
func (o *oracle) tell(id string, obj *oracleObject, all []happening, t track.Millis, prev *geometry.Point) (lines []string) {
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
		lines = append(lines, describe(id, h.kind, h.reason, h.name, geometry.Point{Lon: obj.last.Lon, Lat: obj.last.Lat}, prev, h.at, t, h.since, obj.seq, h.visit, obj.props))
	}
	return lines
}

func describe(id string, kind track.Kind, reason track.Reason, f fenceName, at geometry.Point, prev *geometry.Point, crossed, t, since track.Millis, seq, visit uint64, props json.RawMessage) string {
	from := "-"
	if prev != nil {
		from = fmt.Sprint(*prev)
	}
	return fmt.Sprintf("%s#%d %v %s/%s %v at %d t %d since %d visit %d from %s to %v props %s", id, seq, kind, f.set, f.key, reason, crossed, t, since, visit, from, at, props)
}

// exits ends visits, all for one reason.
func (o *oracle) exits(obj *oracleObject, reason track.Reason, at track.Millis) (all []happening) {
	for name, v := range obj.in {
		all = append(all, happening{track.Exit, reason, name, max(at, v.since), v.since, v.seq, v.order})
	}
	obj.in = map[fenceName]visit{}
	return all
}

func (o *oracle) expire(id string, obj *oracleObject) []string {
	if o.ttl == 0 || obj.silent || obj.arrived+o.ttl > o.now {
		return nil
	}
	obj.silent = true
	at := obj.arrived + o.ttl
	return o.tell(id, obj, o.exits(obj, track.TTL, at), at, nil)
}

func (o *oracle) apply(p *track.Position) (lines []string) {
	obj, known := o.objects[p.ID]
	if known && p.Time <= obj.last.Time {
		return nil
	}
	o.now = max(o.now, p.Arrived)
	if !known {
		obj = &oracleObject{seq: o.removed[o.part(p.ID)], in: map[fenceName]visit{}}
		o.objects[p.ID] = obj
	} else {
		lines = o.expire(p.ID, obj)
	}
	unseen, from := !known || obj.silent, obj.last
	obj.silent, obj.last, obj.arrived = false, *p, o.now
	if p.Props != nil {
		obj.props = p.Props
	}
	point, before := geometry.Point{Lon: p.Lon, Lat: p.Lat}, geometry.Point{Lon: from.Lon, Lat: from.Lat}
	crossed := func(f fence.Fence) track.Millis {
		if unseen {
			return p.Time
		}
		return crossing(f.Geometry, before, point, from.Time, p.Time)
	}
	after := o.holding(point)
	var all []happening
	for name, v := range obj.in {
		if _, still := after[name]; !still {
			at := max(crossed(o.named(name)), v.since)
			all = append(all, happening{track.Exit, track.Move, name, at, v.since, v.seq, v.order})
			delete(obj.in, name)
		}
	}
	for name, f := range after {
		if _, was := obj.in[name]; was {
			continue
		}
		at := crossed(f.fence)
		h := happening{track.Enter, track.Move, name, at, at, 0, orderOf(f)}
		obj.in[name] = visit{since: at, order: h.order}
		if !known {
			h.reason = track.FirstSeen
			switch o.initial {
			case track.InitialNone:
				continue
			case track.InitialInside:
				h.kind = track.Inside
			}
		}
		all = append(all, h)
	}
	prev := &before
	if !known {
		prev = nil
	}
	return append(lines, o.tell(p.ID, obj, all, p.Time, prev)...)
}

func orderOf(f oracleFence) [2]int { return [2]int{slices.Index(sets, f.set), f.order} }

func (o *oracle) named(name fenceName) fence.Fence {
	for _, f := range o.fences {
		if f.set == name.set && f.fence.Key == name.key {
			return f.fence
		}
	}
	panic("a visit to a fence that is not there")
}

func (o *oracle) advance(now track.Millis) (lines []string) {
	o.now = max(o.now, now)
	for id, obj := range o.objects {
		lines = append(lines, o.expire(id, obj)...)
	}
	return lines
}

func (o *oracle) remove(id string, now track.Millis) (lines []string) {
	obj := o.objects[id]
	if obj == nil {
		return nil
	}
	o.now = max(o.now, now)
	lines = o.expire(id, obj)
	lines = append(lines, o.tell(id, obj, o.exits(obj, track.ObjectRemoved, o.now), o.now, nil)...)
	delete(o.objects, id)
	o.removed[o.part(id)] = max(o.removed[o.part(id)], obj.seq)
	return lines
}

// edit changes the fences, and judges every object where it stands.
func (o *oracle) edit(now track.Millis, change func()) (lines []string) {
	lines = o.advance(now)
	before := map[fenceName]bool{}
	for _, f := range o.fences {
		before[fenceName{f.set, f.fence.Key}] = true
	}
	change()
	there := map[fenceName]bool{}
	for _, f := range o.fences {
		there[fenceName{f.set, f.fence.Key}] = true
	}
	for _, id := range slices.Sorted(maps.Keys(o.objects)) {
		obj := o.objects[id]
		if obj.silent {
			continue
		}
		after := o.holding(geometry.Point{Lon: obj.last.Lon, Lat: obj.last.Lat})
		var all []happening
		for name, v := range obj.in {
			if _, still := after[name]; still {
				continue
			}
			reason := track.FenceRemoved
			if there[name] {
				reason = track.FenceChanged
			}
			all = append(all, happening{track.Exit, reason, name, max(o.now, v.since), v.since, v.seq, v.order})
			delete(obj.in, name)
		}
		for name, f := range after {
			if _, was := obj.in[name]; was {
				continue
			}
			reason := track.FenceAdded
			if before[name] {
				reason = track.FenceChanged
			}
			obj.in[name] = visit{since: o.now, order: orderOf(f)}
			all = append(all, happening{track.Enter, reason, name, o.now, o.now, 0, orderOf(f)})
		}
		lines = append(lines, o.tell(id, obj, all, o.now, nil)...)
	}
	return lines
}

// holds decides by the half-open rule: a point is in a polygon if a ray to the east crosses its
// edges an odd number of times, where an edge has its southern end and not its northern one.
func holds(area geometry.MultiPolygon, p geometry.Point) bool {
	for _, polygon := range area {
		odd := false
		for _, ring := range polygon {
			for i, a := range ring {
				b := ring[(i+1)%len(ring)]
				if a.Lat > b.Lat {
					a, b = b, a
				}
				if p.Lat < a.Lat || p.Lat >= b.Lat {
					continue
				}
				share := quotient(p.Lat, a.Lat, b.Lat, a.Lat)
				lon := new(big.Rat).Add(exact(a.Lon), share.Mul(share, difference(b.Lon, a.Lon)))
				odd = odd != (exact(p.Lon).Cmp(lon) < 0)
			}
		}
		if odd {
			return true
		}
	}
	return false
}

// crossing returns the time of the last crossing of the path from a to b with the boundary.
func crossing(area geometry.MultiPolygon, a, b geometry.Point, from, to track.Millis) track.Millis {
	const maxGap = 600_000
	if to-from > maxGap || max(a.Lon, b.Lon)-min(a.Lon, b.Lon) > 180 {
		return to
	}
	var last *big.Rat
	for _, polygon := range area {
		for _, ring := range polygon {
			for i, p := range ring {
				q := ring[(i+1)%len(ring)]
				if u := meeting(a, b, p, q); u != nil && (last == nil || u.Cmp(last) > 0) {
					last = u
				}
			}
		}
	}
	if last == nil {
		return to
	}
	// Round to the millisecond, halves up.
	last.Mul(last, big.NewRat(int64(to-from), 1))
	last.Add(last, big.NewRat(1, 2))
	return from + track.Millis(new(big.Int).Div(last.Num(), last.Denom()).Int64())
}

// meeting returns the share of a-b at which it meets p-q; nil if it does not, or is parallel.
func meeting(a, b, p, q geometry.Point) *big.Rat {
	dx, dy := difference(b.Lon, a.Lon), difference(b.Lat, a.Lat)
	ex, ey := difference(q.Lon, p.Lon), difference(q.Lat, p.Lat)
	fx, fy := difference(p.Lon, a.Lon), difference(p.Lat, a.Lat)
	cross := func(x1, y1, x2, y2 *big.Rat) *big.Rat {
		return new(big.Rat).Sub(new(big.Rat).Mul(x1, y2), new(big.Rat).Mul(y1, x2))
	}
	det := cross(dx, dy, ex, ey)
	if det.Sign() == 0 {
		return nil
	}
	u := new(big.Rat).Quo(cross(fx, fy, ex, ey), det)
	v := new(big.Rat).Quo(cross(fx, fy, dx, dy), det)
	for _, share := range []*big.Rat{u, v} {
		if share.Sign() < 0 || share.Cmp(big.NewRat(1, 1)) > 0 {
			return nil
		}
	}
	return u
}

func exact(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func difference(x, y float64) *big.Rat { return new(big.Rat).Sub(exact(x), exact(y)) }

// quotient returns (a-b) / (c-d).
func quotient(a, b, c, d float64) *big.Rat {
	return new(big.Rat).Quo(difference(a, b), difference(c, d))
}
