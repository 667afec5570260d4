package platform

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net"

	"paddock/internal/process/strictyaml"
	"paddock/internal/tunneld"
	"paddock/wire"
)

// visitorsAt is the default address of the tunnel's visitors, as for the tunnel alone.
const visitorsAt = "127.0.0.1:8000"

// ReadTunnel reads the section tunnel of paddock.yaml. Faults are added to the node's file.
func ReadTunnel(n *strictyaml.Node) *tunneld.Settings {
	s := &tunneld.Settings{}
	s.ServerSide().Read(n, "tunnel")
	s.Serve.HTTP = cmp.Or(s.Serve.HTTP, visitorsAt)
	return s
}

func newTunnel(o tunneld.ServerOptions, version string, log *slog.Logger) *tunneld.Role {
	o.Agent, o.Logger, o.Files = "paddock/"+version, log, tunneld.OpenFiles()/2 // the other half is for all other services
	return tunneld.NewRole(o)
}

// tunnelExtension serves the tunnel's clients on the connections of the wire door.
type tunnelExtension struct {
	*tunneld.Role
	platform *Platform
}

func (e tunnelExtension) Register(m *wire.Mux) {
	e.Role.Register(m, func() iter.Seq[*wire.Conn] { return e.platform.wire.Transport().All() })
}

// openTunnel listens for visitors.
func (p *Platform) openTunnel(ctx context.Context) error {
	if err := p.tunnel.Open(ctx); err != nil {
		return p.listenError("tunnel.serve", err)
	}
	p.registry.MustRegister(p.tunnel.Collector())
	secure := "https"
	if !p.tunnel.HTTPS() {
		secure = "tls" // not a scheme of browsers: there are only sni tunnels
	}
	for _, door := range []struct {
		scheme string
		at     net.Addr
	}{{"http", p.tunnel.HTTP()}, {secure, p.tunnel.TLS()}} {
		if door.at != nil {
			p.log.Info("tunnel listening for visitors", "url", door.scheme+"://"+door.at.String())
		}
	}
	return nil
}

// overview returns the source of the dashboard's tunnel page, or nil without a tunnel.
func (p *Platform) overview() func(find string, most int) any {
	if p.tunnel == nil {
		return nil
	}
	return func(find string, most int) any { return p.tunnel.Overview(find, most) }
}

// VisitorsAddr returns the address of the tunnel's HTTP visitors, or nil without a tunnel.
func (p *Platform) VisitorsAddr() net.Addr {
	if p.tunnel == nil {
		return nil
	}
	return p.tunnel.HTTP()
}
