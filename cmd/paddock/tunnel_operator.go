package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"paddock/internal/tunneld"
	"paddock/wire"
)

// operatorPatience bounds the time of an operator's command.
const operatorPatience = 15 * time.Second

// tunnelOperator holds the flags that choose a server: by its control socket on this machine, or by
// its address.
type tunnelOperator struct {
	Config    string `short:"c" type:"path" placeholder:"FILE" help:"Configuration file of the server, which names its socket; or that of a client, which says how to reach the server."`
	Control   string `type:"path" placeholder:"FILE" help:"Control socket of a server on this machine (default the one that \"paddock tunnel serve\" has unless it is told)."`
	Server    string `placeholder:"HOST[:PORT]" help:"Address of a server elsewhere, which lists this machine's key, or the token, with admin: true."`
	ServerID  string `name:"server-id" placeholder:"ID" help:"Trust the server with this id, and no other."`
	RootCA    string `name:"root-ca" type:"path" placeholder:"FILE" help:"Trust servers whose certificate these have signed, PEM (default the system's)."`
	Key       string `type:"path" placeholder:"FILE" help:"File of this machine's key (default paddock/tunnel.key in the user's configuration directory)."`
	TokenFile string `name:"token-file" type:"path" placeholder:"FILE" help:"Come with a token instead of a key: the file has id:secret."`
}

// operate connects to the server, calls do, and closes the connection.
func (t *tunnelOperator) operate(ctx context.Context, do func(context.Context, *tunneld.Operator) error) error {
	ctx, cancel := context.WithTimeout(ctx, operatorPatience)
	defer cancel()
	o, err := t.dial(ctx)
	if err != nil {
		return operatorError(err)
	}
	err = do(ctx, o)
	return operatorError(errors.Join(err, o.Close()))
}

func (t *tunnelOperator) dial(ctx context.Context) (*tunneld.Operator, error) {
	connect := tunneld.Connect{Server: t.Server, RootCA: t.RootCA, Key: t.Key, TokenFile: t.TokenFile}
	control, firstSeen := t.Control, ""
	if t.Config != "" {
		s, err := loadTunnel(t.Config)
		if err != nil {
			return nil, err
		}
		control = cmp.Or(control, s.Serve.Control)
		if t.Server == "" && control == "" && s.Connect.Server != "" {
			connect = s.Connect
			firstSeen = firstSeenBy(s, t.Config)
		}
	}
	if connect.Server == "" {
		if control = cmp.Or(control, tunnelControl()); control == "" {
			return nil, usagef("which server? say --control FILE or --server HOST")
		}
		o, err := tunneld.DialControl(ctx, control)
		if err != nil {
			err = fmt.Errorf("no server of this user has the control socket %s (another one: --control FILE; a server elsewhere: --server HOST): %w", control, err)
		}
		return o, err
	}
	if t.ServerID != "" {
		if err := connect.Pin(t.ServerID); err != nil {
			return nil, usagef("--server-id: %w", err)
		}
	}
	if _, _, err := net.SplitHostPort(connect.Server); err != nil {
		connect.Server = net.JoinHostPort(connect.Server, "7400")
	}
	key, err := tunnelKey("", clientKeyName)
	if err != nil {
		return nil, err
	}
	return tunneld.DialOperator(ctx, &connect, key, firstSeen)
}

// operatorError gives an error its exit code.
func operatorError(err error) error {
	var e *wire.Error
	if tunneld.Distrusted(err) || errors.As(err, &e) && (e.Code == wire.Unauthenticated || e.Code == wire.PermissionDenied) {
		return tunnelError{fmt.Errorf("%w: %w", tunneld.ErrRefused, err)}
	}
	return err
}

// tunnelKickCmd disconnects a client, and keeps it out for a while.
type tunnelKickCmd struct {
	Who  string        `arg:"" name:"id" help:"Its name, its id, or the first 8 characters or more of its id."`
	For  time.Duration `placeholder:"TIME" default:"60s" help:"Keep it out for so long (default ${default}); 0s lets it come back at once."`
	JSON bool          `name:"json" help:"Print an object with name and connected."`
	tunnelOperator
}

// Run prints the disconnected client.
func (t *tunnelKickCmd) Run(ctx context.Context, c *console) error {
	return t.operate(ctx, func(ctx context.Context, o *tunneld.Operator) error {
		k, err := o.Kick(ctx, t.Who, t.For)
		switch {
		case err != nil:
			return err
		case t.JSON:
			return json.NewEncoder(c.Stdout).Encode(k)
		case k.Connected:
			fmt.Fprintf(c.Stdout, "%s was sent away, and is kept out for %v\n", k.Name, t.For)
		default:
			fmt.Fprintf(c.Stdout, "%s was not connected; it is kept out for %v\n", k.Name, t.For)
		}
		return nil
	})
}
