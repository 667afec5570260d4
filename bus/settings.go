package bus

import (
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"paddock/bus/internal/websocket"
)

// Defaults of [TLS] and [WebSocket].
const (
	DefaultTLSTimeout    = 2 * time.Second
	DefaultWebSocketTime = 2 * time.Second
	// DefaultTLSFallback is the delay for a client that expects INFO first. It is short, and still
	// longer than the first packet of a client that does not takes to arrive.
	DefaultTLSFallback = 50 * time.Millisecond
)

// TLS secures network connections. The handshake follows INFO, as in the protocol, unless
// HandshakeFirst is set.
type TLS struct {
	// Config holds the certificate, and ClientAuth with ClientCAs to ask for those of clients.
	Config  *tls.Config
	Timeout time.Duration // of the handshake; 0 = 2 s
	// AllowNonTLS takes clients without TLS on the same port.
	AllowNonTLS bool
	// HandshakeFirst expects the handshake before INFO. With Fallback, a client that has sent
	// nothing for that time gets INFO first, as usual.
	HandshakeFirst bool
	Fallback       time.Duration
	// PinnedCerts lists the SHA-256, in hex, of the public keys (SPKI, DER) that
	// clients may have; empty = any.
	PinnedCerts []string
	// MapUsers takes the user from the client's certificate: an e-mail, DNS or URI
	// name, or the subject's distinguished name, that is a User.Name.
	MapUsers bool
	// Rate bounds the handshakes begun per second; 0 = no limit.
	Rate int
}

// WebSocket is a second listener, for clients that are web pages.
type WebSocket struct {
	Host string      // "" = Config.Host
	Port int         // -1 = any free port
	TLS  *tls.Config // nil = plain
	// SameOrigin refuses pages of other origins than the server's own. AllowedOrigins, if not
	// empty, refuses pages of origins that it does not list. With both, a page must satisfy both.
	SameOrigin     bool
	AllowedOrigins []string
	// LocalNames also refuses pages of hosts other than localhost and IP addresses: another name
	// may be made to lead to this machine, and its page then has the same origin (DNS rebinding).
	LocalNames       bool
	Compression      bool          // permessage-deflate (RFC 7692) for clients that offer it
	HandshakeTimeout time.Duration // 0 = 2 s
}

// withDefaults copies t and fills in its zeros.
func (t *TLS) withDefaults() *TLS {
	if t == nil {
		return nil
	}
	c := *t
	c.Timeout = orDefault(c.Timeout, DefaultTLSTimeout)
	c.Config = serverTLS(c.Config)
	c.PinnedCerts = slices.Clone(c.PinnedCerts)
	for i, pin := range c.PinnedCerts {
		c.PinnedCerts[i] = strings.ToLower(pin)
	}
	return &c
}

// serverTLS returns a copy of c for a server.
func serverTLS(c *tls.Config) *tls.Config {
	if c == nil {
		return nil
	}
	c = c.Clone()
	// Small first records help a browser that shows a page before all of it has arrived. A write of
	// ours is as large as the pending output.
	c.DynamicRecordSizingDisabled = true
	return c
}

func (t *TLS) check() error {
	switch {
	case t == nil:
		return nil
	case !canServe(t.Config):
		return errors.New("bus: TLS needs a certificate")
	case min(t.Timeout, t.Fallback) < 0 || t.Rate < 0:
		return errors.New("bus: a limit of TLS is negative")
	case t.MapUsers && t.Config.ClientAuth != tls.RequireAndVerifyClientCert:
		return errors.New("bus: to take users from certificates, TLS has to require and verify them")
	case len(t.PinnedCerts) > 0 && t.Config.ClientAuth == tls.NoClientCert:
		return errors.New("bus: pinned certificates need TLS to ask for certificates")
	}
	for _, pin := range t.PinnedCerts {
		if sum, err := hex.DecodeString(pin); err != nil || len(sum) != 32 {
			return fmt.Errorf("bus: pinned certificate %q is no SHA-256 in hex", pin)
		}
	}
	return nil
}

func canServe(c *tls.Config) bool {
	return c != nil && (len(c.Certificates) > 0 || c.GetCertificate != nil || c.GetConfigForClient != nil)
}

// verifies reports whether a client must show a certificate.
func (t *TLS) verifies() bool { return t != nil && t.Config.ClientAuth >= tls.RequireAnyClientCert }

func (c *Config) defaultAuthTimeout() time.Duration {
	if c.TLS == nil {
		return DefaultAuthTimeout
	}
	return c.TLS.Timeout + time.Second
}

// withDefaults copies w and fills in its zeros; those of c are filled in.
func (w *WebSocket) withDefaults(c *Config) *WebSocket {
	if w == nil {
		return nil
	}
	d := *w
	d.Host = orDefault(d.Host, c.Host)
	d.HandshakeTimeout = orDefault(d.HandshakeTimeout, DefaultWebSocketTime)
	d.TLS = serverTLS(d.TLS)
	d.AllowedOrigins = slices.Clone(d.AllowedOrigins)
	return &d
}

func (w *WebSocket) check() error {
	switch {
	case w == nil:
		return nil
	case w.Port < -1 || w.Port == 0 || w.Port > 65535:
		return fmt.Errorf("bus: websocket: port %d is out of range", w.Port)
	case w.HandshakeTimeout < 0:
		return errors.New("bus: websocket: a duration is negative")
	case w.TLS != nil && !canServe(w.TLS):
		return errors.New("bus: websocket: TLS needs a certificate")
	}
	for _, text := range w.AllowedOrigins {
		u, err := url.ParseRequestURI(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("bus: websocket: %q is no origin: http or https, and a host", text)
		}
	}
	return nil
}

// policy returns the requirements of w for handshakes.
func (w *WebSocket) policy() *websocket.Policy {
	return &websocket.Policy{
		TLS: w.TLS != nil, SameOrigin: w.SameOrigin, LocalNames: w.LocalNames,
		AllowedOrigins: w.AllowedOrigins, Compression: w.Compression,
	}
}

// Settings are the public part of a server's configuration, without its secrets.
type Settings struct {
	ServerID, ServerName string
	Version              string // of the protocol's reference, as in INFO
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

// WebSocketSettings are the settings of the listener for web pages.
type WebSocketSettings struct {
	Host                         string
	Port                         int // where it listens; 0 = not yet
	TLS, SameOrigin, Compression bool
	AllowedOrigins               []string
	HandshakeTimeout             time.Duration
}

// Settings returns the settings in force.
func (s *Server) Settings() Settings {
	cfg := s.cfg()
	set := Settings{
		ServerID: s.id, ServerName: cfg.ServerName,
		Version: protocolVersion, Commit: gitCommit, Go: runtime.Version(), Proto: 1,
		Host: cfg.Host, Port: s.listenPort(onTCP), AuthRequired: cfg.authRequired(),
		MaxConns: cfg.MaxConns, MaxSubs: max(cfg.MaxSubs, 0),
		MaxControlLine: cfg.MaxControlLine, MaxPayload: cfg.MaxPayload, MaxPending: cfg.MaxPending,
		PingInterval: cfg.PingInterval, PingMax: cfg.PingMax,
		WriteDeadline: cfg.WriteDeadline, AuthTimeout: cfg.AuthTimeout,
		SlowConsumers: cfg.SlowConsumers, Account: cfg.Account,
	}
	if t := cfg.TLS; t != nil {
		set.TLSRequired, set.TLSVerify, set.TLSTimeout = !t.AllowNonTLS, t.verifies(), t.Timeout
	}
	if w := cfg.WebSocket; w != nil {
		set.WebSocket = &WebSocketSettings{
			Host: w.Host, Port: s.listenPort(onWebSocket), TLS: w.TLS != nil, SameOrigin: w.SameOrigin, AllowedOrigins: slices.Clone(w.AllowedOrigins),
			Compression: w.Compression, HandshakeTimeout: w.HandshakeTimeout,
		}
	}
	return set
}

// Accepting reports whether the server listens and takes connections.
func (s *Server) Accepting() bool {
	return s.conns.accepting()
}
