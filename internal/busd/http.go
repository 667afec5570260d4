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
	if p.settings.Profile == 0 {
		return nil
	}
	door, err := listenHTTP("http", "127.0.0.1", p.settings.Profile)
	if err != nil {
		return err
	}
	door.profile = true
	p.serveHTTP(door, profiles())
	p.log.Info("profiles on http://" + door.listener.Addr().String() + "/debug/pprof/")
	return nil
}

// openMonitor opens the one door of monitoring, whose answers tell its port.
func (p *Program) openMonitor(h Monitoring) error {
	scheme, port := "http", &h.Port
	if h.TLSPort != 0 {
		scheme, port = "https", &h.TLSPort
	}
	if *port == 0 {
		return nil
	}
	door, err := listenHTTP(scheme, h.Host, *port)
	if err != nil {
		return err
	}
	*port = door.listener.Addr().(*net.TCPAddr).Port
	p.serveHTTP(door, monitor.Handler(p.server, monitor.Options{
		Host: h.Host, Port: h.Port, TLSPort: h.TLSPort, BasePath: h.BasePath,
		Config: func() monitor.Loaded { return *p.loaded.Load() },
	}))
	p.log.Info("Starting " + scheme + " monitor on " + door.listener.Addr().String())
	return nil
}

func listenHTTP(scheme, host string, port int) (*httpDoor, error) {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(max(port, 0))))
	return &httpDoor{scheme: scheme, listener: ln}, err
}

// serveHTTP serves on a door until closeHTTP.
func (p *Program) serveHTTP(door *httpDoor, h http.Handler) {
	ln := door.listener
	if door.scheme == "https" {
		cfg := p.settings.Bus.TLS.Config.Clone()
		cfg.ClientAuth = tls.NoClientCert // a monitoring client is not a client of the broker
		ln = tls.NewListener(ln, cfg)
	}
	door.server = &http.Server{Handler: h, ReadHeaderTimeout: httpHeader}
	p.http = append(p.http, door)
	p.running.Go(func() {
		if err := door.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			p.log.Error("monitoring ended: " + err.Error())
		}
	})
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

func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", http.NotFound) // it would show passwords
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// noteLoaded lets monitoring tell what holds now.
func (p *Program) noteLoaded(s *Settings) {
	p.loaded.Store(&monitor.Loaded{Time: time.Now(), Digest: s.Digest, Tags: s.Tags})
}
