package httpapi

import (
	"encoding/json"
	"net/http"

	"paddock/fence"
	"paddock/fence/track"
)

// policyJSON is the policy of a set.
type policyJSON struct {
	Policy track.Policy `json:"policy"`
	Own    bool         `json:"own"` // false: that of all sets without one
	File   string       `json:"file,omitempty"`
}

func (a *API) getPolicy(w http.ResponseWriter, _ *http.Request, s *fence.Set) error {
	p, file, own := a.cfg.Book.State().Policy(s.Name())
	return writeJSON(w, http.StatusOK, &policyJSON{*p, own, file})
}

// putPolicy gives a set a policy of its own: the name of a preset, or an object.
func (a *API) putPolicy(w http.ResponseWriter, r *http.Request, s *fence.Set) error {
	body, err := a.ruleBody(w, r)
	if err != nil {
		return err
	}
	var p track.Policy
	if err := json.Unmarshal(body, &p); err != nil {
		return fail(http.StatusBadRequest, "body: %v", err)
	}
	if err := a.setPolicy(r, "policy.put", s, &p); err != nil {
		return err
	}
	return a.getPolicy(w, r, s)
}

// deletePolicy takes the policy of a set away; that of all sets holds then.
func (a *API) deletePolicy(w http.ResponseWriter, r *http.Request, s *fence.Set) error {
	if err := a.setPolicy(r, "policy.delete", s, nil); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) setPolicy(r *http.Request, action string, s *fence.Set, p *track.Policy) error {
	return a.audited(r, action, s.Name(), func() error {
		if err := a.changePolicy(s, p); err != nil {
			return err
		}
		return a.settle()
	})
}

// changePolicy changes the policy of a set that is still there: it would be that of the next set of
// this name.
func (a *API) changePolicy(s *fence.Set, p *track.Policy) error {
	a.making.Lock()
	defer a.making.Unlock()
	if there, _ := a.cfg.Catalog.Get(s.Name()); there != s {
		return noSet(s.Name())
	}
	if err := a.cfg.Book.SetPolicy(s.Name(), p); err != nil {
		return ruleProblem(err)
	}
	return nil
}
