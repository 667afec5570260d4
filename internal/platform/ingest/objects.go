package ingest

import (
	"cmp"
	"slices"
	"strings"

	"paddock/fence/track"
	"paddock/internal/platform/subjects"
)

// ask runs f on the goroutine of a partition's worker and waits for it. It returns false if the
// worker has ended.
func (p *Pipeline) ask(partition int, f func(*worker, *partition)) bool {
	w := p.workers[partition%len(p.workers)]
	done := make(chan struct{})
	select {
	case w.asks <- func() { f(w, p.partitions[partition]); close(done) }:
		<-done
		return true
	case <-w.ended:
		return false
	}
}

// each runs f for each partition.
func (p *Pipeline) each(f func(number int, t *track.Shard)) {
	for q := range p.partitions {
		p.ask(q, func(_ *worker, t *partition) { f(q, t.Shard) })
	}
}

// Object returns the state of one object.
func (p *Pipeline) Object(fleet, id string) (o track.Object, ok bool) {
	p.ask(subjects.Partition(fleet, id), func(_ *worker, t *partition) { o, ok = t.Get(fleet, id) })
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
	p.each(func(_ int, t *track.Shard) { objects = q.first(objects, t) })
	slices.SortFunc(objects, func(a, b track.Object) int {
		return cmp.Compare(ObjectKey(a.Fleet, a.ID), ObjectKey(b.Fleet, b.ID))
	})
	if q.Limit > 0 && len(objects) > q.Limit {
		return objects[:q.Limit], true
	}
	return objects, false
}

// first appends the selected objects of one partition, at most one more than the limit. It finds
// the largest of their keys before it copies objects.
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
	p.each(func(number int, t *track.Shard) {
		from := len(dst)
		dst = t.AppendDots(dst)
		for i := range dst[from:] {
			d := &dst[from+i]
			d.Handle = d.Handle*subjects.Partitions + uint32(number)
		}
	})
	return dst
}

// Named is the object of a handle.
type Named struct {
	Handle    uint32
	Fleet, ID string
}

// Names appends the fleet and the id of each handle from Dots.
func (p *Pipeline) Names(dst []Named, handles []uint32) []Named {
	const n = subjects.Partitions
	var byPartition [n][]uint32
	for _, h := range handles {
		byPartition[h%n] = append(byPartition[h%n], h)
	}
	for q, part := range byPartition {
		if len(part) == 0 {
			continue
		}
		p.ask(q, func(_ *worker, t *partition) {
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
	for _, t := range p.partitions {
		objects += int(t.objects.Load())
		silent += int(t.silent.Load())
	}
	return objects, silent
}

// Remove forgets an object, and reports whether it was known. When Remove returns, an exit from
// each fence that held the object has been published. The error is ErrClosed, or nil.
func (p *Pipeline) Remove(fleet, id string) (removed bool, err error) {
	if !p.ask(subjects.Partition(fleet, id), func(w *worker, t *partition) {
		removed, w.events = t.Remove(fleet, id, w.clock.now(), w.events)
		if !removed {
			return
		}
		p.gone.Add(1)
		w.publish(t)
	}) {
		return false, ErrClosed
	}
	return removed, nil
}

// Removed returns the number of objects removed since the start. A handle of Dots may stand for
// another object once it has changed.
func (p *Pipeline) Removed() uint64 { return p.gone.Load() }
