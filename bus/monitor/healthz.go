package monitor

import (
	"encoding/json"
	"net/http"
)

// health is the answer of /healthz.
type health struct {
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
}

// healthFlags are the arguments that are checked and make no difference here: they
// ask for parts of JetStream to be left out.
var healthFlags = []string{"js-enabled", "js-enabled-only", "js-server-only", "js-meta-only", "details"}

func (m *monitor) healthz(w http.ResponseWriter, r *http.Request) {
	m.count("/healthz")
	q := query{r.URL.Query()}
	for _, name := range healthFlags {
		if _, err := q.bool(name); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(err.Error()))
			return
		}
	}
	code, h := m.health(q)
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // texts only
	}
	respond(w, code, b)
}

func (m *monitor) health(q query) (code int, h health) {
	switch {
	case q.Get("account") == "" && q.Get("stream") != "":
		return http.StatusBadRequest, health{"error", `"account" must not be empty when checking stream health`}
	case q.Get("stream") == "" && q.Get("consumer") != "":
		return http.StatusBadRequest, health{"error", `"stream" must not be empty when checking consumer health`}
	case !m.srv.Accepting():
		return http.StatusServiceUnavailable, health{"unavailable", "not accepting connections"}
	default:
		return http.StatusOK, health{Status: "ok"}
	}
}
