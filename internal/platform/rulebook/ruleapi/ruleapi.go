// Package ruleapi answers requests about rules, with the same texts and states over every
// interface.
package ruleapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"paddock/fence"
	"paddock/fence/track/rule"
	"paddock/internal/platform/httpapi/etag"
	"paddock/internal/platform/journal/audit"
	"paddock/internal/platform/rulebook"
	"paddock/internal/process/keyring"
)

// The default and the bound of the number of rules in one answer.
const (
	DefaultLimit = 1000
	MaxLimit     = 10_000
)

// Rules answers requests about the rules of a book.
type Rules struct {
	Book    *rulebook.Book
	Catalog *fence.Catalog
	// Refusing returns why changes cannot be stored now, or "".
	Refusing func() string
	// Settle returns once changes are stored, and hold for later positions.
	Settle func() error
	// By is the key of the requests. Nil: they are not limited.
	By *keyring.Grant
	// From is the address of the sender, for the entry of a change in Audit.
	From  string
	Audit *audit.Log // nil: none
}

// audited makes a change with its entry.
func (r *Rules) audited(action, id string, change func() error) error {
	return r.Audit.Record(audit.Entry{By: r.By.Name(), From: r.From, Action: action, Object: id}, change)
}

// limit refuses a rule that the key is not for: a key for some sets is for rules about these, and
// one for some fleets for rules about objects of these alone.
func (r *Rules) limit(about *rule.Rule) error {
	g := r.By
	if g == nil || !g.Limited() {
		return nil
	}
	switch {
	case !g.Set(about.Set):
		return refuse(http.StatusForbidden, "set: the key %.64q is not for the set %.64q", g.Name(), about.Set)
	case !g.Fleet(about.Fleet):
		return refuse(http.StatusForbidden, "fleet: the key %.64q is not for objects of the fleet %.64q: name one of its fleets", g.Name(), about.Fleet)
	case about.Near != nil && !g.Fleet(about.Near.Fleet):
		return refuse(http.StatusForbidden, "near.fleet: the key %.64q is not for objects of the fleet %.64q: name one of its fleets", g.Name(), about.Near.Fleet)
	}
	return nil
}

// Error is a refusal.
type Error struct {
	Status int // of HTTP
	text   string
}

func (e *Error) Error() string { return e.text }

func refuse(status int, format string, args ...any) *Error {
	return &Error{status, fmt.Sprintf(format, args...)}
}

// Query selects rules of a list.
type Query struct {
	Set   *string // nil: all
	After string  // the id of the last rule of an earlier answer
	Limit int     // of the number of rules
	Bytes int     // ends a list early; 0: no bound
}

// List is rules by their ids.
type List struct {
	Rules []json.RawMessage `json:"rules"`
	Files map[string]string `json:"files,omitempty"` // names of the files that hold some of them, by id
	Next  string            `json:"next,omitempty"`  // the After of the next list
}

// List lists rules.
func (r *Rules) List(q Query) *List {
	state := r.Book.State()
	list := &List{Rules: []json.RawMessage{}, Files: map[string]string{}}
	last, size := "", 0
	for _, found := range state.Rules().Rules() {
		if found.ID <= q.After || q.Set != nil && found.Set != *q.Set || r.limit(found) != nil {
			continue
		}
		text, file := found.AppendJSON(nil), state.File(found.ID)
		size += len(text) + len(file) + len(found.ID) + len(`"":"",,`)
		if full := q.Bytes > 0 && size > q.Bytes && last != ""; full || len(list.Rules) == q.Limit {
			list.Next = last
			break
		}
		last = found.ID
		list.Rules = append(list.Rules, text)
		if file != "" {
			list.Files[found.ID] = file
		}
	}
	return list
}

// Get returns a rule and its ETag.
func (r *Rules) Get(id string) (text []byte, tag string, err error) {
	found, ok := r.Book.State().Rules().Get(id)
	if !ok || r.limit(found) != nil {
		return nil, "", refuse(http.StatusNotFound, "no rule %.64q; GET /v1/rules lists them", id)
	}
	text = found.AppendJSON(nil)
	return text, tagOf(text), nil
}

// tagOf names the state of a rule by its content.
func tagOf(text []byte) string { return `"` + strconv.FormatUint(xxhash.Sum64(text), 36) + `"` }

// guard allows a change if the condition of a request holds. foreign is the error about a present
// rule that the key is not for: it tells nothing of the rule.
func (r *Rules) guard(c etag.Condition, foreign error) rulebook.Guard {
	return func(old *rule.Rule) error {
		if old == nil {
			return c.Check(false, "")
		}
		if r.limit(old) != nil {
			return foreign
		}
		return c.Check(true, tagOf(old.AppendJSON(nil)))
	}
}

// Changed is the answer to a change of a rule.
type Changed struct {
	Rule     json.RawMessage `json:"rule"`
	Warnings []string        `json:"warnings,omitempty"`

	Tag     string `json:"-"` // its ETag
	Created bool   `json:"-"`
}

// Put adds a rule, or replaces it. The body may leave the id out.
func (r *Rules) Put(id string, body []byte, c etag.Condition) (*Changed, error) {
	if err := r.refusing(); err != nil {
		return nil, err
	}
	given, err := rule.Parse(withID(body, id))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "body: %v", err)
	}
	if given.ID != id {
		return nil, refuse(http.StatusBadRequest, "body: id: %.64q is not the id of the request, %.64q", given.ID, id)
	}
	if err := r.limit(given); err != nil {
		return nil, err
	}
	var out *Changed
	err = r.audited("rule.put", id, func() error {
		taken := refuse(http.StatusForbidden, "the id %.64q is taken by a rule that the key %.64q is not for: choose another one", id, r.By.Name())
		kept, created, err := r.Book.Put(given, r.guard(c, taken))
		if err != nil {
			return refusal(err)
		}
		out, err = r.changed(kept, created)
		return err
	})
	return out, err
}

// withID adds the id of a request to a rule that has none.
func withID(body []byte, id string) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members == nil || members["id"] != nil {
		return body
	}
	members["id"], _ = json.Marshal(id)     // a text always encodes
	completed, err := json.Marshal(members) // by name
	if err != nil {
		return body
	}
	return completed
}

// Patch changes members of a rule by a merge patch (RFC 7396).
func (r *Rules) Patch(id string, body []byte, c etag.Condition) (*Changed, error) {
	if err := r.refusing(); err != nil {
		return nil, err
	}
	var out *Changed
	err := r.audited("rule.patch", id, func() (err error) {
		out, err = r.patch(id, body, c)
		return err
	})
	return out, err
}

func (r *Rules) patch(id string, body []byte, c etag.Condition) (*Changed, error) {
	kept, err := r.Book.Edit(id, r.guard(c, rulebook.Unknown(id)), func(old *rule.Rule) (*rule.Rule, error) {
		edited, err := old.Patch(body)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "body: %v", err)
		}
		return edited, r.limit(edited)
	})
	if err != nil {
		return nil, refusal(err)
	}
	return r.changed(kept, false)
}

// Delete removes a rule.
func (r *Rules) Delete(id string, c etag.Condition) error {
	if err := r.refusing(); err != nil {
		return err
	}
	return r.audited("rule.delete", id, func() error {
		if err := r.Book.Delete(id, r.guard(c, cmp.Or(c.Check(false, ""), rulebook.Unknown(id)))); err != nil {
			return refusal(err)
		}
		return r.settle()
	})
}

// refusing refuses changes that could not be stored.
func (r *Rules) refusing() error {
	if reason := r.Refusing(); reason != "" {
		return refuse(http.StatusServiceUnavailable, "%s", reason)
	}
	return nil
}

func (r *Rules) settle() error {
	if err := r.Settle(); err != nil {
		return refuse(http.StatusServiceUnavailable, "the change is in use, but not stored: %v", err)
	}
	return nil
}

// changed waits until a rule holds, and describes it.
func (r *Rules) changed(kept *rule.Rule, created bool) (*Changed, error) {
	if err := r.settle(); err != nil {
		return nil, err
	}
	text := kept.AppendJSON(nil)
	return &Changed{Rule: text, Warnings: rulebook.Warnings(r.Catalog, kept), Tag: tagOf(text), Created: created}, nil
}

// refusal gives an error of the book its status.
func refusal(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return refuse(StatusOf(err), "%v", err)
}

// StatusOf returns the status of HTTP for an error of a book.
func StatusOf(err error) int {
	if _, held := errors.AsType[*rulebook.FileError](err); held {
		return http.StatusConflict
	}
	if _, failed := errors.AsType[*etag.FailedError](err); failed {
		return http.StatusPreconditionFailed
	}
	switch {
	case errors.Is(err, rulebook.ErrUnknown):
		return http.StatusNotFound
	case errors.Is(err, rulebook.ErrFull):
		return http.StatusInsufficientStorage
	}
	return http.StatusBadRequest
}
