package bus

import (
	"hash/maphash"

	"paddock/bus/internal/subjects"
)

const (
	// reachEntries is how many subjects a router remembers; a power of two.
	reachEntries = 1024
	// doorEntries is how many subjects that came once are remembered as such.
	doorEntries = 1024
)

// reach is who gets what is published to a subject.
type reach struct {
	plain  []*subscription
	groups []group // one for each queue name
	denied bool    // network clients must not publish here
	fan    bool    // publications may form runs

	asked *grant // whose permission is known
	may   bool   // what it says
}

// permits says whether g lets its user publish to subject, which is what to is
// the reach of. It is looked up once for the same user's next messages.
func (to *reach) permits(g *grant, subject []byte) bool {
	if to.asked != g {
		to.asked, to.may = g, g.mayPublish(subject)
	}
	return to.may
}

// nobody says that no subscription matches.
func (to *reach) nobody() bool { return len(to.plain) == 0 && len(to.groups) == 0 }

// reachCache remembers what recent subjects reach. A subject is stored when it
// comes for the second time: reply subjects, of which each comes once, and a
// million of objects leave it as it is. What it knows of a subject stays valid
// while nothing changes among the patterns that begin with its first token or a
// wildcard.
type reachCache struct {
	entries [reachEntries]reachEntry
	door    [doorEntries]uint32
	last    *reachEntry // what came before, nil = not stored
}

type reachEntry struct {
	hash    uint64
	subject string
	seq     uint64 // the snapshot for which it was found valid
	own     uint64 // generations of the subject's domain and of leading wildcards
	lead    uint64
	to      reach

	in, out uint64  // messages of this batch
	owed    uint64  // published, and not offered to the sketches yet
	labels  *labels // by which tally was found
	tally   *tally
}

// lookup returns who gets what is published to subject. The answer is valid
// until the next call.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (r *router) lookup(subject []byte) *reach {
	snap := r.srv.subs.now.Load()
	c := r.cache
	if e := c.last; e != nil && e.seq == snap.seq && e.subject == string(subject) {
		return &e.to
	}
	r.shareOut()
	hash := maphash.Bytes(seed, subject)
	at := hash % reachEntries
	for _, e := range [2]*reachEntry{&c.entries[at], &c.entries[at^1]} {
		if e.hash == hash && e.subject == string(subject) {
			if e.seq != snap.seq {
				r.renew(e, snap, subject)
			}
			r.turnTo(e)
			return &e.to
		}
	}
	if door := &c.door[hash>>32%doorEntries]; *door != uint32(hash) {
		*door = uint32(hash)
		r.turnAway(subject)
		return r.walk(snap, hash, subject)
	}
	e := &c.entries[at]
	if e.seq > c.entries[at^1].seq {
		e = &c.entries[at^1] // the one that has not come for longer
	}
	r.take(e)
	*e = reachEntry{hash: hash, subject: string(subject)}
	r.renew(e, snap, subject)
	r.turnTo(e)
	return &e.to
}

// renew makes e valid for snap.
func (r *router) renew(e *reachEntry, snap *snapshot, subject []byte) {
	tok, _, _ := subjects.Cut(subject)
	own := snap.domainOf(tok).gen
	if e.seq == 0 || own != e.own || snap.lead.gen != e.lead {
		to := r.walk(snap, e.hash, subject)
		e.to = reach{groups: append([]group(nil), to.groups...), denied: to.denied}
		e.to.plain = append(e.to.plain, to.plain...)
		e.to.fan = fans(e.to.plain, e.to.groups)
	}
	e.seq, e.own, e.lead = snap.seq, own, snap.lead.gen
}

// walk finds who gets subject without the cache.
func (r *router) walk(snap *snapshot, hash uint64, subject []byte) *reach {
	to := &r.walked
	r.searches++
	to.asked = nil
	to.denied = isReserved(subject, reservedSubjects) || r.srv.denied(subject)
	clear(to.plain)
	to.plain, to.groups = to.plain[:0], nil
	if snap.count == 0 {
		return to
	}
	snap.match(hash, subject, &r.found)
	for _, list := range r.found.plain {
		to.plain = append(to.plain, list...)
	}
	to.groups = r.found.groups
	r.maxFanout = max(r.maxFanout, uint64(len(to.plain)+len(to.groups)))
	return to
}
