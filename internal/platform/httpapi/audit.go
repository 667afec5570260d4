package httpapi

import (
	"errors"
	"net/http"

	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal/audit"
	"paddock/internal/process/keyring"
)

const (
	defaultEntries = 100
	maxEntries     = 10_000
)

// audited makes a change of a request with its entry in the audit.
func (a *API) audited(r *http.Request, action, object string, change func() error) error {
	return a.cfg.Audit.Record(entryOf(r, action, object), change)
}

// entryOf returns the entry of a request's change.
func entryOf(r *http.Request, action, object string) audit.Entry {
	return audit.Entry{By: keyring.From(r.Context()).Name(), From: r.RemoteAddr, Action: action, Object: object}
}

// ChangeSets returns the Change of [gofence.Options], by which fences are added as those of /v1
// are: with an entry in the audit, and not while the journal takes no changes.
func ChangeSets(p *ingest.Pipeline, log *audit.Log) func(r *http.Request, set string, change func() error) error {
	return func(r *http.Request, set string, change func() error) error {
		if reason := p.Refusing(); reason != "" {
			return errors.New(reason)
		}
		return log.Record(entryOf(r, "fence.add", set), func() error {
			if err := change(); err != nil {
				return err
			}
			return p.Settle()
		})
	}
}

// getAudit lists changes, the newest first.
func (a *API) getAudit(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "by", "object", "limit", "before")
	if err != nil {
		return err
	}
	query := audit.Query{Before: q.Get("before"), By: q.Get("by"), Object: q.Get("object"), Limit: defaultEntries}
	if s := q.Get("limit"); s != "" {
		if query.Limit, err = count("limit", s, maxEntries); err != nil {
			return err
		}
	}
	page := struct {
		Changes []audit.Entry `json:"changes"`
		Next    string        `json:"next,omitempty"` // before of the next page
	}{Changes: []audit.Entry{}}
	if a.cfg.Audit == nil {
		return writeJSON(w, http.StatusOK, &page)
	}
	found, more, err := a.cfg.Audit.List(query)
	if err != nil {
		return err
	}
	page.Changes = append(page.Changes, found...)
	if more {
		page.Next = found[len(found)-1].ID
	}
	return writeJSON(w, http.StatusOK, &page)
}
