package bus

import (
	"hash/maphash"
	"iter"
	"slices"
)

// IndexStats is a reading of the subject index.
type IndexStats struct {
	Subscriptions     int
	Inserts, Removes  uint64
	Lookups, Searches uint64 // subjects looked up, and those whose answer was not remembered
	MaxFanout         int    // most subscriptions and queues that one search has found
}

// IndexStats reads the index. Lookups and searches are counted by batch.
func (s *Server) IndexStats() IndexStats {
	now := s.subs.now.Load()
	return IndexStats{
		Subscriptions: now.count,
		Inserts:       s.subs.inserts.Load(),
		Removes:       s.subs.removes.Load(),
		Lookups:       s.counters.inMsgs.Load(),
		Searches:      s.counters.searches.Load(),
		MaxFanout:     int(s.counters.maxFanout.Load()),
	}
}

// Subscriptions reads every subscription, or those that get what is published to
// subject if it is not empty: total is how many there are, and list those from
// number offset on, at most limit. The order is the same while no subscription
// comes or goes. Nobody waits for it, but for the one whose counts are being read.
func (s *Server) Subscriptions(subject string, offset, limit int) (list []SubInfo, total int) {
	var page []*subscription
	for sub := range s.subs.now.Load().interested(subject) {
		if total >= offset && len(page) < limit {
			page = append(page, sub)
		}
		total++
	}
	list = make([]SubInfo, len(page))
	for i, sub := range page {
		list[i] = sub.owner.read(sub)
	}
	return list, total
}

// interested goes through the subscriptions that get subject; "" = all there are.
func (s *snapshot) interested(subject string) iter.Seq[*subscription] {
	if subject == "" {
		return s.all
	}
	var m matches
	s.match(maphash.String(seed, subject), []byte(subject), &m)
	return func(yield func(*subscription) bool) {
		for _, list := range m.plain {
			if !each(list, yield) {
				return
			}
		}
		for _, g := range m.groups {
			if !each(g.members, yield) {
				return
			}
		}
	}
}

func each(list []*subscription, yield func(*subscription) bool) bool {
	return !slices.ContainsFunc(list, func(s *subscription) bool { return !yield(s) })
}

func (s *snapshot) all(yield func(*subscription) bool) {
	if !s.lead.all(yield) {
		return
	}
	for _, half := range s.by {
		if half == nil {
			continue
		}
		for i := range half {
			if !half[i].all(yield) {
				return
			}
		}
	}
}

func (d *domain) all(yield func(*subscription) bool) bool {
	for n := range d.literal.values {
		if !n.all(yield) {
			return false
		}
	}
	return d.wild.all(yield)
}

func (n *interest) all(yield func(*subscription) bool) bool {
	if !each(n.plain, yield) {
		return false
	}
	for _, g := range n.groups {
		if !each(g.members, yield) {
			return false
		}
	}
	return true
}

func (l *level) all(yield func(*subscription) bool) bool {
	if l == nil {
		return true
	}
	if !l.interest.all(yield) || !l.tail.all(yield) || !l.any.all(yield) {
		return false
	}
	for below := range l.next.values {
		if !below.all(yield) {
			return false
		}
	}
	return true
}

func (c *client) read(s *subscription) SubInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.reading(c.id)
}

func (l *Local) read(s *subscription) SubInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.reading(l.id)
}
