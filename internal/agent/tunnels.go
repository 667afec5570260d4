package agent

import (
	"log/slog"

	"paddock/tunnel/client"
	"paddock/wire"
)

const (
	// smallMax bounds one write for a visitor: 33 ms of a link of 1 Mbit/s, for which positions
	// have to wait.
	smallMax = 4 << 10
	// tunnelBudget bounds the memory of concurrent visitors, 500 at a time.
	tunnelBudget = 32 << 20
)

// tunnels serves local services to visitors of the platform.
type tunnels struct {
	client *client.Client
	list   []client.Tunnel
}

// newTunnels serves them on the connections whose Mux is m. It returns nil for an empty list.
func newTunnels(list []client.Tunnel, m *wire.Mux, log *slog.Logger) (*tunnels, error) {
	if len(list) == 0 {
		return nil, nil
	}
	config := client.Config{Tunnels: list, Budget: tunnelBudget, SmallMax: smallMax, Logger: log}
	client, err := client.New(config)
	if err != nil {
		return nil, err
	}
	client.Register(m)
	return &tunnels{client, list}, nil
}

// TunnelStatus describes an offered local service.
type TunnelStatus struct {
	Proto  string `json:"proto"`
	Target string `json:"target"`
	Where  string `json:"where,omitempty"`  // the address for visitors, "" while it is not bound
	Reason string `json:"reason,omitempty"` // why it is not bound
}

// status returns the status of each tunnel by its name.
func (t *tunnels) status() map[string]TunnelStatus {
	if t == nil {
		return nil
	}
	all := map[string]TunnelStatus{}
	for i, b := range t.client.Bindings() { // in the list's order
		s := TunnelStatus{Proto: string(t.list[i].Protocol), Target: t.list[i].Target, Where: b.Where}
		if b.Err != nil {
			s.Reason = b.Err.Error()
		}
		all[b.Tunnel] = s
	}
	return all
}
