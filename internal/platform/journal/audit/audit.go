// Package audit keeps a list of changes: of sets, policies, rules, keys and webhooks, each with its
// author and its time.
//
// An entry is stored together with its change, all or nothing: the change begins with [Log.Begin],
// its store adds [Log.Take] to the values that it writes, and [Pending.End] ends it. So after a
// crash no change is in effect without its entry. An entry without its change is that of a change
// that was never answered.
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock/internal/platform/journal"
)

// Prefix begins the names of the stored values.
const Prefix = "audit/"

const (
	// MaxEntries bounds the kept entries: the oldest ones are removed, trim at a time.
	MaxEntries = 100_000
	trim       = 1000
)

// Entry is one change.
type Entry struct {
	ID     string    `json:"id"` // orders entries
	At     time.Time `json:"at"`
	By     string    `json:"by"`             // name of the key, or http.token, anyone, file
	From   string    `json:"from,omitempty"` // address of the sender
	Action string    `json:"action"`         // as set.put
	Object string    `json:"object"`         // the changed set, rule, key, webhook or node
	Detail string    `json:"detail,omitempty"`
	// Failed tells why the change with the same action and object just before was not made, though
	// its entry was stored.
	Failed string `json:"failed,omitempty"`
}

// Store keeps values: see journal.Journal.
type Store interface {
	Put(values ...journal.Value) error
	Names(prefix string) ([]string, error)
	Change(remove []journal.Span, put ...journal.Value) error
	Values(prefix, from string, f func(v journal.Value) error) error
}

// Log is the list. It is safe for concurrent use.
type Log struct {
	store Store

	mu      sync.Mutex
	names   []string // of stored entries, in order
	stale   bool     // names are those of an earlier time
	pending []*Pending
	last    int64 // number of the last id
}

// Pending is an entry whose change is being made.
type Pending struct {
	log   *Log
	entry Entry
	taken bool // by Take
}

// Open returns the log of a store.
func Open(s Store) (*Log, error) {
	l := &Log{store: s}
	return l, l.Reload()
}

// Changed tells that another node has changed the store.
func (l *Log) Changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stale = true
}

// Reload reads which entries the store has.
func (l *Log) Reload() error {
	l.mu.Lock()
	l.stale = false
	from := nameOf(l.last + 1) // from here on entries may be stored meanwhile
	if len(l.pending) > 0 {
		from = Prefix + l.pending[0].entry.ID
	}
	l.mu.Unlock()
	names, err := l.store.Names(Prefix)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.stale = true
		return err
	}
	if len(names) > 0 { // a clock may have been set back
		var last int64
		_, _ = fmt.Sscanf(names[len(names)-1], Prefix+"%x", &last)
		l.last = max(l.last, last)
	}
	at, _ := slices.BinarySearch(l.names, from)
	l.names = append(names, l.names[at:]...)
	slices.Sort(l.names)
	l.names = slices.Compact(l.names)
	return nil
}

// nameOf returns the name of the value of the entry with a number.
func nameOf(number int64) string { return fmt.Sprintf("%s%016x", Prefix, number) }

// Begin adds the entry of a change that is about to be made. The log sets its id and its time.
func (l *Log) Begin(e Entry) *Pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.At = time.Now().UTC()
	l.last = max(l.last+1, e.At.UnixMicro())
	e.ID = fmt.Sprintf("%016x", l.last)
	p := &Pending{log: l, entry: e}
	l.pending = append(l.pending, p)
	return p
}

// ErrEntry is wrapped if a change was made, and its entry is not stored.
var ErrEntry = errors.New("the change is in use, but its entry of the audit is not stored")

// Record makes a change with its entry. An error is that of the change, or wraps ErrEntry. A nil
// log has no entries.
func (l *Log) Record(e Entry, change func() error) error {
	if l == nil {
		return change()
	}
	p := l.Begin(e)
	err := change()
	if stored := p.End(err); stored != nil && err == nil {
		return fmt.Errorf("%w: %w", ErrEntry, stored)
	}
	return err
}

// Take returns the entries of all changes that have begun and not ended, for the caller to store
// with a change. So the store of each change has its entry, whichever others have it too.
func (l *Log) Take() (values []journal.Value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pending {
		if values = append(values, p.entry.value()); !p.taken {
			p.taken = true
			l.names = append(l.names, Prefix+p.entry.ID)
		}
	}
	return values
}

func (e *Entry) value() journal.Value {
	text, _ := json.Marshal(e) // texts and times always encode
	return journal.Value{Name: Prefix + e.ID, Bytes: text}
}

// End ends a change. Its entry is stored when End returns without an error. With a failure the
// change was not made: then there is no entry, or one more that tells so.
func (p *Pending) End(failure error) (err error) {
	l := p.log
	switch taken := p.end(failure != nil); {
	case failure != nil && taken:
		e := p.entry
		e.Failed = failure.Error()
		further := l.Begin(e)
		err = l.store.Put(l.Take()...)
		further.end(true)
	case failure == nil && !taken:
		err = l.store.Put(l.Take()...)
		p.end(true)
	case failure == nil:
		p.end(true)
	}
	if err != nil {
		return err
	}
	return l.trim()
}

// end reports whether the entry was taken, and with over takes it off the changes that are made.
func (p *Pending) end(over bool) (taken bool) {
	l := p.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if over {
		l.pending = slices.DeleteFunc(l.pending, func(q *Pending) bool { return q == p })
	}
	return p.taken
}

// trim removes the oldest entries beyond the bound.
func (l *Log) trim() error {
	l.mu.Lock()
	var old []journal.Span
	if len(l.names) > MaxEntries {
		for _, name := range l.names[:trim] {
			old = append(old, journal.Only(name))
		}
		l.names = slices.Clone(l.names[trim:])
	}
	l.mu.Unlock()
	if old == nil {
		return nil
	}
	return l.store.Change(old)
}

// Query selects entries.
type Query struct {
	Before string // id; "" is the end
	By     string // "" is any
	Object string // "" is any
	Limit  int
}

// List returns the newest entries that a query selects, the newest first, and whether there may be
// older ones.
func (l *Log) List(q Query) (found []Entry, more bool, err error) {
	l.mu.Lock()
	names, stale := l.names, l.stale
	l.mu.Unlock()
	if stale {
		if err := l.Reload(); err != nil {
			return nil, false, err
		}
		return l.List(q)
	}
	if q.Before != "" {
		at, _ := slices.BinarySearch(names, Prefix+q.Before)
		names = names[:at]
	}
	const step = 256
	for len(names) > 0 {
		from := max(len(names)-step, 0)
		var batch []Entry
		err := l.store.Values(Prefix, names[from], func(v journal.Value) error {
			if v.Name > names[len(names)-1] {
				return journal.ErrEnough
			}
			var e Entry
			if err := json.Unmarshal(v.Bytes, &e); err != nil {
				return fmt.Errorf("%s: %w", strings.TrimPrefix(v.Name, Prefix), err)
			}
			batch = append(batch, e)
			return nil
		})
		if err != nil && !errors.Is(err, journal.ErrEnough) {
			return nil, false, err
		}
		for _, e := range slices.Backward(batch) {
			switch {
			case q.By != "" && e.By != q.By, q.Object != "" && e.Object != q.Object:
			case len(found) == q.Limit:
				return found, true, nil
			default:
				found = append(found, e)
			}
		}
		names = names[:from]
	}
	return found, false, nil
}
