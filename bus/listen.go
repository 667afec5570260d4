package bus

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"paddock/internal/netio/listen"
)

// ErrInUse refuses the path of a unix socket at which another server answers, or at which there is
// another kind of file.
var ErrInUse = listen.ErrInUse

const (
	// acceptPauseMin and acceptPauseMax bound the pause after a failed accept,
	// which doubles while they keep failing.
	acceptPauseMin = 10 * time.Millisecond
	acceptPauseMax = time.Second
	// acceptLogEvery keeps a long lack of file descriptors from filling the log.
	acceptLogEvery = time.Second
)

// listenerKind is the way on which a connection has come.
type listenerKind uint8

const (
	onTCP listenerKind = iota
	onWebSocket
	onUnix
	inProcess
)

// connectionType returns its name in configurations.
func (k listenerKind) connectionType() ConnectionType {
	switch k {
	case onWebSocket:
		return ConnectionWebSocket
	case inProcess:
		return ConnectionInProcess
	default:
		return ConnectionStandard
	}
}

// listener is one place where the server takes connections.
type listener struct {
	kind listenerKind
	ln   net.Listener
}

// Start opens every listener of the configuration, and serves in the background
// until Shutdown. If one cannot be opened, none is.
func (s *Server) Start() error {
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	switch {
	case s.conns.stopping:
		return ErrClosed
	case s.conns.listeners != nil:
		return ErrStarted
	}
	cfg := s.cfg()
	listeners, err := cfg.openListeners()
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	s.conns.listeners = listeners
	if cfg.MaxPayload > largePayload {
		cfg.Logger.Warn("max_payload above 8 MiB: messages of that size hold up all others", "max_payload", cfg.MaxPayload)
	}
	for _, l := range listeners {
		cfg.Logger.Info(l.line(cfg))
		s.running.Go(func() { s.acceptLoop(l) })
	}
	if cfg.TLS != nil && !cfg.TLS.AllowNonTLS {
		cfg.Logger.Info("TLS required for client connections")
	}
	return nil
}

// openListeners opens all, or none.
func (c *Config) openListeners() (all []*listener, err error) {
	defer func() {
		if err != nil {
			closeAll(all)
			all = nil
		}
	}()
	ln, err := c.listenTCP(c.Host, c.Port)
	if err != nil {
		return all, err
	}
	all = append(all, &listener{onTCP, ln})
	if w := c.WebSocket; w != nil {
		if ln, err = c.listenTCP(w.Host, w.Port); err != nil {
			return all, fmt.Errorf("websocket: %w", err)
		}
		all = append(all, &listener{onWebSocket, ln})
	}
	if c.Unix != "" {
		if ln, err = listen.Private(c.Unix); err != nil {
			return all, err
		}
		all = append(all, &listener{onUnix, ln})
	}
	return all, nil
}

// listenTCP refuses an address beyond loopback that asks for no credentials.
func (c *Config) listenTCP(host string, port int) (net.Listener, error) {
	addr, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(host, fmt.Sprint(max(port, 0))))
	if err != nil {
		return nil, err
	}
	if !c.AllowOpen && !c.authRequired() && !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("%w: %s", ErrOpenListen, host)
	}
	return net.ListenTCP("tcp", addr)
}

func closeAll(listeners []*listener) {
	for _, l := range listeners {
		l.ln.Close()
	}
}

// line returns the log line of an open listener; tools wait for it.
func (l *listener) line(cfg *Config) string {
	switch {
	case l.kind == onTCP:
		return "Listening for client connections on " + l.hostPort(cfg.Host)
	case l.kind == onUnix:
		return "Listening for unix socket clients on " + l.ln.Addr().String()
	case cfg.WebSocket.TLS != nil:
		return "Listening for websocket clients on wss://" + l.hostPort(cfg.WebSocket.Host)
	default:
		return "Listening for websocket clients on ws://" + l.hostPort(cfg.WebSocket.Host)
	}
}

// hostPort returns the address of the listener, its host as the configuration has it: the system's
// name of 0.0.0.0 would be [::], which tools do not expect.
func (l *listener) hostPort(host string) string {
	tcp, ok := l.ln.Addr().(*net.TCPAddr)
	if !ok {
		return l.ln.Addr().String()
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// Addr returns the address of the listener for clients; nil before Start.
func (s *Server) Addr() net.Addr { return s.listenAddr(onTCP) }

// WebSocketAddr returns the address of the listener for WebSocket clients; nil before Start, and
// without [Config.WebSocket].
func (s *Server) WebSocketAddr() net.Addr { return s.listenAddr(onWebSocket) }

// UnixAddr returns the socket's path; nil before Start, and without [Config.Unix].
func (s *Server) UnixAddr() net.Addr { return s.listenAddr(onUnix) }

func (s *Server) listenAddr(kind listenerKind) net.Addr {
	if l := s.conns.listener(kind); l != nil {
		return l.ln.Addr()
	}
	return nil
}

// listenPort returns the TCP port of a listener; 0 = it is not open.
func (s *Server) listenPort(kind listenerKind) int {
	if tcp, ok := s.listenAddr(kind).(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}

// acceptLoop ends when the listener is closed.
func (s *Server) acceptLoop(l *listener) {
	pause := acceptPauseMin
	var logged time.Time
	for {
		conn, err := l.ln.Accept()
		switch {
		case err == nil:
			pause = acceptPauseMin
			if s.admit(conn, l.kind) != nil {
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
	case <-s.ctx.Done():
	}
}

// admit gives conn its goroutines. It returns an error if conn was not accepted.
func (s *Server) admit(conn net.Conn, from listenerKind) error {
	if s.penalties.Paused(conn.RemoteAddr()) {
		s.counters.paused.Add(1)
		return errPaused
	}
	c := newClient(s, conn)
	c.from = from
	err := s.conns.add(c, s.cfg().MaxConns, func() {
		s.counters.connections.Add(1)
		s.readers.Add(1)
		s.running.Go(func() {
			c.serve()
			s.conns.remove(c)
		})
	})
	if err == errMaxConns {
		s.counters.closed[MaxConnectionsExceeded].Add(1)
	}
	return err
}

// errPaused refuses a connection from an address that has sent too many wrong secrets.
var errPaused = errors.New("bus: the address is paused")

// InProcessConn returns the client's end of a connection without a socket, for clients that speak
// the protocol; nats.go takes s as its InProcessServer. The server treats it like any network
// connection, but for TLS, which is left to the client.
func (s *Server) InProcessConn() (net.Conn, error) {
	theirs, ours := net.Pipe()
	if err := s.admit(ours, inProcess); err != nil {
		theirs.Close()
		return nil, err
	}
	return theirs, nil
}
