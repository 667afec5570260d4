package agent

import (
	"log/slog"

	"paddock/internal/tunneld"
	"paddock/tunnel"
	"paddock/wire"
)

const (
	// smallMax is the most that goes in one piece for a visitor: 33 ms of a link of
	// 1 Mbit/s, for which positions wait.
	smallMax = 4 << 10
	// tunnelBudget bounds the bytes that visitors under way may come to hold: 500 at a
	// time.
	tunnelBudget = 32 << 20
)

// tunnels are the local services that visitors of the platform reach.
type tunnels struct {
	client *tunnel.Client
	list   []tunneld.Tunnel
}

// newTunnels serves them on the connections whose Mux is m; nil without any.
func newTunnels(list []tunneld.Tunnel, m *wire.Mux, log *slog.Logger) (*tunnels, error) {
	if len(list) == 0 {
		return nil, nil
	}
	config := tunnel.ClientConfig{Budget: tunnelBudget, SmallMax: smallMax, Logger: log}
	for i := range list {
		config.Tunnels = append(config.Tunnels, list[i].Offer())
	}
	client, err := tunnel.NewClient(config)
	if err != nil {
		return nil, err
	}
	client.Register(m)
	return &tunnels{client, list}, nil
}

// TunnelStatus is about a local service that is offered.
type TunnelStatus struct {
	Proto  string `json:"proto"`
	Target string `json:"target"`
	Where  string `json:"where,omitempty"`  // as visitors know it, "" while it is not bound
	Reason string `json:"reason,omitempty"` // why it is not bound
}

// status tells of each by its name.
func (t *tunnels) status() map[string]TunnelStatus {
	if t == nil {
		return nil
	}
	all := map[string]TunnelStatus{}
	for i, b := range t.client.Bindings() { // in the list's order
		s := TunnelStatus{Proto: t.list[i].Protocol, Target: t.list[i].Target, Where: b.Where}
		if b.Err != nil {
			s.Reason = b.Err.Error()
		}
		all[b.Tunnel] = s
	}
	return all
}
