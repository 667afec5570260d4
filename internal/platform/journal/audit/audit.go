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

const (
	prefix = "audit/"
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
	Object string    `json:"object"`         // the changed set, rule, key or webhook
	Detail string    `json:"detail,omitempty"`
	// Failed tells why the change with the same action and object just before was not made, though
	// its entry was stored.
	Failed string `json:"failed,omitempty"`
}

// Store keeps values: see journal.Journal.
type Store interface {
	Put(values ...journal.Value) error
	Names(prefix string) ([]string, error)
	Remove(names ...string) error
	Values(prefix, from string, f func(v journal.Value) error) error
}

// Log is the list. It is safe for concurrent use.
type Log struct {
	store Store

	mu      sync.Mutex
	names   []string // of stored entries, in order
	pending []*Pending
	last    int64 // number of the last id
}

// Pending is an entry whose change is being made.
type Pending struct {
	log   *Log
	entry Entry
	taken bool // stored, or about to be
}

// Open returns the log of a store.
func Open(s Store) (*Log, error) {
	names, err := s.Names(prefix)
	return &Log{store: s, names: names}, err
}

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

// Record makes a change with its entry. An error is that of the change, or of the entry of a change
// that was made. A nil log has no entries.
func (l *Log) Record(e Entry, change func() error) error {
	if l == nil {
		return change()
	}
	p := l.Begin(e)
	err := change()
	if stored := p.End(err); stored != nil && err == nil {
		return fmt.Errorf("the change is in use, but its entry of the audit is not stored: %w", stored)
	}
	return err
}

// Take returns the entries that are not stored, for the caller to store with a change.
func (l *Log) Take() (values []journal.Value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pending {
		p.taken = true
		values = append(values, p.entry.value())
		l.names = append(l.names, prefix+p.entry.ID)
	}
	l.pending = nil
	return values
}

func (e *Entry) value() journal.Value {
	text, _ := json.Marshal(e) // texts and times always encode
	return journal.Value{Name: prefix + e.ID, Bytes: text}
}

// End ends a change. Its entry is stored when End returns without an error. With a failure the
// change was not made: then there is no entry, or one more that tells so.
func (p *Pending) End(failure error) error {
	l := p.log
	l.mu.Lock()
	taken := p.taken
	if !taken && failure != nil { // otherwise it keeps its place, as names are in order
		l.pending = slices.DeleteFunc(l.pending, func(q *Pending) bool { return q == p })
	}
	l.mu.Unlock()
	switch {
	case failure != nil && !taken, failure == nil && taken:
		return l.trim()
	case failure != nil:
		e := p.entry
		e.Failed = failure.Error()
		l.Begin(e)
	}
	if err := l.store.Put(l.Take()...); err != nil {
		return err
	}
	return l.trim()
}

// trim removes the oldest entries beyond the bound.
func (l *Log) trim() error {
	l.mu.Lock()
	var old []string
	if len(l.names) > MaxEntries {
		old = slices.Clone(l.names[:trim])
		l.names = slices.Clone(l.names[trim:])
	}
	l.mu.Unlock()
	if old == nil {
		return nil
	}
	return l.store.Remove(old...)
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
	names := l.names
	l.mu.Unlock()
	if q.Before != "" {
		at, _ := slices.BinarySearch(names, prefix+q.Before)
		names = names[:at]
	}
	const step = 256
	for len(names) > 0 {
		from := max(len(names)-step, 0)
		var batch []Entry
		err := l.store.Values(prefix, names[from], func(v journal.Value) error {
			if v.Name > names[len(names)-1] {
				return journal.ErrEnough
			}
			var e Entry
			if err := json.Unmarshal(v.Bytes, &e); err != nil {
				return fmt.Errorf("%s: %w", strings.TrimPrefix(v.Name, prefix), err)
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
