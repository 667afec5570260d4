package server

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
	chosen  *claim // by the last choice among several, until he is let in or refused
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
// compared: nobody else brings them visitors whom we do not know of. He who comes counts from
// here on, else two who come at once would wait for one, and nobody would come to the other.
func (c *choice) least() (*claim, *holder) {
	best := -1
	var holds *holder
	var does load
	c.place.choosing.Lock()
	defer c.place.choosing.Unlock()
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
		case holds == nil || is.less(does) || !does.less(is) && m.chosen < c.members[best].chosen:
			best, holds, does = i, h, is
		}
	}
	if best < 0 {
		return nil, nil
	}
	c.tried |= 1 << best
	if holds != nil {
		c.place.turn++
		c.chosen = c.members[best]
		c.chosen.chosen = c.place.turn
		c.chosen.coming.Add(1)
	}
	return c.members[best], holds
}

// came hears that the one who was chosen has let the visitor in, or refused him.
func (c *choice) came() {
	if c.chosen != nil {
		c.chosen.coming.Add(-1)
		c.chosen = nil
	}
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
// request is answered. Of lanes that do not tell only who is coming counts.
func (c *claim) load(class Class) load {
	stats, coming := c.laneStats(), int(c.coming.Load())
	if class == Stream {
		return load{stats.Streams + coming, 1}
	}
	return load{stats.Requests + stats.Waiting + coming, max(stats.Limit, 1)}
}
