package fence

import (
	"cmp"
	"math"
	"strconv"
	"sync"
	"sync/atomic"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/cellmap"
	"paddock/fence/internal/index"
	"paddock/fence/internal/outline"
)

// Set is a named set of fences that changes while it is read. Any number of goroutines may read
// snapshots without a lock; writers take turns.
type Set struct {
	name    string
	options Options
	current published[Snapshot]

	mu      sync.Mutex // held by the one writer; guards what follows
	writer  index.Writer
	next    int64          // the next ref that was never used
	repeats map[string]int // by key: the last suffix given to a repetition

	renewal *cellmap.Renewal // follows the set, once it is built; else nil
	tending atomic.Bool      // an index is being built anew; changed by the writer
	tasks   sync.WaitGroup   // that builder
}

// NewSet makes an empty set of generation 0. The error wraps ErrName, ErrKind, ErrZoom,
// ErrBoundary or ErrAntimeridian.
func NewSet(name string, o Options) (*Set, error) {
	if name == "" {
		return nil, ErrName
	}
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	s := &Set{name: name, options: o, writer: newWriter(o.index()), repeats: map[string]int{}}
	t := &index.Table{}
	s.current.Store(&Snapshot{
		table: t, keys: newKeys(0), index: s.writer.Publish(t), bounds: geometry.EmptyBox(),
		outline: outline.NewLazy(t, o.Kind == KindBrute),
	})
	return s, nil
}

// Name is the set's name; it never changes.
func (s *Set) Name() string { return s.name }

// Kind is the kind of index; it never changes.
func (s *Set) Kind() Kind { return s.options.Kind }

// Reading is how documents for the set are read.
func (s *Set) Reading() geojson.ReadOptions { return s.options.Reading() }

// Snapshot is the set as it is now: one atomic load. Hold it for a request or a batch, so
// that all of it sees the same fences.
func (s *Set) Snapshot() *Snapshot { return s.current.Load() }

// Add adds a fence and never replaces one. Its key is f.Key, else the id, else the id
// property, else the ordinal of its ref; where that is taken, with the suffix ~2, ~3 and so
// on. The geometry and the raw JSON belong to the set from now on. The error is a
// *RefusedError, or ErrFull.
func (s *Set) Add(f Fence) (key string, snap *Snapshot, err error) {
	findings, err := f.Check(s.options.Strict)
	if err != nil {
		return "", nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.current.Load()
	ref, err := s.newRef()
	if err != nil {
		return "", nil, err
	}
	base := s.baseKey(&f, int(ref))
	f.Key = geojson.UniqueKey(base, s.repeats, func(k string) bool { _, ok := now.keys.get(k); return ok })
	if f.Key != base {
		findings = append(findings, geojson.DuplicateFinding(base, f.Key))
	}
	return f.Key, s.put(now, nil, index.NewEntry(ref, &f, geojson.Keyed(findings, f.Key))), nil
}

// baseKey returns the key that a fence asks for: its own, else the one in its properties, else its
// ordinal.
func (s *Set) baseKey(f *Fence, ordinal int) string {
	if f.Key != "" {
		return f.Key
	}
	return cmp.Or(f.GivenKey(s.options.IDProperty), strconv.Itoa(ordinal))
}

// Put adds the fence or replaces the one of the same key, which keeps its ref and place.
// The geometry and the raw JSON belong to the set from now on. The error is ErrNoKey,
// ErrFull or a *RefusedError.
func (s *Set) Put(f Fence) (created bool, snap *Snapshot, err error) { return s.If(nil).Put(f) }

// Put is Set.Put, if the guard allows it; otherwise the error is the guard's.
func (g Guarded) Put(f Fence) (created bool, snap *Snapshot, err error) {
	s := g.set
	if f.Key == "" {
		return false, nil, ErrNoKey
	}
	findings, err := f.Check(s.options.Strict)
	if err != nil {
		return false, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.current.Load()
	if err := g.allowed.check(now); err != nil {
		return false, now, err
	}
	var old *index.Entry
	ref, known := now.keys.get(f.Key)
	if known {
		old = now.table.Get(ref)
	} else if ref, err = s.newRef(); err != nil {
		return false, nil, err
	}
	return !known, s.put(now, old, index.NewEntry(ref, &f, geojson.Keyed(findings, f.Key))), nil
}

// Delete takes the fence out, and reports whether there was one. Its ref is not used again.
func (s *Set) Delete(key string) (snap *Snapshot, ok bool) {
	snap, ok, _ = s.If(nil).Delete(key)
	return snap, ok
}

// Delete is Set.Delete, if the guard allows it; otherwise the error is the guard's.
func (g Guarded) Delete(key string) (snap *Snapshot, ok bool, err error) {
	s := g.set
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.current.Load()
	if err := g.allowed.check(now); err != nil {
		return now, false, err
	}
	ref, ok := now.keys.get(key)
	if !ok {
		return now, false, nil
	}
	old := now.table.Get(ref)
	s.writer.Replace(old, nil)
	next := &Snapshot{table: now.table.With(ref, nil), keys: now.keys.without(key), findings: now.findings}
	next.bounds = next.table.BoundsAfter(now.bounds, old, nil)
	return s.publish(next), true, nil
}

// put publishes the set with e in place of old, or beside all others if old is nil.
func (s *Set) put(now *Snapshot, old, e *index.Entry) *Snapshot {
	s.writer.Replace(old, e)
	next := &Snapshot{table: now.table.With(e.Ref, e), keys: now.keys, findings: now.findings}
	next.bounds = next.table.BoundsAfter(now.bounds, old, e)
	if old == nil {
		next.keys = now.keys.with(e.Fence.Key, e.Ref)
	}
	return s.publish(next)
}

// publish makes the next snapshot the current one, and returns it.
func (s *Set) publish(next *Snapshot) *Snapshot {
	s.current.Store(s.prepare(next))
	s.tend()
	return next
}

// prepare numbers and indexes the next snapshot, which is not published yet.
func (s *Set) prepare(next *Snapshot) *Snapshot {
	now := s.current.Load()
	next.generation, next.next = now.generation+1, s.next
	next.index, next.outline = s.writer.Publish(next.table), now.outline.Follow(next.table)
	return next
}

func (s *Set) newRef() (Ref, error) {
	if s.next > math.MaxUint32 {
		return 0, ErrFull
	}
	s.next++
	return Ref(s.next - 1), nil
}
