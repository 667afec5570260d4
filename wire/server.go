package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock/internal/netio/handshake"
	"paddock/internal/netio/listen"
	"paddock/internal/process/logbound"
	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

const (
	// defaultMaxConns bounds connections: at the 24 KiB of an idle one, 400 MiB.
	defaultMaxConns = 16_384
	// defaultMaxOpening bounds connections before their HELLO. Each of them may stay
	// for 5 s, in TLS and again before HELLO, and costs about 40 KiB meanwhile.
	defaultMaxOpening = 1_024
	// maxHandshake bounds the bytes that a peer may send in the TLS handshake: enough for a
	// certificate chain.
	maxHandshake = 16 << 10
)

// Server accepts connections and starts each of them with Config. Its fields are
// set before Serve; its methods may be called by any number of goroutines.
//
// The server dispatches no frame of a peer before it has received the peer's HELLO and
// Config.Verify has accepted it. Until then the connection counts as opening. When too many
// connections are opening, a slow one is closed in favor of a new one, or the new one waits
// unread. At the bounds of open and of waiting connections, the server refuses a connection with
// GOAWAY RESOURCE_EXHAUSTED and a time to retry. At most one handshake computes per processor.
type Server struct {
	// Config is that of every connection; nil is the zero Config. With Config.TLS
	// connections are TLS 1.3 with ALPN wire/1, and no other ones.
	Config *Config
	// MaxConns bounds the connections, including pending ones. 0 is 16,384.
	MaxConns int
	// MaxOpening bounds those in the TLS handshake or before HELLO; 0 is 1,024.
	MaxOpening int
	// MaxWaiting bounds the sockets that wait, unread, until there is room among those; 0 is
	// 16,384, and with less than 0 none waits.
	MaxWaiting int
	// MaxSockets bounds the connections and the waiting sockets together; 0 leaves that to the
	// bounds above. Beyond it, sockets whose peers are being told of their refusal are an eighth
	// more at most.
	MaxSockets int
	// Pauses makes the server close the connections from an address at once, for a second up to a
	// minute, after several from there have failed in a row before their peer was authenticated.
	Pauses bool
	// AltProtocol is another protocol served by the same listeners; nil means none.
	AltProtocol *AltProtocol

	prepare    sync.Once
	config     Config          // with defaults and the TLS of wire; set by prepare
	ctx        context.Context // ends when the server stops; set by prepare
	cancel     context.CancelFunc
	tasks      sync.WaitGroup     // of every connection
	handshakes *handshake.Limiter // set by prepare
	penalties  handshake.PenaltyBox
	lines      logbound.Lines // about connections that were not opened
	freed      chan struct{}  // a pending connection has ended, for dequeueLoop; set by prepare

	mu        sync.Mutex
	stopped   bool
	listeners map[net.Listener]struct{}
	pending   handshake.PendingSet         // connections that are opening
	queue     handshake.AcceptQueue        // connections that wait to be opened
	dequeuing bool                         // dequeueLoop runs
	opening   map[*handshake.Pending]*Conn // the pending ones; nil during the TLS handshake
	conns     map[*Conn]struct{}
	refusing  int
	stats     ServerStats
	past      Stats // of connections that have ended
}

// ServerStats holds the counts of a Server.
type ServerStats struct {
	Conns   int // that are open
	Opening int // that are in the TLS handshake or before HELLO
	Waiting int // that wait until they may begin with that

	Accepted uint64 // opened, in all
	Refused  uint64 // at a bound
	Failed   uint64 // not TLS, not wire, too late, or refused by Verify
	Crowded  uint64 // of the failed ones: dropped in favour of others
	Paused   uint64 // hung up on, since others from there had failed
}

func (s *Server) init() {
	s.prepare.Do(func() {
		s.config = s.Config.withDefaults()
		if s.config.TLS != nil {
			s.config.TLS = secureConfig(s.config.TLS, s.AltProtocol.names()...)
		}
		s.ctx, s.cancel = context.WithCancel(context.Background())
		s.handshakes = handshake.NewLimiter(runtime.GOMAXPROCS(0), maxHandshake, machine.HelloTimeout)
		s.freed = make(chan struct{}, 1) // a signal without a receiver waits
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queue = handshake.AcceptQueue{Silence: machine.HelloTimeout, Limit: secureTimeout, Heard: heard}
		s.listeners = map[net.Listener]struct{}{}
		s.opening = map[*handshake.Pending]*Conn{}
		s.conns = map[*Conn]struct{}{}
	})
}

// Serve accepts on l, which it closes in the end. It returns nil after Shutdown or Close, at once
// if they were called before, and else the error of Accept. It may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	s.init()
	defer l.Close()
	if !s.listen(l) {
		return nil
	}
	return listen.Accept(s.ctx, l, s.admit, func(err error, pause time.Duration) error {
		if !temporary(err) {
			return fmt.Errorf("wire: %w", err)
		}
		s.config.Logger.Warn("wire: cannot accept", "address", l.Addr().String(), "error", err, "pause", pause)
		return nil
	})
}

// temporary reports whether Accept may succeed later: there are no descriptors left,
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

// leave ends a connection that was open. It runs when c has failed, and waits for its remaining
// handlers.
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
	s.config.Logger.Log(context.Background(), level, "wire: connection ended", "peer", c.RemoteAddr().String(), "error", c.Err())
}

// All yields the open connections, in no order.
func (s *Server) All() iter.Seq[*Conn] {
	return func(yield func(*Conn) bool) { slices.Values(s.snapshot())(yield) }
}

// Total returns the Stats of all connections that were opened, added up. Connections that have
// ended are included, so no counter ever falls.
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
	list := slices.Collect(maps.Keys(s.conns))
	for _, c := range s.opening {
		if c.entering() {
			list = append(list, c)
		}
	}
	return list
}

// entering reports whether an opening connection has its peer's HELLO, so that its handlers may
// run; nil has not.
func (c *Conn) entering() bool { return c != nil && isClosed(c.ready) }

// Stats returns the present counts.
func (s *Server) Stats() ServerStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Conns, stats.Opening, stats.Waiting = len(s.conns), len(s.opening), s.queue.Len()
	for _, c := range s.opening {
		if c.entering() {
			stats.Conns++
			stats.Opening--
			stats.Accepted++
		}
	}
	return stats
}

const (
	// maxRefusing bounds the refusals that are being told; beyond it a connection
	// is closed without a word.
	maxRefusing = 64
	// refuseTime is how long a refusal may take to reach the peer.
	refuseTime = time.Second
	// refuseRetry is when a refused peer may come back, plus a random part of as
	// much again, so that not all of them come at once.
	refuseRetry = 5 * time.Second
	// maxNamed is how many connections the error of a shutdown names.
	maxNamed = 8
)

// refuse tells nc that there is no room for it. s.mu is held.
func (s *Server) refuse(nc net.Conn, text string) {
	s.stats.Refused++
	most := maxRefusing
	if s.MaxSockets > 0 {
		most = min(most, max(s.MaxSockets/8, 1))
	}
	if s.refusing >= most {
		_ = nc.Close()
		return
	}
	s.refusing++
	s.tasks.Add(1)
	go func() {
		defer s.tasks.Done()
		defer func() {
			s.mu.Lock()
			s.refusing--
			s.mu.Unlock()
		}()
		_ = nc.SetDeadline(time.Now().Add(refuseTime))
		stop := context.AfterFunc(s.ctx, func() { _ = nc.Close() })
		defer stop()
		under := nc
		if s.config.TLS != nil {
			ctx, cancel := context.WithTimeout(s.ctx, refuseTime)
			defer cancel()
			secured, err := s.secure(ctx, nc, nil)
			if err != nil {
				return
			}
			under = secured
			_ = nc.SetDeadline(time.Now().Add(refuseTime))
		}
		sendRefusal(under, &frame.Frame{
			Type: frame.GOAWAY, Code: ResourceExhausted, Text: []byte(text),
			RetryAfter: uint32(refuseRetry.Milliseconds()), Jitter: uint32(refuseRetry.Milliseconds()),
		})
	}()
}

// sendRefusal writes the preface and goaway, and closes nc. It reads the bytes that the peer has
// sent: to close with unread bytes would reset the connection, and the peer might never see the
// reason. nc has a deadline.
func sendRefusal(nc net.Conn, goaway *frame.Frame) {
	defer nc.Close()
	if _, err := nc.Write(frame.AppendFrame([]byte(frame.Preface), goaway)); err != nil {
		return
	}
	if half, ok := nc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(nc, blockSize))
}

// stop accepts no new connections, closes pending and waiting ones, and returns the open ones.
func (s *Server) stop() (open []*Conn) {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.stopped = true
		s.cancel()
	}
	for l := range s.listeners {
		_ = l.Close()
	}
	clear(s.listeners)
	open = s.openConns()
	s.queue.Clear(func(nc net.Conn) { _ = nc.Close() })
	for n, c := range s.opening {
		switch {
		case c == nil:
			_ = n.Conn.Close()
		case !c.entering():
			c.Abort(Unavailable)
		}
	}
	return open
}

// Shutdown stops accepting, drains every connection (see Conn.Drain), and closes them. Work that
// was not finished when ctx ended, or Config.DrainTimeout was over, is cut off; the error names
// those connections and the handlers that ran.
func (s *Server) Shutdown(ctx context.Context) error {
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		ended []string
	)
	for _, c := range s.stop() {
		wg.Go(func() {
			err := c.Drain(ctx)
			if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				mu.Lock()
				ended = append(ended, fmt.Sprintf("%v: %v", c.RemoteAddr(), err))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	err := s.wait()
	if n := len(ended); n > 0 {
		if n > maxNamed {
			ended = append(ended[:maxNamed], "...")
		}
		err = errors.Join(fmt.Errorf("wire: %d connections were cut off: %s", n, strings.Join(ended, "; ")), err)
	}
	return err
}

// Close stops accepting and closes every connection. It waits for handlers, whose contexts have
// ended, 5 s at most; the error means that some still run.
func (s *Server) Close() error {
	for _, c := range s.stop() {
		c.Abort(Unavailable)
	}
	return s.wait()
}

// wait waits for all that belongs to the connections.
func (s *Server) wait() error {
	if returnsWithin(closeWait, s.tasks.Wait) {
		return nil
	}
	return fmt.Errorf("wire: handlers still run %v after the end of the server", closeWait)
}
