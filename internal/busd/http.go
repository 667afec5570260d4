package busd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"paddock/bus"
	"paddock/bus/monitor"
	"paddock/internal/busd/bridge"
	"paddock/internal/netio/listen"
)

const (
	// httpClose is how long answers in the making have when the program stops.
	httpClose = time.Second
	// httpHeader bounds how long a request's head may take.
	httpHeader = 10 * time.Second
	// httpAnswer bounds how long a client of monitoring may take for an answer, and keep a
	// connection without a request.
	httpAnswer = time.Minute
	// maxHTTP bounds the open connections of a listener. Further ones wait to be accepted.
	maxHTTP = 256
)

// httpDoor is one listener for HTTP.
type httpDoor struct {
	scheme   string
	profile  bool
	listener net.Listener
	server   *http.Server
}

func listenHTTP(scheme, host string, port int) (*httpDoor, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(max(port, 0))))
	if err != nil {
		return nil, err
	}
	return &httpDoor{scheme: scheme, listener: listen.Limit(ln, maxHTTP)}, nil
}

// serve answers until close; secure is the TLS of https.
func (d *httpDoor) serve(secure *tls.Config) error {
	ln := d.listener
	if d.scheme == "https" {
		ln = tls.NewListener(ln, secure)
	}
	if err := d.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (d *httpDoor) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), httpClose)
	defer cancel()
	if d.server.Shutdown(ctx) == nil {
		return nil
	}
	return d.server.Close()
}

// Monitor is the open interface of package monitor.
type Monitor struct {
	door *httpDoor
	last atomic.Pointer[loaded]
}

// loaded is what the interface shows and uses of a configuration.
type loaded struct {
	monitor.Loaded
	tls *tls.Config // nil = none
}

// OpenMonitor listens where s has monitoring, and returns nil if it has none. /metrics has the
// figures of bridges too. At most 256
// connections are open at once; further ones wait in the accept queue.
func OpenMonitor(server *bus.Server, bridges *bridge.Set, s *Settings) (*Monitor, error) {
	h := s.HTTP
	scheme, port := "http", &h.Port
	if h.TLSPort != 0 {
		scheme, port = "https", &h.TLSPort
	}
	if *port == 0 {
		return nil, nil
	}
	door, err := listenHTTP(scheme, h.Host, *port)
	if err != nil {
		return nil, err
	}
	m := &Monitor{door: door}
	m.Reloaded(s)
	*port = door.listener.Addr().(*net.TCPAddr).Port
	door.server = &http.Server{ReadHeaderTimeout: httpHeader, WriteTimeout: httpAnswer, IdleTimeout: httpAnswer, Handler: monitor.Handler(server, monitor.Options{
		Host: h.Host, Port: h.Port, TLSPort: h.TLSPort, BasePath: h.BasePath,
		Config: func() monitor.Loaded { return m.last.Load().Loaded }, Metrics: figures(server, bridges),
	})}
	return m, nil
}

// figures answers /metrics with the figures of the broker and its bridges.
func figures(server *bus.Server, bridges *bridge.Set) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(monitor.Collector(server), bridges)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

// URL returns the address of the interface.
func (m *Monitor) URL() string { return m.door.scheme + "://" + m.door.listener.Addr().String() }

// Reloaded has the interface show and use the present settings. A nil m ignores it.
func (m *Monitor) Reloaded(s *Settings) {
	if m == nil {
		return
	}
	next := &loaded{Loaded: monitor.Loaded{Time: time.Now(), Digest: s.Digest, Tags: s.Tags}}
	if s.Bus.TLS != nil {
		next.tls = s.Bus.TLS.Config.Clone()
		next.tls.ClientAuth = tls.NoClientCert // a monitoring client is not a client of the broker
	}
	m.last.Store(next)
}

// Serve answers until Close, each connection with the present certificate.
func (m *Monitor) Serve() error {
	return m.door.serve(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return m.last.Load().tls, nil }})
}

// Close waits a second for the answers under way.
func (m *Monitor) Close() error { return m.door.close() }

// openHTTP opens monitoring and profiles, if they are asked for.
func (p *Program) openHTTP() (err error) {
	if p.monitor, err = OpenMonitor(p.server, p.bridges, p.settings); err != nil {
		return err
	}
	if m := p.monitor; m != nil {
		p.serveHTTP(m.door, m.Serve)
		p.log.Info("Starting " + m.door.scheme + " monitor on " + m.door.listener.Addr().String())
	}
	if p.settings.Profile == 0 {
		return nil
	}
	door, err := listenHTTP("http", "127.0.0.1", p.settings.Profile)
	if err != nil {
		return err
	}
	door.profile, door.server = true, &http.Server{Handler: profiles(), ReadHeaderTimeout: httpHeader}
	p.serveHTTP(door, func() error { return door.serve(nil) })
	p.log.Info("profiles on http://" + door.listener.Addr().String() + "/debug/pprof/")
	return nil
}

// serveHTTP serves on a door until closeHTTP.
func (p *Program) serveHTTP(door *httpDoor, serve func() error) {
	p.http = append(p.http, door)
	p.running.Go(func() {
		if err := serve(); err != nil {
			p.log.Error("monitoring ended: " + err.Error())
		}
	})
}

func (p *Program) closeHTTP() error {
	var errs []error
	for _, door := range p.http {
		errs = append(errs, door.close())
	}
	return errors.Join(errs...)
}

func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", http.NotFound) // it would show passwords
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
