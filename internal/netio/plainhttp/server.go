// Package plainhttp answers plain HTTP requests in front of net/http: what programs
// send most is read at once, answered by one function and written at once, in memory
// that waiting connections do not hold. net/http answers everything else, and could
// answer all of it.
//
//	             ┌─ plain, and answered ─▶ one write
//	bytes ─▶ Request.parse
//	             └─ anything else ─▶ net/http, with these bytes and the connection for good
//
// Two readers of the same bytes may read them differently, and what one of them
// takes for a body is a request to the other. So plain is only what has one reading
// (Request.parse), and nothing is refused here. Whatever is malformed, unusual, large,
// slow, or of a path that the function leaves to net/http goes there from its first
// byte on, and the connection never comes back.
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
)

// Options say what is answered, and what becomes of the rest.
type Options struct {
	// Answer appends the answer to a request, its head ending with r.AppendEnd. Nil
	// leaves the request to Cold. Many goroutines call it; it keeps nothing of r.
	Answer func(dst []byte, r *Request) []byte
	// Admits reports whether requests of a peer for a host, with a field Authorization
	// (empty for none), are answered here; else they are left to Cold. It is asked once
	// for as many requests of a connection as agree in these. Nil admits all.
	Admits func(peer net.Addr, host, authorization string) bool
	// Cold answers everything else, and is not used otherwise. Its ReadHeaderTimeout,
	// for a first request, its IdleTimeout and its WriteTimeout hold for plain requests
	// too, to the second; where it has none they have two minutes.
	Cold *http.Server
	// Logger hears of panics and of what hinders accepting. Nil discards.
	Logger *slog.Logger
}

const defaultTimeout = 2 * time.Minute

// Server serves plain requests by a function, and others by net/http. It is used once.
type Server struct {
	answer    func([]byte, *Request) []byte
	admits    func(peer net.Addr, host, authorization string) bool
	cold      *http.Server
	log       *slog.Logger
	clock     clock
	handovers *handovers
	requests  atomic.Uint64 // plain ones that were answered
	cooled    atomic.Uint64 // connections handed over
	stopping  atomic.Bool
	stop      chan struct{} // closed when stopping is set

	first, idle, write time.Duration // how long is waited: for a first request, another one, a client that does not read

	running sync.WaitGroup // Serve, the clock, and net/http's Serve
	serving sync.WaitGroup // a goroutine for each connection that net/http does not have
	mu      sync.Mutex
	doors   []net.Listener     // open ones
	conns   map[*conn]struct{} // those that net/http does not have
}

// New returns a server.
func New(o Options) *Server {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		answer: o.Answer, admits: o.Admits, cold: o.Cold, log: log,
		handovers: newHandovers(), conns: map[*conn]struct{}{}, stop: make(chan struct{}),
		first: cmp.Or(o.Cold.ReadHeaderTimeout, defaultTimeout),
		idle:  cmp.Or(o.Cold.IdleTimeout, defaultTimeout),
		write: cmp.Or(o.Cold.WriteTimeout, defaultTimeout),
	}
	s.clock.set(time.Now())
	return s
}

// Stats are figures since the start.
type Stats struct {
	Requests uint64 // plain ones that were answered
	Cooled   uint64 // connections that went over to net/http
}

// Stats reads the figures.
func (s *Server) Stats() Stats { return Stats{s.requests.Load(), s.cooled.Load()} }

// Serve accepts connections until Shutdown or Close, and then returns
// http.ErrServerClosed. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if !s.open(l) {
		return errors.Join(http.ErrServerClosed, l.Close())
	}
	defer s.running.Done()
	s.running.Go(func() { s.clock.run(s.stop) })
	s.running.Go(func() { _ = s.cold.Serve(s.handovers) }) // ends with its Shutdown or Close
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

// open adds a listener, unless the server stops.
func (s *Server) open(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return false
	}
	s.running.Add(1)
	s.doors = append(s.doors, l)
	s.handovers.addr = l.Addr()
	return true
}

// accept returns the next connection. What may pass, such as a lack of descriptors, it
// waits for, but not beyond a stop.
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

// begin serves a connection, unless the server stops: in a goroutine that ends with the
// connection, or when net/http has it.
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

// serve serves a connection until it ends or net/http has it.
func (s *Server) serve(c *conn) {
	cold := false
	defer func() {
		s.contain(c, recover())
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		if cold {
			s.cooled.Add(1)
			s.handovers.give(c)
		} else {
			_ = c.Close()
		}
	}()
	cold = c.serve()
}

// contain keeps a panic from ending more than its connection, as net/http does.
func (s *Server) contain(c *conn, panicked any) {
	if panicked != nil {
		s.log.Error("http: panic", "client", c.request.Remote, "panic", panicked, "stack", string(debug.Stack()))
	}
}

// Stop accepts no more and lets each connection end with the request that it is
// at. It does not wait.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Swap(true) {
		return
	}
	close(s.stop)
	for _, l := range s.doors {
		_ = l.Close()
	}
	s.cold.SetKeepAlivesEnabled(false)
	for c := range s.conns {
		c.expire()
	}
}

// Shutdown stops and waits for the requests under way, those of net/http too. When
// ctx ends first it returns its error, and Close ends the rest.
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
	err := s.cold.Shutdown(ctx)
	if err == nil {
		s.running.Wait()
	}
	return err
}

// Close closes all connections at once and waits until their goroutines have
// ended, but for those of net/http's handlers.
func (s *Server) Close() error {
	s.Stop()
	s.handovers.close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Conn.Close()
	}
	s.mu.Unlock()
	s.serving.Wait()
	err := s.cold.Close()
	s.running.Wait()
	return err
}
