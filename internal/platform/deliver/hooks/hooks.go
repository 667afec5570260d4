// Package hooks keeps the webhooks of a platform, and answers requests about them.
//
// A webhook of the configuration file is read-only here; the others are stored in the journal.
// Their secrets are not: they are in a file of their own, which no backup has. Each webhook has a
// [deliver.Follower], whose state is stored in the journal for both kinds.
package hooks

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock/fence/track/rule"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/webhook"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
)

// prefix begins the names of the stored values. For each webhook there are the document and what
// its follower stores.
const (
	prefix       = "webhook/"
	documentName = "/document"
	// touched is a value that is stored to wait for the disk.
	touched = "webhooks"
)

// Options configure Open and New.
type Options struct {
	Settings *Settings // of the file; nil: none
	Log      *events.Log
	Store    deliver.Store
	Keeps    bool    // the store and the log outlive the process
	Secrets  Secrets // nil: they end with the process
	Version  string
	Logger   *slog.Logger
	Rules    func() *rule.Table // the present rules; nil: none
	Refusing func() string      // why changes cannot be stored now, or ""; nil: they can
	// Changed is called after each change, and must not call back. Nil: no call.
	Changed func(ctx context.Context, c Change)
	// Changing is called before Replace changes a webhook: its action is put or delete. The result
	// is called after the change. Nil: no call.
	Changing func(action, id string) (changed func(error))
	// GivenUp is called when the platform disables a webhook, and must not call back. Nil: no call.
	GivenUp func(id, reason string)

	Schedule *deliver.Schedule // nil: deliver.Default
}

// Change tells of a change of a webhook.
type Change struct {
	Action string // put, delete, enable, disable, retry, replay, or given up: the platform disabled it
	ID     string
	Reason string // of given up
}

// Hooks is the webhooks of a platform. It is safe for concurrent use.
type Hooks struct {
	o       Options
	client  *webhook.Client
	secrets secrets
	counts  deliver.Counts

	ctx       context.Context // of the followers
	cancel    context.CancelFunc
	followers sync.WaitGroup

	mu      sync.RWMutex // held for a change until it is stored
	begun   bool
	entries map[string]*entry
	network *webhook.Network
	roots   *x509.CertPool // nil: the system's
}

// entry is a webhook.
type entry struct {
	e        *webhook.Endpoint // with its secrets
	file     string            // that holds it; "": none
	revision string            // names the state of e
	lost     bool              // secrets of it are missing
	f        *deliver.Follower
	stop     context.CancelFunc
	stopped  chan struct{}
}

// document is the stored form of a webhook.
type document struct {
	Revision string          `json:"revision"`
	Webhook  json.RawMessage `json:"webhook"`
}

// Open returns the webhooks, which begin to deliver. The error is one of the store, of the secrets,
// or of the settings.
func Open(o Options) (*Hooks, error) {
	h, err := New(o)
	if err == nil {
		err = h.Begin()
	}
	return h, err
}

// New returns the webhooks of a platform that does not deliver yet: there are none until Begin. The
// error is one of the settings.
func New(o Options) (*Hooks, error) {
	if o.Settings == nil {
		o.Settings = &Settings{}
	}
	o.Schedule = cmp.Or(o.Schedule, deliver.Default())
	if o.Changing == nil {
		o.Changing = func(string, string) func(error) { return func(error) {} }
	}
	if o.Refusing == nil {
		o.Refusing = func() string { return "" }
	}
	roots, err := deliver.Roots(o.Settings.RootCA)
	if err != nil {
		return nil, fmt.Errorf("webhooks.root_ca: %w", err)
	}
	h := &Hooks{o: o, network: &webhook.Network{Allow: o.Settings.Allow}, roots: roots, entries: map[string]*entry{}}
	h.client = webhook.NewClient(h.network, roots, o.Version)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h, nil
}

// Begin makes the webhooks deliver. The error is one of the store or of the secrets; then there are
// none, and nothing runs. It is called once.
func (h *Hooks) Begin() (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.secrets, err = openSecrets(h.o.Secrets); err == nil {
		err = h.load()
	}
	if err != nil {
		h.end()
		clear(h.entries) // the others have no follower
		return err
	}
	h.begun = true
	return nil
}

// load begins with the webhooks of the file and of the store.
func (h *Hooks) load() error {
	for _, e := range h.o.Settings.Endpoints {
		h.entries[e.ID] = &entry{e: e, file: h.o.Settings.File}
	}
	met := map[string]bool{} // ids of stored values
	replaced := 0
	err := h.o.Store.Values(prefix, prefix, func(v journal.Value) error {
		id, rest, _ := strings.Cut(strings.TrimPrefix(v.Name, prefix), "/")
		met[id] = true
		if "/"+rest != documentName {
			return nil
		}
		if h.entries[id] != nil { // of the file
			replaced++
			return nil
		}
		return h.loadDocument(id, v.Bytes)
	})
	if err != nil {
		return err
	}
	if replaced > 0 {
		h.o.Logger.Warn("the file replaces webhooks that came over the API", "count", replaced)
	}
	for id := range met {
		if n := h.entries[id]; n == nil { // it has gone from the file
			err = errors.Join(err, deliver.Forget(h.o.Store, prefix+id))
		} else if n.file != "" && replaced > 0 {
			err = errors.Join(err, h.o.Store.Change([]journal.Span{journal.Only(prefix + id + documentName)}))
		}
	}
	for _, n := range h.entries {
		err = errors.Join(err, h.begin(n))
	}
	if err == nil {
		h.forgetSecrets()
	}
	return err
}

// forgetSecrets removes the secrets of webhooks that the store has no more, such as after a crash
// amid a removal.
func (h *Hooks) forgetSecrets() {
	left := maps.Clone(h.secrets.all)
	maps.DeleteFunc(left, func(id string, _ kept) bool { return h.entries[id] == nil || h.entries[id].file != "" })
	if len(left) == len(h.secrets.all) {
		return
	}
	err := h.o.Store.Put(journal.Value{Name: touched, Bytes: nil}) // waits for the disk: no document comes back
	if err == nil {
		err = h.secrets.replace(left)
	}
	if err != nil {
		h.o.Logger.Warn("secrets of former webhooks are still kept", "error", err) // the next start removes them
	}
}

func (h *Hooks) loadDocument(id string, text []byte) error {
	var d document
	err := json.Unmarshal(text, &d)
	if err == nil {
		n := &entry{revision: d.Revision}
		if n.e, err = webhook.Parse(d.Webhook, id); err == nil {
			n.e.Resolve(h.secrets.of(id, d.Revision), func(string, error) { n.lost = true })
			h.entries[id] = n
			return nil
		}
	}
	return fmt.Errorf("%w: the webhook %s: %w", journal.ErrDamaged, id, err)
}

// lostReason is why a webhook whose secrets are missing is disabled.
const lostReason = "its secrets are not here, as after a restore without them: give them again"

// config returns what the follower of a webhook does.
func (h *Hooks) config(n *entry) deliver.Config {
	return deliver.Config{
		End: webhook.NewSender(h.client, n.e), Selector: deliver.NewSelector(&n.e.Selection, h.o.Rules),
		Batch: max(n.e.MaxBatch, 1), Enabled: n.e.Enabled && !n.lost,
	}
}

// begin starts the follower of a webhook.
func (h *Hooks) begin(n *entry) (err error) {
	id := n.e.ID
	n.f, err = deliver.New(deliver.Options{
		Name: prefix + id, Log: h.o.Log, Store: h.o.Store, Keeps: h.o.Keeps, Schedule: h.o.Schedule, Logger: h.o.Logger, Counts: &h.counts,
		GivenUp: func(_, reason string) { h.givenUp(id, reason) },
	}, h.config(n))
	if err != nil {
		return err
	}
	if n.lost {
		h.o.Logger.Error("a webhook is disabled: "+lostReason, "webhook", id)
		err = n.f.Disable(lostReason)
	} else if n.f.Status().Reason == lostReason {
		err = n.f.Enable() // they are there again
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(h.ctx)
	n.stop, n.stopped = cancel, make(chan struct{})
	h.followers.Go(func() {
		defer close(n.stopped)
		n.f.Run(ctx)
	})
	return nil
}

func (h *Hooks) givenUp(id, reason string) {
	h.changed(h.ctx, Change{"given up", id, reason})
	if h.o.GivenUp != nil {
		h.o.GivenUp(id, reason)
	}
}

func (h *Hooks) changed(ctx context.Context, c Change) {
	if h.o.Changed != nil {
		h.o.Changed(ctx, c)
	}
}

// Drain ends all deliveries, as [deliver.Follower.Drain] does, in half of the time that is left.
func (h *Hooks) Drain(ctx context.Context) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if end, ok := ctx.Deadline(); ok { // the other half is for the clients that are left
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	var drains sync.WaitGroup
	for _, n := range h.entries {
		drains.Go(func() { _ = n.f.Drain(ctx) }) // what is cut comes again, or is lost with the process
	}
	drains.Wait()
	h.end()
	return nil
}

// end stops what runs.
func (h *Hooks) end() {
	h.cancel()
	h.followers.Wait()
	h.client.Close()
}

// sorted returns the webhooks by id. The caller has the lock.
func (h *Hooks) sorted() []*entry {
	all := make([]*entry, 0, len(h.entries))
	for _, n := range h.entries {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b *entry) int { return strings.Compare(a.e.ID, b.e.ID) })
	return all
}

// Stats are figures of all webhooks.
type Stats struct {
	Webhooks, Disabled, Waiting int
	Letters                     int
	Delivered, Dead, Missed     uint64            // events since each webhook was made
	Lag                         map[string]uint64 // events, by id
}

// Stats returns the figures of all webhooks.
func (h *Hooks) Stats() Stats {
	h.mu.RLock()
	defer h.mu.RUnlock()
	s := Stats{Webhooks: len(h.entries), Lag: make(map[string]uint64, len(h.entries))}
	for id, n := range h.entries {
		f := n.f.Status()
		s.Lag[id] = f.Lag
		s.Letters += f.Letters
		s.Delivered, s.Dead, s.Missed = s.Delivered+f.Stored.Delivered, s.Dead+f.Stored.Dead, s.Missed+f.Stored.Missed
		switch f.State {
		case deliver.StateDisabled:
			s.Disabled++
		case deliver.StateWaiting:
			s.Waiting++
		}
	}
	return s
}

// Attempts returns the number of attempts with a verdict since the start.
func (h *Hooks) Attempts(v deliver.Verdict) uint64 { return h.counts.Attempts(v) }
