// Package plainhttp answers plain HTTP requests in front of net/http. The most common requests are
// read at once, answered by one function and written at once, and a waiting connection holds no
// buffers. net/http answers all other requests, and could answer all of them.
//
//	             ┌─ plain, and answered ─▶ one write
//	bytes ─▶ Request.parse
//	             └─ anything else ─▶ net/http, with these bytes and the connection for good
//
// Two readers may read the same bytes differently: the body for one of them is a request for the
// other. So a request is plain only if it can be read in one way (Request.parse), and this package
// refuses nothing. A request that is malformed, unusual, large, slow, or not answered by the
// function goes to net/http from its first byte on, and the connection never comes back.
package plainhttp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/netio/listen"
)

// Options configure a Server.
type Options struct {
	// Answer appends the answer to a request, and ends its head with r.AppendEnd. It returns nil to
	// leave the request to Fallback. Many goroutines call it, and it keeps nothing of r.
	Answer func(dst []byte, r *Request) []byte
	// Admits reports whether requests from a peer to a host, with an Authorization header ("" for
	// none), may be answered here. Others are left to Fallback. It is called once for successive
	// requests of a connection that agree in these values, until ended is closed, which may be nil.
	// Nil admits all.
	Admits func(peer net.Addr, host, authorization string) (ended <-chan struct{}, ok bool)
	// Fallback answers all other requests. The caller does not use it otherwise. Its
	// ReadHeaderTimeout (for a first request), IdleTimeout and WriteTimeout apply to plain requests
	// too, rounded to a second; without them the timeout is two minutes.
	Fallback *http.Server
	// Logger receives panics and accept errors. Nil discards them.
	Logger *slog.Logger
}

const defaultTimeout = 2 * time.Minute

// Server answers plain requests with a function, and others with net/http. It is used once.
type Server struct {
	answer     func([]byte, *Request) []byte
	admits     func(peer net.Addr, host, authorization string) (<-chan struct{}, bool)
	fallback   *http.Server
	log        *slog.Logger
	clock      clock
	handovers  *listen.Handover
	requests   atomic.Uint64 // plain requests answered
	handedOver atomic.Uint64 // connections handed over
	stopping   atomic.Bool
	stop       chan struct{} // closed when stopping is set

	first, idle, write time.Duration // timeouts: for a first request, for another one, for a client that does not read

	running   sync.WaitGroup // Serve, the clock, and net/http's Serve
	serving   sync.WaitGroup // a goroutine for each connection that was not handed over
	mu        sync.Mutex
	listeners []net.Listener     // open listeners
	conns     map[*conn]struct{} // connections that were not handed over
}

// New returns a server.
func New(o Options) *Server {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		answer: o.Answer, admits: o.Admits, fallback: o.Fallback, log: log,
		handovers: listen.NewHandover(nil), conns: map[*conn]struct{}{}, stop: make(chan struct{}),
		first: cmp.Or(o.Fallback.ReadHeaderTimeout, defaultTimeout),
		idle:  cmp.Or(o.Fallback.IdleTimeout, defaultTimeout),
		write: cmp.Or(o.Fallback.WriteTimeout, defaultTimeout),
	}
	s.clock.set(time.Now())
	return s
}

// Stats holds counts since the start.
type Stats struct {
	Requests   uint64 // plain requests answered
	HandedOver uint64 // connections handed over to net/http
}

// Stats returns the counts.
func (s *Server) Stats() Stats { return Stats{s.requests.Load(), s.handedOver.Load()} }

// Serve accepts connections until Shutdown or Close, and then returns http.ErrServerClosed. It
// closes l.
func (s *Server) Serve(l net.Listener) error {
	if !s.open(l) {
		return errors.Join(http.ErrServerClosed, l.Close())
	}
	defer s.running.Done()
	s.running.Go(func() { s.clock.run(s.stop) })
	s.running.Go(func() { _ = s.fallback.Serve(s.handovers) }) // ends with its Shutdown or Close
	for {
		c, err := s.accept(l)
		switch {
		case err == nil:
			s.begin(c)
		case s.stopping.Load():
			return http.ErrServerClosed
		default:
			return errors.Join(err, l.Close())
		}
	}
}

// open adds a listener, unless the server is stopping.
func (s *Server) open(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return false
	}
	s.running.Add(1)
	s.listeners = append(s.listeners, l)
	s.handovers.At = l.Addr()
	return true
}

// accept returns the next connection. After a temporary error, such as a lack of descriptors, it
// retries until the server stops.
func (s *Server) accept(l net.Listener) (net.Conn, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		c, err := l.Accept()
		passing, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err)
		if !ok || !passing.Temporary() {
			return c, err
		}
		s.log.Warn("http: accept failed; retrying", "error", err, "after", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.stop:
			timer.Stop()
			return nil, net.ErrClosed
		}
	}
}

// begin serves a connection, unless the server is stopping. Its goroutine ends with the connection,
// or when the connection is handed over.
func (s *Server) begin(raw net.Conn) {
	c := &conn{Conn: raw, server: s, request: Request{Remote: raw.RemoteAddr().String(), stopping: &s.stopping}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		_ = raw.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.serving.Go(func() { s.serve(c) })
}

// serve serves a connection until it ends or is handed over.
func (s *Server) serve(c *conn) {
	handOver := false
	defer func() {
		s.contain(c, recover())
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		if handOver {
			s.handedOver.Add(1)
			s.handOver(c)
		} else {
			_ = c.Close()
		}
	}()
	handOver = c.serve()
}

// contain logs a panic, which ends only its own connection, as in net/http.
func (s *Server) contain(c *conn, panicked any) {
	if panicked != nil {
		s.log.Error("http: panic", "client", c.request.Remote, "panic", panicked, "stack", string(debug.Stack()))
	}
}

// Stop stops accepting and lets each connection end after its present request. It does not wait.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Swap(true) {
		return
	}
	close(s.stop)
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.fallback.SetKeepAlivesEnabled(false)
	for c := range s.conns {
		c.expire()
	}
}

// Shutdown stops the server and waits for the requests in progress, including those of net/http. If
// ctx ends first, Shutdown returns its error, and Close ends the rest.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Stop()
	quiet := make(chan struct{})
	go func() { // ends with the connections, which Close ends
		s.serving.Wait()
		close(quiet)
	}()
	select {
	case <-quiet:
	case <-ctx.Done():
		return ctx.Err()
	}
	err := s.fallback.Shutdown(ctx)
	if err == nil {
		s.running.Wait()
	}
	return err
}

// Close closes all connections at once and waits until their goroutines have ended, except for
// handlers of net/http.
func (s *Server) Close() error {
	s.Stop()
	_ = s.handovers.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Conn.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
	err := s.fallback.Close()
	s.running.Wait()
	return err
}
