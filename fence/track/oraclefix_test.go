package track_test

import (
	"maps"
	"math"
	"slices"

	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// apply is the fix of an object.
func (o *oracle) apply(p *track.Position) (track.Outcome, []string) {
	obj, known := o.objects[p.ID]
	if !known {
		o.now = max(o.now, p.Arrived)
		obj = &oracleObject{id: p.ID, hour: o.now, marks: map[ruleMark]ruleState{}, seq: o.removed[o.part(p.ID)], in: map[fenceName]visit{}, contrary: map[fenceName]*contrary{}, passages: map[fenceName]*oraclePassage{}}
		o.objects[p.ID] = obj
		return track.Accepted, o.accept(obj, p, o.now, true, true)
	}
	late, wait, speed := o.common()
	if wait > 0 || len(obj.held) > 0 {
		o.now = max(o.now, p.Arrived)
		lines := o.due(p.ID, obj)
		at, twice := slices.BinarySearchFunc(obj.held, p.Time, func(w waitingFix, t track.Millis) int { return int(w.Time - t) })
		if twice || p.Time <= obj.last.Time {
			return late, lines
		}
		obj.held = slices.Insert(obj.held, at, waitingFix{*p, o.now + wait})
		return track.Held, append(lines, o.due(p.ID, obj)...)
	}
	if p.Time <= obj.last.Time {
		return late, nil
	}
	outlier, trusted := obj.isOutlier(p, speed)
	if outlier {
		return track.Outlier, nil
	}
	o.now = max(o.now, p.Arrived)
	return track.Accepted, append(o.due(p.ID, obj), o.accept(obj, p, o.now, false, trusted)...)
}

// common is what holds for an object in all sets.
func (o *oracle) common() (late track.Outcome, wait track.Millis, speed float64) {
	late = track.Late
	unlimited := false
	for _, set := range sets {
		p := o.policy(set)
		switch p.Late {
		case track.LateHistory:
			late = track.Past
		case track.LateReorder:
			wait = max(wait, track.Millis(p.Reorder.Milliseconds()))
		}
		unlimited = unlimited || p.MaxSpeed == 0
		speed = max(speed, p.MaxSpeed)
	}
	if unlimited {
		speed = 0
	}
	return late, wait, speed
}

// isOutlier reports whether a fix is too far away, and whether two others before said the same.
func (obj *oracleObject) isOutlier(p *track.Position, speed float64) (outlier, trusted bool) {
	fits := func(from *track.Position) bool {
		seconds := max(float64(p.Time-from.Time)/1000, 1)
		return p.Time > from.Time && !atLeast(span(pointOf(from), pointOf(p)), seconds*speed)
	}
	if speed == 0 || fits(&obj.last) {
		obj.outliers = nil
		return false, false
	}
	if n := len(obj.outliers); n > 0 && !fits(&obj.outliers[n-1]) {
		obj.outliers = nil
	}
	if obj.outliers = append(obj.outliers, *p); len(obj.outliers) == 3 {
		obj.outliers = nil
		return false, true
	}
	return true, false
}

// accept moves an object by a fix, which may have waited until now.
func (o *oracle) accept(obj *oracleObject, p *track.Position, now track.Millis, first, unseen bool) []string {
	from, heard, unheard := obj.last, obj.arrived, o.stays(obj)
	unseen = unseen || obj.silent
	obj.silent, obj.last, obj.arrived = false, *p, now
	if p.Props != nil {
		obj.props = p.Props
	}
	held := o.holding(p)
	var all []happening
	for _, f := range o.fences {
		name := fenceName{f.set, f.fence.Key}
		policy := o.policyFor(f)
		if ignores(policy, p) || o.isUnsaid(name, p) || !o.isTracked(p.ID, f.set) {
			continue
		}
		v, member := obj.in[name]
		if _, is := held[name]; is == member {
			delete(obj.contrary, name)
			continue
		}
		c := obj.contrary[name]
		if c == nil {
			c = &contrary{enters: !member, crossed: p.Time, order: orderOf(f)}
			obj.contrary[name] = c
			ttl := o.ttl(f.set)
			silent := unseen || ttl > 0 && heard+ttl <= now
			if aloft := member && holds(f.fence.Geometry, pointOf(p)); !silent && !aloft {
				c.crossed = crossing(f.fence.Geometry, pointOf(&from), pointOf(p), from.Time, p.Time, maxGap(policy))
			}
		}
		c.fixes = append(c.fixes, weigh(f, policy, p, !member, now))
		if !first && !c.isConfirmed(policy, p.Time, now) {
			continue
		}
		delete(obj.contrary, name)
		if member {
			for _, stay := range unheard[name] {
				all = append(all, stay(c.crossed)...)
			}
		}
		for _, h := range o.change(obj, name, c, v, o.hourOf(obj)) {
			if first {
				h.reason = track.FirstSeen
				if policy.Initial == track.InitialNone {
					continue
				} else if policy.Initial == track.InitialInside {
					h.kind = track.Inside
				}
			}
			all = append(all, h)
		}
	}
	order := map[fenceName][2]int{}
	for _, f := range o.fences {
		order[fenceName{f.set, f.fence.Key}] = orderOf(f)
	}
	reason, previous := track.Move, &from
	if first {
		reason, previous = track.FirstSeen, nil
	}
	all = append(all, o.forget(obj, o.rules, func(fenceName) track.Reason { return reason }, order, o.hourOf(obj), o.hourOf(obj), p.Time)...)
	all = append(all, o.detect(obj, previous, reason, func(f oracleFence) (known bool) {
		policy, ttl := o.policyFor(f), o.ttl(f.set)
		silent := unseen || ttl > 0 && heard+ttl <= now
		return !silent && p.Time-from.Time <= maxGap(policy)
	}, all)...)
	t := telling{time: p.Time, arrived: p.Arrived}
	if !first {
		before := pointOf(&from)
		t.prev = &before
	}
	return o.tell(p.ID, obj, all, t)
}

// stays returns what time alone would tell of an object's visits, had it come to the end of each:
// the last event of each rule about its length. It notes the rules whose condition held until then:
// what came between two fixes is told by the first, also if the second does not meet it.
func (o *oracle) stays(obj *oracleObject) map[fenceName][]func(end track.Millis) []happening {
	all := map[fenceName][]func(end track.Millis) []happening{}
	obj.met = map[ruleMark]bool{}
	for name, v := range obj.in {
		f := o.named(name)
		for _, r := range o.rulesOf(o.rules, obj.id, name.set, o.hourOf(obj)) {
			m, marked := obj.marks[ruleMark{r.ID, track.Dwell, name}]
			if !r.Detect.Has(rule.DwellTime) || !r.names(&f.fence) || m.tried || !r.when(obj, &f.fence) {
				continue
			}
			obj.met[ruleMark{r.ID, track.Dwell, name}] = true
			all[name] = append(all[name], func(end track.Millis) (told []happening) {
				next := v.since + track.Millis(r.Dwell.After.Milliseconds())
				if marked {
					next = m.at
				}
				for every := track.Millis(r.Dwell.Every.Milliseconds()); next <= end; next += every {
					told = []happening{{kind: track.Dwell, reason: track.Move, name: name, rule: r.ID, at: next, since: v.since, visit: v.seq, order: v.order, ended: true}}
					if every == 0 {
						break
					}
				}
				return told
			})
		}
	}
	return all
}

func maxGap(p track.Policy) track.Millis {
	if p.MaxGap == 0 {
		return 600_000
	}
	return track.Millis(p.MaxGap.Milliseconds())
}

// change makes a contrary state the membership, and returns the event if it is told at this hour.
func (o *oracle) change(obj *oracleObject, name fenceName, c *contrary, v visit, hour track.Millis) []happening {
	f := o.named(name)
	if !c.enters {
		delete(obj.in, name)
		return o.exit(obj, f, v, track.Move, c.crossed, hour)
	}
	obj.in[name] = visit{since: c.crossed, begun: c.crossed, order: c.order, shown: o.shows(obj.id, f, hour)}
	if !obj.in[name].shown || !o.tells(obj, f, rule.Enter, hour) {
		return nil
	}
	return []happening{{kind: track.Enter, reason: track.Move, name: name, at: c.crossed, since: c.crossed, order: c.order}}
}

// ignores reports whether a fix is too inexact.
func ignores(policy track.Policy, p *track.Position) bool {
	return policy.MaxAccuracy > 0 && p.Accuracy.Known && float64(p.Accuracy.Value) > policy.MaxAccuracy
}

// marginsOf returns the margin of a fix, and the distance at which it is sure.
func marginsOf(policy track.Policy, p *track.Position) (margin, sure float64) {
	accuracy := 0.0
	if p.Accuracy.Known {
		accuracy = float64(p.Accuracy.Value)
	}
	return max(policy.Metres, policy.AccuracyFactor*accuracy), max(policy.Sure, 3*accuracy)
}

// weigh says what a contrary fix is worth.
func weigh(f oracleFence, policy track.Policy, p *track.Position, enters bool, now track.Millis) contraryFix {
	margin, sure := marginsOf(policy, p)
	if enters && policy.Metres > 0 {
		quarter := f.inradius() / 4
		margin, sure = min(margin, quarter), min(sure, quarter)
	}
	c := contraryFix{time: p.Time, arrived: now, counts: true}
	if !enters && holds(f.fence.Geometry, pointOf(p)) { // it is above or below
		return c
	}
	distance := distanceTo(&f.fence, pointOf(p))
	if margin > 0 {
		c.counts = atLeast(distance, margin)
	}
	c.sure = policy.Sure > 0 && atLeast(distance, sure)
	return c
}

// after is how long the contrary state has to last.
func (c *contrary) after(policy track.Policy) track.Millis {
	if c.enters {
		return track.Millis(policy.EnterAfter.Milliseconds())
	}
	return track.Millis(policy.ExitAfter.Milliseconds())
}

// isEnough reports whether the last fixes are as many as the policy asks for, or one is sure.
func (c *contrary) isEnough(policy track.Policy) bool {
	run := 0
	for _, f := range slices.Backward(c.fixes) {
		if f.sure {
			return true
		}
		if !f.counts {
			return false
		}
		if run++; run >= max(policy.Fixes, 1) {
			return true
		}
	}
	return false
}

func (c *contrary) isConfirmed(policy track.Policy, t, now track.Millis) bool {
	after, first := c.after(policy), c.fixes[0]
	return c.isEnough(policy) && (t-first.time >= after || first.arrived+after <= now)
}

// due does what time has made due for an object, the earliest first: pending changes, then fixes
// that have waited, then silence.
func (o *oracle) due(id string, obj *oracleObject) (lines []string) {
	for {
		at, do := o.nextDue(id, obj)
		if do == nil || at > o.now {
			return lines
		}
		lines = append(lines, do()...)
	}
}

func (o *oracle) nextDue(id string, obj *oracleObject) (at track.Millis, do func() []string) {
	earlier := func(t track.Millis, f func() []string) {
		if do == nil || t < at {
			at, do = t, f
		}
	}
	for name, c := range obj.contrary {
		policy := o.policyFor(o.named(name))
		if after := c.after(policy); after > 0 && c.isEnough(policy) {
			t := c.fixes[0].arrived + after
			earlier(t, func() []string { return o.elapse(id, obj, t) })
		}
	}
	if t, ok := o.nextDwell(obj); ok {
		earlier(t, func() []string { return o.elapse(id, obj, t) })
	}
	for _, w := range obj.held {
		earlier(w.until, func() []string { return o.release(obj, w.until) })
	}
	defer func() {
		if t := o.nextFlip(obj); t != 0 && (do == nil || t < at) {
			at, do = t, func() []string { return o.flip(obj, t) }
		}
	}()
	if obj.silent {
		return at, do
	}
	longest, all := track.Millis(0), true
	for _, set := range sets {
		ttl := o.ttl(set)
		longest, all = max(longest, ttl), all && ttl > 0
		if ttl > 0 && obj.isConcernedBy(set) {
			earlier(obj.arrived+ttl, func() []string { return o.silence(id, obj, ttl) })
		}
	}
	if all {
		earlier(obj.arrived+longest, func() []string {
			obj.silent = true
			lines := o.silence(id, obj, longest)
			clear(obj.marks)
			return lines
		})
	}
	return at, do
}

func (obj *oracleObject) isConcernedBy(set string) bool {
	for name := range obj.in {
		if name.set == set {
			return true
		}
	}
	for name := range obj.contrary {
		if name.set == set {
			return true
		}
	}
	return false
}

// silence ends the visits to the sets with a TTL, or a shorter one.
func (o *oracle) silence(id string, obj *oracleObject, ttl track.Millis) []string {
	at := obj.arrived + ttl
	all := o.exits(obj, track.TTL, at, o.hourOf(obj), func(set string) bool { return o.ttl(set) > 0 && o.ttl(set) <= ttl })
	return o.tell(id, obj, all, telling{time: at, arrived: o.now})
}

// elapse confirms what has been contrary for long enough at a time.
func (o *oracle) elapse(id string, obj *oracleObject, at track.Millis) []string {
	var all []happening
	for name, c := range maps.Clone(obj.contrary) {
		policy := o.policyFor(o.named(name))
		if after := c.after(policy); after > 0 && c.isEnough(policy) && c.fixes[0].arrived+after <= at {
			delete(obj.contrary, name)
			all = append(all, o.change(obj, name, c, obj.in[name], o.hourOf(obj))...)
		}
	}
	order := map[fenceName][2]int{}
	for _, f := range o.fences {
		order[fenceName{f.set, f.fence.Key}] = orderOf(f)
	}
	for name, v := range obj.in {
		f := o.named(name)
		for _, r := range o.rulesOf(o.rules, id, name.set, o.hourOf(obj)) {
			if r.Detect.Has(rule.DwellTime) && r.names(&f.fence) && !obj.marks[ruleMark{r.ID, track.Dwell, name}].tried {
				all = append(all, obj.dwell(&r, f, v, at-obj.lag(), r.when(obj, &f.fence), track.Move)...)
			}
		}
	}
	all = append(all, o.forget(obj, o.rules, func(fenceName) track.Reason { return track.Move }, order, o.hourOf(obj), o.hourOf(obj), at)...)
	return o.tell(id, obj, all, telling{time: at, arrived: o.now})
}

// hourOf is the time from which on an object has the rules that are open.
func (o *oracle) hourOf(obj *oracleObject) track.Millis { return max(obj.hour, o.hour) }

// lag is how far the device was behind at its last fix.
func (obj *oracleObject) lag() track.Millis { return obj.arrived - obj.last.Time }

// nextDwell returns when the clock makes a visit long enough for a rule.
func (o *oracle) nextDwell(obj *oracleObject) (at track.Millis, ok bool) {
	for name, v := range obj.in {
		f := o.named(name)
		for _, r := range o.rulesOf(o.rules, obj.id, name.set, o.hourOf(obj)) {
			if !r.Detect.Has(rule.DwellTime) || !r.names(&f.fence) {
				continue
			}
			t := v.since + track.Millis(r.Dwell.After.Milliseconds())
			m, marked := obj.marks[ruleMark{r.ID, track.Dwell, name}]
			if marked {
				t = m.at
			}
			if t == math.MaxInt64 || m.tried {
				continue
			}
			if t = max(t+obj.lag(), o.hourOf(obj)); !ok || t < at {
				at, ok = t, true
			}
		}
	}
	return at, ok
}

// nextFlip returns when a rule for the object next opens or closes, after the last time it did.
func (o *oracle) nextFlip(obj *oracleObject) track.Millis {
	if o.rules == nil {
		return 0
	}
	next := track.Millis(0)
	for _, t := range flips {
		if t > o.hourOf(obj) && (next == 0 || t < next) {
			next = t
		}
	}
	return next
}

// flip follows the hour.
func (o *oracle) flip(obj *oracleObject, at track.Millis) []string {
	obj.hour = at
	if obj.silent {
		return nil
	}
	order := map[fenceName][2]int{}
	for name, v := range obj.in {
		order[name] = v.order
	}
	maps.DeleteFunc(obj.passages, func(name fenceName, _ *oraclePassage) bool {
		return !o.keepsPassage(obj, name, change0{o.fences, o.rules, o.policies}, at)
	})
	all := o.reveal(obj, o.rules, o.fences, at-1, at)
	all = append(all, o.forget(obj, o.rules, nil, order, at-1, at, at)...)
	return o.tell(obj.id, obj, all, telling{time: at, arrived: at})
}

// release applies the fixes that have waited until a time, and those older than them.
func (o *oracle) release(obj *oracleObject, at track.Millis) (lines []string) {
	n := 0
	for i, w := range obj.held {
		if w.until <= at {
			n = i + 1
		}
	}
	ready := slices.Clone(obj.held[:n])
	obj.held = slices.Delete(obj.held, 0, n)
	_, _, speed := o.common()
	for i := range ready {
		p := &ready[i].Position
		outlier, trusted := obj.isOutlier(p, speed)
		if p.Time > obj.last.Time && !outlier {
			lines = append(lines, o.accept(obj, p, at, false, trusted)...)
		}
	}
	return lines
}
