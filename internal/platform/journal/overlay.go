package journal

import (
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrOverlay: an overlay has more changes than it may keep.
var ErrOverlay = errors.New("journal: too many changes to keep them in memory")

// Overlay is a journal that stays as it is, with changes of its values in memory. So a reader can
// finish what a crash has interrupted, and write nothing. Records, pieces and checkpoints are those
// of the journal below.
type Overlay struct {
	Journal
	top  *Disk // in memory: changed values behind the byte kept, and removed ones as the byte gone
	most uint64
}

const (
	gone = iota
	kept

	above = "o/" // of the names in Overlay.top, which has values of its own
)

// NewOverlay returns an overlay that keeps changes of roughly this many bytes at most. Close closes
// the journal below too.
func NewOverlay(below Journal, most uint64) (*Overlay, error) {
	top, err := Open(Options{Dir: "overlay", FS: vfs.NewMem()})
	if err != nil {
		return nil, err
	}
	return &Overlay{Journal: below, top: top, most: most}, nil
}

// Change implements [Journal].
func (o *Overlay) Change(remove []Span, put ...Value) error {
	var changed []Value
	for _, s := range remove {
		names, err := o.within(s)
		if err != nil {
			return err
		}
		for _, name := range names {
			changed = append(changed, Value{above + name, []byte{gone}})
		}
	}
	for _, v := range put {
		changed = append(changed, Value{above + v.Name, append([]byte{kept}, v.Bytes...)})
	}
	if used := o.top.db.Metrics(); used.DiskSpaceUsage()+used.MemTable.Size > o.most {
		return fmt.Errorf("%w: more than %d MiB", ErrOverlay, o.most>>20)
	}
	return o.top.Change(nil, changed...)
}

// within returns the names of a span.
func (o *Overlay) within(s Span) (names []string, err error) {
	if s == Only(s.From) {
		return []string{s.From}, nil
	}
	err = o.Values("", s.From, func(v Value) error {
		if v.Name >= s.To {
			return ErrEnough
		}
		names = append(names, v.Name)
		return nil
	})
	if errors.Is(err, ErrEnough) {
		err = nil
	}
	return names, err
}

// Put implements [Journal].
func (o *Overlay) Put(values ...Value) error { return o.Change(nil, values...) }

// Remove implements [Journal].
func (o *Overlay) Remove(names ...string) error {
	spans := make([]Span, len(names))
	for i, name := range names {
		spans[i] = Only(name)
	}
	return o.Change(spans)
}

// Get implements [Journal].
func (o *Overlay) Get(name string) ([]byte, error) {
	b, err := o.top.Get(above + name)
	switch {
	case errors.Is(err, ErrNotFound):
		return o.Journal.Get(name)
	case err != nil:
		return nil, err
	case b[0] == gone:
		return nil, ErrNotFound
	}
	return b[1:], nil
}

// Names implements [Journal].
func (o *Overlay) Names(prefix string) (names []string, err error) {
	err = o.Values(prefix, "", func(v Value) error {
		names = append(names, v.Name)
		return nil
	})
	return names, err
}

// Values implements [Journal].
func (o *Overlay) Values(prefix, from string, f func(Value) error) error {
	var failed error // of the values in memory
	next, stop := iter.Pull(func(yield func(Value) bool) {
		failed = o.top.Values(above+prefix, above+from, func(v Value) error {
			if !yield(Value{v.Name[len(above):], v.Bytes}) {
				return ErrEnough
			}
			return nil
		})
	})
	defer stop()
	top, more := next()
	pass := func() (err error) {
		if top.Bytes[0] == kept {
			err = f(Value{top.Name, top.Bytes[1:]})
		}
		top, more = next()
		return err
	}
	err := o.Journal.Values(prefix, from, func(v Value) error {
		for more && top.Name < v.Name {
			if err := pass(); err != nil {
				return err
			}
		}
		if more && top.Name == v.Name {
			return pass()
		}
		return f(v)
	})
	for more && err == nil {
		err = pass()
	}
	if err != nil {
		return err
	}
	return failed
}

// Close implements [Journal].
func (o *Overlay) Close() error { return errors.Join(o.top.Close(), o.Journal.Close()) }
