package platform

import (
	"context"
	"crypto/tls"
	"net"

	"paddock/fence/track"
	"paddock/internal/netio/handshake"
	"paddock/internal/netio/listen"
	"paddock/internal/platform/wireapi"
)

// WireAddr returns the address of the wire door, or nil before it has started.
func (p *Platform) WireAddr() net.Addr {
	if p.wireListener == nil {
		return nil
	}
	return p.wireListener.Addr()
}

func (p *Platform) openWire(ctx context.Context) (err error) {
	c := p.cfg.Wire
	if p.wireFiles != nil {
		p.wireTLS = p.wireFiles.Config()
		if p.tunnel != nil {
			p.wireTLS.ClientAuth = tls.RequestClientCert // clients are identified by their keys
		}
		p.tickets = handshake.OpenTickets(c.Key+".tickets", p.log)
		p.tickets.Install(p.wireTLS)
	}
	p.wireListener, err = listen.Listen(ctx, c.Listen, c.Authenticated() || p.keys.Len() > 0)
	if err != nil {
		return p.listenError("wire.listen", err)
	}
	config := wireapi.Config{
		Catalog: p.catalog, Pipeline: p.pipeline, Log: p.events, Logger: p.log,
		Token: string(c.Token), Keys: p.keys, KeyRequired: p.keyRequired(c.Listen), TLS: p.wireTLS, MaxAhead: track.Millis(p.cfg.Track.MaxAhead.Milliseconds()),
		MaxLarge: wireapi.LargeAtOnce * int64(p.cfg.Limits.Body), MaxConns: c.MaxConnections,
		Version: p.opts.Version, Drain: p.cfg.Limits.Drain,
		Pauses: listen.Check(c.Listen, false) != nil, // loopback clients are never paused
	}
	config.Door = p.doors.Open("wire")
	if p.tunnel != nil {
		config.Extension, config.Budget = tunnelExtension{p.tunnel, p}, p.tunnel.LinkBudget()
	}
	p.wire = wireapi.New(config)
	registerWire(p.registry, p.wire)
	p.log.Info("wire listening", "addr", p.wireListener.Addr().String(), "tls", p.wireTLS != nil)
	return nil
}

// rotateTickets renews the keys of session tickets each day, if there is TLS.
func (p *Platform) rotateTickets(ctx context.Context) error {
	if p.tickets == nil {
		return nil
	}
	return p.tickets.Run(ctx)
}

func (p *Platform) serveWire(context.Context) error { return p.wire.Serve(p.wireListener) }

// closeWire stops accepting positions, but goes on serving the streams of events, which end later.
func (p *Platform) closeWire(ctx context.Context) error {
	p.wire.Drain(ctx)
	return nil
}

// awaitWire waits for the streams, and for the connections.
func (p *Platform) awaitWire(ctx context.Context) error {
	if p.wire == nil {
		return nil // the door never opened
	}
	return p.wire.Close(ctx)
}

// wireOverview returns the state of the wire door for the dashboard.
func (p *Platform) wireOverview(find string, most int) any { return p.wire.Overview(find, most) }
