package track_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// oracleRule is a rule in the words of the oracle.
type oracleRule struct {
	*rule.Rule
	selects func(id string) bool
	where   string // value of the property kind; empty: any
	when    func(obj *oracleObject, f *fence.Fence) bool
	open    func(at track.Millis) bool
	last    track.Millis // at which it closes for ever; 0: never
}

const noFence = math.MaxInt

// ruleMark is what an object remembers of a rule.
type ruleMark struct {
	rule string
	kind track.Kind
	name fenceName // of all fences: without a key
}

type ruleState struct {
	at, since track.Millis
	tried     bool           // of dwell: the time came and the condition did not hold
	told      []track.Millis // of dwell: the times of its events
}

func (r *oracleRule) names(f *fence.Fence) bool {
	if len(r.Fences.IDs) > 0 {
		return slices.Contains(r.Fences.IDs, f.Key)
	}
	return r.where == "" || kindOf(f) == r.where
}

func kindOf(f *fence.Fence) string {
	var p struct{ Kind string }
	_ = json.Unmarshal(f.Properties, &p)
	return p.Kind
}

// isTracked reports whether a rule names the object and the set.
func (o *oracle) isTracked(id, set string) bool {
	return o.rules == nil || slices.ContainsFunc(*o.rules, func(r oracleRule) bool {
		return !r.Disabled && r.Set == set && r.selects(id)
	})
}

// rulesOf returns the rules for an object and a set that are open, by id.
func (o *oracle) rulesOf(rules *[]oracleRule, id, set string, at track.Millis) (open []oracleRule) {
	if rules == nil {
		return nil
	}
	for _, r := range *rules {
		if !r.Disabled && r.Set == set && r.selects(id) && r.open(at) {
			open = append(open, r)
		}
	}
	slices.SortFunc(open, func(a, b oracleRule) int { return strings.Compare(a.ID, b.ID) })
	return open
}

// shower returns the first rule by which a visit is shown.
func shower(rules []oracleRule, f *fence.Fence) *oracleRule {
	i := slices.IndexFunc(rules, func(r oracleRule) bool {
		return r.Detect&(rule.Enter|rule.Exit) != 0 && r.names(f)
	})
	if i < 0 {
		return nil
	}
	return &rules[i]
}

func (o *oracle) shows(id string, f oracleFence, at track.Millis) bool {
	return o.rules == nil || shower(o.rulesOf(o.rules, id, f.set, at), &f.fence) != nil
}

// tells reports whether an event is told.
func (o *oracle) tells(obj *oracleObject, f oracleFence, kind rule.Detect, at track.Millis) bool {
	if o.rules == nil {
		return kind&(rule.Enter|rule.Exit) != 0
	}
	return tellsBy(o.rulesOf(o.rules, obj.id, f.set, at), obj, &f.fence, kind)
}

func tellsBy(rules []oracleRule, obj *oracleObject, f *fence.Fence, kind rule.Detect) bool {
	return slices.ContainsFunc(rules, func(r oracleRule) bool {
		return r.Detect.Has(kind) && r.names(f) && r.when(obj, f)
	})
}

// reveal follows a change of the rules, of the fences' properties, or of the hour.
func (o *oracle) reveal(obj *oracleObject, rules *[]oracleRule, before []oracleFence, was, at track.Millis) (all []happening) {
	for name, v := range obj.in {
		f := o.named(name)
		shows := o.shows(obj.id, f, at)
		if v.shown == shows {
			continue
		}
		h := happening{kind: track.Enter, name: name, at: at, since: at, order: v.order}
		old, now := o.rulesOf(rules, obj.id, name.set, was), o.rulesOf(o.rules, obj.id, name.set, at)
		if shows {
			v.begun = at
			h.reason = reasonOf(shower(now, &f.fence), rules, old, track.RuleAdded, track.Schedule, at)
			if o.tells(obj, f, rule.Enter, at) {
				all = append(all, h)
			}
		} else {
			g := f.fence // as it was
			for _, b := range before {
				if b.set == f.set && b.order == f.order {
					g = b.fence
				}
			}
			h.kind, h.since, h.visit, h.at = track.Exit, v.begun, v.seq, max(at, v.begun)
			h.reason = track.RuleRemoved
			if r := shower(old, &g); r != nil {
				h.reason = reasonOf(r, o.rules, now, track.RuleRemoved, track.Schedule, at)
			}
			if rules == nil || tellsBy(old, obj, &f.fence, rule.Exit) {
				all = append(all, h)
			}
			v.seq = 0
		}
		v.shown = shows
		obj.in[name] = v
	}
	return all
}

// reasonOf says why a rule shows or does not show a visit on one side of a change, given all
// rules of the other side, and the open ones.
func reasonOf(r *oracleRule, others *[]oracleRule, open []oracleRule, ifNone, ifClosed track.Reason, at track.Millis) track.Reason {
	same := func(q oracleRule) bool { return r != nil && bytes.Equal(q.AppendJSON(nil), r.AppendJSON(nil)) }
	switch {
	case r == nil || others == nil || !slices.ContainsFunc(*others, same):
		return ifNone
	case slices.ContainsFunc(open, same):
		return track.FenceChanged
	case ifNone == track.RuleRemoved && r.last != 0 && at >= r.last:
		return track.Expired
	}
	return ifClosed
}

// detect tells what rules ask for at a fix.
func (o *oracle) detect(obj *oracleObject, from *track.Position, reason track.Reason, pathKnown func(f oracleFence) bool, changes []happening) (all []happening) {
	for _, set := range sets {
		for _, r := range o.rulesOf(o.rules, obj.id, set, o.hourOf(obj)) {
			for name, v := range obj.in {
				f := o.named(name)
				if name.set == set && r.names(&f.fence) {
					all = append(all, o.detectIn(obj, &r, f, v, reason)...)
				}
			}
			if r.Detect.Has(rule.Outside) {
				all = append(all, o.detectOut(obj, &r, set, reason, changes)...)
			}
		}
		for _, f := range o.fences {
			name := fenceName{set, f.fence.Key}
			if f.set == set && from != nil && isLine(&f.fence) {
				all = append(all, o.crossLine(obj, f, from, pathKnown(f))...)
				continue
			}
			if _, in := obj.in[name]; f.set != set || in || from == nil || !pathKnown(f) || !o.tells(obj, f, rule.Cross, o.hourOf(obj)) {
				continue
			}
			if first, last, ok := o.passes(f, from, &obj.last); ok {
				all = append(all, happening{kind: track.Cross, reason: track.Move, name: name, at: first, since: first, left: last, order: orderOf(f)})
			}
		}
	}
	return all
}

// passes says when the path between two fixes that are beside a fence passes through it.
func (o *oracle) passes(f oracleFence, from, to *track.Position) (first, last track.Millis, ok bool) {
	if fits, known := o.altitudeFits(f, to); !fits || !known {
		return 0, 0, false
	}
	if ignores(o.policyFor(f), from) || ignores(o.policyFor(f), to) {
		return 0, 0, false
	}
	margin, _ := marginsOf(o.policyFor(f), to)
	for _, p := range []*track.Position{from, to} {
		if holds(f.fence.Geometry, pointOf(p)) || margin > 0 && !atLeast(distanceTo(&f.fence, pointOf(p)), margin) {
			return 0, 0, false
		}
	}
	a, b := pathThrough(f.fence.Geometry, pointOf(from), pointOf(to))
	if a < 0 {
		return 0, 0, false
	}
	at := func(share float64) track.Millis {
		return from.Time + track.Millis(math.Round(share*float64(to.Time-from.Time)))
	}
	return at(a), at(b), true
}

// detectIn tells what a rule asks for in a fence that holds the object.
func (o *oracle) detectIn(obj *oracleObject, r *oracleRule, f oracleFence, v visit, reason track.Reason) (all []happening) {
	name, t := fenceName{f.set, f.fence.Key}, obj.last.Time
	holds := r.when(obj, &f.fence)
	h := happening{reason: reason, name: name, rule: r.ID, at: t, since: v.since, inVisit: true, order: orderOf(f)}
	if key := (ruleMark{r.ID, track.Inside, name}); r.Detect.Has(rule.Inside) && holds {
		every := track.Millis(r.Inside.Every.Milliseconds())
		m, ok := obj.marks[key]
		due := every == 0 || !ok || t-m.at >= every
		if due {
			h.kind = track.Inside
			all = append(all, h)
		}
		if due && every > 0 { // events without an interval are not remembered
			obj.marks[key] = ruleState{at: t}
		}
	}
	if r.Detect.Has(rule.DwellTime) {
		held := holds || obj.met[ruleMark{r.ID, track.Dwell, name}]
		all = append(all, obj.dwell(r, f, v, t, held, reason)...)
	}
	key := ruleMark{r.ID, track.ConditionBegin, name}
	m, holding := obj.marks[key]
	switch {
	case !r.Detect.Has(rule.Holds):
	case holds && !holding:
		obj.marks[key] = ruleState{at: t}
		h.kind, h.since = track.ConditionBegin, t
		all = append(all, h)
	case !holds && holding:
		delete(obj.marks, key)
		h.kind, h.since = track.ConditionEnd, m.at
		all = append(all, h)
	}
	return all
}

// dwell tells of a visit that is long enough at a time.
func (obj *oracleObject) dwell(r *oracleRule, f oracleFence, v visit, now track.Millis, holds bool, reason track.Reason) []happening {
	name := fenceName{f.set, f.fence.Key}
	key := ruleMark{r.ID, track.Dwell, name}
	at, told := v.since+track.Millis(r.Dwell.After.Milliseconds()), []track.Millis(nil)
	if m, ok := obj.marks[key]; ok {
		at, told = m.at, m.told
	}
	if at > now {
		return nil
	}
	if !holds {
		obj.marks[key] = ruleState{at: at, tried: true, told: told}
		return nil
	}
	next := track.Millis(math.MaxInt64)
	if every := track.Millis(r.Dwell.Every.Milliseconds()); every > 0 {
		for at+every <= now {
			at += every
		}
		next = at + every
	}
	obj.marks[key] = ruleState{at: next, told: append(slices.Clone(told), at)}
	return []happening{{kind: track.Dwell, reason: reason, name: name, rule: r.ID, at: at, since: v.since, inVisit: true, order: orderOf(f)}}
}

// redate applies the changed rules about the length of visits to visits that go on. The next time
// is later than the last one that was told.
func (o *oracle) redate(obj *oracleObject, rules *[]oracleRule, at track.Millis) {
	for key, m := range obj.marks {
		find := func(all *[]oracleRule) *oracleRule {
			for _, r := range o.rulesOf(all, obj.id, key.name.set, at) {
				if r.ID == key.rule {
					return &r
				}
			}
			return nil
		}
		old, r := find(rules), find(o.rules)
		v, in := obj.in[key.name]
		if key.kind != track.Dwell || !in || old == nil || r == nil || bytes.Equal(old.AppendJSON(nil), r.AppendJSON(nil)) {
			continue
		}
		if len(m.told) == 0 {
			delete(obj.marks, key)
			continue
		}
		m.at, m.tried = v.since+track.Millis(r.Dwell.After.Milliseconds()), false
		for last := slices.Max(m.told); m.at <= last; {
			if m.at += track.Millis(r.Dwell.Every.Milliseconds()); r.Dwell.Every == 0 {
				m.at = math.MaxInt64
			}
		}
		obj.marks[key] = m
	}
}

// detectOut tells of an object that is not in the listed fences, or in none.
func (o *oracle) detectOut(obj *oracleObject, r *oracleRule, set string, reason track.Reason, changes []happening) (all []happening) {
	tell := func(name fenceName, f *fence.Fence, order [2]int) {
		key, t := ruleMark{r.ID, track.Outside, name}, obj.last.Time
		m, known := obj.marks[key]
		if !known {
			m = ruleState{at: math.MaxInt64, since: math.MinInt64}
			for _, h := range changes {
				g := o.named(h.name)
				if h.kind == track.Exit && h.name.set == set && (h.name == name || name.key == "" && r.names(&g.fence)) {
					m.since = max(m.since, h.at)
				}
			}
			if m.since == math.MinInt64 {
				m.since = t
			}
		}
		if (m.at == math.MaxInt64 || t-m.at >= track.Millis(r.Outside.Every.Milliseconds())) && r.when(obj, f) {
			m.at = t
			all = append(all, happening{kind: track.Outside, reason: reason, name: name, rule: r.ID, at: t, since: m.since, order: order})
		}
		obj.marks[key] = m
	}
	in := false
	for _, f := range o.fences {
		name := fenceName{set, f.fence.Key}
		_, is := obj.in[name]
		if f.set != set || !r.names(&f.fence) {
			continue
		}
		if in = in || is; !is && len(r.Fences.IDs) > 0 {
			tell(name, &f.fence, orderOf(f))
		}
	}
	if !in && len(r.Fences.IDs) == 0 {
		tell(fenceName{set: set}, nil, [2]int{slices.Index(sets, set), noFence})
	}
	return all
}

// forget drops what an object remembers of visits that have ended and of rules that are not open.
func (o *oracle) forget(obj *oracleObject, rules *[]oracleRule, reason func(name fenceName) track.Reason, order map[fenceName][2]int, was, at, c track.Millis) (all []happening) {
	for key, m := range obj.marks {
		_, in := obj.in[key.name]
		open := o.rulesOf(o.rules, obj.id, key.name.set, at)
		i := slices.IndexFunc(open, func(r oracleRule) bool { return r.ID == key.rule })
		if in && i >= 0 {
			if f := o.named(key.name); !open[i].names(&f.fence) {
				i = -1
			}
		}
		switch {
		case key.kind == track.Outside:
			anywhere := false
			for name := range obj.in {
				f := o.named(name)
				anywhere = anywhere || i >= 0 && name.set == key.name.set && open[i].names(&f.fence)
			}
			there := slices.ContainsFunc(o.fences, func(f oracleFence) bool { return fenceName{f.set, f.fence.Key} == key.name })
			if i >= 0 && !in && (there || key.name.key == "" && !anywhere) {
				continue
			}
		case in && i >= 0:
			continue
		case key.kind == track.ConditionBegin:
			h := happening{kind: track.ConditionEnd, reason: track.Move, name: key.name, rule: key.rule, at: max(c, m.at), since: m.at, order: order[key.name]}
			if in {
				old := o.rulesOf(rules, obj.id, key.name.set, was)
				k := slices.IndexFunc(old, func(r oracleRule) bool { return r.ID == key.rule })
				var r *oracleRule
				if k >= 0 {
					r = &old[k]
				}
				h.reason = reasonOf(r, o.rules, open, track.RuleRemoved, track.Schedule, at)
			} else {
				h.reason = reason(key.name)
			}
			all = append(all, h)
		}
		delete(obj.marks, key)
	}
	return all
}

// flips are the times at which a schedule of the tests opens or closes.
var flips = []track.Millis{1_200_000, 1_500_000, 1_800_000, 1_860_000, 2_400_000}

// schedules are those of the tests, with their meaning: in UTC, on a Thursday.
var schedules = []struct {
	text string
	open func(at track.Millis) bool
	last track.Millis
}{
	{`{}`, func(track.Millis) bool { return true }, 0},
	{`{"zone":"UTC","week":{"thu":["00:20-00:25","00:30-00:31"]}}`, func(at track.Millis) bool {
		return at >= 1_200_000 && at < 1_500_000 || at >= 1_800_000 && at < 1_860_000
	}, 0},
	{`{"valid_until":"1970-01-01T00:40:00Z"}`, func(at track.Millis) bool { return at < 2_400_000 }, 2_400_000},
}
