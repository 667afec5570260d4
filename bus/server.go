package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nkeys"
)

const (
	// acceptPauseMin and acceptPauseMax bound the pause after a failed accept,
	// which doubles while they keep failing.
	acceptPauseMin = 10 * time.Millisecond
	acceptPauseMax = time.Second
	// acceptLogEvery keeps a long lack of file descriptors from filling the log.
	acceptLogEvery = time.Second
	// maxTurnedAway is how many refused connections are told why at once;
	// those beyond it are just closed.
	maxTurnedAway = 64
	// forcedWait is how long Shutdown waits for goroutines after its context
	// has ended and all connections were closed.
	forcedWait = time.Second
)

// ErrStarted refuses to start a server twice.
var ErrStarted = errors.New("bus: already started")

// Server is a broker. Its methods are safe for concurrent use.
type Server struct {
	live      atomic.Pointer[Config] // read by cfg
	id        string
	start     time.Time
	subs      *index
	counters  counters
	batches   atomic.Uint64
	closed    closedRing
	clientIDs atomic.Uint64
	routers   sync.Pool

	readers sync.WaitGroup // readers that may still route
	running sync.WaitGroup // every goroutine
	quiet   chan struct{}  // closed by Shutdown when no reader routes any more
	done    chan struct{}  // closed when Shutdown begins: ends the accept loop's pause

	mu         sync.Mutex // guards what follows
	listener   net.Listener
	clients    map[*client]struct{}
	turnedAway int
	present    int // clients that have been taken and have not ended
	locals     map[*Local]struct{}
	stopping   bool
}

// New checks cfg and returns a server that is not listening yet. In-process
// connections work at once.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	if cfg.ServerName == "" {
		cfg.ServerName = id
	}
	s := &Server{
		id:      id,
		start:   time.Now(),
		subs:    newIndex(),
		quiet:   make(chan struct{}),
		done:    make(chan struct{}),
		clients: make(map[*client]struct{}),
		locals:  make(map[*Local]struct{}),
	}
	s.closed.max = cfg.MaxClosed
	s.live.Store(&cfg)
	return s, nil
}

// cfg is the configuration that holds now, which nobody changes. Whoever needs two
// fields that belong together reads it once.
func (s *Server) cfg() *Config { return s.live.Load() }

// newID makes a server id in the form that tools tell apart from a name.
func newID() (string, error) {
	pair, err := nkeys.CreateServer()
	if err != nil {
		return "", fmt.Errorf("bus: server id: %w", err)
	}
	return pair.PublicKey()
}

// Start listens and serves in the background until Shutdown.
func (s *Server) Start() error {
	addr, err := s.cfg().resolve()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return ErrClosed
	case s.listener != nil:
		return ErrStarted
	}
	ln, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	s.listener = ln
	s.cfg().Logger.Info("Listening for client connections on " + ln.Addr().String())
	if s.cfg().MaxPayload > largePayload {
		s.cfg().Logger.Warn("max_payload above 8 MiB: messages of that size hold up all others", "max_payload", s.cfg().MaxPayload)
	}
	s.running.Go(func() { s.acceptLoop(ln) })
	return nil
}

// Addr is where the server listens; nil before Start.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// ID is the server's id: 56 characters, new for each Server.
func (s *Server) ID() string { return s.id }

// acceptLoop ends when the listener is closed.
func (s *Server) acceptLoop(ln net.Listener) {
	pause := acceptPauseMin
	var logged time.Time
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			pause = acceptPauseMin
			if s.admit(conn) != nil {
				conn.Close()
			}
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		if time.Since(logged) >= acceptLogEvery {
			logged = time.Now()
			s.cfg().Logger.Error("accept failed", "error", err)
		}
		s.pause(pause)
		pause = min(2*pause, acceptPauseMax)
	}
}

// pause waits for d or the beginning of Shutdown.
func (s *Server) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.done:
	}
}

// admit gives conn its goroutines, or an error if nobody took it.
func (s *Server) admit(conn net.Conn) error {
	c := newClient(s, conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return ErrClosed
	}
	if len(s.clients)-s.turnedAway >= s.cfg().MaxConns {
		if s.turnedAway >= maxTurnedAway {
			s.counters.closed[MaxConnectionsExceeded].Add(1)
			return errMaxConns
		}
		s.turnedAway++
		c.rejected = errMaxConns
	}
	if c.rejected == nil {
		s.present++
	}
	s.clients[c] = struct{}{}
	s.counters.connections.Add(1)
	s.readers.Add(1)
	s.running.Go(func() {
		c.serve()
		s.dismiss(c)
	})
	return nil
}

func (s *Server) dismiss(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
	if c.rejected != nil {
		s.turnedAway--
	}
}

func (s *Server) connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present
}

// InProcessConn returns the client's end of a connection without a socket, for
// clients that speak the protocol; nats.go takes s as its InProcessServer. The
// server treats it like any network connection.
func (s *Server) InProcessConn() (net.Conn, error) {
	theirs, ours := net.Pipe()
	if err := s.admit(ours); err != nil {
		theirs.Close()
		return nil, err
	}
	return theirs, nil
}

// Shutdown stops accepting and reading, delivers what has been published so
// far, by Local connections too, writes what is pending for each client, and
// closes. It waits for every goroutine of the server. If ctx ends first,
// connections are closed with bytes pending and ctx's error is returned.
// Further calls wait in the same way.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	first := !s.stopping
	s.stopping = true
	ln := s.listener
	clients := s.clientList()
	if first {
		s.running.Go(func() {
			s.readers.Wait()
			close(s.quiet)
		})
	}
	s.mu.Unlock()
	if first {
		close(s.done)
		if ln != nil {
			ln.Close()
		}
		for _, c := range clients {
			c.kick()
		}
	}
	err := s.await(ctx)
	s.closeLocals()
	return err
}

// await waits for the goroutines, with force once ctx has ended.
func (s *Server) await(ctx context.Context) error {
	ended := make(chan struct{})
	go func() { // ends with the goroutines that it waits for
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	clients := s.clientList()
	s.mu.Unlock()
	for _, c := range clients {
		c.cut()
	}
	patience := time.NewTimer(forcedWait)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	}
	return fmt.Errorf("bus: shutdown: %w", ctx.Err())
}

// clientList copies the set; the caller holds s.mu.
func (s *Server) clientList() []*client {
	list := make([]*client, 0, len(s.clients))
	for c := range s.clients {
		list = append(list, c)
	}
	return list
}

// addLocal keeps a new l until its Close, or closes it at once.
func (s *Server) addLocal(l *Local) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.closed = s.stopping; !l.closed {
		s.locals[l] = struct{}{}
	}
}

func (s *Server) dropLocal(l *Local) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.locals, l)
}

func (s *Server) closeLocals() {
	s.mu.Lock()
	locals := make([]*Local, 0, len(s.locals))
	for l := range s.locals {
		locals = append(locals, l)
	}
	s.mu.Unlock()
	for _, l := range locals {
		l.Close()
	}
}

// router lends one for a batch.
func (s *Server) router() *router {
	if r, ok := s.routers.Get().(*router); ok {
		return r
	}
	return newRouter(s)
}

// release takes back a router whose batch has been finished.
func (s *Server) release(r *router) {
	r.msg.reset(nil, nil, nil, nil)
	r.now = 0
	s.routers.Put(r)
}

// denied says whether network clients must not publish to subject.
func (s *Server) denied(subject []byte) bool {
	for _, pattern := range s.cfg().DenyPublish {
		if matchTokens(pattern, subject) {
			return true
		}
	}
	return false
}
