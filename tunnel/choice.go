package tunnel

// maxMembers bounds the clients of a group: each visitor is brought to the one with the
// least to do, which is looked for among all.
const maxMembers = 32

// choice goes over the members of a place: those with less to do first, each once, those
// who are away last.
type choice struct {
	place   *place
	members []*claim
	tried   uint32 // a bit for each
	class   Class  // of what they are compared by
}

// choose begins a choice without those who were tried before.
func (p *place) choose(class Class, before []*claim) choice {
	c := choice{place: p, members: p.all(), class: class}
	for i, m := range c.members {
		for _, b := range before {
			if m == b {
				c.tried |= 1 << i
			}
		}
	}
	return c
}

// next is who is asked next, nil when all were. Without a holder he is away.
func (c *choice) next() (*claim, *holder) {
	if len(c.members) == 1 {
		if c.tried != 0 {
			return nil, nil
		}
		c.tried = 1
		return c.members[0], c.members[0].holder.Load()
	}
	return c.least()
}

// least is the member with the least to do, as a part of what it may have to do; of equals who
// was chosen longest ago. What is under way is counted at this server, so all of them are
// compared: nobody else brings them visitors whom we do not know of.
func (c *choice) least() (*claim, *holder) {
	best := -1
	var holds *holder
	var does load
	for i, m := range c.members {
		if c.tried&(1<<i) != 0 {
			continue
		}
		h := m.holder.Load()
		if h != nil && h.session.drains() {
			h = nil
		}
		switch is := m.load(c.class); {
		case best < 0:
			best, holds, does = i, h, is
		case h == nil:
		case holds == nil || is.less(does) || !does.less(is) && m.chosen.Load() < c.members[best].chosen.Load():
			best, holds, does = i, h, is
		}
	}
	if best < 0 {
		return nil, nil
	}
	c.tried |= 1 << best
	if holds != nil {
		c.members[best].chosen.Store(c.place.turn.Add(1))
	}
	return c.members[best], holds
}

// drains says whether a client takes nothing new on any of its connections.
func (x *session) drains() bool {
	for _, l := range x.all() {
		select {
		case <-l.GoingAway():
		default:
			return false
		}
	}
	return true
}

// load is how much a member has under way, of how much it may have.
type load struct{ now, most int }

// less compares the parts.
func (a load) less(b load) bool { return a.now*b.most < b.now*a.most }

// load compares like with like: streams may last for days, and say nothing of how soon a
// request is answered. Lanes that do not tell have nothing to do.
func (c *claim) load(class Class) load {
	stats := c.laneStats()
	if class == Stream {
		return load{stats.Streams, 1}
	}
	return load{stats.Requests + stats.Waiting, max(stats.Limit, 1)}
}
