package wire

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"sync"
	"time"
)

const (
	// defaultMaxConns bounds connections: at the 24 KiB of an idle one, 400 MiB.
	defaultMaxConns = 16_384
	// defaultMaxOpening bounds those that are not known yet. Each of them may stay
	// for 5 s, in TLS and again before HELLO, and costs about 40 KiB meanwhile.
	defaultMaxOpening = 1_024
	// acceptPause and maxAcceptPause are how long to wait after an Accept that has
	// failed for want of resources: it doubles from one to the other.
	acceptPause, maxAcceptPause = 5 * time.Millisecond, time.Second
)

// Server accepts connections and starts each of them with Config. Its fields are
// set before Serve; its methods may be called by any number of goroutines.
//
// Nothing of a peer is dispatched before its HELLO has come and Config.Verify has
// agreed; until then it counts as opening. At the bound of either count a new
// connection is refused with GOAWAY RESOURCE_EXHAUSTED, which says when to try
// again.
type Server struct {
	// Config is that of every connection; nil is the zero Config. With Config.TLS
	// connections are TLS 1.3 with ALPN wire/1, and no other ones.
	Config *Config
	// MaxConns bounds the connections, those that open included; 0 is 16,384.
	MaxConns int
	// MaxOpening bounds those in the TLS handshake or before HELLO; 0 is 1,024.
	MaxOpening int
	// Failed is told why a connection did not come to be that was accepted: it was not
	// TLS, not wire, too late, or refused by Verify. nil is nobody; it does not wait.
	Failed func(peer net.Addr, err error)
	// Beside is another protocol at the same listeners; nil is none.
	Beside *Beside

	prepare sync.Once
	config  Config          // with defaults and the TLS of wire; set by prepare
	ctx     context.Context // ends when the server stops; set by prepare
	cancel  context.CancelFunc
	tasks   sync.WaitGroup // of every connection

	mu        sync.Mutex
	stopped   bool
	listeners map[net.Listener]struct{}
	opening   map[net.Conn]*Conn // nil during the TLS handshake
	conns     map[*Conn]struct{}
	refusing  int
	stats     ServerStats
	past      Stats // of connections that have ended
}

// ServerStats counts what a Server has seen.
type ServerStats struct {
	Conns   int // that are open
	Opening int // that are in the TLS handshake or before HELLO

	Accepted uint64 // opened, in all
	Refused  uint64 // at a bound
	Failed   uint64 // not TLS, not wire, too late, or refused by Verify
}

func (s *Server) init() {
	s.prepare.Do(func() {
		s.config = s.Config.withDefaults()
		if s.config.TLS != nil {
			s.config.TLS = secureConfig(s.config.TLS, s.Beside.names()...)
		}
		s.ctx, s.cancel = context.WithCancel(context.Background())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listeners = map[net.Listener]struct{}{}
		s.opening = map[net.Conn]*Conn{}
		s.conns = map[*Conn]struct{}{}
	})
}

// Serve accepts on l, which it closes in the end. It returns nil after Shutdown or
// Close, at once if they were called before, and else what Accept has failed with.
// It may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	s.init()
	defer l.Close()
	if !s.listen(l) {
		return nil
	}
	pause := acceptPause
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = acceptPause
			s.admit(nc)
			continue
		}
		if s.ctx.Err() != nil {
			return nil
		}
		if !temporary(err) {
			return fmt.Errorf("wire: %w", err)
		}
		s.config.Logger.Warn("wire: cannot accept", "address", l.Addr(), "error", err, "pause", pause)
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, maxAcceptPause)
	}
}

// temporary says whether Accept may succeed later: there are no descriptors left,
// or the peer has gone before its turn.
func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func (s *Server) listen(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.listeners[l] = struct{}{}
	}
	return !s.stopped
}

// admit begins to open a connection, or refuses it. It does not wait.
func (s *Server) admit(nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		_ = nc.Close()
	case len(s.opening) >= orDefault(s.MaxOpening, defaultMaxOpening):
		s.refuse(nc, "too many connections are opening")
	case len(s.conns)+len(s.opening) >= orDefault(s.MaxConns, defaultMaxConns):
		s.refuse(nc, "too many connections")
	default:
		s.opening[nc] = nil
		s.tasks.Add(1)
		go s.open(nc)
	}
}

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// open is the goroutine of a connection until its HELLO has been accepted.
func (s *Server) open(nc net.Conn) {
	defer s.tasks.Done()
	c, err := s.start(nc)
	if c == nil {
		s.forget(nc, err)
		return
	}
	select {
	case <-c.ready:
	case <-c.done:
	}
	if !s.enter(nc, c) {
		<-c.done
		c.tasks.Wait()
		s.logFailure(nc, c.Err())
	}
}

// start does the TLS handshake, if there is one, and starts the connection. It returns nil
// and no error for one that Beside has taken.
func (s *Server) start(nc net.Conn) (*Conn, error) {
	if s.Beside.begins(nc) {
		return nil, s.Beside.take(nc, nc)
	}
	under := nc
	if s.config.TLS != nil {
		ctx, cancel := context.WithTimeout(s.ctx, helloTimeout)
		defer cancel()
		secured, err := secureServer(ctx, nc, s.config.TLS)
		if err != nil {
			return nil, err
		}
		if s.Beside.agreed(secured) {
			return nil, s.Beside.take(secured.Conn, nc)
		}
		under = secured
	}
	c, err := NewConn(under, Acceptor, &s.config)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening[nc] = c; s.stopped {
		c.Abort(Unavailable)
	}
	return c, nil
}

// forget drops what is no connection of ours: err says why, nil that Beside has it.
func (s *Server) forget(nc net.Conn, err error) {
	s.mu.Lock()
	delete(s.opening, nc)
	if err != nil && !s.stopped {
		s.stats.Failed++
	}
	s.mu.Unlock()
	if err != nil {
		s.logFailure(nc, err)
	}
}

// enter makes a connection one of those that are open, if its HELLO was accepted.
func (s *Server) enter(nc net.Conn, c *Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.opening, nc)
	if !isClosed(c.ready) {
		if !s.stopped {
			s.stats.Failed++
		}
		return false
	}
	s.stats.Accepted++
	s.conns[c] = struct{}{}
	s.tasks.Add(1)
	context.AfterFunc(c.ctx, func() { s.leave(c) })
	return true
}

// leave ends a connection that was open. It runs when c has failed, and waits for
// what is left of it.
func (s *Server) leave(c *Conn) {
	defer s.tasks.Done()
	<-c.done
	final := c.Stats()
	final.RTT = 0
	s.mu.Lock()
	delete(s.conns, c)
	s.past.Add(final)
	s.mu.Unlock()
	c.tasks.Wait()
	level, goodbye := slog.LevelWarn, (*Error)(nil)
	if err := c.Err(); errors.Is(err, ErrClosed) || errors.As(err, &goodbye) && goodbye.Code == Unavailable {
		level = slog.LevelDebug // either side has closed it
	}
	s.config.Logger.Log(context.Background(), level, "wire: connection ended", "peer", c.RemoteAddr(), "error", c.Err())
}

// logFailure says in one line why a connection did not come to be.
func (s *Server) logFailure(nc net.Conn, err error) {
	if s.Failed != nil && s.ctx.Err() == nil {
		s.Failed(nc.RemoteAddr(), err)
	}
	if errors.Is(err, ErrClosed) {
		s.config.Logger.Debug("wire: connection not opened", "peer", nc.RemoteAddr(), "error", err)
		return
	}
	s.config.Logger.Warn("wire: connection not opened", "peer", nc.RemoteAddr(), "error", err)
}

// All are the connections that are open, in no order.
func (s *Server) All() iter.Seq[*Conn] {
	return func(yield func(*Conn) bool) {
		for _, c := range s.snapshot() {
			if !yield(c) {
				return
			}
		}
	}
}

// Total are the Stats of all connections that were opened, together. Those that have
// ended are among them, so no counter ever falls.
func (s *Server) Total() Stats {
	s.mu.Lock()
	sum, conns := s.past, s.openConns()
	s.mu.Unlock()
	for _, c := range conns {
		sum.Add(c.Stats())
	}
	return sum
}

func (s *Server) snapshot() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openConns()
}

// openConns lists the connections that are open: those too whose HELLO has just been
// accepted and that were not entered yet, since their peers may already have had
// answers. s.mu is held.
func (s *Server) openConns() []*Conn {
	list := make([]*Conn, 0, len(s.conns)+len(s.opening))
	for c := range s.conns {
		list = append(list, c)
	}
	for _, c := range s.opening {
		if c.entering() {
			list = append(list, c)
		}
	}
	return list
}

// entering says whether a connection that opens has its peer's HELLO, so that its
// handlers may run; nil has not.
func (c *Conn) entering() bool { return c != nil && isClosed(c.ready) }

// Stats are the counts so far.
func (s *Server) Stats() ServerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Conns, stats.Opening = len(s.conns), len(s.opening)
	for _, c := range s.opening {
		if c.entering() {
			stats.Conns++
			stats.Opening--
			stats.Accepted++
		}
	}
	return stats
}
