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
	"paddock/tunnel/client"
	"paddock/tunnel/tunnelstats"
)

// Admin is a listener for the figures of one side of the tunnel: /metrics for Prometheus, /status
// for programs, and at a server the dashboard's page for people. It changes nothing.
type Admin struct {
	net.Listener
	mux     *http.ServeMux
	service lifecycle.Service
}

// requestTime is how long a request to a server of HTTP here may take to come.
const requestTime = 10 * time.Second

// openAdmin listens, beyond this machine with a token only.
func openAdmin(ctx context.Context, address, token string, log *slog.Logger, status func() any, of ...prometheus.Collector) (*Admin, error) {
	want := access.NewToken(token)
	l, err := listen.Listen(ctx, address, want.Required())
	if err != nil {
		return nil, err
	}
	registry := metrics.New()
	registry.MustRegister(of...)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.Handler(registry, log))
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { tell(w, status()) })
	return &Admin{l, mux, serveHTTP("tunnel admin", l, guard(want, mux), 3*requestTime, log)}, nil
}

// serveHTTP returns a service that answers requests, each within a time.
func serveHTTP(name string, l net.Listener, h http.Handler, within time.Duration, log *slog.Logger) lifecycle.Service {
	return lifecycle.HTTP(name, &http.Server{
		Handler: h, ReadHeaderTimeout: requestTime, ReadTimeout: requestTime, WriteTimeout: within, IdleTimeout: 6 * requestTime,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}, l)
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
func guard(token access.Token, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !token.Allows(r):
			w.Header()["Www-Authenticate"] = access.Challenge
			http.Error(w, "a token is wanted", http.StatusUnauthorized)
		case !token.Required() && !access.LocalName(r.Host):
			http.Error(w, "without a token this is for names of this machine", http.StatusMisdirectedRequest)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// ServeAdmin adds /metrics and /status to g, if the settings have an address for them.
func (c *Client) ServeAdmin(ctx context.Context, g *lifecycle.Group) error {
	connect := &c.options.Settings.Connect
	if connect.Admin == "" {
		return nil
	}
	a, err := openAdmin(ctx, connect.Admin, connect.Token, c.log, c.status, tunnelstats.Client(c.tunnel))
	if err != nil {
		return err
	}
	c.log.Info("admin", "addr", a.Addr().String())
	g.Add(a.service)
	return nil
}

// clientStatus is the answer of /status.
type clientStatus struct {
	Tunnels []boundStatus `json:"tunnels"`
	Counts  client.Stats  `json:"counts"`
}

// boundStatus is the result of binding a tunnel.
type boundStatus struct {
	Name  string `json:"name"`
	Where string `json:"where,omitempty"` // absent: it is not bound
	Error string `json:"error,omitempty"`
}

func (c *Client) status() any {
	s := clientStatus{Tunnels: []boundStatus{}, Counts: c.tunnel.Stats()}
	for _, b := range c.tunnel.Bindings() {
		line := boundStatus{Name: b.Tunnel, Where: b.Where}
		if b.Err != nil {
			line.Error = b.Err.Error()
		}
		s.Tunnels = append(s.Tunnels, line)
	}
	return s
}
