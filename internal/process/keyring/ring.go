package keyring

import (
	"bytes"
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// MaxKeys bounds the keys of a ring.
const MaxKeys = 10_000

// The errors of changes.
var (
	// ErrUnknown: there is no such key.
	ErrUnknown = errors.New("no such key")
	// ErrExists: there is a key with this name or this secret.
	ErrExists = errors.New("exists")
	// ErrFile: the key is of the configuration file.
	ErrFile = errors.New("of the configuration file: change it there")
	// ErrFull: there are MaxKeys keys.
	ErrFull = fmt.Errorf("at most %d keys are kept; delete one first", MaxKeys)
	// ErrLast: no administrator would be left.
	ErrLast = errors.New("the last key with the verb admin")
)

// Store keeps the keys that were added while the platform runs.
type Store interface {
	// Load returns the text of the last Save, or nil.
	Load() ([]byte, error)
	// Save keeps a text durably.
	Save(text []byte) error
}

// lookEvery is the longest time until the ring looks whether a key has expired: the clock may be
// set, and a timer stands still while the machine is suspended.
const lookEvery = time.Minute

// Ring holds keys. It is safe for concurrent use. A nil ring has no keys.
type Ring struct {
	store Store
	clock func() time.Time // of which the wall time counts
	state atomic.Pointer[state]

	mu      sync.Mutex // held while keys change
	changed []func()
	looks   *time.Timer // calls look
	closed  bool
}

// state is the keys at one time. It never changes.
type state struct {
	keys     map[string]*entry // by name
	byDigest map[Digest]*entry
}

// now returns the present keys.
func (r *Ring) now() *state {
	if r == nil {
		return &state{}
	}
	return r.state.Load()
}

type entry struct {
	key   Key
	filed bool // of the configuration file
	grant *Grant
}

// Open returns a ring with the keys of a store. Without a store added keys end with the process.
func Open(s Store) (*Ring, error) {
	r := &Ring{store: s, clock: time.Now}
	r.state.Store(&state{keys: map[string]*entry{}, byDigest: map[Digest]*entry{}})
	r.looks = time.AfterFunc(lookEvery, r.look)
	if s == nil {
		return r, nil
	}
	return r, r.Reload()
}

// Reload takes over the keys of the store, which another process has changed. Keys that stay as
// they are keep their grants. After an error nothing has changed.
func (r *Ring) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, err := r.store.Load()
	if err != nil {
		return err
	}
	var kept []Key
	if len(text) > 0 {
		if err := json.Unmarshal(text, &kept); err != nil {
			return fmt.Errorf("stored keys: %w", err)
		}
	}
	for i := range kept {
		if err := kept[i].Check(); err != nil {
			return fmt.Errorf("stored key %.80q: %w", kept[i].Name, err)
		}
	}
	next := map[string]*entry{}
	for name, e := range r.state.Load().keys {
		if e.filed {
			next[name] = e
		}
	}
	for _, k := range kept {
		switch old := r.state.Load().keys[k.Name]; {
		case old != nil && (old.filed || reflect.DeepEqual(old.key, k)):
			next[k.Name] = old
		default:
			next[k.Name] = newEntry(k, false)
		}
	}
	r.publish(next)
	return nil
}

// newEntry returns an entry of a key.
func newEntry(k Key, filed bool) *entry {
	k.Expires = k.Expires.Round(0) // the wall time alone
	return &entry{k, filed, newGrant(&k)}
}

// valid reports whether an entry may be used now.
func (r *Ring) valid(e *entry) bool {
	return !e.grant.HasEnded() && (e.key.Expires.IsZero() || r.clock().Before(e.key.Expires))
}

// look ends the grants of keys that have expired, and gives another one to a key whose end is still
// to come after all, since the clock was set back.
func (r *Ring) look() {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := maps.Clone(r.state.Load().keys)
	if !r.closed && r.judge(keys) {
		r.publish(keys)
	}
}

// judge ends the grants of entries that have expired, replaces those of entries that are valid
// again, and sets the time of the next look. It reports whether there are any. The entries are not
// published yet. The caller holds mu, or has made the ring.
func (r *Ring) judge(keys map[string]*entry) (changed bool) {
	now, again, ends := r.clock(), lookEvery, false
	for name, e := range keys {
		if e.key.Expires.IsZero() {
			continue
		}
		ends = true
		left := e.key.Expires.Sub(now)
		if left > 0 {
			again = min(again, left)
		}
		switch ended := e.grant.HasEnded(); {
		case left <= 0 && !ended:
			e.grant.end()
			changed = true
		case left > 0 && ended:
			keys[name] = newEntry(e.key, e.filed)
			keys[name].grant.used.Store(e.grant.used.Load())
			changed = true
		}
	}
	if ends {
		r.looks.Reset(again)
	}
	return changed
}

// publish makes entries the present ones, and ends the grants of the others. The caller holds mu,
// or has made the ring.
func (r *Ring) publish(keys map[string]*entry) {
	r.judge(keys)
	next := &state{keys: keys, byDigest: make(map[Digest]*entry, len(keys))}
	for _, e := range keys {
		next.byDigest[e.key.SHA256] = e
	}
	last := r.state.Swap(next)
	for name, e := range last.keys {
		if keys[name] != e {
			e.grant.end()
		}
	}
	r.tell()
}

// tell calls the functions of OnChange.
func (r *Ring) tell() {
	for _, f := range r.changed {
		f()
	}
}

// OnChange calls f after each change of the keys, and when one has expired, while no other change
// is made.
func (r *Ring) OnChange(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = append(r.changed, f)
}

// Close ends all grants.
func (r *Ring) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.looks.Stop()
	for _, e := range r.state.Load().keys {
		e.grant.end()
	}
}

// Find returns the grant of a secret, or nil if no valid key has it.
func (r *Ring) Find(secret string) *Grant {
	digest := DigestOf(secret)
	e := r.now().byDigest[digest]
	if e == nil || subtle.ConstantTimeCompare(digest[:], e.key.SHA256[:]) != 1 || !r.valid(e) {
		return nil
	}
	e.grant.Use()
	return e.grant
}

// Named returns the grant of the key with a name, and the digest of its secret. ok is false if
// there is none or it has expired.
func (r *Ring) Named(name string) (g *Grant, secret Digest, ok bool) {
	e := r.now().keys[name]
	if e == nil || !r.valid(e) {
		return nil, Digest{}, false
	}
	return e.grant, e.key.SHA256, true
}

// Len returns the number of keys.
func (r *Ring) Len() int { return len(r.now().keys) }

// Listed is a key with its origin.
type Listed struct {
	Key
	File    bool // of the configuration file
	Expired bool
	Used    time.Time // to the second; zero: not since the process began
}

// List returns the keys by their names.
func (r *Ring) List() []Listed {
	var all []Listed
	for _, e := range r.now().keys {
		all = append(all, r.listed(e))
	}
	slices.SortFunc(all, func(a, b Listed) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Get returns the key with a name.
func (r *Ring) Get(name string) (Listed, bool) {
	e := r.now().keys[name]
	if e == nil {
		return Listed{}, false
	}
	return r.listed(e), true
}

func (r *Ring) listed(e *entry) Listed {
	l := Listed{Key: e.key, File: e.filed, Expired: !r.valid(e)}
	if used := e.grant.used.Load(); used != 0 {
		l.Used = time.Unix(used, 0).UTC()
	}
	return l
}

// Administrators reports whether a valid key has the verb admin.
func (r *Ring) Administrators() bool { return r.administrators(r.now().keys) }

func (r *Ring) administrators(keys map[string]*entry) bool {
	for _, e := range keys {
		if r.valid(e) && e.grant.Can(Admin) {
			return true
		}
	}
	return false
}

// Add adds a key. The error is about a field, or wraps ErrExists or ErrFull, or is one of the
// store.
func (r *Ring) Add(k Key) error {
	return r.change(k.Name, func(old *entry) (*entry, error) {
		if old != nil {
			return nil, fmt.Errorf("key %q %w: choose another name, or delete it first", k.Name, ErrExists)
		}
		return newEntry(k, false), nil
	})
}

// Edit replaces a key by what f makes of it, under the same name. Unless nothing has changed, what
// was served for the old one ends. The error is that of f, about a field, wraps ErrUnknown, ErrFile
// or ErrLast, or is one of the store.
func (r *Ring) Edit(name string, f func(k *Key) error) error {
	return r.change(name, func(old *entry) (*entry, error) {
		if old == nil {
			return nil, ErrUnknown
		}
		k := old.key
		if err := f(&k); err != nil {
			return nil, err
		}
		k.Name = name
		if same(&k, &old.key) {
			return old, nil
		}
		return newEntry(k, false), nil
	})
}

func same(a, b *Key) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b) // these values always encode
	return bytes.Equal(x, y)
}

// Remove removes a key. The error wraps ErrUnknown, ErrFile or ErrLast, or is one of the store.
func (r *Ring) Remove(name string) error {
	return r.change(name, func(old *entry) (*entry, error) {
		if old == nil {
			return nil, ErrUnknown
		}
		return nil, nil
	})
}

// change puts the entry that f returns in place of one, or removes it for nil.
func (r *Ring) change(name string, f func(old *entry) (*entry, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.state.Load()
	old := now.keys[name]
	if old != nil && old.filed {
		return fmt.Errorf("key %q is %w", name, ErrFile)
	}
	e, err := f(old)
	if err != nil || e == old {
		return err
	}
	next := maps.Clone(now.keys)
	delete(next, name)
	if e != nil && old != nil {
		e.grant.used.Store(old.grant.used.Load())
	}
	if e != nil {
		err = admit(next, e)
		next[name] = e
	}
	if err == nil && r.administrators(now.keys) && !r.administrators(next) {
		err = fmt.Errorf("key %q is %w: add another one first", name, ErrLast)
	}
	if err == nil {
		err = r.save(next)
	}
	if err != nil {
		return err
	}
	r.publish(next)
	return nil
}

// admit checks an entry that is added to others.
func admit(others map[string]*entry, e *entry) error {
	if err := e.key.Check(); err != nil {
		return err
	}
	if len(others) >= MaxKeys {
		return ErrFull
	}
	for _, other := range others {
		if other.key.SHA256 == e.key.SHA256 {
			return fmt.Errorf("sha256: the key %q has this secret and %w", other.key.Name, ErrExists)
		}
	}
	return nil
}

// save stores the keys that are not of the file.
func (r *Ring) save(keys map[string]*entry) error {
	if r.store == nil {
		return nil
	}
	kept := []Key{}
	for _, e := range keys {
		if !e.filed {
			kept = append(kept, e.key)
		}
	}
	slices.SortFunc(kept, func(a, b Key) int { return cmp.Compare(a.Name, b.Name) })
	text, _ := json.Marshal(kept) // these values always encode
	return r.store.Save(text)
}

// SetFile puts the keys of the configuration file in place of earlier ones of it. The error names
// the key. Then nothing has changed.
func (r *Ring) SetFile(keys []Key) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.state.Load().keys
	next := map[string]*entry{}
	for name, e := range now {
		if !e.filed {
			next[name] = e
		}
	}
	for _, k := range keys {
		e := now[k.Name]
		switch {
		case next[k.Name] != nil:
			return fmt.Errorf("key %q %w: two keys have this name", k.Name, ErrExists)
		case e == nil || !e.filed || !same(&e.key, &k):
			e = newEntry(k, true)
		}
		if err := admit(next, e); err != nil {
			return fmt.Errorf("key %q: %w", k.Name, err)
		}
		next[k.Name] = e
	}
	r.publish(next)
	return nil
}
