package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// Tunnel is a tunnel that a client offers: the name or address to bind at the server, and the local
// service behind it.
type Tunnel struct {
	Name     string // for logs
	Protocol tunnel.Protocol
	Host     string // HTTP, SNI
	Path     string // HTTP: only requests below it
	Remote   string // TCP: the address at the server
	// Group names a group whose members share the name, if the server allows it: other clients,
	// each with an identity of its own, that bind the same name with the same group. A visitor goes
	// to the least loaded member. With "" the name is exclusive.
	Group string
	// Target is the local service: "host:port", a port of localhost, or for HTTP also a URL, whose
	// path goes before that of each request. The scheme is http, https, or h2c for a service that
	// speaks only HTTP/2, without TLS. A service with https gets HTTP/2 if it agrees to that
	// (ALPN), except for requests that upgrade.
	Target string
	// Dial replaces dialing Target, whose host and path still count.
	Dial func(ctx context.Context) (net.Conn, error)
	// TLS is for a target with https; nil verifies it by the system's roots. NextProtos
	// without "h2" keeps it to HTTP/1.1.
	TLS *tls.Config
	// Auth, "user:password", is asked of visitors before anything reaches us; HTTP.
	Auth string
	// HostHeader is the Host that the target receives; "" is the visitor's.
	HostHeader string
	// ProxyProtocol sends the visitor's address to the target in a header of the PROXY protocol,
	// version 2, ahead of the visitor's bytes; TCP, SNI.
	ProxyProtocol bool
	// Direct gives each visitor a connection of its own to the server, beside the link, if the
	// server accepts such connections. It is for bulk data; TCP, SNI; not for a listener.
	Direct bool
	// HeadTimeout bounds the wait for the head of an answer; 0 is 60 s, negative is for ever. It
	// begins again with each piece of the request that the target takes, over HTTP/2 only with the
	// last one. DialTimeout bounds the wait for a connection: 0 is 5 s.
	HeadTimeout, DialTimeout time.Duration
	// MaxInflight bounds the current work at the target, 0: 1,280, which is the default of a
	// server. Work beyond it is refused.
	MaxInflight int
}

// defaultInflight suffices for everything that a server admits: if it was less than the bounds of
// requests and streams together, streams would take the capacity for requests.
const defaultInflight = tunnel.DefaultTunnelRequests + tunnel.DefaultTunnelStreams

// target is the local service of a tunnel.
type target struct {
	Tunnel
	address  string // to dial
	path     string // before that of each request, without a slash at the end
	query    string // before that of each request
	secure   *tls.Config
	inflight atomic.Int64
	failed   relay.AtomicTime // until when it is not dialed again
	pool     pool
	h2       *h2Pool // nil: it speaks HTTP/1.1
	ahead    int     // bytes that it may send before they are wanted, for each exchange
	counts   *clientCounts
	hint     hintSender  // begins to speak when the target has an id
	warned   atomic.Bool // of an answer 421
	listener *listener   // takes raw connections; nil: they are dialed
}

// newTarget reads a Tunnel. l accepts its visitors; nil if they are connected to Target.
func newTarget(t Tunnel, counts *clientCounts, l *listener) (*target, error) {
	b := &target{Tunnel: t, address: t.Target, counts: counts, listener: l}
	b.HeadTimeout = cmp.Or(t.HeadTimeout, time.Minute)
	b.DialTimeout = cmp.Or(t.DialTimeout, dialTimeout)
	b.MaxInflight = cmp.Or(t.MaxInflight, defaultInflight)
	if t.Protocol == tunnel.HTTP && strings.Contains(t.Target, "://") {
		if err := b.readURL(t.Target); err != nil {
			return nil, fmt.Errorf("tunnel %s: target %q: %w", t.Name, t.Target, err)
		}
	}
	if b.address != "" && strings.Trim(b.address, "0123456789") == "" {
		b.address = "localhost:" + b.address
	}
	if err := dialable(b.address); err != nil && t.Dial == nil && l == nil {
		return nil, fmt.Errorf("tunnel %s: target %q: %w", t.Name, t.Target, err)
	}
	if t.ProxyProtocol && t.Protocol == tunnel.HTTP {
		return nil, fmt.Errorf("tunnel %s: the PROXY protocol is for tcp and sni", t.Name)
	}
	if t.Direct && (t.Protocol == tunnel.HTTP || l != nil) {
		return nil, fmt.Errorf("tunnel %s: direct is for tcp and sni, with a target", t.Name)
	}
	if t.HostHeader != "" && !h1.ValidHost(t.HostHeader) {
		return nil, fmt.Errorf("tunnel %s: host header %q", t.Name, t.HostHeader)
	}
	return b, nil
}

// dialable returns the fault of an address before a dial would.
func dialable(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return errors.New("want host:port")
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n == 0 {
		return errors.New("want a port of 1 to 65535")
	}
	return nil
}

func (b *target) readURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	port := map[string]string{"http": "80", "h2c": "80", "https": "443"}[u.Scheme]
	switch {
	case port == "":
		return errors.New("want http, https or h2c")
	case u.User != nil || u.Fragment != "" || u.Hostname() == "":
		return errors.New("want a host, and neither user nor fragment")
	case u.Scheme == "https":
		b.secure = b.TLS.Clone()
		if b.secure == nil {
			b.secure = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		b.secure.ServerName = cmp.Or(b.secure.ServerName, u.Hostname())
		if len(b.secure.NextProtos) == 0 || slices.Contains(b.secure.NextProtos, "h2") {
			b.h2 = &h2Pool{of: b, secure: b.secure.Clone()}
			b.h2.secure.NextProtos = []string{"h2", "http/1.1"}
		}
		b.secure.NextProtos = []string{"http/1.1"}
	case u.Scheme == "h2c":
		b.h2 = &h2Pool{of: b}
	}
	if b.h2 != nil {
		b.ahead = h2Window
	}
	b.address = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))
	b.path, b.query = strings.TrimSuffix(u.EscapedPath(), "/"), u.RawQuery
	if !h1.IsAll(b.path, h1.TargetByte) || !h1.IsAll(b.query, h1.TargetByte) || h1.Climbs(b.path) {
		return errors.New("path or query")
	}
	return nil
}

// ask returns the request for the server.
func (b *target) ask(id uint16) message.BindAsk {
	a := message.BindAsk{ID: id, Protocol: b.Protocol, Host: b.Host, Path: b.Path, Address: b.Remote, Group: b.Group, Direct: b.Direct}
	if b.Auth != "" {
		a.Auth = message.NewBasicAuth(b.Auth)
	}
	return a
}

// enter counts an exchange, unless the bound is reached.
func (b *target) enter() (ok bool) {
	if b.inflight.Add(1) > int64(b.MaxInflight) {
		b.inflight.Add(-1)
		return false
	}
	return true
}

func (b *target) leave() {
	b.inflight.Add(-1)
	b.hint.settle()
}

// takes reports whether a reported state is over: an eighth of the allowed work has ended, or there
// is a connection.
func (b *target) takes(told message.HintState) bool {
	if told == message.HintFull {
		return b.inflight.Load() <= int64(b.MaxInflight-max(b.MaxInflight/8, 1))
	}
	return b.connected() || b.failed.Get().IsZero()
}

// connected reports whether a connection waits for work.
func (b *target) connected() bool { return b.pool.size() > 0 || b.h2 != nil && b.h2.size() > 0 }

// dialTimeout is the default time for a connection to a target.
const dialTimeout = 5 * time.Second

// minDialAgain and maxDialAgain bound how long a target that took no connection is not
// dialed again: each visitor would wait for the same. A random time, so that clients
// that have lost the same target do not come back to it together.
const minDialAgain, maxDialAgain = 100 * time.Millisecond, 500 * time.Millisecond

// dial connects to the service, for HTTP/1.1 or raw bytes.
func (b *target) dial(ctx context.Context) (conn net.Conn, err error) {
	err = b.attempt(ctx, func(ctx context.Context) (err error) {
		conn, err = b.connect(ctx, b.secure)
		return err
	})
	return conn, err
}

// attempt makes a connection by connect, which has DialTimeout, unless the last attempt
// has failed a moment ago. The error is a *targetError, or that of ctx.
func (b *target) attempt(ctx context.Context, connect func(context.Context) error) error {
	if b.failed.IsAhead() {
		b.counts.spared.Add(1)
		return &targetError{message.Refused(wire.Unavailable, "the target took no connection a moment ago"), nil}
	}
	within, cancel := context.WithTimeout(ctx, b.DialTimeout)
	defer cancel()
	b.counts.dials.Add(1)
	err := connect(within)
	if err == nil {
		b.failed.Clear()
		b.hint.settle()
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	b.counts.failed.Add(1)
	pause := minDialAgain + rand.N(maxDialAgain-minDialAgain)
	b.failed.Set(time.Now().Add(pause))
	if !b.connected() {
		b.hint.tell(message.HintDown, pause)
	}
	switch {
	case within.Err() != nil:
		return &targetError{message.Refused(wire.DeadlineExceeded, "the target took no connection in time"), err}
	case errors.Is(err, errNoH2):
		return &targetError{message.Refused(wire.Unavailable, "%v", err), nil}
	}
	return &targetError{message.Refused(wire.Unavailable, "the target took no connection"), err}
}

// closeIdle closes the connections that wait for work, and those in use when they are done.
func (b *target) closeIdle() {
	b.pool.close()
	if b.h2 != nil {
		b.h2.close()
	}
}

// fresh makes a connection for exchanges.
func (b *target) fresh(ctx context.Context) (*backend, error) {
	conn, err := b.dial(ctx)
	if err != nil {
		return nil, err
	}
	return newBackend(conn), nil
}

// connect makes a connection, over TLS unless secure is nil.
func (b *target) connect(ctx context.Context, secure *tls.Config) (net.Conn, error) {
	conn, err := b.connectPlain(ctx)
	if err != nil || secure == nil {
		return conn, err
	}
	secured := tls.Client(conn, secure)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

func (b *target) connectPlain(ctx context.Context) (net.Conn, error) {
	if b.Dial != nil {
		return b.Dial(ctx)
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", b.address)
}

// direct reports whether the head can be sent to the target as it has come.
func (b *target) direct() bool { return b.path == "" && b.query == "" && b.HostHeader == "" }

// rewrite appends the head as the target is to see it: its path before the request's,
// its query before the request's, and its host. The path of a visitor may not climb out
// of the target's.
func (b *target) rewrite(dst []byte, h *h1.Head) ([]byte, error) {
	dst = append(append(dst, h.Method...), ' ')
	path, query, asked := strings.Cut(string(h.Target), "?")
	if path == "*" {
		if b.path != "" {
			return dst, message.Refused(wire.InvalidArgument, "target * below a path")
		}
	} else if b.path != "" && h1.Climbs(path) {
		return dst, message.Refused(wire.InvalidArgument, "the path climbs")
	}
	dst = append(append(dst, b.path...), path...)
	switch {
	case b.query != "" && query != "":
		dst = append(append(append(append(dst, '?'), b.query...), '&'), query...)
	case b.query != "":
		dst = append(append(dst, '?'), b.query...)
	case asked:
		dst = append(append(dst, '?'), query...)
	}
	dst = append(dst, " HTTP/1.1\r\n"...)
	for i := range h.Fields {
		f := &h.Fields[i]
		value := f.Value
		if f.Known == h1.HostField && b.HostHeader != "" {
			value = []byte(b.HostHeader)
		}
		dst = append(append(append(dst, f.Name...), ": "...), value...)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...), nil
}
