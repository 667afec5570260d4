package website

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"paddock/internal/lifecycle"
)

// The times after which a client that does not go on loses its connection, and the
// room for the head of a request. How slowly one may take an answer, pacedConn says.
const (
	headerTimeout  = 10 * time.Second
	readTimeout    = time.Minute     // head and body, which nobody reads
	idleTimeout    = 2 * time.Minute // between requests
	maxHeaderBytes = 16 << 10        // bounds, too, how many ranges one request can ask for
)

// Server serves a site on one listener.
type Server struct {
	site     *Site
	listener net.Listener
	http     http.Server
	clock    clock

	handed chan net.Conn // to net/http
	taken  chan struct{} // closed when net/http takes no more
	untake func()

	stop chan struct{}  // closed when no more is accepted
	work sync.WaitGroup // net/http's loop, and the clock

	mu      sync.Mutex
	stopped bool
	short   map[*shortConn]struct{} // connections that net/http does not have
	serving sync.WaitGroup          // their goroutines
}

// NewServer returns a server of connections from l, over TLS if certificates is not nil.
func NewServer(site *Site, l net.Listener, certificates *tls.Config) *Server {
	s := &Server{
		site:     site,
		listener: l,
		handed:   make(chan net.Conn), // without room: whoever hands over learns that nobody takes
		taken:    make(chan struct{}),
		stop:     make(chan struct{}),
		short:    map[*shortConn]struct{}{},
	}
	s.untake = sync.OnceFunc(func() { close(s.taken) })
	s.http = http.Server{
		Handler:                      site,
		TLSConfig:                    certificates,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  readTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(site.log.Handler(), slog.LevelDebug), // clients that leave, as a rule
	}
	return s
}

// Service returns the server as a part of a process.
func (s *Server) Service(name string) lifecycle.Service {
	return lifecycle.Service{Name: name, Run: func(context.Context) error { return s.Serve() }, Drain: s.Shutdown}
}

// Serve accepts connections until Shutdown, and returns nil then, or until the
// listener fails.
func (s *Server) Serve() error {
	s.clock.set(time.Now())
	s.work.Go(func() { s.clock.run(s.stop) })
	if s.http.TLSConfig != nil {
		return closedIsFine(s.http.ServeTLS(pacedListener{s.listener}, "", ""))
	}
	s.work.Go(func() { _ = s.http.Serve((*handover)(s)) }) // ends with Shutdown only
	for {
		conn, err := s.accept()
		if err != nil {
			return closedIsFine(err)
		}
		c := &shortConn{Conn: conn, site: s.site, clock: &s.clock, stop: s.stop, remote: conn.RemoteAddr().String()}
		if !s.begin(c) {
			_ = conn.Close()
		}
	}
}

func closedIsFine(err error) error {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// accept returns the next connection. What may pass, such as a lack of descriptors, it
// waits for.
func (s *Server) accept() (net.Conn, error) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		conn, err := s.listener.Accept()
		var passing interface{ Temporary() bool }
		if err == nil || !errors.As(err, &passing) || !passing.Temporary() {
			return conn, err
		}
		s.site.log.Warn("no connection can be accepted now", "error", err)
		pause.Reset(wait)
		select {
		case <-pause.C:
		case <-s.stop:
			return nil, net.ErrClosed
		}
	}
}

// begin serves a connection on the short way, unless the server has been stopped.
func (s *Server) begin(c *shortConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.short[c] = struct{}{}
	s.serving.Go(func() { s.serveShort(c) })
	return true
}

// serveShort serves a connection until it ends or net/http has it.
func (s *Server) serveShort(c *shortConn) {
	handOver := c.serve()
	s.mu.Lock()
	delete(s.short, c)
	s.mu.Unlock()
	if handOver && c.SetReadDeadline(time.Time{}) == nil {
		select {
		case s.handed <- &pacedConn{Conn: c.Conn, unread: c.unread}:
			return
		case <-s.taken:
		}
	}
	_ = c.Close()
}

// Shutdown stops accepting, closes idle connections and waits for the requests that
// are being answered; when ctx ends it closes their connections.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stop)
	}
	err := s.listener.Close()
	for c := range s.short {
		c.expire() // it ends what it does before it learns of that
	}
	s.mu.Unlock()
	release := context.AfterFunc(ctx, s.cut)
	s.serving.Wait() // what they hand over meanwhile is taken
	err = errors.Join(err, s.http.Shutdown(ctx))
	s.untake()
	release()
	if ctx.Err() != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.work.Wait()
	return err
}

// cut closes the connections of the short way.
func (s *Server) cut() {
	s.untake()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.short {
		_ = c.Close()
	}
}

// handover is the listener from which net/http accepts what the short way hands over.
type handover Server

// Accept implements net.Listener.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case conn := <-h.handed:
		return conn, nil
	case <-h.taken:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (h *handover) Close() error {
	h.untake()
	return nil
}

// Addr implements net.Listener.
func (h *handover) Addr() net.Addr { return h.listener.Addr() }

// pacedListener is one whose connections have a deadline for each write.
type pacedListener struct{ net.Listener }

// Accept implements net.Listener.
func (l pacedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &pacedConn{Conn: conn}, nil
}
