package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"
)

const (
	// leaderPatience bounds the wait for a leader that answers, and leaderPause is the time between
	// two looks.
	leaderPatience = 10 * time.Second
	leaderPause    = 50 * time.Millisecond
	// passedHeader marks a request that a node has passed to the leader: see passedBy.
	passedHeader = "Paddock-Passed"
)

// isForLeader reports whether a request is one that only the leader of a cluster answers: changes,
// and what is about deliveries, which it makes alone. Positions and look-ups are answered by every
// node.
func (a *API) isForLeader(r *http.Request) bool {
	if a.cfg.Leader == nil {
		return false
	}
	path := r.URL.Path
	for _, only := range []string{"/v1/webhooks", "/v1/sinks"} {
		if rest, ok := strings.CutPrefix(path, only); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return false
	}
	switch path {
	case "/v1/positions", "/v1/search", sessionPath, "/v1/rules/dry-run", "/v1/backup", "/v1/qr":
		return false
	}
	return strings.HasPrefix(path, "/v1/") || strings.HasSuffix(path, "/add")
}

// toLeader passes a request to the leader, and reports whether it is another node. It waits for a
// leader, and tries another one as long as none has taken the connection. The leader judges the
// credentials of the request again.
func (a *API) toLeader(w http.ResponseWriter, r *http.Request) bool {
	ctx, cancel := context.WithTimeout(r.Context(), leaderPatience)
	defer cancel()
	r.Body = keepOpen{r.Body}
	reason := errNoLeader
	for {
		address, here := a.cfg.Leader()
		to, err := url.Parse(address)
		switch {
		case here:
			return false
		case r.Header.Get(passedHeader) != "":
			writeProblem(w, notLeader(errNoLeader)) // it is not here any more
			return true
		case err == nil && to.Host != "":
			if err = a.passTo(w, r, to); err == nil {
				return true
			}
			reason = err
		}
		select {
		case <-ctx.Done():
			writeProblem(w, notLeader(reason))
			return true
		case <-time.After(leaderPause):
		}
	}
}

var errNoLeader = errors.New("the cluster has no leader at present")

// notLeader refuses what only a leader does.
func notLeader(reason error) *Problem {
	return fail(http.StatusServiceUnavailable, "%v: try again", reason)
}

// passTo passes a request to a node, and answers it. The error is that of a node that has not taken
// the connection; then there is no answer yet.
func (a *API) passTo(w http.ResponseWriter, r *http.Request, to *url.URL) (refused error) {
	proxy := httputil.ReverseProxy{
		Transport: a.cfg.ToLeader,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host
			p.SetXForwarded()
			p.Out.Header.Set(passedHeader, p.In.RemoteAddr+" "+a.passedBy(p.In, p.In.RemoteAddr))
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
				refused = err
				return
			}
			writeProblem(w, notLeader(err))
		},
	}
	proxy.ServeHTTP(w, r)
	return refused
}

// passedBy returns what only a node can add to a request of a client with this address: a MAC under
// the secret that the nodes share.
func (a *API) passedBy(r *http.Request, client string) string {
	m := hmac.New(sha256.New, a.gate.sessions.mac([]byte("passed"))) // no text of a cookie
	_, _ = fmt.Fprintf(m, "%s %s %s", r.Method, client, r.URL.Path)
	return hex.EncodeToString(m.Sum(nil))
}

// fromClient returns a request that a node has passed as one from the address of its client, which
// the audit notes. The word of others is not taken.
func (a *API) fromClient(r *http.Request) *http.Request {
	client, mac, ok := strings.Cut(r.Header.Get(passedHeader), " ")
	if !ok || !hmac.Equal([]byte(mac), []byte(a.passedBy(r, client))) {
		return r
	}
	r = r.WithContext(r.Context())
	r.RemoteAddr = client
	return r
}

// keepOpen is the body of a request that may be passed on a second time, as nothing of it was read.
type keepOpen struct{ io.ReadCloser }

// Close does nothing: the server closes the body.
func (keepOpen) Close() error { return nil }

const noCluster = "there is no cluster here: this platform is on its own, without cluster.url or --bus"

// getCluster answers with what this node knows of its cluster.
func (a *API) getCluster(w http.ResponseWriter, r *http.Request) error {
	if a.cfg.Cluster == nil {
		return fail(http.StatusNotFound, noCluster)
	}
	return writeJSON(w, http.StatusOK, a.cfg.Cluster(r.Context()))
}
