package httpapi

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"

	"paddock/internal/platform/deliver/hooks"
)

// withHooks returns h for requests about webhooks, with the known parameters.
func (a *API) withHooks(h func(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error, known ...string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := params(r, known...); err != nil {
			return err
		}
		if a.cfg.Hooks == nil {
			return fail(http.StatusNotFound, "there are no webhooks here")
		}
		return hookProblem(h(w, r, a.cfg.Hooks))
	}
}

// hookChange is a change of a webhook by a request with a body. It returns the webhook; nil: it is
// gone.
type hookChange func(r *http.Request, all *hooks.Hooks, body []byte) (*hooks.Shown, error)

// changeHook returns the handler of a change. The answer comes when the change's entry in the audit
// is stored too.
func (a *API) changeHook(change hookChange) handler {
	return a.withHooks(func(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
		body, err := a.ruleBody(w, r)
		if err != nil {
			return err
		}
		action := "webhook." + strings.ToLower(r.Method)
		if _, last, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/webhooks/"), "/"); last != "" {
			action = "webhook." + path.Base(last) // as webhook.enable
		}
		var shown *hooks.Shown
		err = a.audited(r, action, r.PathValue("id"), func() error {
			shown, err = change(r, all, body)
			return hookProblem(err)
		})
		if err == nil && shown == nil {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return tellWebhook(w, shown, err)
	})
}

// hookProblem converts an error about webhooks.
func hookProblem(err error) error {
	if e, ok := errors.AsType[*hooks.Error](err); ok {
		return fail(e.Status, "%v", e)
	}
	return err
}

// getWebhooks lists webhooks by their ids.
func (a *API) getWebhooks(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	limit, err := hookLimit(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, all.List(r.URL.Query().Get("after"), limit))
}

func hookLimit(r *http.Request) (int, error) {
	if text := r.URL.Query().Get("limit"); text != "" {
		return count("limit", text, hooks.MaxLimit)
	}
	return hooks.DefaultLimit, nil
}

// getWebhook answers with one webhook. Its state changes without its ETag, so the answer is always
// a whole one.
func (a *API) getWebhook(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	shown, err := all.Get(r.PathValue("id"))
	return tellWebhook(w, shown, err)
}

// putWebhook adds a webhook, or replaces it.
func putWebhook(r *http.Request, all *hooks.Hooks, body []byte) (*hooks.Shown, error) {
	return all.Put(r.Context(), r.PathValue("id"), body, conditionOf(r))
}

// patchWebhook changes members of a webhook by a merge patch (RFC 7396).
func patchWebhook(r *http.Request, all *hooks.Hooks, body []byte) (*hooks.Shown, error) {
	return all.Patch(r.Context(), r.PathValue("id"), body, conditionOf(r))
}

func deleteWebhook(r *http.Request, all *hooks.Hooks, _ []byte) (*hooks.Shown, error) {
	return nil, all.Delete(r.Context(), r.PathValue("id"), conditionOf(r))
}

// operate returns the change by an operation that takes a webhook's id alone.
func operate(do func(all *hooks.Hooks, ctx context.Context, id string) (*hooks.Shown, error)) hookChange {
	return func(r *http.Request, all *hooks.Hooks, _ []byte) (*hooks.Shown, error) {
		return do(all, r.Context(), r.PathValue("id"))
	}
}

// replayWebhook delivers events again, from a time or a cursor on.
func replayWebhook(r *http.Request, all *hooks.Hooks, body []byte) (*hooks.Shown, error) {
	return all.Replay(r.Context(), r.PathValue("id"), body)
}

func replayDeadLetter(r *http.Request, all *hooks.Hooks, _ []byte) (*hooks.Shown, error) {
	return all.ReplayLetter(r.Context(), r.PathValue("id"), r.PathValue("cursor"))
}

// getDeadLetters lists the events that a webhook has refused.
func (a *API) getDeadLetters(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	limit, err := hookLimit(r)
	if err != nil {
		return err
	}
	list, err := all.Letters(r.PathValue("id"), r.URL.Query().Get("after"), limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list)
}

// getAttempts lists the last attempts of a webhook.
func (a *API) getAttempts(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	list, err := all.LastAttempts(r.PathValue("id"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"attempts": list})
}

// tellWebhook answers with a webhook.
func tellWebhook(w http.ResponseWriter, shown *hooks.Shown, err error) error {
	if err != nil {
		return err
	}
	status := http.StatusOK
	if shown.Created {
		status = http.StatusCreated
	}
	w.Header().Set("ETag", shown.Tag)
	return writeJSON(w, status, shown)
}
