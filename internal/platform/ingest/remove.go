package ingest

import "paddock/fence/track"

// Remove forgets an object, and reports whether it was known. When it returns, an exit for
// each fence that held the object has been published. The error is ErrClosed, or nil.
func (p *Pipeline) Remove(fleet, id string) (removed bool, err error) {
	s := p.shards[p.shardOf(fleet, id)]
	if !s.ask(func(t *track.Shard) { // on the shard's goroutine, whose events these are
		removed, s.events = t.Remove(fleet, id, now(), s.events)
		if !removed {
			return
		}
		if p.room != nil {
			p.room.taken.Add(-1)
		}
		p.gone.Add(1)
		s.publish()
	}) {
		return false, ErrClosed
	}
	return removed, nil
}

// Removed counts the objects that were removed since the start. A handle of Dots may name
// another object once this has changed.
func (p *Pipeline) Removed() uint64 { return p.gone.Load() }
