// Package front serves one port with two HTTP servers. The hot one, fasthttp,
// answers plain requests for a few routes at half the cost; the cold one,
// net/http, answers everything else, and could answer those too.
//
//	             ┌─ plain, and the route is hot ─▶ fasthttp
//	bytes ─▶ screen
//	             └─ anything else ─▶ net/http, with these bytes and the connection for good
//
// Two servers that read the same bytes may read them differently, and what one
// of them takes for a body is a request to the other. So fasthttp sees nothing but
// whole requests that the screen has found plain (Head.parse), of which there is
// one reading, and never refuses anything. Whatever is malformed, unusual, large,
// slow, refused, or of another route goes to net/http from its first byte on, and
// the connection never comes back.
package front

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// maxRequest bounds a request of the hot side, head and body, in bytes.
const maxRequest = 16 << 10

// Routes are the hot ones.
type Routes struct {
	// Takes reports whether Serve answers a request. It is asked for each, with
	// whoever may ask, and from where, still to be checked.
	Takes func(*Head) bool
	// Serve answers. It has the target of the request as it came in
	// ctx.Request.Header.RequestURI, not in ctx.Path, and keeps nothing of ctx.
	Serve func(*fasthttp.RequestCtx)
}

// Server serves a port with both servers. It is used once.
type Server struct {
	hot       fasthttp.Server
	routes    Routes
	cold      *http.Server
	log       *slog.Logger
	handovers *handovers
	requests  atomic.Uint64 // answered by the hot side
	cooled    atomic.Uint64 // connections handed over
	stopping  atomic.Bool

	first, idle, write time.Duration // how long is waited: for a first request, another one, a client that does not read

	running sync.WaitGroup // Serve, and the cold server's
	serving sync.WaitGroup // a goroutine for each hot connection
	mu      sync.Mutex
	doors   []net.Listener     // open ones
	conns   map[*conn]struct{} // hot ones
}

// defaultTimeout is for timeouts that the cold server does not have. A hot
// connection has them all.
const defaultTimeout = 2 * time.Minute

// New returns a server. The cold one is not to be used otherwise; its
// ReadHeaderTimeout, for a first request, its IdleTimeout and its WriteTimeout
// hold for both sides. A nil log discards.
func New(hot Routes, cold *http.Server, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		routes: hot, cold: cold, log: log, handovers: newHandovers(), conns: map[*conn]struct{}{},
		first: cmp.Or(cold.ReadHeaderTimeout, defaultTimeout),
		idle:  cmp.Or(cold.IdleTimeout, defaultTimeout),
		write: cmp.Or(cold.WriteTimeout, defaultTimeout),
	}
	s.hot = fasthttp.Server{
		Handler:                       s.answer,
		NoDefaultServerHeader:         true,
		NoDefaultContentType:          true,
		DisablePreParseMultipartForm:  true,
		DisableHeaderNamesNormalizing: true, // names of answers are written as they should be
		MaxRequestBodySize:            maxRequest,
		ReadBufferSize:                maxHead,
		Concurrency:                   math.MaxInt, // the listener bounds it
		Logger:                        slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s
}

// Stats are figures since the start.
type Stats struct {
	Requests uint64 // answered by the hot side
	Cooled   uint64 // connections that went over to the cold side
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
	s.running.Go(func() { _ = s.cold.Serve(s.handovers) }) // ends with Cold.Shutdown or Close
	for {
		c, err := accept(l, s.log)
		switch {
		case s.stopping.Load():
			if err == nil {
				_ = c.Close()
			}
			return http.ErrServerClosed
		case err != nil:
			return errors.Join(err, l.Close())
		}
		s.serve(c)
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

// accept waits out what passes, as a lack of file descriptors does.
func accept(l net.Listener, log *slog.Logger) (net.Conn, error) {
	for delay := 5 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		c, err := l.Accept()
		passing, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err)
		if !ok || !passing.Temporary() {
			return c, err
		}
		log.Warn("http: accept failed; retrying", "error", err, "after", delay)
		time.Sleep(delay)
	}
}

// serve begins to serve a connection: a goroutine that ends with the connection,
// or with its being hot.
func (s *Server) serve(raw net.Conn) {
	c := &conn{Conn: raw, server: s, now: time.Now()}
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	s.serving.Go(func() {
		defer s.leave(c)
		_ = s.hot.ServeConn(c) // whatever ended it, the client is gone or cold
	})
}

// leave ends a hot connection: it becomes a cold one, or is closed.
func (s *Server) leave(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	if !c.cold {
		_ = c.Conn.Close()
		return
	}
	s.cooled.Add(1)
	s.handovers.give(c.cooled())
}

// answer answers one hot request.
func (s *Server) answer(ctx *fasthttp.RequestCtx) {
	defer s.contain(ctx)
	s.requests.Add(1)
	s.routes.Serve(ctx)
	if s.stopping.Load() {
		ctx.Response.Header.Del(fasthttp.HeaderConnection)
		ctx.SetConnectionClose()
	}
}

// contain keeps a panic from ending more than its connection, as net/http does.
func (s *Server) contain(ctx *fasthttp.RequestCtx) {
	if p := recover(); p != nil {
		s.log.Error("http: panic", "client", ctx.RemoteAddr().String(), "panic", p, "stack", string(debug.Stack()))
		_ = ctx.Conn().(*conn).Conn.Close()
	}
}

// Stop accepts no more and lets each connection end with the request that it is
// at. It does not wait.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping.Store(true)
	for _, l := range s.doors {
		_ = l.Close()
	}
	s.doors = nil
	s.cold.SetKeepAlivesEnabled(false)
	for c := range s.conns {
		c.wake()
	}
}

// Shutdown stops and waits for the requests under way, the cold ones too. When
// ctx ends first it returns its error, and Close ends the rest.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Stop()
	quiet := make(chan struct{})
	go func() { // ends with the hot connections, which Close ends
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
// ended, but for those of cold handlers.
func (s *Server) Close() error {
	s.Stop()
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
