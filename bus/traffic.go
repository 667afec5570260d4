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
	// Messages is a lower bound of the published messages, too low by Over at most. Both are halved
	// now and then, so that recent traffic counts most.
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

// subjectCounts holds a router's counts of messages by subject, until it adds them to traffic.
// Subjects that the cache holds are counted exactly, the others by samples: each message is one
// with a probability that stays until the next sample, and stands for as many as that is one in.
// The estimate has no bias, however soon a router is let go.
type subjectCounts struct {
	in, out     uint64           // of the router's counts, when the present subject came up
	entries     []*receiverEntry // that have counts; some twice
	untilSample int              // messages until the next sample, that included
	weight      uint64           // for how many it stands
	sampled     bool             // the message that is under way is one, and counts for tally
	tally       *traffic.Tally
	text        []byte // scratch
}

// switchToCached begins the counts of another subject, which the cache holds.
func (r *router) switchToCached(e *receiverEntry) {
	r.cache.last = e
	r.counts.in, r.counts.out = r.inMsgs, r.outMsgs
}

// switchToUncached begins the counts of another subject, which the cache does not hold.
func (r *router) switchToUncached(subject []byte) {
	r.cache.last = nil
	if r.counts.untilSample--; r.counts.untilSample <= 0 {
		r.sample(subject)
	}
}

// countSubject adds the routed messages to the counts of the last subject. Most subjects outside
// the cache have none.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (r *router) countSubject() {
	if r.cache.last != nil || r.counts.sampled {
		r.countLast()
	}
}

func (r *router) countLast() {
	s := &r.counts
	in, out := r.inMsgs-s.in, r.outMsgs-s.out
	s.in, s.out = r.inMsgs, r.outMsgs
	e := r.cache.last
	switch {
	case in == 0:
	case e == nil:
		r.srv.traffic.Note(s.tally, s.weight, s.weight*out)
		r.scheduleSample()
	default:
		if e.in == 0 {
			s.entries = append(s.entries, e)
		}
		e.in += in
		e.out += out
	}
	s.sampled = false
}

// sample makes the next message a sample.
func (r *router) sample(subject []byte) {
	t, s := r.srv.traffic, &r.counts
	s.in, s.out = r.inMsgs, r.outMsgs
	s.sampled, s.tally = true, t.Labels().Find(subject)
	t.Offer(subject, s.weight)
}

// scheduleSample draws the next sample at random: the number of messages until then has a geometric
// distribution.
func (r *router) scheduleSample() {
	s := &r.counts
	if s.untilSample, s.weight = 1, r.srv.traffic.SampleEvery(); s.weight > 1 {
		u := (float64(r.randomBits()) + 1) / (1 << 31) // in (0, 1]
		s.untilSample += int(math.Log(u) / math.Log1p(-1/float64(s.weight)))
	}
}

// reportTraffic adds the counts of the batch to the server's.
func (r *router) reportTraffic() {
	r.countSubject()
	r.counts.in, r.counts.out = 0, 0
	for i, e := range r.counts.entries {
		r.reportEntry(e)
		r.counts.entries[i] = nil
	}
	r.counts.entries = r.counts.entries[:0]
}

// reportEntry adds the counts of e to the server's.
func (r *router) reportEntry(e *receiverEntry) {
	if e.in == 0 {
		return
	}
	t := r.srv.traffic
	if now := t.Labels(); e.labels != now {
		r.counts.text = append(r.counts.text[:0], e.subject...)
		e.labels, e.tally = now, now.Find(r.counts.text)
	}
	t.Note(e.tally, e.in, e.out)
	e.unreported += e.in
	e.in, e.out = 0, 0
	if e.unreported < t.SampleEvery() {
		return
	}
	r.counts.text = append(r.counts.text[:0], e.subject...)
	if t.Offer(r.counts.text, e.unreported) {
		e.unreported = 0
	}
}
