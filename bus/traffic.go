package bus

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// topPrefixes is how many prefixes get a label of their own, besides the configured ones.
	topPrefixes = 32
	// labelShare is which part of all messages a prefix must have for a label: one
	// in so many. As it is a part of all there were, labels come ever more rarely.
	labelShare = 1000
	// labelOffers is how often it must have been met: one sample may stand for many.
	labelOffers = 4
	// samplePart and sampleMost say how exactly busy subjects are found: after one
	// message in samplePart of those seen, and after sampleMost at the latest.
	samplePart = 1024
	sampleMost = 256
)

// OtherPrefixes is the label of all subjects that belong to no other.
const OtherPrefixes = "other"

// PrefixTraffic is the traffic of subjects with one beginning.
type PrefixTraffic struct {
	Prefix  string // whole tokens, or OtherPrefixes
	In, Out uint64 // messages published and delivered
}

// SubjectTraffic is an estimate of one subject's share.
type SubjectTraffic struct {
	Subject string
	// Messages is how many were published, at least; Over is by how many it may be
	// too little. Both are halved now and then, so that they tell of late.
	Messages, Over uint64
}

// traffic counts messages by the beginnings of their subjects. Which prefixes have a label is known
// without a lock. Its counters only ever grow, also that of all other subjects: the messages of a
// prefix before it got its label stay there, and one that loses its label takes its count along.
type traffic struct {
	labels   atomic.Pointer[labels]
	other    tally
	patience atomic.Uint64 // messages after which a subject is offered to the sketches

	mu       sync.Mutex // guards the fields below
	prefixes sketch
	subjects sketch
}

// tally counts the messages of one label.
type tally struct{ in, out atomic.Uint64 }

// labels are the prefixes that are counted apart. They never change: others take their place.
type labels struct {
	configured []label // the longest first
	busy       map[string]*tally
}

type label struct {
	prefix string
	tally  *tally
}

func newTraffic(prefixes []string) *traffic {
	t := new(traffic)
	list := make([]label, len(prefixes))
	for i, p := range prefixes {
		list[i] = label{p, new(tally)}
	}
	slices.SortStableFunc(list, func(a, b label) int { return cmp.Compare(len(b.prefix), len(a.prefix)) })
	t.labels.Store(&labels{configured: list, busy: map[string]*tally{}})
	t.patience.Store(1)
	return t
}

// find returns where the messages of subject count, or nil.
func (l *labels) find(subject []byte) *tally {
	for i := range l.configured {
		c := &l.configured[i]
		n := len(c.prefix)
		if len(subject) >= n && string(subject[:n]) == c.prefix && (len(subject) == n || subject[n] == '.') {
			return c.tally
		}
	}
	return l.busy[string(prefixOf(subject))]
}

// prefixOf returns the part of a subject from which a label may be made: its first two tokens, but
// never the last of several, which tells one object from the other. All inboxes are one.
func prefixOf(subject []byte) []byte {
	first := bytes.IndexByte(subject, '.')
	if first < 0 {
		return subject
	}
	second := bytes.IndexByte(subject[first+1:], '.')
	if second < 0 || string(subject[:first]) == inboxes {
		return subject[:first]
	}
	return subject[:first+1+second]
}

// inboxes is the beginning of the subjects that clients use for replies.
const inboxes = "_INBOX"

// note counts messages under a label; nil = that of all other subjects.
func (t *traffic) note(to *tally, in, out uint64) {
	if to == nil {
		to = &t.other
	}
	to.in.Add(in)
	if out > 0 {
		to.out.Add(out)
	}
}

// offer reports n messages to subject to the sketches. It returns false if the sketches are busy:
// the router does not wait for them.
func (t *traffic) offer(subject []byte, n uint64) bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	t.subjects.offer(subject, n)
	if s := t.prefixes.offer(prefixOf(subject), n); s != nil && !s.labelled {
		t.consider(s)
	}
	t.patience.Store(min(sampleMost, 1+t.prefixes.total/samplePart))
	return true
}

// consider gives a prefix a label if it is busy enough; if there is no room, in
// place of one that surely had less than half as much. t.mu is held.
func (t *traffic) consider(s *sketchSlot) {
	now := t.labels.Load()
	if s.labelled = now.busy[string(s.text)] != nil; s.labelled || s.sure()*labelShare < t.prefixes.total || s.offers < labelOffers {
		return
	}
	if now.find(s.text) != nil || !utf8.Valid(s.text) || string(s.text) == OtherPrefixes {
		return // it has a label that was configured, or cannot be one
	}
	busy := maps.Clone(now.busy)
	if len(busy) >= topPrefixes {
		least := t.leastLabelled(busy)
		if least.sure()*2 >= s.sure() {
			return
		}
		least.labelled = false
		delete(busy, string(least.text))
	}
	s.labelled = true
	busy[string(s.text)] = new(tally)
	t.labels.Store(&labels{configured: now.configured, busy: busy})
}

// leastLabelled returns the label to give up first: one that the sketch has lost, if any, else the
// one with the lowest certain count.
func (t *traffic) leastLabelled(busy map[string]*tally) *sketchSlot {
	var least *sketchSlot
	lost := maps.Clone(busy)
	for i := range t.prefixes.slots[:t.prefixes.used] {
		s := &t.prefixes.slots[i]
		if s.labelled {
			delete(lost, string(s.text))
			if least == nil || s.sure() < least.sure() {
				least = s
			}
		}
	}
	for prefix := range lost {
		return &sketchSlot{text: []byte(prefix)}
	}
	return least
}

// PrefixTraffic reads the traffic of the configured prefixes, of the busiest others, and last of
// all other subjects. A subject counts under the longest configured prefix, or one of the others.
// Subjects that occur once are counted by samples, so their numbers are estimates.
func (s *Server) PrefixTraffic() []PrefixTraffic {
	now := s.traffic.labels.Load()
	var list []PrefixTraffic
	for _, c := range now.configured {
		list = append(list, c.tally.reading(c.prefix))
	}
	n := len(list)
	for prefix, tally := range now.busy {
		list = append(list, tally.reading(prefix))
	}
	for _, part := range [][]PrefixTraffic{list[:n], list[n:]} {
		slices.SortFunc(part, func(a, b PrefixTraffic) int { return cmp.Compare(a.Prefix, b.Prefix) })
	}
	return append(list, s.traffic.other.reading(OtherPrefixes))
}

func (t *tally) reading(prefix string) PrefixTraffic {
	return PrefixTraffic{Prefix: prefix, In: t.in.Load(), Out: t.out.Load()}
}

// BusySubjects returns the subjects that are probably the busiest, at most n.
func (s *Server) BusySubjects(n int) []SubjectTraffic {
	t := s.traffic
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []SubjectTraffic
	for _, slot := range t.subjects.top(n) {
		list = append(list, SubjectTraffic{Subject: string(slot.text), Messages: slot.sure(), Over: slot.over})
	}
	return list
}

// share holds a router's counts of messages by subject, until it adds them to traffic. Subjects
// that the cache holds are counted exactly, the others by samples: each message is one with a
// probability that stays until the next sample, and stands for as many as that is one in. The
// estimate has no bias, however soon a router is let go.
type share struct {
	in, out uint64           // of the router's counts, when the present subject came up
	entries []*receiverEntry // that have counts; some twice
	loose   int              // messages until the next sample, that included
	weight  uint64           // for how many it stands
	sampled bool             // the message that is under way is one, and counts for tally
	tally   *tally
	text    []byte // scratch
}

// turnTo is called when another subject comes up, which the cache holds.
func (r *router) turnTo(e *receiverEntry) {
	r.cache.last = e
	r.share.in, r.share.out = r.inMsgs, r.outMsgs
}

// turnAway is called when a subject comes up that the cache does not hold.
func (r *router) turnAway(subject []byte) {
	r.cache.last = nil
	if r.share.loose--; r.share.loose <= 0 {
		r.sample(subject)
	}
}

// shareOut adds the routed messages to the counts of the last subject. Most subjects outside the
// cache have none.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (r *router) shareOut() {
	if r.cache.last != nil || r.share.sampled {
		r.giveShare()
	}
}

func (r *router) giveShare() {
	s := &r.share
	in, out := r.inMsgs-s.in, r.outMsgs-s.out
	s.in, s.out = r.inMsgs, r.outMsgs
	e := r.cache.last
	switch {
	case in == 0:
	case e == nil:
		r.srv.traffic.note(s.tally, s.weight, s.weight*out)
		r.chooseSample()
	default:
		if e.in == 0 {
			s.entries = append(s.entries, e)
		}
		e.in += in
		e.out += out
	}
	s.sampled = false
}

// sample marks the message that comes as one.
func (r *router) sample(subject []byte) {
	t, s := r.srv.traffic, &r.share
	s.in, s.out = r.inMsgs, r.outMsgs
	s.sampled, s.tally = true, t.labels.Load().find(subject)
	t.offer(subject, s.weight)
}

// chooseSample throws the dice for all messages up to the next sample at once: how
// many come until then has a geometric distribution.
func (r *router) chooseSample() {
	s := &r.share
	if s.loose, s.weight = 1, r.srv.traffic.patience.Load(); s.weight > 1 {
		u := (float64(r.roll()) + 1) / (1 << 31) // in (0, 1]
		s.loose += int(math.Log(u) / math.Log1p(-1/float64(s.weight)))
	}
}

// tellTraffic ends the batch for traffic.
func (r *router) tellTraffic() {
	r.shareOut()
	r.share.in, r.share.out = 0, 0
	for i, e := range r.share.entries {
		r.take(e)
		r.share.entries[i] = nil
	}
	r.share.entries = r.share.entries[:0]
}

// take adds the messages of e.
func (r *router) take(e *receiverEntry) {
	if e.in == 0 {
		return
	}
	t := r.srv.traffic
	if now := t.labels.Load(); e.labels != now {
		r.share.text = append(r.share.text[:0], e.subject...)
		e.labels, e.tally = now, now.find(r.share.text)
	}
	t.note(e.tally, e.in, e.out)
	e.owed += e.in
	e.in, e.out = 0, 0
	if e.owed < t.patience.Load() {
		return
	}
	r.share.text = append(r.share.text[:0], e.subject...)
	if t.offer(r.share.text, e.owed) {
		e.owed = 0
	}
}
