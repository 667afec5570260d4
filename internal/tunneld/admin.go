package tunneld

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/netio/listen"
	"paddock/internal/process/access"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/metrics"
)

// Admin is a listener for the figures of one side of the tunnel: /metrics for Prometheus, /status
// for programs, and at a server the dashboard's page for people. It changes nothing.
type Admin struct {
	token    access.Token
	mux      *http.ServeMux
	listener net.Listener
	server   *http.Server
}

// adminHead is how long a request to an Admin may take to come.
const adminHead = 10 * time.Second

// openAdmin listens, beyond this machine with a token only.
func openAdmin(ctx context.Context, address, token string, log *slog.Logger, status func() any, of ...prometheus.Collector) (*Admin, error) {
	a := &Admin{token: access.NewToken(token)}
	var err error
	if a.listener, err = listen.Listen(ctx, address, a.token.Required()); err != nil {
		return nil, err
	}
	registry := metrics.New()
	registry.MustRegister(of...)
	a.mux = http.NewServeMux()
	a.mux.Handle("GET /metrics", metrics.Handler(registry, log))
	a.mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { tell(w, status()) })
	a.server = &http.Server{
		Handler: a.guard(a.mux), ReadHeaderTimeout: adminHead, ReadTimeout: adminHead, WriteTimeout: 3 * adminHead, IdleTimeout: 6 * adminHead,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return a, nil
}

// tell answers with v as JSON.
func tell(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	_ = out.Encode(v)
}

// guard refuses requests without the token, and web pages whose host names were made to resolve to
// this address.
func (a *Admin) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !a.token.Allows(r):
			w.Header()["Www-Authenticate"] = access.Challenge
			http.Error(w, "a token is wanted", http.StatusUnauthorized)
		case !a.token.Required() && !access.LocalName(r.Host):
			http.Error(w, "without a token this is for names of this machine", http.StatusMisdirectedRequest)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// Addr is where it listens.
func (a *Admin) Addr() net.Addr { return a.listener.Addr() }

// addTo adds the service.
func (a *Admin) addTo(g *lifecycle.Group) {
	g.Add(lifecycle.HTTP("tunnel admin", a.server, a.listener))
}
