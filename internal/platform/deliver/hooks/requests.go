package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"paddock/internal/platform/deliver/webhook"
	"paddock/internal/platform/httpapi/etag"
	"paddock/internal/platform/journal"
)

// The default and the bound of the number of webhooks or dead letters in one answer.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Error is a refusal.
type Error struct {
	Status int // of HTTP
	text   string
}

func (e *Error) Error() string { return e.text }

func refuse(status int, format string, args ...any) *Error {
	return &Error{status, fmt.Sprintf(format, args...)}
}

// Shown is a webhook as it is answered.
type Shown struct {
	Webhook  json.RawMessage `json:"webhook"`
	File     string          `json:"file,omitempty"` // that holds it
	State    State           `json:"state"`
	Warnings []string        `json:"warnings,omitempty"`

	ID      string `json:"-"`
	Tag     string `json:"-"` // its ETag
	Created bool   `json:"-"`
}

// List is webhooks by their ids.
type List struct {
	Webhooks []*Shown `json:"webhooks"`
	Next     string   `json:"next,omitempty"` // the id behind which the next list begins
}

// List lists at most limit webhooks behind an id.
func (h *Hooks) List(after string, limit int) *List {
	h.mu.RLock()
	defer h.mu.RUnlock()
	list := &List{Webhooks: []*Shown{}}
	for _, n := range h.sorted() {
		if n.e.ID <= after {
			continue
		}
		if len(list.Webhooks) == limit {
			list.Next = after
			break
		}
		after = n.e.ID
		list.Webhooks = append(list.Webhooks, n.shown())
	}
	return list
}

// Get returns a webhook.
func (h *Hooks) Get(id string) (*Shown, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	n, err := h.find(id)
	if err != nil {
		return nil, err
	}
	return n.shown(), nil
}

// errNotBegun: a node that becomes the leader has not read its webhooks and their secrets yet.
var errNotBegun = refuse(http.StatusServiceUnavailable, "the webhooks have not begun here yet: try again")

// find returns a webhook. The caller has the lock.
func (h *Hooks) find(id string) (*entry, error) {
	if !h.begun {
		return nil, errNotBegun
	}
	n := h.entries[id]
	if n == nil {
		return nil, refuse(http.StatusNotFound, "no webhook %.64q; GET /v1/webhooks lists them", id)
	}
	return n, nil
}

func (n *entry) shown() *Shown {
	return &Shown{ID: n.e.ID, Webhook: n.e.JSON(), File: n.file, State: n.f.Report(), Tag: n.tag()}
}

// tag names the state of a webhook. It does not follow from the secrets, which could be guessed by
// it then.
func (n *entry) tag() string {
	revision := n.revision
	if n.file != "" {
		revision = strconv.FormatUint(xxhash.Sum64(n.e.JSON()), 36)
	}
	return `"` + revision + `"`
}

// Put adds a webhook, or replaces it. The body may leave the id out.
func (h *Hooks) Put(ctx context.Context, id string, body []byte, c etag.Condition) (*Shown, error) {
	given, err := webhook.Parse(body, id)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "body: %v", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.put(ctx, given, c)
}

// Patch changes members of a webhook by a merge patch (RFC 7396) of its shown form.
func (h *Hooks) Patch(ctx context.Context, id string, body []byte, c etag.Condition) (*Shown, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.find(id)
	if err != nil {
		return nil, err
	}
	edited, err := n.e.Patch(body)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "body: %v", err)
	}
	return h.put(ctx, edited, c)
}

// put makes a webhook hold. The caller has the lock.
func (h *Hooks) put(ctx context.Context, e *webhook.Endpoint, c etag.Condition) (*Shown, error) {
	old := h.entries[e.ID]
	if err := h.allowed(old, c); err != nil {
		return nil, err
	}
	if old == nil && len(h.entries) >= webhook.MaxEndpoints {
		return nil, refuse(http.StatusInsufficientStorage, "%d webhooks: at most so many are kept; delete one first", webhook.MaxEndpoints)
	}
	n := &entry{e: e, revision: strconv.FormatInt(time.Now().UnixNano(), 36)}
	if err := h.complete(e, old); err != nil {
		return nil, err
	}
	text, err := json.Marshal(document{n.revision, e.JSON()})
	if err != nil {
		return nil, err
	}
	both, err := h.secrets.put(n, old)
	if err != nil {
		return nil, err
	}
	if old == nil {
		if err := h.begin(n); err != nil {
			return nil, err
		}
	}
	if err := h.o.Store.Put(journal.Value{Name: prefix + e.ID + documentName, Bytes: text}); err != nil {
		if old == nil {
			n.stop()
			<-n.stopped
		}
		return nil, refuse(http.StatusServiceUnavailable, "the webhook is not stored: %v", err)
	}
	if old != nil {
		n.f, n.stop, n.stopped = old.f, old.stop, old.stopped
		n.f.Configure(h.config(n))
		if old.lost {
			if err := n.f.Enable(); err != nil { // the next start does it
				h.o.Logger.Warn("a webhook has its secrets again, and is still disabled", "webhook", e.ID, "error", err)
			}
		}
	}
	h.entries[e.ID] = n
	if both {
		if err := h.secrets.settle(e.ID); err != nil { // the next change does it
			h.o.Logger.Warn("the former secrets of a webhook are still kept", "webhook", e.ID, "error", err)
		}
	}
	h.changed(ctx, Change{Action: "put", ID: e.ID})
	shown := n.shown()
	shown.Created, shown.Warnings = old == nil, h.warnings(e)
	return shown, nil
}

// complete puts the secrets in their places, and refuses an address that would not be dialled.
func (h *Hooks) complete(e *webhook.Endpoint, old *entry) error {
	var faults []string
	fault := func(field string, err error) { faults = append(faults, field+": "+err.Error()) }
	var before *webhook.Endpoint
	if old != nil {
		before = old.e
	}
	e.Resolve(before, fault)
	if addr, ok := e.Literal(); ok {
		if err := h.network.Check(addr); err != nil {
			fault("url", err)
		}
	}
	if len(faults) > 0 {
		return refuse(http.StatusBadRequest, "body: %s", strings.Join(faults, "; "))
	}
	return nil
}

// allowed refuses a change of a webhook that a file holds, that is in another state, or that cannot
// be stored now.
func (h *Hooks) allowed(old *entry, c etag.Condition) error {
	if !h.begun {
		return errNotBegun
	}
	if reason := h.o.Refusing(); reason != "" {
		return refuse(http.StatusServiceUnavailable, "%s", reason)
	}
	tag := ""
	if old != nil {
		tag = old.tag()
		if old.file != "" {
			return refuse(http.StatusConflict, "the webhook %s is in %s: change it there", old.e.ID, old.file)
		}
	}
	if err := c.Check(old != nil, tag); err != nil {
		return refuse(http.StatusPreconditionFailed, "%v", err)
	}
	return nil
}

// warnings names what may not be meant.
func (h *Hooks) warnings(e *webhook.Endpoint) (all []string) {
	if strings.HasPrefix(e.URL, "http:") {
		all = append(all, "url: http is not encrypted")
	}
	if len(e.Secrets) == 0 && e.Format != webhook.Slack {
		all = append(all, "secrets: without one the receiver cannot verify requests")
	}
	for _, id := range e.Rules {
		if h.o.Rules == nil {
			break
		}
		if _, ok := h.o.Rules().Get(id); !ok {
			all = append(all, fmt.Sprintf("rules: there is no rule %q yet", id))
		}
	}
	return all
}

// Delete removes a webhook with its state, its dead letters and its secrets. An attempt under way
// is cut.
func (h *Hooks) Delete(ctx context.Context, id string, c etag.Condition) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	n, err := h.find(id)
	if err != nil {
		return err
	}
	if err := h.allowed(n, c); err != nil {
		return err
	}
	n.stop()
	<-n.stopped // it stores its state at the end
	delete(h.entries, id)
	err = h.o.Store.Change([]journal.Span{{From: prefix + id + "/", To: journal.PrefixEnd(prefix + id + "/")}})
	if err == nil {
		err = h.o.Store.Put(journal.Value{Name: touched, Bytes: []byte(id)}) // waits for the disk
	}
	if err := errors.Join(err, h.secrets.remove(id)); err != nil {
		return refuse(http.StatusServiceUnavailable, "the webhook delivers no more, but its removal is not stored: %v", err)
	}
	h.changed(ctx, Change{Action: "delete", ID: id})
	return nil
}
