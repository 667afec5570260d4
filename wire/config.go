package wire

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

const (
	// defaultMaxMessage bounds the bytes of an answer that Call gathers.
	defaultMaxMessage = 1 << 20
	// defaultDrain is how long a drain waits for current work.
	defaultDrain = 10 * time.Second
)

// Config configures one side of a connection. The zero value, and nil, are valid: they serve
// nothing and take the defaults of HELLO.
type Config struct {
	// Agent names the program in HELLO, for the peer's logs.
	Agent string
	// Mux holds the handlers of this side. A dialer may serve as well.
	Mux *Mux

	// The limits in HELLO; 0 stands for the default of SPEC section 4.
	MaxFrame      uint32 // payload bytes of a frame, 65,536
	MaxInflight   uint32 // requests and streams that the peer may have open, 4,096
	ConnBudget    uint32 // stream bytes that may wait here, of all streams, 16 MiB
	StreamInitial uint32 // of one stream at first; it grows with need. Here 0 is 64 KiB
	PostInitial   uint32 // post bytes that may wait here, 1 MiB

	// MaxWindow bounds how far the window of a stream grows; 0 is 16 MiB.
	MaxWindow int
	// MaxMessage bounds the bytes that Call and ReadMsg gather; 0 is 1 MiB.
	MaxMessage int
	// Idle is T of SPEC section 9: a peer that is silent for so long is dead. The
	// smaller one of both sides counts. 0 is 30 s.
	Idle time.Duration
	// DrainTimeout bounds Drain; 0 is 10 s.
	DrainTimeout time.Duration

	// RetryAfter and RetryJitter tell a peer that is drained when it may reconnect: after
	// RetryAfter and a random part of RetryJitter, so that not all peers come at once.
	RetryAfter, RetryJitter time.Duration

	// Auth returns the authentication data of HELLO for one connection.
	Auth func(net.Conn) (*Auth, error)
	// Verify judges the peer's HELLO before any other frame of the peer is handled. An *Error that
	// it returns closes the connection with its code, another error with UNAUTHENTICATED. It may
	// not call methods of the connection that wait.
	Verify func(*Conn, *Hello) error
	// Authorize judges each request, stream and post by its kind; nil lets all pass.
	// The peer gets the error, as *Error or PERMISSION_DENIED; a post is dropped and
	// counted, and one that wants to be acknowledged ends the connection.
	Authorize func(c *Conn, kind string) error
	// Session lets acknowledged posts survive the connection.
	Session *Session
	// Sessions remembers which acknowledged posts of which session were handled,
	// over all connections that share it. nil remembers nothing.
	Sessions *Sessions
	// TLS is used by Dial and Server: TLS 1.3, ALPN wire/1. NewConn does not look
	// at it.
	TLS *tls.Config
	// Logger gets the stack of a handler that panics, and why connections end. nil
	// is slog.Default.
	Logger *slog.Logger

	sentBefore uint64 // posts of the session that other connections have carried
}

// goaway returns the times in a GOAWAY of this side.
func (c *Config) goaway() machine.Goaway {
	return machine.Goaway{RetryAfter: c.RetryAfter, Jitter: c.RetryJitter}
}

// hello is the HELLO of a connection with this configuration.
func (c *Config) hello() Hello {
	return Hello{
		Agent: c.Agent, MaxFrame: c.MaxFrame, MaxInflight: c.MaxInflight,
		ConnBudget: c.ConnBudget, StreamInitial: c.StreamInitial, PostInitial: c.PostInitial,
		Idle: c.Idle, Session: c.Session,
	}
}

// withDefaults returns a copy in which zeros are replaced by defaults, except for the fields of
// HELLO.
func (c *Config) withDefaults() Config {
	var d Config
	if c != nil {
		d = *c
	}
	d.MaxMessage = cmp.Or(d.MaxMessage, defaultMaxMessage)
	d.StreamInitial = cmp.Or(d.StreamInitial, frame.LimitStream.Before)
	d.MaxWindow = cmp.Or(d.MaxWindow, maxStreamWindow)
	d.DrainTimeout = cmp.Or(d.DrainTimeout, defaultDrain)
	d.Logger = cmp.Or(d.Logger, slog.Default())
	if d.Mux == nil {
		d.Mux = NewMux()
	}
	return d
}
