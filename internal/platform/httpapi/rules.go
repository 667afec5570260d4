package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"paddock/fence/track/rule"
	"paddock/internal/platform/rulebook"
)

// The default and the bound of the number of rules in one answer.
const (
	rulesPage = 1000
	rulesMost = 10_000
)

// ruleList is the answer of GET /v1/rules.
type ruleList struct {
	Rules []json.RawMessage `json:"rules"` // by id
	Files map[string]string `json:"files,omitempty"`
	Next  string            `json:"next,omitempty"`
}

// getRules lists rules by their ids.
func (a *API) getRules(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "set", "after", "limit")
	if err != nil {
		return err
	}
	limit := rulesPage
	if text := q.Get("limit"); text != "" {
		if limit, err = count("limit", text, rulesMost); err != nil {
			return err
		}
	}
	state := a.cfg.Book.State()
	list := ruleList{Rules: []json.RawMessage{}, Files: map[string]string{}}
	last := ""
	for _, r := range state.Rules().Rules() {
		if r.ID <= q.Get("after") || q.Has("set") && r.Set != q.Get("set") {
			continue
		}
		if len(list.Rules) == limit {
			list.Next = last
			break
		}
		last = r.ID
		list.Rules = append(list.Rules, r.AppendJSON(nil))
		if file := state.File(r.ID); file != "" {
			list.Files[r.ID] = file
		}
	}
	return writeJSON(w, http.StatusOK, &list)
}

// getRule answers with one rule.
func (a *API) getRule(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	id := r.PathValue("id")
	found, ok := a.cfg.Book.State().Rules().Get(id)
	if !ok {
		return noRule(id)
	}
	text := found.AppendJSON(nil)
	if answered(w, r, ruleETag(text)) {
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // the client may be gone
	return nil
}

func noRule(id string) error {
	return fail(http.StatusNotFound, "no rule %.64q; GET /v1/rules lists them", id)
}

// ruleETag names the state of a rule by its content.
func ruleETag(text []byte) string { return `"` + strconv.FormatUint(xxhash.Sum64(text), 36) + `"` }

// ruleGuard allows a change if the condition of the request holds.
func ruleGuard(given condition) rulebook.Guard {
	return func(old *rule.Rule) error {
		if old == nil {
			return given.check(false, "")
		}
		return given.check(true, ruleETag(old.AppendJSON(nil)))
	}
}

// changedRule is the answer to a change of a rule.
type changedRule struct {
	Rule     json.RawMessage `json:"rule"`
	Warnings []string        `json:"warnings,omitempty"`
}

// putRule adds a rule, or replaces it.
func (a *API) putRule(w http.ResponseWriter, r *http.Request) error {
	body, err := a.ruleBody(w, r)
	if err != nil {
		return err
	}
	given, err := rule.Parse(withID(body, r.PathValue("id")))
	if err != nil {
		return fail(http.StatusBadRequest, "body: %v", err)
	}
	if id := r.PathValue("id"); given.ID != id {
		return fail(http.StatusBadRequest, "body: id: %.64q is not the id in the path, %.64q", given.ID, id)
	}
	kept, created, err := a.cfg.Book.Put(given, ruleGuard(conditionOf(r)))
	if err != nil {
		return ruleProblem(err)
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return a.tellRule(w, status, kept)
}

// withID adds the id of the path to a rule that has none.
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

// patchRule changes members of a rule by a merge patch (RFC 7396).
func (a *API) patchRule(w http.ResponseWriter, r *http.Request) error {
	body, err := a.ruleBody(w, r)
	if err != nil {
		return err
	}
	allowed := ruleGuard(conditionOf(r))
	kept, err := a.cfg.Book.Edit(r.PathValue("id"), func(old *rule.Rule) (*rule.Rule, error) {
		if err := allowed(old); err != nil {
			return nil, err
		}
		edited, err := old.Patch(body)
		if err != nil {
			return nil, fail(http.StatusBadRequest, "body: %v", err)
		}
		return edited, nil
	})
	if err != nil {
		return ruleProblem(err)
	}
	return a.tellRule(w, http.StatusOK, kept)
}

func (a *API) deleteRule(w http.ResponseWriter, r *http.Request) error {
	if err := a.cfg.Book.Delete(r.PathValue("id"), ruleGuard(conditionOf(r))); err != nil {
		return ruleProblem(err)
	}
	if err := a.settle(); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// ruleBody reads the body of a request about one rule.
func (a *API) ruleBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	l := a.memory.Lease()
	defer l.Release()
	return a.readBody(w, r, l)
}

// tellRule waits until a rule holds, and answers with it.
func (a *API) tellRule(w http.ResponseWriter, status int, r *rule.Rule) error {
	if err := a.settle(); err != nil {
		return err
	}
	text := r.AppendJSON(nil)
	w.Header().Set("ETag", ruleETag(text))
	return writeJSON(w, status, &changedRule{Rule: text, Warnings: rulebook.Warnings(a.cfg.Catalog, r)})
}

// ruleProblem converts an error of the book.
func ruleProblem(err error) error {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	status := http.StatusBadRequest
	if _, held := errors.AsType[*rulebook.FileError](err); held {
		status = http.StatusConflict
	}
	for target, code := range map[error]int{rulebook.ErrUnknown: http.StatusNotFound, rulebook.ErrFull: http.StatusInsufficientStorage} {
		if errors.Is(err, target) {
			status = code
		}
	}
	return fail(status, "%v", err)
}
