package website

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"paddock/internal/netio/plainhttp"
	"paddock/internal/process/lifecycle"
)

// The timeouts for slow clients, and the bound on the head of a request. pacedConn bounds how
// slowly a client may read an answer.
const (
	headerTimeout  = 10 * time.Second
	readTimeout    = time.Minute     // head and body; the body is not used
	idleTimeout    = 2 * time.Minute // between requests
	maxHeaderBytes = 16 << 10        // also bounds the number of ranges in one request
)

// Server serves a site on one listener.
type Server struct {
	listener net.Listener
	serve    func(net.Listener) error
	serving  lifecycle.Server
}

// NewServer returns a server of connections from l, over TLS if certificates is not nil.
func NewServer(site *Site, l net.Listener, certificates *tls.Config) *Server {
	long := &http.Server{
		Handler:                      site,
		TLSConfig:                    certificates,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  readTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(site.log.Handler(), slog.LevelDebug), // mostly clients that disconnect
	}
	s := &Server{listener: pacedListener{l}}
	if certificates != nil {
		s.serving = long
		s.serve = func(l net.Listener) error { return long.ServeTLS(l, "", "") }
		return s
	}
	s.serving = plainhttp.New(plainhttp.Options{Answer: site.appendAnswer, Admits: site.admits, Fallback: long, Logger: site.log})
	s.serve = s.serving.Serve
	return s
}

// Service returns the server as a part of a process.
func (s *Server) Service(name string) lifecycle.Service {
	return lifecycle.Service{Name: name, Run: func(context.Context) error { return s.Serve() }, Drain: s.Shutdown}
}

// Serve accepts connections until Shutdown, and returns nil then, or until the
// listener fails.
func (s *Server) Serve() error {
	err := s.serve(s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Shutdown stops accepting, closes idle connections and waits for the requests that
// are being answered; when ctx ends it closes their connections.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.serving.Shutdown(ctx)
	if ctx.Err() != nil {
		err = errors.Join(err, s.serving.Close())
	}
	return err
}
