package bus

import (
	"net"
	"runtime"
	"slices"
	"time"
)

// Settings are what a server tells of its configuration, without its secrets.
type Settings struct {
	ServerID, ServerName string
	Version              string // of the protocol's reference that clients are told
	Commit, Go           string
	Proto                int
	Host                 string
	Port                 int // where it listens; 0 = not yet

	AuthRequired                      bool
	TLSRequired, TLSVerify            bool
	TLSTimeout                        time.Duration
	WebSocket                         *WebSocketSettings // nil = none
	MaxConns, MaxSubs, MaxControlLine int
	MaxPayload                        int
	MaxPending                        int64
	PingInterval                      time.Duration
	PingMax                           int
	WriteDeadline, AuthTimeout        time.Duration
	SlowConsumers                     SlowPolicy
	Account                           string // the account of every connection
}

// WebSocketSettings are those of the door for web pages.
type WebSocketSettings struct {
	Host                         string
	Port                         int // where it listens; 0 = not yet
	TLS, SameOrigin, Compression bool
	AllowedOrigins               []string
	HandshakeTimeout             time.Duration
}

// Settings returns those that hold now.
func (s *Server) Settings() Settings {
	cfg := s.cfg()
	set := Settings{
		ServerID: s.id, ServerName: cfg.ServerName,
		Version: protocolVersion, Commit: gitCommit, Go: runtime.Version(), Proto: 1,
		Host: cfg.Host, AuthRequired: cfg.authRequired(),
		MaxConns: cfg.MaxConns, MaxSubs: max(cfg.MaxSubs, 0),
		MaxControlLine: cfg.MaxControlLine, MaxPayload: cfg.MaxPayload, MaxPending: cfg.MaxPending,
		PingInterval: cfg.PingInterval, PingMax: cfg.PingMax,
		WriteDeadline: cfg.WriteDeadline, AuthTimeout: cfg.AuthTimeout,
		SlowConsumers: cfg.SlowConsumers, Account: cfg.Account,
	}
	if tcp, ok := s.Addr().(*net.TCPAddr); ok {
		set.Port = tcp.Port
	}
	if t := cfg.TLS; t != nil {
		set.TLSRequired, set.TLSVerify, set.TLSTimeout = !t.AllowNonTLS, t.verifies(), t.Timeout
	}
	if w := cfg.WebSocket; w != nil {
		set.WebSocket = &WebSocketSettings{
			Host: w.Host, TLS: w.TLS != nil, SameOrigin: w.SameOrigin, AllowedOrigins: slices.Clone(w.AllowedOrigins),
			Compression: w.Compression, HandshakeTimeout: w.HandshakeTimeout,
		}
		if tcp, ok := s.WebSocketAddr().(*net.TCPAddr); ok {
			set.WebSocket.Port = tcp.Port
		}
	}
	return set
}

// Accepting says whether the server listens and takes connections.
func (s *Server) Accepting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doors != nil && !s.stopping && s.deserted == nil
}
