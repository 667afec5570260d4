package tunneld

import (
	"context"

	"paddock/internal/process/lifecycle"
	"paddock/tunnel/client"
	"paddock/tunnel/tunnelstats"
)

// ServeAdmin adds /metrics and /status to g, if the settings have an address for them.
func (c *Client) ServeAdmin(ctx context.Context, g *lifecycle.Group) error {
	connect := &c.options.Settings.Connect
	if connect.Admin == "" {
		return nil
	}
	a, err := openAdmin(ctx, connect.Admin, connect.Token, c.log, c.status, tunnelstats.Client(c.tunnel))
	if err != nil {
		return err
	}
	c.log.Info("admin", "addr", a.Addr().String())
	a.addTo(g)
	return nil
}

// clientStatus is the answer of /status.
type clientStatus struct {
	Tunnels []boundStatus `json:"tunnels"`
	Counts  client.Stats  `json:"counts"`
}

// boundStatus is the result of binding a tunnel.
type boundStatus struct {
	Name  string `json:"name"`
	Where string `json:"where,omitempty"` // absent: it is not bound
	Error string `json:"error,omitempty"`
}

func (c *Client) status() any {
	s := clientStatus{Tunnels: []boundStatus{}, Counts: c.tunnel.Stats()}
	for _, b := range c.tunnel.Bindings() {
		line := boundStatus{Name: b.Tunnel, Where: b.Where}
		if b.Err != nil {
			line.Error = b.Err.Error()
		}
		s.Tunnels = append(s.Tunnels, line)
	}
	return s
}
