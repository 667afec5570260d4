package ingest

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"paddock/fence/track"
)

// ask runs f on the shard's goroutine and waits for it. It returns false if the shard has ended.
func (s *shard) ask(f func(*track.Shard)) bool {
	done := make(chan struct{})
	select {
	case s.asks <- func(t *track.Shard) { f(t); close(done) }:
		<-done
		return true
	case <-s.ended:
		return false
	}
}

// Object returns the state of one object.
func (p *Pipeline) Object(fleet, id string) (o track.Object, ok bool) {
	p.shards[p.shardOf(fleet, id)].ask(func(t *track.Shard) { o, ok = t.Get(fleet, id) })
	return o, ok
}

// Query selects objects for a list.
type Query struct {
	In     track.FenceName // only objects in this fence, or set
	Fleet  string          // only this fleet; "" is all
	Prefix string          // only ids that begin with it
	After  string          // only objects after this key, see ObjectKey
	Limit  int             // bounds the result; 0: no bound
}

// Objects returns the selected objects ordered by fleet, then id, and whether more follow. The
// limit bounds its memory, even for very many objects.
func (p *Pipeline) Objects(q Query) (objects []track.Object, more bool) {
	for _, s := range p.shards {
		s.ask(func(t *track.Shard) { objects = q.first(objects, t) })
	}
	slices.SortFunc(objects, func(a, b track.Object) int {
		return cmp.Compare(ObjectKey(a.Fleet, a.ID), ObjectKey(b.Fleet, b.ID))
	})
	if q.Limit > 0 && len(objects) > q.Limit {
		return objects[:q.Limit], true
	}
	return objects, false
}

// first appends the selected objects of one shard, at most one more than the limit. It finds the
// largest of their keys before it copies objects.
func (q *Query) first(dst []track.Object, t *track.Shard) []track.Object {
	if q.Limit == 0 {
		return t.Select(dst, q.In, q.selects)
	}
	most := q.Limit + 1
	var keys []string
	t.Select(nil, q.In, func(fleet, id string) bool {
		if q.selects(fleet, id) {
			keys = append(keys, ObjectKey(fleet, id))
		}
		if len(keys) == 2*most {
			slices.Sort(keys)
			clear(keys[most:])
			keys = keys[:most]
		}
		return false
	})
	if len(keys) == 0 {
		return dst
	}
	slices.Sort(keys)
	last := keys[min(most, len(keys))-1]
	return t.Select(dst, q.In, func(fleet, id string) bool {
		return q.selects(fleet, id) && ObjectKey(fleet, id) <= last
	})
}

func (q *Query) selects(fleet, id string) bool {
	return (q.Fleet == "" || q.Fleet == fleet) && strings.HasPrefix(id, q.Prefix) &&
		(q.After == "" || ObjectKey(fleet, id) > q.After)
}

// ObjectKey orders objects in lists by fleet, then id.
func ObjectKey(fleet, id string) string { return fleet + "\x00" + id }

// Dots appends a dot for each object. A handle stands for its object until the object is removed;
// Names returns the objects of handles.
func (p *Pipeline) Dots(dst []track.Dot) []track.Dot {
	for i, s := range p.shards {
		from := len(dst)
		s.ask(func(t *track.Shard) { dst = t.AppendDots(dst) })
		for j := range dst[from:] {
			d := &dst[from+j]
			d.Handle = d.Handle*uint32(len(p.shards)) + uint32(i)
		}
	}
	return dst
}

// Named is the object of a handle.
type Named struct {
	Handle    uint32
	Fleet, ID string
}

// Names appends the fleet and the id of each handle from Dots.
func (p *Pipeline) Names(dst []Named, handles []uint32) []Named {
	n := uint32(len(p.shards))
	byShard := make([][]uint32, n)
	for _, h := range handles {
		byShard[h%n] = append(byShard[h%n], h)
	}
	for i, part := range byShard {
		if len(part) == 0 {
			continue
		}
		p.shards[i].ask(func(t *track.Shard) {
			for _, h := range part {
				fleet, id := t.Name(h / n)
				dst = append(dst, Named{Handle: h, Fleet: fleet, ID: id})
			}
		})
	}
	return dst
}

// Counts returns the number of known objects, and of the silent ones among them.
func (p *Pipeline) Counts() (objects, silent int) {
	for _, s := range p.shards {
		objects += int(s.objects.Load())
		silent += int(s.silent.Load())
	}
	return objects, silent
}

// Remove forgets an object, and reports whether it was known. When Remove returns, an exit from
// each fence that held the object has been published. The error is ErrClosed, or nil.
func (p *Pipeline) Remove(fleet, id string) (removed bool, err error) {
	s := p.shards[p.shardOf(fleet, id)]
	if !s.ask(func(t *track.Shard) { // on the shard's goroutine, which owns its events
		removed, s.events = t.Remove(fleet, id, now(), s.events)
		if !removed {
			return
		}
		if p.limit != nil {
			p.limit.taken.Add(-1)
		}
		p.gone.Add(1)
		s.publish()
	}) {
		return false, ErrClosed
	}
	return removed, nil
}

// Removed returns the number of objects removed since the start. A handle of Dots may stand for
// another object once it has changed.
func (p *Pipeline) Removed() uint64 { return p.gone.Load() }

// objectLimit bounds the objects of all shards together.
type objectLimit struct {
	limit int64
	taken atomic.Int64
}

// take reports whether there was room for one more.
func (r *objectLimit) take() bool {
	if r.taken.Add(1) <= r.limit {
		return true
	}
	r.taken.Add(-1)
	return false
}
