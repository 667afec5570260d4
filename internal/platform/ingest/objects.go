package ingest

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"paddock/fence/track"
	"paddock/internal/platform/subjects"
)

// read runs f for a partition with the present fences, while no record is applied. It does nothing
// once the pipeline has ended.
func (p *Pipeline) read(partition int, f func(*track.Shard)) {
	p.state.RLock()
	defer p.state.RUnlock()
	select {
	case <-p.ended:
	default:
		f(p.partitions[partition].Shard)
	}
}

// readAll runs f for each partition, one after the other. Records are applied between them.
func (p *Pipeline) readAll(f func(number int, t *track.Shard)) {
	for q := range p.partitions {
		p.read(q, func(t *track.Shard) { f(q, t) })
	}
}

// Object returns the state of one object.
func (p *Pipeline) Object(fleet, id string) (o track.Object, ok bool) {
	_ = p.Settle() // a closed pipeline stays as it is
	p.read(subjects.Partition(fleet, id), func(t *track.Shard) { o, ok = t.Get(fleet, id) })
	return o, ok
}

// Query selects objects for a list.
type Query struct {
	track.Filter
	Fleet  string // only this fleet; "" is all
	Prefix string // only ids that begin with it
	After  string // only objects after this key, see ObjectKey
	Limit  int    // bounds the result; 0: no bound

	until string // only objects up to this key; "" is all
}

// Objects returns the selected objects ordered by fleet, then id, and whether more follow. The
// limit bounds its memory, even for very many objects. Its time is that of a look at each object.
func (p *Pipeline) Objects(q Query) (objects []track.Object, more bool) {
	_ = p.Settle() // a closed pipeline stays as it is
	most := q.Limit + 1
	p.readAll(func(_ int, t *track.Shard) {
		objects = q.first(objects, t)
		if q.Limit > 0 && len(objects) > 2*most { // the others are not in the answer
			sortObjects(objects)
			clear(objects[most:])
			objects = objects[:most]
			q.until = ObjectKey(objects[most-1].Fleet, objects[most-1].ID)
		}
	})
	sortObjects(objects)
	if q.Limit > 0 && len(objects) > q.Limit {
		return objects[:q.Limit], true
	}
	return objects, false
}

func sortObjects(objects []track.Object) {
	slices.SortFunc(objects, func(a, b track.Object) int {
		return cmp.Compare(ObjectKey(a.Fleet, a.ID), ObjectKey(b.Fleet, b.ID))
	})
}

// first appends the selected objects of one partition, at most one more than the limit. It finds
// the largest of their keys before it copies objects.
func (q *Query) first(dst []track.Object, t *track.Shard) []track.Object {
	if q.Limit == 0 {
		return t.Select(dst, &q.Filter, q.selects)
	}
	most := q.Limit + 1
	var keys []string
	t.Select(nil, &q.Filter, func(fleet, id string) bool {
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
	return t.Select(dst, &q.Filter, func(fleet, id string) bool {
		return q.selects(fleet, id) && ObjectKey(fleet, id) <= last
	})
}

func (q *Query) selects(fleet, id string) bool {
	return (q.Fleet == "" || q.Fleet == fleet) && strings.HasPrefix(id, q.Prefix) &&
		(q.After == "" || ObjectKey(fleet, id) > q.After) && (q.until == "" || ObjectKey(fleet, id) <= q.until)
}

// ObjectKey orders objects in lists by fleet, then id. No two objects have one key.
func ObjectKey(fleet, id string) string {
	return strings.ReplaceAll(fleet, "\x00", "\x00\x02") + "\x00\x01" + id
}

// Dots appends a dot for each object. A handle stands for its object until the object is removed;
// Names returns the objects of handles.
func (p *Pipeline) Dots(dst []track.Dot) []track.Dot {
	p.readAll(func(number int, t *track.Shard) {
		from := len(dst)
		dst = t.AppendDots(dst)
		for i := range dst[from:] {
			d := &dst[from+i]
			d.Handle = handleOf(d.Handle, number)
		}
	})
	return dst
}

// Dot returns the dot of one object, as it is now: positions that wait are not part of it.
func (p *Pipeline) Dot(fleet, id string) (d track.Dot, ok bool) {
	q := subjects.Partition(fleet, id)
	p.read(q, func(t *track.Shard) { d, ok = t.Dot(fleet, id) })
	d.Handle = handleOf(d.Handle, q)
	return d, ok
}

// handleOf returns the handle among all partitions of one in a partition.
func handleOf(handle uint32, partition int) uint32 {
	return handle*subjects.Partitions + uint32(partition)
}

// Named is the object of a handle.
type Named struct {
	Handle    uint32
	Fleet, ID string
}

// Names appends the fleet and the id of each handle from Dots. It leaves out objects that were
// removed since: the next ones get their handles.
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
		p.read(q, func(t *track.Shard) {
			for _, h := range part {
				if fleet, id := t.Name(h / n); id != "" {
					dst = append(dst, Named{Handle: h, Fleet: fleet, ID: id})
				}
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

// Postponed returns the number of partitions that have work to do without further input, such as to
// bring changed rules to their objects.
func (p *Pipeline) Postponed() (partitions int) {
	for _, t := range p.partitions {
		if t.due.Load() == dueNow {
			partitions++
		}
	}
	return partitions
}

// removedHandles has the handles of the objects that were removed last. It is changed under the
// lock of the partitions.
type removedHandles struct {
	count atomic.Uint64 // since the start
	last  [4096]uint32  // the handle of removal n is at n modulo the length
}

func (r *removedHandles) add(handle uint32) {
	n := r.count.Load()
	r.last[n%uint64(len(r.last))] = handle
	r.count.Store(n + 1)
}

// Removed returns the number of objects removed since the start.
func (p *Pipeline) Removed() uint64 { return p.gone.count.Load() }

// RemovedSince returns the handles of the objects that were removed after the first n. Each of them
// may stand for another object by now. It reports false if there are too many to know them: any
// handle may stand for another object then.
func (p *Pipeline) RemovedSince(n uint64) (handles []uint32, known bool) {
	if p.Removed() == n {
		return nil, true
	}
	p.state.RLock()
	defer p.state.RUnlock()
	size := uint64(len(p.gone.last))
	end := p.Removed()
	if end-n > size {
		return nil, false
	}
	for ; n < end; n++ {
		handles = append(handles, p.gone.last[n%size])
	}
	return handles, true
}
