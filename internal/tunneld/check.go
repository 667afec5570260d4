package tunneld

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
)

// Check is the result of checking a client's settings against its server.
type Check struct {
	Server  string         `json:"server"`
	ID      string         `json:"id,omitempty"` // by which the server is to know the client; absent: it has a token
	Tunnels []CheckedRoute `json:"tunnels"`
}

// CheckedRoute describes the destination of a tunnel's visitors.
type CheckedRoute struct {
	Name    string `json:"name"`
	Where   string `json:"where,omitempty"`   // absent: it would not be bound
	Refused string `json:"refused,omitempty"` // why not
	Mode    string `json:"mode,omitempty"`    // "mux" or "direct"; absent for http
	Group   string `json:"group,omitempty"`   // whose other members may have it too
	Target  string `json:"target"`
	Fault   string `json:"fault,omitempty"` // why the target takes no connection
}

// ErrTarget reports that a target refuses connections.
var ErrTarget = errors.New("a target takes no connection")

// CheckServer connects to the server of settings, asks which of the tunnels with these names (of
// all of them without a name) it would bind, and dials their targets. Nothing is bound, and a
// running client is not disturbed. The error wraps ErrRefused if the server would not bind all of
// them, ErrTarget if only a target is missing.
func CheckServer(ctx context.Context, o ClientOptions) (Check, error) {
	o.Logger = slog.New(slog.DiscardHandler) // the answer reports failures
	check := Check{Server: o.Settings.Connect.Server, Tunnels: []CheckedRoute{}}
	c, err := NewClient(o)
	if err != nil {
		return check, err
	}
	if id, ok := c.ID(); ok {
		check.ID = id.String()
	}
	config := *c.link.Config
	config.Mux = wire.NewMux()
	conn, err := wire.Dial(ctx, "tcp", check.Server, &config)
	if err != nil {
		return check, c.refusedBy(err)
	}
	defer conn.Close()
	if err := conn.Ready(ctx); err != nil {
		return check, c.refusedBy(err)
	}
	at, err := wire.Call[struct{}, fronts](ctx, conn, kindFronts, struct{}{})
	if err != nil && conn.Err() != nil {
		return check, c.refusedBy(err)
	}
	trials, err := c.tunnel.Try(ctx, conn)
	if hasCode(err, wire.Unimplemented) {
		return check, fmt.Errorf("the server admits this client, and is too old to report which tunnels it would bind: %w", err)
	}
	if err != nil {
		return check, c.refusedBy(err)
	}
	return check, check.take(c, trials, at)
}

// take records the results of the trials.
func (k *Check) take(c *Client, trials []client.Trial, at fronts) (err error) {
	refused, missing := 0, 0
	for _, t := range trials {
		target := c.targets[t.Tunnel]
		line := CheckedRoute{Name: t.Tunnel, Where: t.Where, Group: t.Group, Target: target.Target}
		switch {
		case t.Err != nil:
			refused++
			line.Refused = t.Err.Error()
		case target.Protocol == tunnel.HTTP:
		case t.Direct:
			line.Mode = modeDirect
		default:
			line.Mode = modeMux
		}
		if t.Err == nil {
			line.Where = at.where(target.Protocol, t.Where)
		}
		if t.Target != nil {
			missing++
			line.Fault = t.Target.Error()
		}
		k.Tunnels = append(k.Tunnels, line)
	}
	if refused > 0 {
		err = fmt.Errorf("%w: %d of %d tunnels", ErrRefused, refused, len(trials))
	}
	if missing > 0 {
		err = errors.Join(err, fmt.Errorf("%w: of %d of %d tunnels", ErrTarget, missing, len(trials)))
	}
	return err
}

// refusedBy distinguishes a server that does not admit the client from one that is not reachable.
func (c *Client) refusedBy(err error) error {
	if err = c.explained(err); rejected(err) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}
