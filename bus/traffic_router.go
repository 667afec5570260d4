package bus

import "math"

// share is what a router knows of its messages by subject, until it tells traffic.
// Subjects that the cache holds are counted exactly, the others by samples: each
// message is one with a probability that stays until the next sample, and stands
// for as many as that is one in. The estimate has no bias, however soon a router
// is let go.
type share struct {
	in, out uint64        // of the router's counts, when the present subject came up
	entries []*reachEntry // that have counts; some twice
	loose   int           // messages until the next sample, that included
	weight  uint64        // for how many it stands
	sampled bool          // the message that is under way is one, and counts for tally
	tally   *tally
	text    []byte // scratch
}

// turnTo is called when another subject comes up, which the cache holds.
func (r *router) turnTo(e *reachEntry) {
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

// shareOut gives what has been routed to the subject that came up last. Most
// subjects that the cache does not hold have nothing to be given.
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

// take counts what e has had.
func (r *router) take(e *reachEntry) {
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
