package httpapi

import (
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
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return hookProblem(h(w, r, a.cfg.Hooks))
		}
		action := "webhook." + strings.ToLower(r.Method)
		if _, last, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/webhooks/"), "/"); last != "" {
			action = "webhook." + path.Base(last) // as webhook.enable
		}
		return a.audited(r, action, r.PathValue("id"), func() error { return hookProblem(h(w, r, a.cfg.Hooks)) })
	}
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
func (a *API) putWebhook(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	body, err := a.ruleBody(w, r)
	if err != nil {
		return err
	}
	shown, err := all.Put(r.Context(), r.PathValue("id"), body, conditionOf(r))
	return tellWebhook(w, shown, err)
}

// patchWebhook changes members of a webhook by a merge patch (RFC 7396).
func (a *API) patchWebhook(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	body, err := a.ruleBody(w, r)
	if err != nil {
		return err
	}
	shown, err := all.Patch(r.Context(), r.PathValue("id"), body, conditionOf(r))
	return tellWebhook(w, shown, err)
}

func (a *API) deleteWebhook(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	if err := all.Delete(r.Context(), r.PathValue("id"), conditionOf(r)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) retryWebhook(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	shown, err := all.Retry(r.Context(), r.PathValue("id"))
	return tellWebhook(w, shown, err)
}

func (a *API) enableWebhook(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	shown, err := all.Enable(r.Context(), r.PathValue("id"))
	return tellWebhook(w, shown, err)
}

func (a *API) disableWebhook(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	shown, err := all.Disable(r.Context(), r.PathValue("id"))
	return tellWebhook(w, shown, err)
}

// replayWebhook delivers events again, from a time or a cursor on.
func (a *API) replayWebhook(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	body, err := a.ruleBody(w, r)
	if err != nil {
		return err
	}
	shown, err := all.Replay(r.Context(), r.PathValue("id"), body)
	return tellWebhook(w, shown, err)
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

func (a *API) replayDeadLetter(w http.ResponseWriter, r *http.Request, all *hooks.Hooks) error {
	shown, err := all.ReplayLetter(r.Context(), r.PathValue("id"), r.PathValue("cursor"))
	return tellWebhook(w, shown, err)
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
