package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"paddock/internal/process/lifecycle"
	"paddock/internal/tunneld"
	"paddock/tunnel/client"
)

// tunnelServer are the flags about the server that a client connects to.
type tunnelServer struct {
	Server    string `required:"" placeholder:"HOST[:PORT]" help:"Address of the server; its port is 7400 unless given."`
	ServerID  string `name:"server-id" placeholder:"ID" help:"Trust the server with this id, and no other; \"paddock tunnel serve\" prints it."`
	RootCA    string `name:"root-ca" type:"path" placeholder:"FILE" help:"Trust servers whose certificate these have signed, PEM (default the system's)."`
	Key       string `type:"path" placeholder:"FILE" help:"File of the key by which the server knows this machine; made if it does not exist (default paddock/tunnel.key in the user's configuration directory)."`
	TokenFile string `name:"token-file" type:"path" placeholder:"FILE" help:"Come with a token instead of a key: the file has id:secret."`
	Plaintext bool   `help:"Connect without TLS, with a token; on loopback only."`

	Admin      string `placeholder:"ADDR" help:"Address for /metrics and /status; beyond loopback only with --admin-token."`
	AdminToken string `placeholder:"TOKEN" help:"Token that these ask for; better given in the environment."`
}

// settings returns the settings of a file with this one tunnel.
func (t *tunnelServer) settings(offered client.Tunnel) (*tunneld.Settings, error) {
	s := &tunneld.Settings{
		Connect: tunneld.Connect{Server: t.Server, RootCA: t.RootCA, Key: t.Key, TokenFile: t.TokenFile, Admin: t.Admin, Token: t.AdminToken, Plaintext: t.Plaintext},
		Tunnels: []client.Tunnel{offered},
		Backoff: tunneld.Backoff{Interval: 200 * time.Millisecond, MaxInterval: 30 * time.Second},
	}
	if _, _, err := net.SplitHostPort(t.Server); err != nil {
		s.Connect.Server = net.JoinHostPort(t.Server, "7400")
	}
	if t.ServerID != "" {
		if err := s.Connect.Pin(t.ServerID); err != nil {
			return nil, fmt.Errorf("--server-id: %w", err)
		}
	}
	return s, nil
}

// connect offers tunnels until a signal comes. It prints the public address of each when it is
// bound and when it changes. file reports that the settings are those of a file, as of a service:
// SIGHUP does not end it then.
func connect(ctx context.Context, c *console, s *tunneld.Settings, names []string, firstSeen string, file bool) error {
	log, err := c.Logger()
	if err != nil {
		return err
	}
	key, err := tunnelKey("", clientKeyName)
	if err != nil {
		return err
	}
	client, err := tunneld.NewClient(tunneld.ClientOptions{
		Settings: s, Names: names, Key: key, FirstSeen: firstSeen, Agent: tunnelAgent(), Logger: log,
		Bound: func(_, where, target string) { fmt.Fprintf(c.Stdout, "%s -> %s\n", where, target) },
	})
	if err != nil {
		return startError(err)
	}
	if id, ok := client.ID(); ok {
		fmt.Fprintln(c.Stderr, "this machine's id:", id)
	}
	group := &lifecycle.Group{Logger: log}
	if file {
		group.Add(lifecycle.NoReloads(log))
	}
	if err := client.ServeAdmin(ctx, group); err != nil {
		return startError(err)
	}
	at, err := client.ServeInspector(ctx, group)
	if err != nil {
		return startError(err)
	}
	if at != nil {
		fmt.Fprintf(c.Stdout, "inspect: http://%s\n", at)
	}
	client.AddTo(group)
	if err := group.Run(ctx); err != nil {
		return tunnelError{err}
	}
	return nil
}
