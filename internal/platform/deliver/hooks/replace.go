package hooks

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/webhook"
)

// Refusal is a reason for which settings are not in use. Nothing has changed then.
type Refusal struct{ Err error }

func (r *Refusal) Error() string { return r.Err.Error() }

func (r *Refusal) Unwrap() error { return r.Err }

// Replace puts other settings of the file in the place of the present ones; nil is none. A webhook
// with equal settings goes on, and so does its pause after a failure. One with other settings goes
// on after the last event that it has delivered, and its pause ends. One that is gone ends with its
// state, which cuts an attempt under way. A new one begins with the events from now on. Webhooks of
// the API stay as they are, and an endpoint with the id of one is a *Refusal. Before Begin the
// settings are kept for it: Begin then replaces webhooks of the API that have the same ids.
//
// agreed is called when nothing of the settings is refused, before anything changes. Its error is a
// *Refusal, and so are authorities that cannot be read. Any other error joins the failures of
// single webhooks; the rest have changed.
func (h *Hooks) Replace(s *Settings, agreed func() error) error {
	if s == nil {
		s = &Settings{}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	roots, err := deliver.Roots(s.RootCA)
	if err != nil {
		return &Refusal{fmt.Errorf("webhooks.root_ca: %w", err)}
	}
	for _, e := range s.Endpoints {
		if n := h.entries[e.ID]; n != nil && n.file == "" {
			return &Refusal{fmt.Errorf("%s: id: the webhook %s has come over the API: delete it there, or take another id", s.places[e.ID], e.ID)}
		}
	}
	if err := agreed(); err != nil {
		return &Refusal{err}
	}
	if !slices.Equal(s.Allow, h.network.Allow) || !roots.Equal(h.roots) {
		h.network, h.roots = &webhook.Network{Allow: s.Allow}, roots
		h.client.Replace(h.network, roots)
	}
	if !h.begun {
		h.o.Settings = s
		return nil
	}
	return h.replace(s)
}

// replace makes the webhooks of the file those of settings that were agreed to. The caller has the
// lock.
func (h *Hooks) replace(s *Settings) (err error) {
	named := map[string]bool{}
	for _, e := range s.Endpoints {
		named[e.ID] = true
	}
	for id, n := range h.entries {
		if n.file == "" || named[id] {
			continue
		}
		changed := h.o.Changing("delete", id)
		n.stop()
		<-n.stopped // it stores its state at the end
		delete(h.entries, id)
		failure := deliver.Forget(h.o.Store, prefix+id)
		changed(failure)
		err = errors.Join(err, failure)
	}
	for _, e := range s.Endpoints {
		old := h.entries[e.ID]
		if old != nil && reflect.DeepEqual(old.e, e) {
			continue
		}
		changed := h.o.Changing("put", e.ID)
		failure := h.putFile(&entry{e: e, file: s.File}, old)
		changed(failure)
		err = errors.Join(err, failure)
	}
	return err
}

// putFile makes a webhook of the file hold. The caller has the lock.
func (h *Hooks) putFile(n, old *entry) error {
	if old != nil {
		n.f, n.stop, n.stopped = old.f, old.stop, old.stopped
		n.f.Configure(h.config(n))
	} else if err := h.begin(n); err != nil {
		return fmt.Errorf("the webhook %s: %w", n.e.ID, err)
	}
	h.entries[n.e.ID] = n
	return nil
}
