package bus

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"paddock/internal/netio/listen"
)

// ErrInUse refuses the path of a unix socket at which another server answers, or
// that is something else.
var ErrInUse = listen.ErrInUse

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
)

// doorKind is the kind of a connection's listener.
type doorKind uint8

const (
	doorTCP doorKind = iota
	doorWebSocket
	doorUnix
	doorInProcess
)

// connectionType returns its name in configurations.
func (k doorKind) connectionType() ConnectionType {
	switch k {
	case doorWebSocket:
		return ConnectionWebSocket
	case doorInProcess:
		return ConnectionInProcess
	default:
		return ConnectionStandard
	}
}

// door is one listener.
type door struct {
	kind doorKind
	ln   net.Listener
}

// Start listens at every door of the configuration, and serves in the background
// until Shutdown. If one cannot be opened, none is.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopping:
		return ErrClosed
	case s.doors != nil:
		return ErrStarted
	}
	cfg := s.cfg()
	doors, err := cfg.openDoors()
	if err != nil {
		return fmt.Errorf("bus: %w", err)
	}
	s.doors = doors
	if cfg.MaxPayload > largePayload {
		cfg.Logger.Warn("max_payload above 8 MiB: messages of that size hold up all others", "max_payload", cfg.MaxPayload)
	}
	for _, d := range doors {
		cfg.Logger.Info(d.line(cfg))
		s.running.Go(func() { s.acceptLoop(d) })
	}
	if cfg.TLS != nil && !cfg.TLS.AllowNonTLS {
		cfg.Logger.Info("TLS required for client connections")
	}
	return nil
}

// openDoors opens all, or none.
func (c *Config) openDoors() (doors []*door, err error) {
	defer func() {
		if err != nil {
			closeDoors(doors)
			doors = nil
		}
	}()
	ln, err := c.listenTCP(c.Host, c.Port)
	if err != nil {
		return doors, err
	}
	doors = append(doors, &door{doorTCP, ln})
	if w := c.WebSocket; w != nil {
		if ln, err = c.listenTCP(w.Host, w.Port); err != nil {
			return doors, fmt.Errorf("websocket: %w", err)
		}
		doors = append(doors, &door{doorWebSocket, ln})
	}
	if c.Unix != "" {
		if ln, err = listen.Private(c.Unix); err != nil {
			return doors, err
		}
		doors = append(doors, &door{doorUnix, ln})
	}
	return doors, nil
}

// listenTCP refuses an open address that anybody could use.
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

func closeDoors(doors []*door) {
	for _, d := range doors {
		d.ln.Close()
	}
}

// line returns the log line of an open listener; tools wait for it.
func (d *door) line(cfg *Config) string {
	switch {
	case d.kind == doorTCP:
		return "Listening for client connections on " + d.under(cfg.Host)
	case d.kind == doorUnix:
		return "Listening for unix socket clients on " + d.ln.Addr().String()
	case cfg.WebSocket.TLS != nil:
		return "Listening for websocket clients on wss://" + d.under(cfg.WebSocket.Host)
	default:
		return "Listening for websocket clients on ws://" + d.under(cfg.WebSocket.Host)
	}
}

// under is where the door is, its host as the configuration has it: the system's
// name of 0.0.0.0 would be [::], which tools do not expect.
func (d *door) under(host string) string {
	tcp, ok := d.ln.Addr().(*net.TCPAddr)
	if !ok {
		return d.ln.Addr().String()
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// Addr is where the server listens for clients; nil before Start.
func (s *Server) Addr() net.Addr { return s.doorAddr(doorTCP) }

// WebSocketAddr is where it listens for WebSocket clients; nil before Start, and
// without [Config.WebSocket].
func (s *Server) WebSocketAddr() net.Addr { return s.doorAddr(doorWebSocket) }

// UnixAddr is the socket's path; nil before Start, and without [Config.Unix].
func (s *Server) UnixAddr() net.Addr { return s.doorAddr(doorUnix) }

func (s *Server) doorAddr(kind doorKind) net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.doors {
		if d.kind == kind {
			return d.ln.Addr()
		}
	}
	return nil
}

// acceptLoop ends when the door is closed.
func (s *Server) acceptLoop(d *door) {
	pause := acceptPauseMin
	var logged time.Time
	for {
		conn, err := d.ln.Accept()
		switch {
		case err == nil:
			pause = acceptPauseMin
			if s.admit(conn, d.kind) != nil {
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
func (s *Server) admit(conn net.Conn, from doorKind) error {
	if s.pauses.Paused(conn.RemoteAddr()) {
		s.counters.paused.Add(1)
		return errPaused
	}
	c := newClient(s, conn)
	c.door = from
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || s.deserted != nil {
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

// errPaused says that too many wrong secrets have come from an address.
var errPaused = errors.New("bus: the address is paused")

// InProcessConn returns the client's end of a connection without a socket, for clients that speak
// the protocol; nats.go takes s as its InProcessServer. The server treats it like any network
// connection, but for TLS, which is left to the client.
func (s *Server) InProcessConn() (net.Conn, error) {
	theirs, ours := net.Pipe()
	if err := s.admit(ours, doorInProcess); err != nil {
		theirs.Close()
		return nil, err
	}
	return theirs, nil
}
