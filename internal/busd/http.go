package busd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"paddock/bus/monitor"
)

const (
	// httpClose is how long answers in the making have when the program stops.
	httpClose = time.Second
	// httpHeader bounds how long a request's head may take.
	httpHeader = 10 * time.Second
)

// httpDoor is one listener for HTTP.
type httpDoor struct {
	scheme   string
	profile  bool
	listener net.Listener
	server   *http.Server
}

// openHTTP opens monitoring and profiles, if they are asked for.
func (p *Program) openHTTP() error {
	if err := p.openMonitor(p.settings.HTTP); err != nil {
		return err
	}
	for _, door := range p.http {
		p.log.Info("Starting " + door.scheme + " monitor on " + door.listener.Addr().String())
	}
	if port := p.settings.Profile; port != 0 {
		door := &httpDoor{scheme: "http", profile: true}
		if err := p.open(door, "127.0.0.1", port, profiles); err != nil {
			return err
		}
		p.log.Info("profiles on http://" + door.listener.Addr().String() + "/debug/pprof/")
	}
	return nil
}

// openMonitor opens the one door of monitoring. Its port is known before what it
// answers is made, which tells the port.
func (p *Program) openMonitor(h Monitoring) error {
	door, port := &httpDoor{scheme: "http"}, h.Port
	if h.TLSPort != 0 {
		door.scheme, port = "https", h.TLSPort
	}
	if port == 0 {
		return nil
	}
	return p.open(door, h.Host, port, func(port int) http.Handler {
		if h.TLSPort != 0 {
			h.TLSPort = port
		} else {
			h.Port = port
		}
		return p.monitor(h)
	})
}

func (p *Program) open(door *httpDoor, host string, port int, handler func(port int) http.Handler) error {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(max(port, 0))))
	if err != nil {
		return err
	}
	if door.listener = ln; door.scheme == "https" {
		cfg := p.settings.Bus.TLS.Config.Clone()
		cfg.ClientAuth = tls.NoClientCert // a monitoring client is not a client of the broker
		ln = tls.NewListener(ln, cfg)
	}
	door.server = &http.Server{Handler: handler(ln.Addr().(*net.TCPAddr).Port), ReadHeaderTimeout: httpHeader}
	p.http = append(p.http, door)
	p.running.Go(func() { door.serve(ln, p.log) })
	return nil
}

// serve ends when the server is closed.
func (door *httpDoor) serve(ln net.Listener, log *logSink) {
	if err := door.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		log.Error("monitoring ended: " + err.Error())
	}
}

func (p *Program) closeHTTP() error {
	ctx, cancel := context.WithTimeout(context.Background(), httpClose)
	defer cancel()
	var errs []error
	for _, door := range p.http {
		if err := door.server.Shutdown(ctx); err != nil {
			errs = append(errs, door.server.Close())
		}
	}
	return errors.Join(errs...)
}

func profiles(int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", http.NotFound) // it would show passwords
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// monitor answers requests about the server.
func (p *Program) monitor(h Monitoring) http.Handler {
	return monitor.Handler(p.server, monitor.Options{
		Host: h.Host, Port: h.Port, TLSPort: h.TLSPort, BasePath: h.BasePath,
		Config: func() monitor.Loaded { return *p.loaded.Load() },
	})
}

// noteLoaded lets monitoring tell what holds now.
func (p *Program) noteLoaded(s *Settings) {
	p.loaded.Store(&monitor.Loaded{Time: time.Now(), Digest: s.Digest, Tags: s.Tags})
}
