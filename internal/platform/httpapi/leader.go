package httpapi

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// isForLeader reports whether a request is one that only the leader of a cluster answers: changes,
// and what is about deliveries, which it makes alone. Positions and look-ups are answered by every
// node.
func (a *API) isForLeader(r *http.Request) bool {
	if a.cfg.Leader == nil {
		return false
	}
	path := r.URL.Path
	for _, only := range []string{"/v1/webhooks", "/v1/sinks", "/v1/audit"} {
		if rest, ok := strings.CutPrefix(path, only); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return false
	}
	switch path {
	case "/v1/positions", "/v1/search", sessionPath, "/v1/rules/dry-run", "/v1/backup":
		return false
	}
	return strings.HasPrefix(path, "/v1/") || strings.HasSuffix(path, "/add")
}

// toLeader passes a request to the leader, and reports whether it is another node. The leader
// judges the credentials of the request again.
func (a *API) toLeader(w http.ResponseWriter, r *http.Request) bool {
	address, here := a.cfg.Leader()
	if here {
		return false
	}
	to, err := url.Parse(address)
	if err != nil || to.Host == "" {
		w.Header().Set("Retry-After", "1")
		writeProblem(w, fail(http.StatusServiceUnavailable, "the cluster has no leader at present: try again"))
		return true
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host
			p.SetXForwarded()
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.Header().Set("Retry-After", "1")
			writeProblem(w, fail(http.StatusServiceUnavailable, "the leader of the cluster, %s, does not answer: %v", to, err))
		},
	}
	proxy.ServeHTTP(w, r)
	return true
}

// getCluster answers with what this node knows of its cluster.
func (a *API) getCluster(w http.ResponseWriter, r *http.Request) error {
	if a.cfg.Cluster == nil {
		return fail(http.StatusNotFound, "there is no cluster here: this platform is on its own, without cluster.url or --bus")
	}
	return writeJSON(w, http.StatusOK, a.cfg.Cluster(r.Context()))
}
