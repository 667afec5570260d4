package monitor

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// health is the answer of /healthz. A request for details gets errors as a list.
type health struct {
	Status string        `json:"status"`
	Error  string        `json:"error,omitempty"`
	Errors []healthError `json:"errors,omitempty"`
}

type healthError struct {
	Type  string `json:"type"`
	Error string `json:"error"`
}

// healthFlags are the arguments that are checked and make no difference here: they
// ask for parts of JetStream to be left out.
var healthFlags = []string{"js-enabled", "js-enabled-only", "js-server-only", "js-meta-only", "details"}

func (m *monitor) healthz(w http.ResponseWriter, r *http.Request) {
	m.count("/healthz")
	q := &query{Values: r.URL.Query()}
	q.bools(healthFlags...)
	if q.err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, q.err)
		return
	}
	code, kind, text := m.health(q)
	h := health{Status: "ok"}
	if text != "" {
		h.Status = "error"
		if q.bool("details") {
			h.Errors = []healthError{{kind, text}}
		} else {
			h.Error = text
		}
	}
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // texts only
	}
	respond(w, code, b)
}

// health reports the first problem; text is empty if there is none.
func (m *monitor) health(q *query) (code int, kind, text string) {
	switch {
	case q.Get("account") == "" && q.Get("stream") != "":
		return http.StatusBadRequest, "BAD_REQUEST", `"account" must not be empty when checking stream health`
	case q.Get("stream") == "" && q.Get("consumer") != "":
		return http.StatusBadRequest, "BAD_REQUEST", `"stream" must not be empty when checking consumer health`
	case !m.srv.Accepting():
		return http.StatusServiceUnavailable, "CONNECTION", "not accepting connections"
	default:
		return http.StatusOK, "", ""
	}
}
