package bus

import (
	"math"

	"paddock/bus/internal/traffic"
)

// OtherPrefixes is the label of all subjects that belong to no other.
const OtherPrefixes = traffic.Other

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

// PrefixTraffic reads the traffic of the configured prefixes, of the busiest others, and last of
// all other subjects. A subject counts under the longest configured prefix, or one of the others.
// Subjects that occur once are counted by samples, so their numbers are estimates.
func (s *Server) PrefixTraffic() (list []PrefixTraffic) {
	s.traffic.Read(func(prefix string, in, out uint64) {
		list = append(list, PrefixTraffic{Prefix: prefix, In: in, Out: out})
	})
	return list
}

// BusySubjects returns the subjects that are probably the busiest, at most n.
func (s *Server) BusySubjects(n int) (list []SubjectTraffic) {
	for _, slot := range s.traffic.Busiest(n) {
		list = append(list, SubjectTraffic{Subject: string(slot.Text), Messages: slot.Sure(), Over: slot.Over})
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
	tally   *traffic.Tally
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
		r.srv.traffic.Note(s.tally, s.weight, s.weight*out)
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
	s.sampled, s.tally = true, t.Labels().Find(subject)
	t.Offer(subject, s.weight)
}

// chooseSample throws the dice for all messages up to the next sample at once: how
// many come until then has a geometric distribution.
func (r *router) chooseSample() {
	s := &r.share
	if s.loose, s.weight = 1, r.srv.traffic.Patience(); s.weight > 1 {
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
	if now := t.Labels(); e.labels != now {
		r.share.text = append(r.share.text[:0], e.subject...)
		e.labels, e.tally = now, now.Find(r.share.text)
	}
	t.Note(e.tally, e.in, e.out)
	e.owed += e.in
	e.in, e.out = 0, 0
	if e.owed < t.Patience() {
		return
	}
	r.share.text = append(r.share.text[:0], e.subject...)
	if t.Offer(r.share.text, e.owed) {
		e.owed = 0
	}
}
