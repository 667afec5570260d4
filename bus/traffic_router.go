package bus

// share is what a router knows of its messages by subject, until it tells traffic.
// Subjects that the cache holds are counted exactly, the others by samples: one in
// about as many as traffic's patience, each for those since the last.
type share struct {
	in, out uint64        // of the router's counts, what has been shared out
	entries []*reachEntry // that have counts; some twice
	loose   uint64        // messages since the last sample
	next    uint64        // of them until the next sample
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
		if r.share.loose += in; r.share.loose >= r.share.next {
			r.sample(out)
		}
		return
	}
	if e.in == 0 {
		r.share.entries = append(r.share.entries, e)
	}
	e.in += in
	e.out += out
}

// sample lets the message that was just routed stand for all since the last sample.
func (r *router) sample(out uint64) {
	t, n := r.srv.traffic, r.share.loose
	r.share.loose = 0
	r.share.next = 1 + r.roll()%(2*t.patience.Load()-1)
	t.note(t.labels.Load().find(r.msg.subject), n, n*out)
	t.offer(r.msg.subject, n)
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
