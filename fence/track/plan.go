package track

import (
	"slices"
	"time"
)

// defaultMaxGap is the silence beyond which a straight line between two fixes
// says nothing about when the object crossed.
const defaultMaxGap = 10 * time.Minute

// plan holds the policies of a View, as they apply: with the overrides of Options.
type plan struct {
	sets     []terms // in the order of View.Sets
	late     LateMode
	hold     Millis   // how long a fix waits for older ones
	maxSpeed float64  // of all sets; 0: no limit
	ttls     []Millis // of the sets, each once, ascending
	wholly   bool     // every set has a TTL, so that an object leaves all of them
}

// terms is the policy of a set, as it applies.
type terms struct {
	Policy
	atOnce   bool // every contrary fix changes the membership
	own      bool // fences of the set have settings
	gap, ttl Millis
	set      SetID
}

func newPlan(v *View, o *Options) plan {
	p := plan{sets: make([]terms, 0, len(v.Sets)), wholly: len(v.Sets) > 0}
	for i := range v.Sets {
		t := newTerms(v.Sets[i].Policy, o)
		t.set, t.own = v.Sets[i].ID, v.Sets[i].Snapshot.HasSettings()
		p.sets = append(p.sets, t)
		p.late = max(p.late, t.Late)
		if t.Late == LateReorder {
			p.hold = max(p.hold, Millis(t.Reorder.Milliseconds()))
		}
		if t.ttl > 0 {
			p.ttls = append(p.ttls, t.ttl)
		}
		p.wholly = p.wholly && t.ttl > 0
	}
	if o.TTL > 0 {
		p.ttls, p.wholly = append(p.ttls, Millis(o.TTL.Milliseconds())), true
	}
	slices.Sort(p.ttls)
	p.ttls = slices.Compact(p.ttls)
	p.maxSpeed = commonSpeed(p.sets)
	return p
}

func newTerms(p *Policy, o *Options) terms {
	t := terms{}
	if p != nil {
		t.Policy = *p
	}
	if o.TTL > 0 {
		t.TTL = o.TTL
	}
	if o.Initial != InitialNone || o.NoInitial {
		t.Initial = o.Initial
	}
	gap := t.MaxGap
	if o.MaxGap > 0 {
		gap = o.MaxGap
	}
	if gap == 0 {
		gap = defaultMaxGap
	}
	t.gap, t.ttl, t.atOnce = Millis(gap.Milliseconds()), Millis(t.TTL.Milliseconds()), t.immediate()
	return t
}

// commonSpeed returns the highest MaxSpeed of the sets, 0 if one has none.
func commonSpeed(sets []terms) float64 {
	most := 0.0
	for i := range sets {
		if sets[i].MaxSpeed == 0 {
			return 0
		}
		most = max(most, sets[i].MaxSpeed)
	}
	return most
}

// sameSilence reports whether the same sets have the same TTLs in two plans.
func (p *plan) sameSilence(q *plan) bool {
	return slices.Equal(p.ttls, q.ttls) && slices.EqualFunc(p.sets, q.sets, func(a, b terms) bool {
		return a.set == b.set && a.ttl == b.ttl
	})
}

// of returns the terms of a set, nil if the view does not have it.
func (p *plan) of(set SetID) *terms {
	for i := range p.sets {
		if p.sets[i].set == set {
			return &p.sets[i]
		}
	}
	return nil
}

// ttlOf returns the TTL of a set, 0 if there is none.
func (p *plan) ttlOf(set SetID) Millis {
	if t := p.of(set); t != nil {
		return t.ttl
	}
	return 0
}
