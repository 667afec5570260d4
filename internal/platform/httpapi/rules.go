package httpapi

import (
	"errors"
	"net/http"

	"paddock/internal/platform/rulebook/ruleapi"
	"paddock/internal/process/keyring"
)

// rulesOf returns the rules that the key of a request is for.
func (a *API) rulesOf(r *http.Request) *ruleapi.Rules {
	rules := a.rules
	rules.By, rules.From = keyring.From(r.Context()), r.RemoteAddr
	return &rules
}

// getRules lists rules by their ids.
func (a *API) getRules(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "set", "after", "limit")
	if err != nil {
		return err
	}
	query := ruleapi.Query{After: q.Get("after"), Limit: ruleapi.DefaultLimit}
	if text := q.Get("limit"); text != "" {
		if query.Limit, err = count("limit", text, ruleapi.MaxLimit); err != nil {
			return err
		}
	}
	if set := q.Get("set"); q.Has("set") {
		query.Set = &set
		if err := permitNames(r, set, ""); err != nil { // "" is the rules of no set
			return err
		}
	}
	return writeJSON(w, http.StatusOK, a.rulesOf(r).List(query))
}

// getRule answers with one rule.
func (a *API) getRule(w http.ResponseWriter, r *http.Request) error {
	if _, err := params(r); err != nil {
		return err
	}
	text, tag, err := a.rulesOf(r).Get(r.PathValue("id"))
	if err != nil {
		return ruleProblem(err)
	}
	if answered(w, r, tag) {
		return nil
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // the client may be gone
	return nil
}

// putRule adds a rule, or replaces it.
func (a *API) putRule(w http.ResponseWriter, r *http.Request) error {
	body, err := a.ruleBody(w, r)
	if err != nil {
		return err
	}
	changed, err := a.rulesOf(r).Put(r.PathValue("id"), body, conditionOf(r))
	return tellRule(w, changed, err)
}

// patchRule changes members of a rule by a merge patch (RFC 7396).
func (a *API) patchRule(w http.ResponseWriter, r *http.Request) error {
	body, err := a.ruleBody(w, r)
	if err != nil {
		return err
	}
	changed, err := a.rulesOf(r).Patch(r.PathValue("id"), body, conditionOf(r))
	return tellRule(w, changed, err)
}

func (a *API) deleteRule(w http.ResponseWriter, r *http.Request) error {
	if err := a.rulesOf(r).Delete(r.PathValue("id"), conditionOf(r)); err != nil {
		return ruleProblem(err)
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

// tellRule answers with a changed rule.
func tellRule(w http.ResponseWriter, changed *ruleapi.Changed, err error) error {
	if err != nil {
		return ruleProblem(err)
	}
	status := http.StatusOK
	if changed.Created {
		status = http.StatusCreated
	}
	w.Header().Set("ETag", changed.Tag)
	return writeJSON(w, status, changed)
}

// ruleProblem converts an error about rules or policies.
func ruleProblem(err error) error {
	if e, ok := errors.AsType[*ruleapi.Error](err); ok {
		return fail(e.Status, "%v", e)
	}
	return fail(ruleapi.StatusOf(err), "%v", err)
}
