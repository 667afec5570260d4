package httpapi

import (
	"errors"
	"net/http"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/sinks"
)

// getSinks lists the sinks of the configuration file.
func (a *API) getSinks(w http.ResponseWriter, _ *http.Request) error {
	list := []sinks.Shown{}
	if a.cfg.Sinks != nil {
		list = a.cfg.Sinks.List()
	}
	return writeJSON(w, http.StatusOK, map[string]any{"sinks": list})
}

// operateSink returns the handler of an operation on a sink.
func (a *API) operateSink(operation string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if a.cfg.Sinks == nil {
			return fail(http.StatusNotFound, "there are no sinks here")
		}
		shown, err := a.cfg.Sinks.Operate(r.PathValue("id"), operation)
		if errors.Is(err, deliver.ErrUnstored) {
			return fail(http.StatusServiceUnavailable, "%v", err)
		}
		if err != nil {
			return fail(http.StatusNotFound, "%v; GET /v1/sinks lists them", err)
		}
		return writeJSON(w, http.StatusOK, shown)
	}
}

// getSinkAttempts lists the last attempts of a sink.
func (a *API) getSinkAttempts(w http.ResponseWriter, r *http.Request) error {
	if a.cfg.Sinks == nil {
		return fail(http.StatusNotFound, "there are no sinks here")
	}
	list, err := a.cfg.Sinks.LastAttempts(r.PathValue("id"))
	if err != nil {
		return fail(http.StatusNotFound, "%v; GET /v1/sinks lists them", err)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"attempts": list})
}
