package bus

import "math"

// share is what a router knows of its messages by subject, until it tells traffic.
// Subjects that the cache holds are counted exactly, the others by samples: each
// message is one with a probability that stays until the next sample, and stands
// for as many as that is one in. The estimate has no bias, however soon a router
// is let go.
type share struct {
	in, out uint64        // of the router's counts, what has been shared out
	entries []*reachEntry // that have counts; some twice
	loose   uint64        // messages until the next sample, that included
	weight  uint64        // for how many it stands; 0 = none has been chosen yet
	text    []byte        // scratch
}

// shareOut gives what has been routed since the last call to the subject that it
// went to: that of the last look-up.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (r *router) shareOut() {
	in, out := r.inMsgs-r.share.in, r.outMsgs-r.share.out
	if in == 0 {
		return
	}
	r.share.in, r.share.out = r.inMsgs, r.outMsgs
	e := r.cache.last
	if e == nil {
		r.sample(out)
		return
	}
	if e.in == 0 {
		r.share.entries = append(r.share.entries, e)
	}
	e.in += in
	e.out += out
}

// sample counts the message that was just routed if it is a sample.
func (r *router) sample(out uint64) {
	if r.share.weight == 0 {
		r.chooseSample()
	}
	if r.share.loose--; r.share.loose > 0 {
		return
	}
	t, n := r.srv.traffic, r.share.weight
	t.note(t.labels.Load().find(r.msg.subject), n, n*out)
	t.offer(r.msg.subject, n)
	r.chooseSample()
}

// chooseSample throws the dice for all messages up to the next sample at once: how
// many come until then has a geometric distribution.
func (r *router) chooseSample() {
	s := &r.share
	if s.loose, s.weight = 1, r.srv.traffic.patience.Load(); s.weight > 1 {
		u := (float64(r.roll()) + 1) / (1 << 31) // in (0, 1]
		s.loose += uint64(math.Log(u) / math.Log1p(-1/float64(s.weight)))
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
