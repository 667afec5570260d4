package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/proxyproto"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// maxDirect bounds the channels of a client. Each takes up to six descriptors: two sockets,
// and a pipe for each direction.
const maxDirect = 256

// reach is how a client makes channels: as the connections to its server.
type reach struct {
	dial   func(ctx context.Context) (net.Conn, error) // nil: the address of the link
	secure *tls.Config                                 // nil: the link is not TLS
}

// Reach tells the client how its connections to the server are made, so that it can make those of
// direct tunnels in the same way. Without it, the link carries direct tunnels. Run calls it.
func (c *Client) Reach(config *wire.ClientConfig) {
	r := &reach{dial: config.Dial}
	if config.Config != nil && config.Config.TLS != nil {
		r.secure = config.Config.TLS.Clone()
		r.secure.MinVersion, r.secure.NextProtos = tls.VersionTLS13, []string{message.DirectALPN}
		r.secure.DynamicRecordSizingDisabled = true
		if r.secure.ClientSessionCache != nil { // a session is resumed once, and the link is to find its own
			r.secure.ClientSessionCache = tls.NewLRUClientSessionCache(4)
		}
		if r.secure.ServerName == "" {
			r.secure.ServerName, _, _ = net.SplitHostPort(config.Address)
		}
	}
	c.reach.Store(r)
}

// serveDirect serves a visitor over a channel of its own.
func (c *Client) serveDirect(ctx context.Context, st *wire.Stream, b *target, open *message.Channel) error {
	if c.directs.Add(1) > maxDirect {
		c.directs.Add(-1)
		c.counts.directFailed.Add(1)
		return message.Refused(wire.FailedPrecondition, "%d direct channels", maxDirect)
	}
	defer c.directs.Add(-1)
	within, cancel := context.WithTimeout(ctx, relay.DirectTime)
	channel, err := c.channel(within, st.Conn(), b.Protocol, open.Ticket)
	cancel()
	if err != nil {
		c.counts.directFailed.Add(1)
		return message.Refused(wire.FailedPrecondition, "%v", err)
	}
	defer channel.Close()
	conn, err := c.dialRaw(ctx, b)
	if err != nil {
		channel.Cut()
		return err
	}
	defer conn.Close()
	w := relay.NewDirectRelay(conn, channel, c.linger, func(int, int64) {})
	stop := context.AfterFunc(ctx, w.Cut)
	defer stop()
	if head := b.preamble(open); len(head) > 0 {
		if _, err := conn.Write(head); err != nil {
			w.Cut()
			return &wire.Error{Code: wire.Unavailable, Msg: "the target has gone"}
		}
	}
	if w.Run() != nil {
		_ = st.Reset(wire.Cancelled)
	}
	return nil
}

// channel makes one to the server of a link. ctx bounds all of it.
func (c *Client) channel(ctx context.Context, link *wire.Conn, p tunnel.Protocol, t *message.Ticket) (made *relay.DirectChannel, err error) {
	r := c.reach.Load()
	if r == nil {
		return nil, fmt.Errorf("%w: this client makes none", relay.ErrDirect)
	}
	socket, err := r.connect(ctx, link.RemoteAddr())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", relay.ErrDirect, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = socket.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() && err == nil {
			err = ctx.Err()
		}
		if err != nil {
			_ = socket.Close()
			made = nil
		}
	}()
	made = &relay.DirectChannel{Conn: socket, Socket: socket}
	if relay.SecuredBy(p, r.secure != nil) {
		secured := tls.Client(socket, r.secure)
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", relay.ErrDirect, err)
		}
		if got := secured.ConnectionState().NegotiatedProtocol; got != message.DirectALPN {
			return nil, fmt.Errorf("%w: the server speaks %q", relay.ErrDirect, got)
		}
		made.Conn = secured
	}
	if _, err := made.Write(t.Hello()); err != nil {
		return nil, fmt.Errorf("%w: %w", relay.ErrDirect, err)
	}
	var proof [message.ProofBytes]byte
	if _, err := io.ReadFull(made, proof[:]); err != nil {
		return nil, fmt.Errorf("%w: the server takes none: %w", relay.ErrDirect, err)
	}
	if !t.Proves("server", proof[:]) {
		return nil, fmt.Errorf("%w: the server does not know the ticket", relay.ErrDirect)
	}
	return made, nil
}

// connect dials where the link has led to.
func (r *reach) connect(ctx context.Context, server net.Addr) (net.Conn, error) {
	if r.dial != nil {
		return r.dial(ctx)
	}
	at, ok := server.(*net.TCPAddr)
	if !ok {
		return nil, errors.New("the link is not over TCP")
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", at.String())
}

// preamble returns the bytes that the target receives before those of the visitor.
func (b *target) preamble(open *message.Channel) []byte {
	if !b.ProxyProtocol {
		return open.Rest
	}
	h := proxyproto.Header{Source: open.Visitor, Destination: open.Local, Authority: string(open.Name)}
	return append(h.Append(nil), open.Rest...)
}
